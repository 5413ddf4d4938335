"""A peer's side of a scenario; serve.hpp is the side of programs in C++. A peer reads the tensors that all contestants
share, and makes steps when it is told to. The command is `peer_x.py FOLDER FORM THREADS`. FORM is one of
- `plain` or `ckpt`;
- these after `bf16-`;
- for PyTorch, these after `compile-`, or after `hooks-`, with the optimizer in the backward pass;
- for PyTorch, SOLVER-PERCENT, which is compiled within a memory budget.
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
    """Returns a counter of heap.cpp, which is preloaded."""
    function = getattr(ctypes.CDLL(None), name)
    function.restype = ctypes.c_long
    return function()


def serve(step, gradients=0, live_between=False):
    """Answers scenario.py. `step` makes one step and returns its loss, and `gradients` is the number of bytes of all
    gradients.

    The memory of a step is its peak above what is alive before the step: the parameters and the optimizer's state. If a
    peer keeps its gradients between steps (`live_between`), they are alive before the step, too. Otherwise they are
    subtracted from the peak. In both cases, a peer gains if it holds few gradients when it needs most of its other
    memory. The memory of a peer that never holds all gradients at once can be negative.
    """
    first = float(step())
    step()
    time.sleep(0.3)  # XLA frees the memory of the last step from another thread
    before = heap("heap_live")
    heap("heap_peak_reset")
    step()
    memory = heap("heap_peak") - before - (0 if live_between else gradients)
    step()
    later = float(step())
    print("ready", json.dumps({"first": first, "later": later, "memory": memory, "gradients": gradients}), flush=True)
    for line in sys.stdin:
        count = int(line.removeprefix("run "))
        step()  # this step is not timed, because the caches hold the data of other contestants
        begin = time.perf_counter()
        for _ in range(count):
            step()
        print(time.perf_counter() - begin, flush=True)
