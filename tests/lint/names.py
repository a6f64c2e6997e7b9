#!/usr/bin/env python3
"""Holds names: a public function starts with its file's noun or with a type of its folder, and a
local, parameter or member is called by a noun.
"""
import collections
import pathlib
import re
import sys

FLOORS = ("core", "precision", "physics", "solvers", "sim", "tests")
SOURCES = {".c", ".h", ".cu"}
FUNCTION = re.compile(r"^(?:BB_\w+ |extern |static inline |inline )*[\w \*]*?\b(bb_[a-z0-9_]+)\(")
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) (bb_\w+)|^\} (bb_\w+);")
SUFFIX = re.compile(r"_(cuda|mpi|core|row|ops|parts)$")
LOCAL = re.compile(
    r"(?:^|[(,;{]|\bconst|\bstatic)\s*(?:const\s+|static\s+|unsigned\s+|struct\s+)*"
    r"(?!return\b|else\b|goto\b|case\b|sizeof\b|if\b|while\b|delete\b|new\b)"
    r"[A-Za-z_]\w*(?:\s+const)?[\s*&]+(?:const\s+)?\b(of|at|to|from|whole|most|left)\b"
    r"\s*(?=[=;,)\[{])"
)
CODE = re.compile(r'//.*|"(?:\\.|[^"\\])*"')


def types_of(path):
    return {match.group(1) or match.group(2) for match in map(TYPE.match, path) if match}


def odd_functions(root):
    headers = [path for floor in FLOORS[:-1] for path in sorted((root / floor).rglob("*.h"))]
    types = collections.defaultdict(set)
    for path in headers:
        types[path.parent] |= types_of(path.read_text(encoding="utf-8").splitlines())
    for path in headers:
        noun = "bb_" + SUFFIX.sub("", path.stem)
        known = (noun, *types[path.parent], *types[path.parent.parent])
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = FUNCTION.match(line)
            if match and line[0] not in " #/" and not match.group(1).startswith(known):
                yield f"{path.relative_to(root)}:{number}: {match.group(1)}, expected {noun}_..."


def odd_locals(root):
    for floor in FLOORS:
        for path in sorted((root / floor).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for match in LOCAL.finditer(CODE.sub("", line)):
                    yield f"{path.relative_to(root)}:{number}: '{match.group(1)}' is no noun"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = [*odd_functions(root), *odd_locals(root)]
    print("\n".join(found) or "names: functions start with their file's noun, locals are nouns")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
