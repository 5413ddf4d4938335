#!/usr/bin/env -S python3 -B
"""Writes the arrays of this folder with NumPy 2. tests/run/data_files.cpp reads them."""

from pathlib import Path

import numpy

here = Path(__file__).parent
for name in ["<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", ">f4", ">i2"]:
    numpy.save(here / f"{name.replace('<', '').replace('|', '').replace('>', 'big_')}.npy",
               numpy.array([[0, 1, 2], [3, 4, 100]], dtype=name))
numpy.save(here / "b1.npy", numpy.array([False, True, True]))
numpy.save(here / "halves.npy", numpy.array([-0.5, 6e-8, 65504, numpy.inf, -numpy.inf, numpy.nan, 0.1], dtype="<f2"))
numpy.save(here / "large.npy", numpy.array([1.5, 1e300]))
numpy.save(here / "scalar.npy", numpy.float32(7))
numpy.save(here / "empty.npy", numpy.zeros((0, 4), dtype="<f4"))
numpy.save(here / "columns.npy", numpy.asfortranarray(numpy.array([[1, 2], [3, 4]], dtype="<f4")))
numpy.save(here / "texts.npy", numpy.array(["a", "b"]))
with open(here / "version_2.npy", "wb") as file:
    numpy.lib.format.write_array(file, numpy.array([1, 2, 3], dtype="<i4"), version=(2, 0))
