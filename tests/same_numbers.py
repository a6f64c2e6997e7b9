#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the results of two builds bit by bit, for every shipped study.

    tests/same_numbers.py BEFORE AFTER [--device cpu|cuda|opencl] [--full] [--seconds 120] [--jobs 2]
                          [--map FILE] [--keep DIR] [STUDY ...]

BEFORE and AFTER are programs (build/bitbudget). Without STUDY, a name such as ao/quick or a file,
both run every file of configs/, including plans of sweeps. OLD=NEW is a renamed study. A program
reads the configs/ of its own tree, or of this tree if its build folder has been copied elsewhere.
Long studies run at the smaller sizes of REDUCED; --full uses their own sizes. The comparison covers
reproducible_digest and all datasets that are not marked as measured.

A study that BEFORE refuses or does not finish within --seconds counts as not run and is listed with
the reason. A line `old new` of the map: a dataset or group of BEFORE has another path in AFTER;
`old -`: AFTER does not have it; `- new`: only AFTER has it. The digest includes the paths, so it is
not compared with a map. --keep DIR stores BEFORE's files; the next call reads them instead of
running BEFORE again. Exit code 1: a study differs, AFTER fails where BEFORE succeeds, or nothing was
compared.
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
except ImportError as error:
    sys.exit(f"same_numbers: {error}; packages python3-h5py, python3-numpy")

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Groups of a file that describe the call, the machine and the program.
NOT_RESULTS = ("provenance", "study")

# Overrides that let a study end within seconds on one core; the first pattern that fits counts.
AO = ["telescope.diameter_m=8", "sensors.lenslets=8", "solver.tile=128"]
WAFER = ["mesh.spacing_mm=2", "response.grid.columns=64", "response.grid.rows=63",
         "response.slit_points.columns=5", "response.slit_points.rows=5"]
REDUCED = {
    "ao/fig2-*": [*AO, "solver.spectrum.tiles=[{row: 0, column: 0}, {row: 2, column: 1}]"],
    "ao/fig5-*": [*AO, "sensors.lenslets=6"],
    "ao/learn": ["learn.frames=128"],
    "ao/monte-carlo-moao": ["sensors.lenslets=8", "monte_carlo.frames=8"],
    "ao/monte-carlo-*": ["monte_carlo.frames=40"],
    "ao/night-drift": ["night.hours=1.5", "night.scored_hours=0.5"],
    "ao/night-walk": ["night.hours=2.4", "night.scored_hours=0.2"],
    "ao/rtc-fewest-mavis": [*AO, "frame_times.frames=20", "mirrors.0.pitch_m=1",
                            "mirrors.1.pitch_m=1.2", "mirrors.2.pitch_m=1.5"],
    "ao/rtc-fewest-mcao": [*AO, "sensors.lenslets=6"],
    "ao/rtc-fewest-morfeo": [*AO, "frame_times.frames=20", "mirrors.0.pitch_m=1"],
    "ao/rtc-fewest-[hm]*": [*AO, "frame_times.frames=20"],
    "ao/rtc-fewest-nx456": [],
    "ao/rtc-fewest-*": AO,
    "ao/rtc-*-like": AO,
    "ao/rtc-vlt-3136": AO,
    "ao/time-domain": ["time_domain.realisations=3"],
    "ao/elt-*": AO,
    "ao/glao": AO,
    "ao/ltao": AO,
    "ao/mcao-*": ["sensors.lenslets=10", "solver.tile=128"],
    "ao/mosaic-*": AO,
    "ao/max-loss-*": AO,
    "ao/vlt-*": AO,
    "fringe/[ln]*": ["size.columns=512", "size.rows=480"],
    "fringe/seed-*": ["size.columns=512", "size.rows=480"],
    "sweeps/ao-conditions": ["sensors.lenslets=6", "sweep.axes={atmosphere.seeing_arcsec: [0.5, 0.8], "
                             "telescope.zenith_angle_deg: [0, 45]}"],
    "sweeps/ao-width": ["sensors.lenslets=8", "sweep.axes={telescope.zenith_angle_deg: [0, 45]}"],
    "sweeps/wafer-dose": [*WAFER, "sweep.axes={scan.dose_mj_per_cm2: [10, 60]}"],
    "wafer/realtime-wafer": [*WAFER, "response.field_rows=21", "scan.usable_radius_mm=50"],
    "wafer/realtime-*": [*WAFER, "response.field_rows=21"],
    "wafer/[fmpsz]*": [*WAFER, "response.field_rows=21"],
    "wafer/*": WAFER,
}


def study_file(program, study):
    for tree in (program.resolve().parent.parent, ROOT):
        file = tree / "configs" / f"{study}.yaml"
        if file.is_file():
            return file
    return pathlib.Path(study).resolve()


