#!/usr/bin/env -S python3 -B
"""Exchanges files between cairn and PyTorch's package safetensors, bit for bit. Modules of PyTorch must make the same
predictions in both, loaded from the files of both. So must Hugging Face's GPT-2, whose names and layouts differ:
exchange.py [keep]

./dev test exchange runs the script, with the packages torch, numpy, safetensors and transformers of ./dev bench peers.
keep     Writes the files of tests/kept that tests/run/safetensors.cpp, saving.cpp and selection.cpp read. Those tests
         need no Python.
"""

import math
import random
import subprocess
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path

import tokenizers
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

top = Path(__file__).resolve().parents[2]
kept = top / "tests/kept"
files = 200
types = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8,
         torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2]
again = """#include "cairn/file/safetensors.hpp"
int main(int, char** arguments) {
  const cairn::file::reader saved(arguments[1]);
  cairn::file::write(arguments[2], saved.tensors(), saved.metadata());
}
"""

# Modules with the same names and layouts in PyTorch and in cairn. Their keys are the names of the kept files.
modules = {
    "module": 'input<"x", 8, 6> | nn::linear<"fc1", 16> | nn::batch_norm<"bn"> | nn::linear<"fc2", 2>',
    "layers": 'input<"x", 2, 5, 8> | block<"before">(nn::transformer_block<2, before>) | '
              'block<"after">(nn::transformer_block<2, after, nn::relu>) | nn::lstm<"lstm", 5, stacked>',
}
# A program that loads a file, predicts, trains, saves, and predicts again. It prints the predictions.
trains = """#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"
#include <cstdio>
using namespace cairn;
constexpr nn::transformer_options before{.dim_feedforward = 12}, after{.dim_feedforward = 12, .norm_first = false};
constexpr nn::recurrent_options stacked{.num_layers = 2};
constexpr auto result = MODEL;
int main(int, char** arguments) {
  std::vector<float> x(COUNT);
  for (int i = 0; i < COUNT; ++i) x[i] = i % 7 - 3.0F;
  program<mean(square(result)), update<adamw_options{}>> step;
  const auto print = [&] {
    predictor<result> predict{step};
    for (float y : predict(bind<"x">(x))) std::printf("%.9g ", y);
  };
  step.load(arguments[1]);
  print();
  for (int i = 0; i < 3; ++i) step.train({.lr = 0.1}, bind<"x">(x));
  step.save(arguments[2]);
  print();
}
"""
# A program that loads GPT-2 from each file but the first, predicts, trains, saves in the first file, and predicts again.
loads_gpt2 = """#include "run/hugging_face.hpp"
#include <cstdio>
using namespace cairn;
constexpr auto result = hugging_face::logits<2>;
int main(int count, char** arguments) {
  std::vector<std::int32_t> text(12);
  for (int i = 0; i < 12; ++i) text[i] = i * 5 % 11;
  program<mean(square(result)), update<adamw_options{}>> step;
  const auto print = [&] {
    predictor<result> predict{step};
    for (float y : predict(bind<"text">(text))) std::printf("%.9g ", y);
  };
  for (int i = 2; i < count; ++i) {
    step.load(arguments[i], selection{.names = hugging_face::names});
    print();
  }
  for (int i = 0; i < 3; ++i) step.train({.lr = 0.1}, bind<"text">(text));
  step.save(arguments[1], selection{.names = hugging_face::names});
  print();
}
"""


def bits(tensor):
    return tensor.dtype, tuple(tensor.shape), tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def loaded(path):
    with safe_open(path, "pt") as file:
        return {name: bits(file.get_tensor(name)) for name in file.keys()}, file.metadata()


def random_tensor(draw):
    """Returns a tensor with random bits. They may be NaN, infinite or denormal. Only bool is limited to its two
    values."""
    type_, shape = draw.choice(types), [draw.choice([0, 1, 1, 2, 3, 5, 8]) for _ in range(draw.randint(0, 4))]
    count = math.prod(shape) * torch.empty(0, dtype=type_).element_size()
    data = torch.tensor(list(draw.randbytes(count)), dtype=torch.uint8)
    return (data % 2 if type_ == torch.bool else data).view(type_).reshape(shape)


def random_text(draw):
    return "".join(draw.choice('ab.01_"\\/\n\t\x01\x7fé€𝄞') for _ in range(draw.randint(0, 12)))


