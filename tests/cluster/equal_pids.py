#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Concurrent runs in one folder whose processes have equal ids, as in containers.

    equal_pids.py BITBUDGET FOLDER

Every pair writes the same result file, and the same shard of one sweep. Exit 77: skipped.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import nightly

PAIRS = 200 if nightly.IS_WHOLE else 40
STUDY = """experiment: product
device: cpu
matrix: {file: rows.h5, dataset: /rows}
vectors: 2
pipelines:
  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}
  - {name: single, storage: fp32, multiply: fp32, accumulate: fp64}
"""


def start(program, *words):
    return subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", program, *words],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def main():
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    try:
        import h5py
        import numpy as np
    except ImportError as error:
        print("skipped:", error)
        sys.exit(77)
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        print("skipped: no process namespaces may be made here")
        sys.exit(77)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    with h5py.File("rows.h5", "w") as file:
        file["rows"] = np.cos(np.arange(600.0)).reshape(20, 30)
    with open("study.yaml", "w") as file:
        file.write(STUDY)
    with open("plan.yaml", "w") as file:
        file.write(STUDY + f"sweep: {{seeds: 1..{PAIRS}, shards: {PAIRS}}}\n")
    subprocess.run([program, "sweep", "plan", "plan.yaml", "points"], check=True,
                   stdout=subprocess.DEVNULL)
    for pair in range(1, PAIRS + 1):
        both = [start(program, "run", "study.yaml", "-q", "--force", "-o", "same.h5")
                for _ in range(2)]
        both += [start(program, "sweep", "run", "points", "--shard", f"{pair}/{PAIRS}", "-q")
                 for _ in range(2)]
        for one in both:
            message = one.communicate()[1]
            assert one.returncode == 0, f"pair {pair}: exit {one.returncode}, {message}"
        with h5py.File("same.h5") as file:
            assert file.attrs["status"] == b"complete" or file.attrs["status"] == "complete"
    names = sorted(os.listdir("."))
    assert names == ["plan.yaml", "points", "rows.h5", "same.h5", "study.yaml"], names
    status = subprocess.run([program, "sweep", "status", "points"], capture_output=True, text=True)
    assert status.stdout.startswith(f"{PAIRS} of {PAIRS} done\n"), status
    pids = set()
    for name in os.listdir("points/shards"):
        with open(f"points/shards/{name}") as file:
            pids.add(file.readline().split('"pid":')[1].strip("}\n"))
    assert pids == {"1"}, pids
    print(f"{PAIRS} pairs, {len(os.listdir('points/shards'))} files of lines, "
          "every process of number 1")
    os.chdir("/")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
