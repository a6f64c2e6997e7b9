#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A search that chains its generations on a real Slurm gives the same result as a local search.

    search_on_slurm.py BITBUDGET FOLDER

The folder name contains a space, quotes and a percent sign. The options name a partition that the
jobs after the arrays must use too, and the elements need more memory than the script requests. Exit
77: skipped.
"""
import os
import shutil
import time

from sweep_on_slurm import HERE, begin_in_folder, call, compare, wait_for

PLAN = """experiment: product
device: cpu
matrix: {file: rows.h5, dataset: /rows}
vectors: 12
pipelines:
  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}
  - {name: q, storage: {codec: quantiser, tolerance_of_range: 1.0e-4}, multiply: fp32, accumulate: fp64}
sweep:
  seeds: 1..3
  shards: 2
  search: {minimise: operator_bytes,
           over: {pipelines.q.storage.tolerance_of_range: {from: 1.0e-6, to: 1.0e-1, log: 12}},
           max_loss: 1.0e-3, across: all}
"""


def main():
    begin = time.monotonic()
    program, folder = begin_in_folder(PLAN, 100, 300)
    local = call(program, "sweep", "plan.yaml", "-o", "local.h5", "-q")
    shared = f"{folder}/a \"sweep\" of 5%A's"
    call(program, "sweep", "plan", "plan.yaml", shared)
    slurm = f"{folder}/slurm"
    os.environ["SLURM_CONF"] = f"{slurm}/slurm.conf"
    call(f"{HERE}/private_slurm", "start", slurm, "2")
    try:
        call(program, "sweep", "submit", shared, "--slurm", "--", "-p", "urgent", "--mem=0")
        partitions = set()

        def is_idle():
            partitions.update(call("squeue", "-h", "-o", "%P").split())
            return not call("squeue", "-h").strip()

        wait_for("the chain", is_idle, 60)
    finally:
        call(f"{HERE}/private_slurm", "stop", slurm, check=False)
    assert partitions == {"urgent"}, partitions
    logs = sorted(os.listdir(f"{shared}/log"))
    assert "collect.out" in logs and len(logs) > 2, logs
    answer = call(program, "show", f"{shared}/all.h5")
    found = "operator_bytes 4.1"
    assert found in local and found in " ".join(answer.split()), (local, answer)
    compare("local.h5", f"{shared}/all.h5")
    print(f"{len(logs) - 1} logs of elements, {time.monotonic() - begin:.1f} s in all")
    os.chdir("/")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
