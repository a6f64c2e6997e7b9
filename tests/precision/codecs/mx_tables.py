#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes mx_tables.h: what ml_dtypes makes of blocks of codec mx.

    pip install ml_dtypes numpy && tests/precision/codecs/mx_tables.py > tests/precision/codecs/mx_tables.h

A block's scale is computed here from the MX specification's sentence (section 6.3), its elements are ml_dtypes' casts of the scaled values, clipped first: casts
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
    """Codes of the clipped values."""
    return numpy.clip(values, -largest, largest).astype(dtype).view(numpy.uint8)


def nearest(values, dtype, largest):
    """Codes of the values, rounded once: casts go through float32, where quotients may tie."""
    table = numpy.arange(2 ** 7, dtype=numpy.uint8).view(dtype).astype(numpy.float64)
    table = table[:8] if largest == 6.0 else table[:127]
    out = []
    for value in numpy.atleast_1d(values):
        away = numpy.abs(table - abs(value))
        codes = numpy.flatnonzero(away == away.min())
        code = codes[0] if len(codes) == 1 or codes[0] % 2 == 0 else codes[1]
        out.append(code + numpy.signbit(value) * (8 if largest == 6.0 else 128))
    return numpy.array(out, dtype=numpy.uint8)


def exact(value):
    return re.sub(r"\.?0*p\+?", "p", float(value).hex())


def show(name, values, text):
    print(f"static const {name} = {{")
    print("\n".join(textwrap.wrap(", ".join(text(v) for v in values) + ",", 100,
                                  initial_indent="    ", subsequent_indent="    ")))
    print("};\n")


def show_blocks(name, blocks):
    """Lines of a scale and the codes of its elements in hexadecimal."""
    print(f"static const mx_block mx_blocks_{name}[{len(blocks)}] = {{")
    for scale, codes in blocks:
        print(f'    {{{exact(scale)}, "{codes.tobytes().hex()}"}},')
    print("};\n")


def main():
    x = inputs()
    print("// SPDX-License-Identifier: Apache-2.0\n//\n// Made by mx_tables.py with ml_dtypes "
          f"{ml_dtypes.__version__}. Elements in the order of the codec's words.")
    print("// clang-format off\n#ifndef BB_TESTS_PRECISION_CODECS_MX_TABLES_H\n"
          "#define BB_TESTS_PRECISION_CODECS_MX_TABLES_H\n")
    print(f"enum {{ MX_BLOCKS = {BLOCKS} }};\n")
    print("/// Elements that share a scale, in hexadecimal: two digits each, the sign in the code's "
          "highest\n/// bit; of int8 two's complement.\n"
          "typedef struct mx_block {\n    double scale;\n    const char *codes;\n} mx_block;\n")
    show("double mx_inputs[8 * 32]", x.ravel(), exact)
    for name, (dtype, emax, largest) in ELEMENTS.items():
        out = []
        for block in x:
            scale = 2.0 ** (numpy.floor(numpy.log2(numpy.abs(block).max())) - emax)
            assert float(numpy.array(scale, ml_dtypes.float8_e8m0fnu)) == scale
            out.append((scale, cast(block / scale, dtype, largest)))
        show_blocks(name, out)
    out = []
    for block in x:  # int8: two's complement of 2^-6, no -128
        scale = 2.0 ** numpy.floor(numpy.log2(numpy.abs(block).max())) / 64.0
        out.append((scale, numpy.clip(numpy.rint(block / scale), -127, 127).astype(numpy.int8)))
    show_blocks("int8", out)
    out = []
    for row in x:  # a row of 32: two blocks of 16 under one fp32
        total = numpy.float64(numpy.float32(numpy.abs(row).max() / (6.0 * 448.0)))
        for block in (row[:16], row[16:]):
            code = nearest(numpy.abs(block).max() / (6.0 * total), ml_dtypes.float8_e4m3fn, 448.0)
            scale = float(code.view(ml_dtypes.float8_e4m3fn)[0]) * total  # exact in fp64
            out.append((scale, nearest(block / scale, ml_dtypes.float4_e2m1fn, 6.0)))
    show_blocks("nvfp4", out)
    print("#endif")


if __name__ == "__main__":
    main()
