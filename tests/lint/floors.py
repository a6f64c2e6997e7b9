#!/usr/bin/env python3
"""Holds the floors and rooms of the house: which folder may include which, and how large it may be.

A folder is a room. A file includes its own room, the rooms around it and those inside it; beyond
that only along EDGES, which hold for all that lies inside a room. Words of one floor stay off the
others, and those of a GPU vendor in core/device/ and in *_cuda.* files. What a run writes is
declared in tables. Processes are started by sim/ and by the compiler of core/device/.
"""
import collections
import pathlib
import re
import sys

# Room: the rooms beside it that it may include. Rooms that are not named have EXPERIMENT.
EDGES = {
    "precision": {"core"},
    "physics": {"core"},
    "solvers": {"precision", "core"},
    "sim": {"solvers", "precision", "physics", "core"},
    "tests": {"sim", "solvers", "precision", "physics", "core"},
    "physics/ao/score": {"physics/ao/covariance", "physics/ao/mirrors"},
    "physics/ao/learn": {"physics/ao/covariance", "physics/ao/mirrors"},
    "physics/ao/frames": {"physics/ao/covariance", "physics/ao/mirrors"},
    "physics/ao/night": {"physics/ao/covariance"},
    "physics/wafer/overlay": {"physics/wafer/heat", "physics/wafer/response"},
    "solvers/operator": {"solvers/gpu", "solvers/kernels"},
    "solvers/factor": {"solvers/gpu"},
    "solvers/distributed": {"solvers/factor"},
    "solvers/step": {"solvers/gpu"},
    "solvers/loop": {"solvers/gpu", "solvers/operator", "solvers/step"},
    "solvers/unwrap": {"solvers/kernels"},
    "solvers/kernels/language": set(),
    "solvers/kernels/program": {"solvers/kernels/language"},
    "solvers/kernels/emission": {"solvers/kernels/language", "solvers/kernels/program"},
    "solvers/kernels/tuning": {"solvers/kernels/emission", "solvers/kernels/language", "solvers/kernels/program"},
    "solvers/kernels/objects": {"solvers/kernels/language", "solvers/kernels/program"},
    "sim/output": {"sim/config", "sim/input"},
    "sim/kernels": {"sim/config", "sim/input", "sim/output"},
    "sim/pipelines": {"sim/config", "sim/input", "sim/kernels", "sim/output"},
    "sim/config": {"sim/input"},
    "sim/input": set(),
    "sim/bench": {"sim/config", "sim/kernels", "sim/output", "sim/wafer"},
    "sim/wafer/pass": {"sim/wafer/heat", "sim/config", "sim/output", "sim/pipelines"},
    "sim/realtime": {"sim/config", "sim/input", "sim/output", "sim/pipelines"},
    "sim/report": {"sim/config", "sim/input", "sim/output"},
    "sim/sweep": {"sim/config", "sim/input", "sim/output", "sim/pipelines"},
    "sim/command": {"sim/bench", "sim/config", "sim/kernels", "sim/output", "sim/report", "sim/sweep"},
}
# Of rooms that are not named: an experiment's, in sim/.
EXPERIMENT = {"sim/config", "sim/input", "sim/kernels", "sim/output", "sim/pipelines", "sim/realtime"}
FLOORS = ("core", "precision", "physics", "solvers", "sim", "tests")
# Libraries that only one floor may know: the floor, and tests that write or compare files behind
# its back.
ONLY_SIM = ("yaml.h", "hdf5.h", "hdf5_hl.h")
KNOW_FILES = ("sim/", "tests/sim/", "tests/fuzz/")
# Words that a floor does not know, in code and comments alike.
WORDS = {
    "core": r"strehl|overlay|wafer|reticle|codec",
    "precision": r"strehl|overlay|wafer|telescope|laser|turbulence|slit",
    "physics": r"bfp|low_rank|e4m3|fp16|bf16|tf32",
    "solvers": r"strehl|overlay|telescope|laser|turbulence|hdf5|yaml",
}
VENDOR = re.compile(
    r"\b(cuda|cublas|cusolver|nvml|cl|cu)[A-Z]\w*|\bCU[a-z]\w*|\bcl_[a-z]\w*|\b__(half|global__)\b"
    r"|\bcu(da|blas|solver)_\w*\.h\b|\bCL/"
)
CODE = re.compile(r'//.*|"(?:\\.|[^"\\])*"')  # what is not: comments and texts
VENDOR_PLACES = re.compile(r"^core/device/|_cuda\.|\.cl$|^tests/")
# Datasets come from declared tables (sim/output/output_table.h): who adds one itself, and why.
ADDS = re.compile(r"\bbb_results_(values|measured|texts|axis|text_axis)\(")
# A collection has the datasets that its points' experiments declared, over more axes.
MAY_ADD = ("sim/output/", "sim/sweep/collection_file.c", "tests/")
STARTS = re.compile(r"\b(posix_spawnp?|v?fork|exec[vl]\w*|system|popen)\(")
MAY_START = ("sim/", "core/device/", "tests/")
MAX_LINES = 600
MAX_FILES = 40
GENERATED = ("build_info.h", "shipped_kernels.h")  # in the build folder
SOURCES = {".c", ".h", ".cu", ".cuh", ".cl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def may_include(room, other):
    """Whether a file of `room` may include one of `other`, both as paths of folders."""
    mine, its = room.split("/"), other.split("/")
    if mine[0] == its[0] == "tests":
        mine, its = mine[1:], its[1:]  # they mirror the tree
    common = 0
    while common < min(len(mine), len(its)) and mine[common] == its[common]:
        common += 1
    if common in (len(mine), len(its)):
        return True
    return "/".join(its[: common + 1]) in EDGES.get("/".join(mine[: common + 1]), EXPERIMENT)


def include_complaints(root, name, number, quote, target):
    room = str(pathlib.PurePath(name).parent)
    if target in ONLY_SIM and not name.startswith(KNOW_FILES):
        yield f"{name}:{number}: only sim/ may include {target}"
    if quote != '"' or target in GENERATED:
        return
    if not (root / target).exists():
        yield f"{name}:{number}: {target} does not exist"
    elif not may_include(room, str(pathlib.PurePath(target).parent)):
        yield f"{name}:{number}: {room}/ may not include {target}"
    if target.endswith("_cuda.h") and not re.search(r"\.cu$|_cuda\.[ch]$", name):
        yield f"{name}:{number}: {target} is for .cu files"


def line_complaints(root, name, number, line):
    match = INCLUDE.match(line)
    if match:
        yield from include_complaints(root, name, number, *match.groups())
    word = re.search(WORDS.get(name.split("/")[0], r"(?!)"), line, re.IGNORECASE)
    if word and not match:
        yield f"{name}:{number}: {name.split('/')[0]}/ does not know the word {word.group(0)}"
    if ADDS.search(line) and not name.startswith(MAY_ADD):
        yield f"{name}:{number}: datasets are declared in a table, see sim/output/output_table.h"
    word = STARTS.search(CODE.sub("", line))
    if word and not name.startswith(MAY_START):
        yield f"{name}:{number}: {word.group(1)} starts a process, which only sim/ and core/device/ do"
    word = VENDOR.search(line if match else CODE.sub("", line))
    if word and not VENDOR_PLACES.search(name):
        yield f"{name}:{number}: {word.group(0)} belongs into core/device/ or a *_cuda file"


def linkage_complaints(root):
    """Headers that say extern "C" though no .cu file reads them."""
    texts = {}
    for floor in FLOORS:
        for path in (root / floor).rglob("*"):
            if path.suffix in SOURCES:
                texts[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    pending = [name for name in texts if name.endswith(".cu")]
    reached = set(pending)
    while pending:
        included = set(re.findall(r'#include "([^"]+)"', texts.get(pending.pop(), ""))) - reached
        reached |= included
        pending += included
    for name in sorted(set(texts) - reached):
        if name.endswith(".h") and 'extern "C" {' in texts[name]:
            yield f'{name}: extern "C", though no .cu file includes it'


def complaints(root):
    yield from linkage_complaints(root)
    folders = collections.Counter()
    for floor in FLOORS:
        for path in sorted((root / floor).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            name = path.relative_to(root).as_posix()
            folders[path.relative_to(root).parent.as_posix()] += 1
            lines = path.read_text(encoding="utf-8").splitlines()
            if len(lines) > MAX_LINES:
                yield f"{name}: {len(lines)} lines, at most {MAX_LINES}"
            if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
                yield f"{name}:1: no SPDX line"
            for number, line in enumerate(lines, 1):
                yield from line_complaints(root, name, number, line)
    for folder, count in sorted(folders.items()):
        if count > MAX_FILES:
            yield f"{folder}/: {count} files, at most {MAX_FILES}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(complaints(root))
    print("\n".join(found) or "floors: all includes, words and sizes keep to the plan")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
