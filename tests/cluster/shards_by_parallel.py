#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shards of a sweep by GNU parallel, and by the array indices of PBS and HyperQueue, give the same
results as a single local run.

    shards_by_parallel.py BITBUDGET FOLDER

Exit 77: skipped.
"""
import os
import shutil
import subprocess
import sys

from sweep_on_slurm import call, compare, skip

SHARDS = 4
PLAN = """experiment: product
device: cpu
matrix: {file: rows.h5, dataset: /rows}
vectors: 4
pipelines:
  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}
  - {name: q, storage: {codec: quantiser, tolerance_of_range: 1.0e-4}, multiply: fp32, accumulate: fp64}
sweep: {seeds: 1..10, shards: 4}
"""


def main():
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if shutil.which("parallel") is None:
        skip("no GNU parallel here; ./setup test-full installs it")
    try:
        import h5py
        import numpy as np
    except ImportError as error:
        skip(error)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    os.environ["PARALLEL_HOME"] = folder
    with h5py.File("rows.h5", "w") as file:
        file["rows"] = np.cos(0.1 * np.arange(6000.0)).reshape(40, 150)
    with open("plan.yaml", "w") as file:
        file.write(PLAN)
    call(program, "sweep", "plan.yaml", "-o", "local.h5", "-q")

    def by_argument(plan):
        call("parallel", "--will-cite", program, "sweep", "run", plan, "-q", "--shard", f"{{}}/{SHARDS}",
             ":::", *map(str, range(1, SHARDS + 1)))

    def by_sequence(plan):
        call("parallel", "--will-cite", "-N0", program, "sweep", "run", plan, "-q",
             ":::", *map(str, range(SHARDS)))

    def by_variable(name):
        def run(plan):
            for shard in range(1, SHARDS + 1):
                call(program, "sweep", "run", plan, "-q", env=dict(os.environ, **{name: str(shard)}))
            beyond = subprocess.run([program, "sweep", "run", plan], capture_output=True, text=True,
                                    env=dict(os.environ, **{name: str(SHARDS + 1)}))
            assert beyond.returncode == 2 and "shards are numbered from 1 to 4" in beyond.stderr, beyond
        return run

    ways = {"argument": by_argument, "PARALLEL_SEQ": by_sequence}
    ways |= {name: by_variable(name) for name in ("PBS_ARRAY_INDEX", "HQ_TASK_ID")}
    for name, run in ways.items():
        call(program, "sweep", "plan", "plan.yaml", name)
        run(name)
        files = os.listdir(f"{name}/shards")
        assert len({file.split(".")[0] for file in files}) == SHARDS, (name, files)
        call(program, "sweep", "collect", name, "-o", f"{name}.h5")
        compare("local.h5", f"{name}.h5")
    print(f"{len(ways)} ways give one result")
    os.chdir("/")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
