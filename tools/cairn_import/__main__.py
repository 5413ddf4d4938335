"""The command line: `cairn-import my_model.py:make --out model/`."""

import argparse
import os
import sys


def arguments(argv):
    out = argparse.ArgumentParser(prog='cairn-import', description='Writes a PyTorch model as a C++ program of cairn.')
    out.add_argument('source', help='FILE.py:FUNCTION. The function returns a module, example inputs (a tuple or a dict of '
                                    'tensors), and optionally a loss: a function of the outputs and the inputs')
    out.add_argument('--out', required=True, help='the folder that is written')
    out.add_argument('--input', help='the shape of one tensor of real numbers, if the function returns the module alone: 32,3,224,224')
    out.add_argument('--labels', type=int, help='the loss is the cross entropy of the output and of labels below this number')
    out.add_argument('--ckpt', action='append', default=[], help='modules that become segments, by their names: "layers.*"')
    out.add_argument('--fit', help='the memory into which the compiler fits the step, such as 64MiB')
    return out.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    try:
        import torch  # noqa: F401
        import safetensors.torch  # noqa: F401
    except ImportError as error:
        return f'cairn-import: needs the Python packages torch and safetensors: {error}'
    from cairn_import.command import run
    return run(options)


if __name__ == '__main__':
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.exit(main())