def compare(folder, seed):
    """Returns the difference if a file with this seed changes on its way through cairn, or an empty text."""
    draw = random.Random(seed)
    tensors = {f"{random_text(draw)}{i}": random_tensor(draw) for i in range(draw.randint(0, 9))}
    texts = {f"{random_text(draw)}{i}": random_text(draw) for i in range(draw.randint(0, 3))}
    theirs, ours = folder / "theirs", folder / "ours"
    save_file(tensors, theirs, texts or None)
    subprocess.run([folder / "again", theirs, ours], check=True)
    wanted = {name: bits(tensor) for name, tensor in tensors.items()}, texts or None
    if loaded(theirs) != wanted:
        return "PyTorch does not read what it wrote"
    if loaded(ours) != wanted:
        return "PyTorch reads something else in ours"
    # If there are several texts, PyTorch's package writes them in a random order.
    return "" if len(texts) > 1 or ours.read_bytes() == theirs.read_bytes() else "the bytes differ"


class Layers(torch.nn.Module):
    """Several layers with parameters, in sequence."""

    def __init__(self):
        super().__init__()
        self.before = torch.nn.TransformerEncoderLayer(8, 2, 12, 0, "gelu", batch_first=True, norm_first=True)
        self.after = torch.nn.TransformerEncoderLayer(8, 2, 12, 0, batch_first=True)
        self.lstm = torch.nn.LSTM(8, 5, 2, batch_first=True)

    def forward(self, x):
        return self.lstm(self.after(self.before(x)))[0]


def module(name):
    """Returns a module and its input. The parameters and statistics of the module have changed from their initial
    values."""
    torch.manual_seed(1)
    if name == "layers":
        made, shape = Layers(), (2, 5, 8)
    else:
        made = torch.nn.Sequential(OrderedDict(fc1=torch.nn.Linear(6, 16), bn=torch.nn.BatchNorm1d(16),
                                               fc2=torch.nn.Linear(16, 2)))
        shape = 8, 6
    x = (torch.arange(math.prod(shape)) % 7 - 3).float().reshape(shape)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        made(x).square().mean().backward()
        optimizer.step()
    return made.eval(), x


def compare_module(folder, name):
    """Returns where the predictions of a module differ from cairn's, or an empty text."""
    made, x = module(name)
    theirs, ours = folder / "module", folder / "trained"
    save_file(made.state_dict(), theirs)
    program = build(folder / "trains", trains.replace("MODEL", modules[name]).replace("COUNT", str(x.numel())))
    said = subprocess.run([program, theirs, ours], check=True, text=True, capture_output=True).stdout
    numbers = torch.tensor([float(number) for number in said.split()]).reshape(2, *made(x).shape)
    for predicted, file in zip(numbers, (theirs, ours)):
        left = made.load_state_dict(load_file(file), strict=False)
        if set(left.missing_keys) - {"bn.num_batches_tracked"} or any(not key.startswith("optimizer.")
                                                                      for key in left.unexpected_keys):
            return f"{file.name} has not the names of the module: {left}"
        if not torch.allclose(made(x), predicted, rtol=1e-5, atol=1e-6):
            return f"{file.name} gives other predictions"
    return ""


def gpt2():
    """Returns a small GPT-2 and its tokens."""
    torch.manual_seed(1)
    made = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=6, n_embd=8, n_layer=2, n_head=2, initializer_range=0.5,
                                      bos_token_id=None, eos_token_id=None))
    for parameter in made.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)  # also biases, which are 0 at first
    return made.eval(), (torch.arange(12) * 5 % 11).reshape(2, 6)


def compare_gpt2(folder):
    """Returns where the logits of GPT-2 differ from cairn's, or an empty text."""
    made, text = gpt2()
    made.save_pretrained(folder / "whole")
    made.save_pretrained(folder / "parts", max_shard_size="4KB")
    back = folder / "back.safetensors"
    program = build(folder / "loads_gpt2", loads_gpt2)
    files = folder / "whole/model.safetensors", folder / "parts/model.safetensors.index.json"
    said = subprocess.run([program, back, *files], check=True, text=True, capture_output=True).stdout
    whole, parts, trained = torch.tensor([float(number) for number in said.split()]).reshape(3, *text.shape, 11)
    if not torch.equal(whole, parts):
        return "several files give other logits than one"
    if (difference := (made(text).logits - whole).abs().max()) > 1e-5:
        return f"the logits of the file differ by {difference}"
    weights = {name.removeprefix("transformer."): tensor for name, tensor in load_file(back).items()}
    made.transformer.load_state_dict(weights, strict=True)  # the head has the same weight as transformer.wte
    if (difference := (made(text).logits - trained).abs().max()) > 1e-5:
        return f"the logits of cairn's file differ by {difference}"
    return ""


