#!/usr/bin/env python3
"""Check the include rules and the other rules between layers: layers.py [ROOT]

A folder at the top is a layer, a folder inside it a room. A file may include its own room, the
rooms around it and inside it, and the rooms that EDGES lists. Further rules: an SPDX line in every
file; words of one layer stay out of the others; vendor words only in core/device/ and *_cuda files;
datasets are declared in tables; only some folders start processes; extern "C" only where a .cu file
reads the header.
"""
import pathlib
import re
import sys

# Room: other rooms that it and all rooms inside it may include. EXPERIMENT is the default.
EDGES = {
    "precision": {"core"},
    "physics": {"core"},
    "solvers": {"precision", "core"},
    "lib": {"solvers", "precision", "core"},
    "sim": {"solvers", "precision", "physics", "core"},
    "bench": {"sim", "solvers", "precision", "physics", "core"},
    "tests": {"bench", "sim", "lib", "solvers", "precision", "physics", "core"},
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
    "sim/input": set(),
    "sim/config": {"sim/input"},
    "sim/run": {"sim/config", "sim/input"},
    "sim/output": {"sim/config", "sim/input", "sim/run"},
    "sim/kernels": {"sim/config", "sim/input", "sim/output", "sim/run"},
    "sim/pipelines": {"sim/config", "sim/input", "sim/kernels", "sim/output", "sim/run"},
    "sim/realtime": {"sim/config", "sim/input", "sim/output", "sim/pipelines", "sim/run"},
    "sim/sweep": {"sim/config", "sim/input", "sim/output", "sim/pipelines", "sim/run"},
    "sim/cli": {"sim/config", "sim/input", "sim/kernels", "sim/output", "sim/pipelines", "sim/run", "sim/sweep"},
}
# Rooms without an entry belong to experiments in sim/.
EXPERIMENT = {"sim/config", "sim/input", "sim/kernels", "sim/output", "sim/pipelines", "sim/realtime", "sim/run"}
LAYERS = ("core", "precision", "physics", "solvers", "lib", "sim", "bench", "tests")
# Library headers that only sim/ and tests that write or compare files directly may include.
FILE_LIBRARIES = ("yaml.h", "hdf5.h", "hdf5_hl.h")
MAY_USE_FILES = ("sim/", "tests/sim/", "tests/fuzz/")
# Forbidden words of each layer, in code and comments.
FORBIDDEN_WORDS = {
    "core": r"strehl|overlay|wafer|reticle|codec",
    "precision": r"strehl|overlay|wafer|telescope|laser|turbulence|slit",
    "physics": r"bfp|low_rank|e4m3|fp16|bf16|tf32",
    "solvers": r"strehl|overlay|telescope|laser|turbulence|hdf5|yaml",
    "lib": r"strehl|overlay|telescope|laser|turbulence|hdf5|yaml",
}
VENDOR_WORDS = re.compile(
    r"\b(cuda|cublas|cusolver|nvml|cl|cu)[A-Z]\w*|\bCU[a-z]\w*|\bcl_[a-z]\w*|\b__(half|global__)\b"
    r"|\bcu(da|blas|solver)_\w*\.h\b|\bCL/"
)
VENDOR_FILES = re.compile(r"^core/device/|_cuda\.|\.cl$|^tests/")
COMMENT_OR_STRING = re.compile(r'//.*|"(?:\\.|[^"\\])*"')
# Datasets are declared in tables (sim/output/output_table.h). A collection repeats the declared
# datasets of its points along more axes, so its file may add them.
DATASET_CALL = re.compile(r"\bbb_results_(values|measured|texts|axis|text_axis)\(")
MAY_ADD_DATASETS = ("sim/output/", "sim/sweep/collection_file.c", "tests/")
PROCESS_START = re.compile(r"\b(posix_spawnp?|v?fork|exec[vl]\w*|system|popen)\(")
PUBLIC_HEADERS = ("lib/bitbudget.h",)  # for C++ too
MAY_START_PROCESSES = ("sim/", "core/address_space.c", "core/isolation.c", "core/work_folder.c", "tests/")
GENERATED = ("build_info.h", "shipped_kernels.h")  # in the build folder
SOURCES = {".c", ".h", ".cu", ".cuh", ".cl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def may_include(room, other):
    """Whether files of folder `room` may include files of folder `other`."""
    mine, its = room.split("/"), other.split("/")
    if mine[0] == its[0] == "tests":
        mine, its = mine[1:], its[1:]  # tests/ has the same folders as the root
    common = 0
    while common < min(len(mine), len(its)) and mine[common] == its[common]:
        common += 1
    if common in (len(mine), len(its)):
        return True
    return "/".join(its[: common + 1]) in EDGES.get("/".join(mine[: common + 1]), EXPERIMENT)


def include_errors(root, name, quote, target):
    room = str(pathlib.PurePath(name).parent)
    if target in FILE_LIBRARIES and not name.startswith(MAY_USE_FILES):
        yield f"only sim/ may include {target}"
    if quote != '"' or target in GENERATED:
        return
    if not (root / target).exists():
        yield f"{target} does not exist"
    elif not may_include(room, str(pathlib.PurePath(target).parent)):
        yield f"{room}/ may not include {target}"
    if target.endswith("_cuda.h") and not re.search(r"\.cu$|_cuda\.[ch]$", name):
        yield f"only .cu and *_cuda files may include {target}"


def line_errors(root, name, line):
    layer = name.split("/")[0]
    code = COMMENT_OR_STRING.sub("", line)
    include = INCLUDE.match(line)
    if include:
        yield from include_errors(root, name, *include.groups())
    word = re.search(FORBIDDEN_WORDS.get(layer, r"(?!)"), line, re.IGNORECASE)
    if word and not include:
        yield f"the word {word.group(0)} is not allowed in {layer}/"
    if DATASET_CALL.search(line) and not name.startswith(MAY_ADD_DATASETS):
        yield "declare datasets in a table (sim/output/output_table.h)"
    word = PROCESS_START.search(code)
    if word and not name.startswith(MAY_START_PROCESSES):
        yield f"{word.group(1)}: only sim/ and the files of MAY_START_PROCESSES may start processes"
    word = VENDOR_WORDS.search(line if include else code)
    if word and not VENDOR_FILES.search(name):
        yield f"{word.group(0)} is only allowed in core/device/ and *_cuda files"


def linkage_errors(texts):
    """Headers with extern "C" that no .cu file includes, directly or through other headers."""
    pending = [name for name in texts if name.endswith(".cu")]
    reached = set(pending)
    while pending:
        included = set(re.findall(r'#include "([^"]+)"', texts.get(pending.pop(), ""))) - reached
        reached |= included
        pending += included
    for name in sorted(set(texts) - reached):
        if name.endswith(".h") and 'extern "C" {' in texts[name] and name not in PUBLIC_HEADERS:
            yield f'{name}: extern "C", but no .cu file includes this header'


def errors(root):
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for layer in LAYERS for path in sorted((root / layer).rglob("*"))
             if path.suffix in SOURCES}
    yield from linkage_errors(texts)
    for name, text in texts.items():
        lines = text.splitlines()
        if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
            yield f"{name}:1: no SPDX line"
        for number, line in enumerate(lines, 1):
            yield from (f"{name}:{number}: {error}" for error in line_errors(root, name, line))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(errors(root))
    print("\n".join(found) or "layers: no errors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
