#!/usr/bin/env python3
"""Holds the floors of the house: which folder may include which, and how long a file may grow."""
import pathlib
import re
import sys

ALLOWED = {
    "core": {"core"},
    "precision": {"precision", "core"},
    "physics": {"physics", "core"},
    "solvers": {"solvers", "precision", "core"},
    "sim": {"sim", "solvers", "precision", "physics", "core"},
    "tests": {"tests", "sim", "solvers", "precision", "physics", "core"},
}
# Libraries that only one floor may know.
ONLY_SIM = ("yaml.h", "hdf5.h", "hdf5_hl.h")
# The floor itself, and tests that write or compare files behind its back.
KNOW_FILES = ("sim/", "tests/sim/", "tests/fuzz/")
MAX_LINES = 600
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def complaints(root):
    for floor, allowed in ALLOWED.items():
        for path in sorted((root / floor).rglob("*")):
            if path.suffix not in {".c", ".h", ".cu", ".cuh", ".cl"}:
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
            name = path.relative_to(root)
            if len(lines) > MAX_LINES:
                yield f"{name}: {len(lines)} lines, at most {MAX_LINES}"
            if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
                yield f"{name}:1: no SPDX line"
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                quote, target = match.groups()
                top = target.split("/")[0]
                if quote == '"' and target != "build_info.h" and top not in allowed:
                    yield f"{name}:{number}: {floor}/ may not include {target}"
                if target in ONLY_SIM and not str(name).startswith(KNOW_FILES):
                    yield f"{name}:{number}: only sim/ may include {target}"
                if quote == '"' and not (root / target).exists() and target != "build_info.h":
                    yield f"{name}:{number}: {target} does not exist"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(complaints(root))
    print("\n".join(found) or "floors: all includes keep to the plan")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
