#!/usr/bin/env python3
"""Check how the built program is linked and compiled.

usage: binary.py PROGRAM [--plain]

The library path has no empty, relative or $ORIGIN entry (an empty entry means the working folder).
Symbols are bound before main, after which relocation tables are read-only. The program is
position-independent, its stack is not executable and is protected. Calls of the C library are
checked (_FORTIFY_SOURCE), unless --plain marks a build without optimisation or with sanitizers.
"""
import re
import subprocess
import sys


def read(*options):
    return subprocess.run(["readelf", "-W", *options], capture_output=True, text=True, check=True).stdout


def problems(program, plain):
    dynamic = read("-d", program)
    segments = read("-l", program)
    symbols = read("--dyn-syms", program)
    for kind, path in re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        for entry in path.split(":"):
            if not entry.startswith("/"):
                yield f"{kind} '{path}': entry '{entry}', expected absolute folders"
    if not re.search(r"BIND_NOW|FLAGS_1\).*\bNOW\b", dynamic):
        yield "symbols are bound lazily, expected -z now"
    if not re.search(r"FLAGS_1\).*\bPIE\b", dynamic):
        yield "not position-independent, expected -pie"
    if "GNU_RELRO" not in segments:
        yield "no GNU_RELRO segment, expected -z relro"
    if not re.search(r"GNU_STACK.* RW ", segments):
        yield "the stack is executable, expected -z noexecstack"
    if "__stack_chk_fail" not in symbols:
        yield "no stack protector, expected -fstack-protector-strong"
    if not plain and not re.search(r"__v?snprintf_chk", symbols):
        yield "calls are not checked, expected -D_FORTIFY_SOURCE=2"


if __name__ == "__main__":
    found = list(problems(sys.argv[1], "--plain" in sys.argv[2:]))
    for problem in found:
        print(f"{sys.argv[1]}: {problem}")
    if not found:
        print("binary: linked and compiled as it has to be")
    sys.exit(bool(found))
