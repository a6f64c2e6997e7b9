#!/usr/bin/env python3
"""Check names of public functions: names.py [ROOT]

A name must start with the name of its file or with a type declared in the same folder or its
parent.
"""
import collections
import pathlib
import re
import sys

LAYERS = ("core", "precision", "physics", "solvers", "sim", "bench")
FUNCTION = re.compile(r"^(?:BB_\w+ |extern |static inline |inline )*[\w \*]*?\b(bb_[a-z0-9_]+)\(")
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) (bb_\w+)|^\} (bb_\w+);")
SUFFIX = re.compile(r"_(cuda|mpi|core|row|ops|parts)$")


def types_of(lines):
    return {match.group(1) or match.group(2) for match in map(TYPE.match, lines) if match}


def errors(root):
    headers = {path: path.read_text(encoding="utf-8").splitlines()
               for layer in LAYERS for path in sorted((root / layer).rglob("*.h"))}
    types = collections.defaultdict(set)
    for path, lines in headers.items():
        types[path.parent] |= types_of(lines)
    for path, lines in headers.items():
        noun = "bb_" + SUFFIX.sub("", path.stem)
        prefixes = (noun, *types[path.parent], *types[path.parent.parent])
        for number, line in enumerate(lines, 1):
            match = FUNCTION.match(line)
            if match and line[0] not in " #/" and not match.group(1).startswith(prefixes):
                yield f"{path.relative_to(root)}:{number}: {match.group(1)}, expected {noun}_..."


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(errors(root))
    print("\n".join(found) or "names: no errors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
