#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that a change moved no number: every shipped study, run by two builds, file against file.

    tests/same_numbers.py BEFORE AFTER [--seconds 120] [--map FILE] [--jobs 2] [--keep DIR] [STUDY ...]

BEFORE and AFTER are programs (build/bitbudget). Each study of configs/ that BEFORE
ends in --seconds is run by AFTER too; compared are reproducible_digest of the file and, dataset by
dataset to the bit, all that is not marked as measured. A line `old new` of the map says that a
dataset (or a whole group) of BEFORE has another path in AFTER, `old -` that it is gone, `- new`
that it came; with a map the digest, which holds the paths, is not compared. --keep DIR stores
BEFORE's files there, and reads them on the next call instead of running BEFORE again. A study that
takes too long, or that wants another device, is named and not counted as equal. Exit code 1 where
anything differs or a program fails that did not before.
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
except ImportError as error:
    sys.exit(f"same_numbers: {error}; packages python3-h5py, python3-numpy")

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a run was asked, and what it says of itself and of its machine.
OWN_STORY = ("provenance", "study")


def run(program, study, file, seconds):
    """None where the file is whole, else why it is not."""
    command = [program, "run", study, "-o", file, "--force", "-q", "--device", "cpu", "--threads", "1"]
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"over {seconds:g} s"
    return None if done.returncode == 0 else f"exit {done.returncode}: {last_line(done.stderr)}"


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1]


def reproducible(file):
    """The digest, and each reproducible dataset as (shape, values, type, unit)."""
    found = {}

    def visit(group, path):
        for name, node in group.items():
            if isinstance(node, h5py.Group):
                if path + name not in OWN_STORY:
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
    """Whether the root only shows a dataset of /results."""
    return name in root.get("results", {}) and root[name] == root["results"][name]


def load_map(path):
    pairs = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words:
            pairs.append((words[0], words[1]))
    return pairs


def mapped(name, pairs):
    """The path after, or None where the map says that it is gone."""
    for old, new in pairs:
        if name == old or name.startswith(old + "/"):
            return None if new == "-" else new + name[len(old):]
    return name


def differences(before, after, pairs):
    old_digest, old = reproducible(before)
    new_digest, new = reproducible(after)
    expected = {mapped(name, pairs): value for name, value in old.items() if mapped(name, pairs)}
    came = tuple(path for gone, path in pairs if gone == "-")
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


def verdict(study, options, folder):
    name = str(study.relative_to(ROOT)).replace("/", "-").removesuffix(".yaml")
    before = (options.keep or folder) / f"{name}.before.h5"
    why_not = before.with_suffix(".txt")
    if not before.exists() and not (options.keep and why_not.exists()):
        reason = run(options.before, study, before, options.seconds)
        if reason:
            before.unlink(missing_ok=True)
            why_not.write_text(reason, encoding="utf-8")
    if not before.exists():
        return "left", study, [why_not.read_text(encoding="utf-8")]
    after = folder / f"{name}.after.h5"
    reason = run(options.after, study, after, 3 * options.seconds)
    found = [reason] if reason else list(differences(before, after, options.pairs))
    after.unlink(missing_ok=True)
    return "differs" if found else "equal", study, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("studies", nargs="*", type=pathlib.Path, metavar="STUDY")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--map", dest="pairs", type=load_map, default=[])
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    studies = [path.resolve() for path in options.studies]
    studies = studies or sorted(ROOT.glob("configs/*/*.yaml"))
    count = dict.fromkeys(("equal", "differs", "left"), 0)
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for state, study, found in pool.map(
                lambda study: verdict(study, options, pathlib.Path(folder)), studies):
            count[state] += 1
            print(f"{state:8}{study.relative_to(ROOT)}", *found[:12], sep="\n        ", flush=True)
    print(f"{count['equal']} equal, {count['differs']} differ, {count['left']} not compared")
    return 1 if count["differs"] or not count["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
