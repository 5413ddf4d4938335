"""A peer's side of a scenario, as contestant.hpp is cairn's: reads the tensors that all contestants share, and steps
when it is told to. `peer_x.py FOLDER FORM THREADS`; FORM is plain or ckpt, also after bf16-, for PyTorch
after compile- or hooks-, with the optimizer in backward; or SOLVER-PERCENT, compiled within a budget of memory.
"""

import ctypes
import json
import sys
import time

import numpy
from tensors import labels, tensors

folder, form, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
ckpt = form.endswith("ckpt")
compiled = form.startswith("compile")
hooks = form.startswith("hooks")
rounded = "bf16-" in form
solver, _, percent = form.partition("-") if form[-1].isdigit() else ("", "", "100")


def tensor(name):
    if name in labels:
        return numpy.fromfile(f"{folder}/{name}", numpy.int32)
    return numpy.fromfile(f"{folder}/{name}", numpy.float32).reshape(tensors[name][1:])


def heap(name):
    """The counters of heap.cpp, which is preloaded."""
    function = getattr(ctypes.CDLL(None), name)
    function.restype = ctypes.c_long
    return function()


def serve(step, gradients=0, live_between=False):
    """`step` makes one step and returns its loss. Its memory is the peak within a step above what lives before it:
    parameters, the optimizer's state and, where a peer keeps them between steps, gradients, so many bytes. Where it
    does not, these are taken off the peak. Either way a peer that holds few gradients when it needs most of the rest is
    the better for it, and one that never holds all of them may come out below zero.
    """
    first = float(step())
    step()
    time.sleep(0.3)  # XLA frees what the last step needed from another thread
    before = heap("heap_live")
    heap("heap_peak_reset")
    step()
    memory = heap("heap_peak") - before - (0 if live_between else gradients)
    step()
    later = float(step())
    print("ready", json.dumps({"first": first, "later": later, "memory": memory, "gradients": gradients}), flush=True)
    for line in sys.stdin:
        count = int(line.removeprefix("run "))
        step()  # what the others left in the caches is not ours to pay for
        begin = time.perf_counter()
        for _ in range(count):
            step()
        print(time.perf_counter() - begin, flush=True)
