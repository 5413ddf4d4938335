#!/usr/bin/env -S python3 -B
"""Steps of imported models beside the models of PyTorch from which they come: imported.py [model...]

./dev bench imported runs the script, after ./dev test import has written the models to build/import. Both sides make
steps of AdamW in float with one thread, in turns. The table shows the median of the ratios with its quartiles, and the
bytes of a step in both, above parameters, gradients and moments.
"""

import os
import re
import statistics
import sys
import types
from pathlib import Path

import scenario as peers

top = Path(__file__).resolve().parents[1]
imported = top / "build/import"
rounds, seconds = 15, 0.5

step = """#include "model.hpp"
#include "serve.hpp"
#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>
using namespace cairn;
int main() {
INPUTS
  NAMESPACE::train_step step;
  static_cast<void>(step.load("weights.safetensors"));
  adamw optimizer{step, {.lr = 1e-5}};
  contestant::serve([&] {
    const auto loss = step.value_and_grad(BOUND);
    optimizer.update();
    return loss;
  }, {.memory = decltype(step)::memory().peak_bytes});
}
"""


def in_python(name):
    """The side of PyTorch, which this script runs in a process of its own."""
    sys.path[:0] = [str(top / "tests/import"), str(top / "tools")]
    import models
    import torch
    from cairn_import.model import WithLoss
    sys.argv = ["", ".", "plain", "1"]
    torch.set_num_threads(1)
    module, inputs, *loss = getattr(models, name)()
    accepted = None if not loss else [n for n in inputs if n != "labels" and n != "mask" and n != "target"]
    whole = WithLoss(module, loss[0] if loss else None, accepted, lambda names: None).train()
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-5)

    def make_step():
        loss_now = whole(**inputs)[-1]
        loss_now.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss_now.item()

    sys.modules["tensors"] = types.SimpleNamespace(labels=(), tensors={})
    from peer import serve
    serve(make_step, sum(p.numel() * p.element_size() for p in module.parameters()))


def compiled(name):
    """Compiles the side of cairn."""
    folder = imported / name
    train = (folder / "train.cpp").read_text()
    inputs = "\n".join(re.findall(r"^  const auto \w+ = data::read_safetensors.*$", train, re.M))
    text = step.replace("INPUTS", inputs).replace("NAMESPACE", re.search(r"(\w+)::train_step", train)[1])
    (folder / "step.cpp").write_text(text.replace("BOUND", re.search(r"value_and_grad\((.*)\);", train)[1]))
    peers.compile_program(folder / "step.cpp", folder / "step", f"-I{folder}", f"-I{top}/bench", "-ldl")
    return [folder / "step"]


def main(names):
    names = names or sorted(train.parent.name for train in imported.glob("*/train.cpp"))
    absent = [name for name in names if not (imported / name / "train.cpp").exists()]
    if absent or not names:
        sys.exit(f"build/import lacks {', '.join(absent) or 'models'}, which ./dev test import writes")
    peers.compile_program(peers.bench / "heap.cpp", peers.build / "heap.so", "-shared", "-fPIC")
    print(f"{'model':14} {'cairn ms':>9} {'PyTorch ms':>10} {'ratio':>6} {'quartiles':>12} {'cairn MiB':>10} "
          f"{'PyTorch MiB':>11}", flush=True)
    for name in names:
        os.chdir(imported / name)
        sides = [peers.contestant(compiled(name), imported / name / "step.log", 1),
                 peers.contestant([sys.executable, __file__, "--python", name], imported / name / "python.log", 1)]
        bytes_of = [side.ready()["memory"] for side in sides]
        counts = [max(1, round(seconds / side.run(1))) for side in sides]
        times = [[side.run(count) for side, count in zip(sides, counts)] for _ in range(rounds)]
        for side in sides:
            side.stop()
        ratios = sorted(b / a for a, b in times)
        low, middle, high = (statistics.quantiles(ratios, n=4)[i] for i in (0, 1, 2))
        mine, theirs = (1000 * statistics.median(t[i] for t in times) for i in (0, 1))
        print(f"{name:14} {mine:9.2f} {theirs:10.2f} {middle:6.2f} {f'{low:.2f}-{high:.2f}':>12} "
              f"{bytes_of[0] / 2**20:10.2f} {bytes_of[1] / 2**20:11.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--python"]:
        in_python(sys.argv[2])
    else:
        main(sys.argv[1:])