def overrides(study, options):
    if options.full:
        return []
    words = next((words for pattern, words in REDUCED.items() if fnmatch.fnmatch(study, pattern)), [])
    # On CUDA the tile of a factorization must be a multiple of 128.
    factors_on_cuda = options.device == "cuda" and fnmatch.fnmatch(study, "*ao[-/]*")
    return [*words, "solver.tile=128"] if factors_on_cuda else words


def run(program, study, words, file, options, seconds):
    """Runs a study and writes its results. Returns None, or the reason for a failure."""
    config = study_file(program, study)
    if not config.is_file():
        return "no such study"
    is_sweep = re.search(r"^sweep:", config.read_text(encoding="utf-8"), re.MULTILINE)
    command = [program, *(["sweep", "--jobs", "1"] if is_sweep else ["run", "--deterministic"]), config,
               *words,
               "-o", file, "-q", "--device", options.device, "--threads", "1"]
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"over {seconds:g} s"
    return None if done.returncode == 0 else f"exit {done.returncode}: {reason(done.stderr)}"


def reason(stderr):
    """The first problem; the last line is only a count."""
    return next((line for line in stderr.splitlines() if line and " warning: " not in line), "no message")


def reproducible(file):
    """The digest, and each reproducible dataset as (shape, values, type, unit)."""
    found = {}

    def visit(group, path):
        for name, node in group.items():
            if isinstance(node, h5py.Group):
                if path + name not in NOT_RESULTS:
                    visit(node, f"{path}{name}/")
            elif "measured" not in node.attrs and not (path == "" and is_link(group, name)):
                is_text = h5py.check_string_dtype(node.dtype) is not None
                values = numpy.asarray(node.asstr()[()] if is_text else node[()])
                found[path + name] = (values.shape,
                                      values.tolist() if is_text else values.tobytes(),
                                      str(node.dtype), str(node.attrs.get("units", "")))

    with h5py.File(file, "r") as data:
        visit(data, "")
        return str(data.attrs["reproducible_digest"]), found


def is_link(root, name):
    """Whether a dataset of the root is a link to one of /results."""
    return name in root.get("results", {}) and root[name] == root["results"][name]


def load_map(path):
    pairs = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words:
            pairs.append((words[0], words[1]))
    return pairs


def mapped(name, pairs):
    """The path in AFTER, or None if the map removes it."""
    for old, new in pairs:
        if name == old or name.startswith(old + "/"):
            return None if new == "-" else new + name[len(old):]
    return name


def differences(before, after, pairs):
    old_digest, old = reproducible(before)
    new_digest, new = reproducible(after)
    expected = {mapped(name, pairs): value for name, value in old.items() if mapped(name, pairs)}
    came = tuple(path for gone, path in pairs if gone == "-")
    if not expected:
        yield "no dataset to compare"
    for name in sorted(expected.keys() | new.keys()):
        if name not in new:
            yield f"{name} is gone"
        elif name not in expected:
            if name not in came and not name.startswith(tuple(path + "/" for path in came)):
                yield f"{name} came"
        elif expected[name] != new[name]:
            yield f"{name} differs"
    if not pairs and old_digest != new_digest:
        yield f"reproducible_digest {old_digest} -> {new_digest}"


def compare(study, options):
    """Compares one study: its state and a description."""
    old, new = study.split("=")[0], study.split("=")[-1]
    words = overrides(new, options)
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder, "before.h5"), pathlib.Path(folder, "after.h5")
        kept = options.keep and options.keep / kept_name(study, options)
        if kept and kept.exists():
            shutil.copy(kept, before)
        else:
            problem = run(options.before, old, words, before, options, options.seconds)
            if problem:
                return "not run", study, [problem]
            if kept:
                shutil.copy(before, kept)
        problem = run(options.after, new, words, after, options, 3 * options.seconds)
        found = [f"AFTER: {problem}"] if problem else list(differences(before, after, options.pairs))
        return "differs" if found else "equal", study, found


def kept_name(study, options):
    asked = f"{options.device} {overrides(study, options)}"
    return f"{study.replace('/', '-')}-{hashlib.sha1(asked.encode()).hexdigest()[:8]}.h5"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--map", dest="pairs", type=load_map, default=[])
    options = parser.parse_intermixed_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    configs = ROOT / "configs"
    studies = options.studies or sorted(str(file.relative_to(configs).with_suffix(""))
                                        for file in configs.glob("**/*.yaml")
                                        if file.relative_to(configs).parts[0] != "kernels")
    results = {"equal": [], "differs": [], "not run": []}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for state, study, found in pool.map(lambda study: compare(study, options), studies):
            results[state].append((study, found))
            print(f"{state:8} {study}", *found[:12], sep="\n         ", flush=True)
    print(*(f"{len(results[state])} {name}" for state, name in
            (("equal", "equal"), ("differs", "differ"), ("not run", "not run"))), sep=", ")
    for study, found in results["not run"]:
        print(f"not run  {study}: {found[0]}")
    return 1 if results["differs"] or not results["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