tokenizes = """#include "examples/tokenizer.hpp"
#include <iostream>
#include <iterator>
int main(int, char** arguments) {
  std::ifstream file(arguments[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const int token : examples::tokenizer(arguments[1]).encode(text)) std::cout << token << '\\n';
}
"""


def compare_tokens(folder):
    """Returns the first text whose tokens differ from those of the package tokenizers, or an empty text. The tokenizer
    has learned from a page of cairn."""
    page = (top / "docs/language.md").read_text()
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    theirs.train_from_iterator([page], tokenizers.trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet))
    theirs.save(str(folder / "tokenizer.json"))
    program, draw = build(folder / "tokenizes", tokenizes), random.Random(1)
    texts = [page, *("".join(draw.choices("ab '\n\t.,12sretvmldéßж日—€!  ", k=draw.randint(1, 60))) for _ in range(100))]
    for text in texts:
        (folder / "text").write_text(text, newline="")
        said = subprocess.run([program, folder / "tokenizer.json", folder / "text"], check=True, text=True,
                              capture_output=True).stdout
        if theirs.encode(text).ids != [int(token) for token in said.split()]:
            return f"other tokens for {text[:60]!r}"
    return ""


def build(target, source):
    command = ["g++", "-std=c++20", "-O1", "-Wno-psabi", f"-I{top}/include", f"-I{top}/tests", f"-I{top}", "-x", "c++", "-", "-o", target, "-lz"]
    subprocess.run(command, input=source, text=True, check=True)
    return target


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder / "again", again)
        faults = {f"seed {seed}": fault for seed in range(files) if (fault := compare(folder, seed))}
        faults |= {name: fault for name in modules if (fault := compare_module(folder, name))}
        for name, comparison in ("gpt2", compare_gpt2), ("tokens", compare_tokens):
            if fault := comparison(folder):
                faults[name] = fault
    for name, fault in faults.items():
        print(f"FAIL {name}: {fault}")
    print(f"{files + len(modules) + 2 - len(faults)} passed, {len(faults)} failed")
    sys.exit(bool(faults))


def keep():
    """Writes the kept files. The test names these numbers. The numbers that are rounded to bf16 lie between two
    neighbours: on both sides of the middle, or in the middle. Some numbers are outside of the range of bf16."""
    near = [1 + i / 1024 for i in range(9)] + [-3.1, 1 / 3, 1e-40, -1e-45, 65504.0, 3.4e38, math.inf, -math.inf, math.nan]
    rounded = torch.tensor(near, dtype=torch.float32)
    save_file({
        "fc1.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3) * 0.375 - 1,
        "fc1.bias": torch.tensor([0.1, -1e300, 5e-324], dtype=torch.float64),
        "norm.num_batches_tracked": torch.tensor(2**40 + 1),
        "index": torch.tensor([[1, -2], [2**31 - 1, -2**31]], dtype=torch.int32),
        "exact": rounded,
        "rounded": rounded.bfloat16(),
        "mask": torch.tensor([True, False, True]),
        "none": torch.zeros((0, 4), dtype=torch.uint8),
    }, kept / "torch.safetensors", {"format": "pt"})
    for name in modules:
        made, x = module(name)
        save_file(made.state_dict() | {"x": x, "result": made(x).detach().contiguous()}, kept / f"{name}.safetensors")
    made, text = gpt2()
    weights = {name: tensor for name, tensor in made.state_dict().items() if name != "lm_head.weight"}
    save_file(weights | {"text": text, "logits": made(text).logits.detach()}, kept / "gpt2.safetensors")
    texts = {"a \"quoted\" name": "line\nline\ttab \\ \x01\x7f", "z": "", "é€": "𝄞"}
    order = [text.encode() for text in ('{"a', ',"z"', ',"é')]
    while True:  # the package writes the texts in a random order
        save_file({'"\\/': torch.tensor([1.0]), "é\n": torch.tensor([2.0])}, kept / "names.safetensors", texts)
        places = [(kept / "names.safetensors").read_bytes().find(text) for text in order]
        if -1 not in places and places == sorted(places):
            break
    for name in ("torch", "names", "gpt2", *modules):
        (kept / f"{name}.safetensors").chmod(0o644)


if __name__ == "__main__":
    keep() if sys.argv[1:] == ["keep"] else main()
