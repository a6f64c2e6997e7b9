#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes mx_tables.h: what ml_dtypes makes of the elements and blocks of codec mx.

    pip install ml_dtypes numpy && tests/precision/codecs/mx_tables.py > tests/precision/codecs/mx_tables.h

Element values are those of ml_dtypes; a block's scale is computed here from the MX specification's
sentence (section 6.3), its elements are ml_dtypes' casts of the scaled values, clipped first: casts
of e4m3fn and e5m2 do not saturate. Quotients of nvfp4 are rounded here, to ml_dtypes' values.
"""
import re
import textwrap

import ml_dtypes
import numpy

ELEMENTS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8, 448.0),
    "e5m2": (ml_dtypes.float8_e5m2, 15, 57344.0),
    "e3m2": (ml_dtypes.float6_e3m2fn, 4, 28.0),
    "e2m3": (ml_dtypes.float6_e2m3fn, 2, 7.5),
    "e2m1": (ml_dtypes.float4_e2m1fn, 2, 6.0),
}
BITS = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4}
BLOCKS = 8


def inputs():
    random = numpy.random.default_rng(15)
    rows = [
        random.standard_normal(32),
        random.standard_normal(32) * 10.0 ** random.uniform(-6, 0, 32),
        (numpy.arange(32) - 15.5) / 8.0,  # ties
        numpy.where(numpy.arange(32) == 7, -1.999, random.standard_normal(32) * 1e-3),
        random.standard_normal(32) * 2.0**-100,
        random.standard_normal(32) * 2.0**120,
        (numpy.arange(32) - 16.0) * 2.0**-5,
        numpy.where(numpy.arange(32) % 3 == 0, -0.0, 1e-7 * numpy.arange(32)),
    ]
    return numpy.array(rows).astype(numpy.float32).astype(numpy.float64)


def cast(values, dtype, largest):
    return numpy.clip(values, -largest, largest).astype(dtype).astype(numpy.float64)


def nearest(values, dtype, largest):
    """The same rounded once: casts of ml_dtypes go through float32, where quotients may tie."""
    table = numpy.arange(2 ** 7, dtype=numpy.uint8).view(dtype).astype(numpy.float64)
    table = table[:8] if largest == 6.0 else table[:127]
    out = []
    for value in numpy.atleast_1d(values):
        away = numpy.abs(table - abs(value))
        codes = numpy.flatnonzero(away == away.min())
        code = codes[0] if len(codes) == 1 or codes[0] % 2 == 0 else codes[1]
        out.append(numpy.copysign(table[code], value))
    return numpy.array(out)


def exact(value):
    return re.sub(r"\.?0*p\+?", "p", float(value).hex())


def show(name, values, text):
    print(f"static const {name} = {{")
    print("\n".join(textwrap.wrap(", ".join(text(v) for v in values) + ",", 100,
                                  initial_indent="    ", subsequent_indent="    ")))
    print("};\n")


def main():
    x = inputs()
    print("// SPDX-License-Identifier: Apache-2.0\n//\n// Made by mx_tables.py with ml_dtypes "
          f"{ml_dtypes.__version__}. Elements in the order of the codec's words.")
    print("// clang-format off\n#ifndef BB_TESTS_PRECISION_CODECS_MX_TABLES_H\n"
          "#define BB_TESTS_PRECISION_CODECS_MX_TABLES_H\n")
    print(f"enum {{ MX_BLOCKS = {BLOCKS} }};\n")
    for name, (dtype, _, largest) in ELEMENTS.items():
        codes = numpy.arange(2 ** BITS[name], dtype=numpy.uint8).view(dtype).astype(numpy.float64)
        held = [v for v in codes if numpy.abs(v) <= largest]
        show(f"double mx_values_{name}[{len(held)}]", held, exact)
    show("double mx_inputs[8 * 32]", x.ravel(), exact)
    for name, (dtype, emax, largest) in ELEMENTS.items():
        out = []
        for block in x:
            scale = 2.0 ** (numpy.floor(numpy.log2(numpy.abs(block).max())) - emax)
            assert float(numpy.array(scale, ml_dtypes.float8_e8m0fnu)) == scale
            out.extend(cast(block / scale, dtype, largest) * scale)
        show(f"double mx_blocks_{name}[8 * 32]", out, exact)
    out = []
    for block in x:  # int8: two's complement of 2^-6, no -128
        scale = 2.0 ** numpy.floor(numpy.log2(numpy.abs(block).max()))
        out.extend(numpy.clip(numpy.rint(block / scale * 64.0), -127, 127) / 64.0 * scale)
    show("double mx_blocks_int8[8 * 32]", out, exact)
    out = []
    for row in x:  # a row of 32: two blocks of 16 under one fp32
        total = numpy.float64(numpy.float32(numpy.abs(row).max() / (6.0 * 448.0)))
        for block in (row[:16], row[16:]):
            wanted = numpy.abs(block).max() / (6.0 * total)
            scale = nearest(wanted, ml_dtypes.float8_e4m3fn, 448.0)[0]
            step = scale * total
            codes = nearest(block / step, ml_dtypes.float4_e2m1fn, 6.0) if step > 0 else 0.0 * block
            out.extend((codes * scale).astype(numpy.float32) * numpy.float32(total))
    show("double mx_blocks_nvfp4[8 * 32]", [float(v) for v in out], exact)
    print("#endif")


if __name__ == "__main__":
    main()
