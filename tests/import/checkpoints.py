"""Models that call torch.utils.checkpoint in many ways. A comment `# written: text` has a text of the model.hpp that
cairn-import must write. tests/tools/import_written.py imports each model, and compares it with PyTorch."""

import functools

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

CASES = {}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Block(), Block()

    def forward(self, x, y):
        return self.a(x + y), self.b(x * y)


class Net(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.enter, self.inner, self.leave = nn.Linear(8, 16), inner, nn.Linear(16, 5)

    def forward(self, x):
        return self.leave(self.middle(self.inner, self.enter(x)))


def loss(outputs, inputs):
    return F.cross_entropy(outputs, inputs['labels'])


def case(inner):
    """A model whose middle is the function, which gets the module that `inner` makes."""
    def put(function):
        def make():
            torch.manual_seed(1)
            net = type(function.__name__, (Net,), {'middle': staticmethod(function)})(inner())
            return net, {'x': torch.randn(6, 8), 'labels': torch.randint(0, 5, (6,))}, loss
        make.__wrapped__ = function
        CASES[function.__name__] = make
        return make
    return put


def blocks(count):
    return lambda: nn.ModuleList(Block() for _ in range(count))


@case(blocks(3))
def modules(inner, h):
    for block in inner:
        h = checkpoint(block, h, use_reentrant=False)
    return h
    # written: repeat<3, "inner">([](auto) { return ckpt<"block">(block_layer); })


@case(blocks(3))
def reentrant(inner, h):
    for block in inner:
        h = torch.utils.checkpoint.checkpoint(block, h, use_reentrant=True)
    return h
    # written: repeat<3, "inner">([](auto) { return ckpt<"block">(block_layer); })


@case(blocks(3))
def closure(inner, h):
    gate = torch.tanh(h)
    return checkpoint(lambda y: inner[0](y) * gate, h, use_reentrant=False) + inner[1](h) + inner[2](h)
    # written: return (x | block<"inner.0">(block_layer)) * y;
    # written: ckpt<"segment">(segment, linear, tanh(linear))


@case(Pair)
def bound_method(inner, h):
    a, b = checkpoint(inner.forward, h, torch.sigmoid(h), use_reentrant=False)
    return a * b
    # written: return std::tuple{


@case(Pair)
def several_results(inner, h):
    a, b = checkpoint(inner, h, y=torch.sigmoid(h), use_reentrant=False)
    return a * b
    # written: const auto [a, b] = ckpt<"pair"


def joined(first, second, y):
    return second(first(y))


@case(blocks(4))
def partial(inner, h):
    h = checkpoint(functools.partial(joined, inner[0], inner[1]), h, use_reentrant=False)
    return inner[3](inner[2](h))
    # written: ckpt<"joined">(repeat<2, "inner">([](auto) { return block_layer; }))


@case(lambda: nn.Sequential(*[Block() for _ in range(4)]))
def sequential(inner, h):
    return checkpoint_sequential(inner, 2, h, use_reentrant=False)
    # written: ckpt<"segment">(repeat<2, "inner">([](auto) { return block_layer; })) | block<"inner.2">(block_layer)


@case(blocks(3))
def nested(inner, h):
    def outer(y):
        return inner[2](checkpoint(lambda z: inner[1](inner[0](z)), y, use_reentrant=False))
    return checkpoint(outer, h, use_reentrant=False)
    # written: ckpt<"outer"


@case(Block)
def too_small(inner, h):
    return inner(checkpoint(torch.tanh, h, use_reentrant=False))
    # written: ckpt<"tanh", allow_useless>(nn::tanh)
    # written: // A segment with allow_useless is a checkpoint of the PyTorch model that may free no memory.


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=32, n_head=2, vocab_size=64, n_positions=32, resid_pdrop=0,
                                       embd_pdrop=0, attn_pdrop=0, use_cache=False, bos_token_id=0, eos_token_id=0))
    model.gradient_checkpointing_enable()
    return model, {'input_ids': torch.randint(0, 64, (2, 8))}, lambda outputs, inputs: F.cross_entropy(
        outputs.logits[:, :-1].flatten(0, 1), inputs['input_ids'][:, 1:].flatten())
    # written: repeat<3, "h">([](auto) { return ckpt<"gpt2_block">(gpt2_block); })


def densenet():
    from torchvision.models import DenseNet
    model = DenseNet(8, (2, 2), 16, 2, 0, 5, memory_efficient=True)
    return model, {'x': torch.randn(2, 3, 32, 32), 'labels': torch.randint(0, 5, (2,))}, loss
    # written: ckpt<"closure", allow_useless>(closure_layer, inputs...)


def vit():
    import timm
    model = timm.create_model('vit_tiny_patch16_224', num_classes=5, img_size=32, depth=3, embed_dim=32, num_heads=2)
    model.set_grad_checkpointing()
    return model, {'x': torch.randn(2, 3, 32, 32), 'labels': torch.randint(0, 5, (2,))}, loss
    # written: repeat<3, "blocks">([](auto) { return ckpt<"block">(block_layer); })


CASES.update(gpt2=gpt2, densenet=densenet, vit=vit)
