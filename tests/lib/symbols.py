#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the symbols of libbitbudget with its header and version script: symbols.py ROOT LIBRARY

The library exports the functions of lib/bitbudget.h and nothing else, has the soname
libbitbudget.so.0, and calls neither exit nor the printing functions of stdout.
"""
import pathlib
import re
import subprocess
import sys

# The static run-time library of CUDA calls exit after an internal error.
CUDA = b"CUDA driver version is insufficient"
FORBIDDEN = {"exit", "quick_exit", "printf", "__printf_chk", "puts", "putchar", "stdout"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def errors(root, library):
    header = (root / "lib/bitbudget.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"^BB_API [^;]*?\b(bb_\w+)\(", header, re.MULTILINE))
    listed = set(re.findall(r"^    (bb_\w+);$", (root / "lib/bitbudget.map").read_text(encoding="utf-8"),
                            re.MULTILINE))
    lines = [line.split() for line in run("nm", "-D", library).splitlines()]
    exported = {fields[-1].split("@")[0] for fields in lines if fields[-2] in "TDBRVW"}
    for name in sorted(declared ^ listed):
        yield f"{name}: in only one of bitbudget.h and bitbudget.map"
    for name in sorted(declared ^ exported):
        yield f"{name}: {'not exported' if name in declared else 'exported, but not in bitbudget.h'}"
    own = FORBIDDEN - ({"exit"} if CUDA in pathlib.Path(library).read_bytes() else set())
    for name in sorted(own & {f[-1].split("@")[0] for f in lines if f[-2] == "U"}):
        yield f"{name}: a library may not call it"
    if "[libbitbudget.so.0]" not in run("readelf", "-d", library):
        yield "soname: expected libbitbudget.so.0"


def main():
    found = list(errors(pathlib.Path(sys.argv[1]), sys.argv[2]))
    print("\n".join(found) or "symbols: no errors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
