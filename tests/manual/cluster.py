#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types the cluster tutorial on a private Slurm: cluster.py PAGE.md PROGRAM FOLDER

Exit 77: skipped, because this machine has no Slurm or the caller is not root.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import console

PRIVATE_SLURM = pathlib.Path(__file__).resolve().parent.parent / "cluster" / "private_slurm"
NODES = "4"


def main():
    if shutil.which("sbatch") is None or shutil.which("slurmctld") is None:
        print("skipped: no Slurm here; ./setup test-full installs it")
        return 77
    if os.geteuid() != 0:
        print("skipped: a private Slurm is started by root alone")
        return 77
    slurm = pathlib.Path(f"{sys.argv[3]}.slurm").resolve()
    shutil.rmtree(slurm, ignore_errors=True)
    os.environ["SLURM_CONF"] = str(slurm / "slurm.conf")
    subprocess.run([PRIVATE_SLURM, "start", slurm, NODES], check=True)
    try:
        return console.main()
    finally:
        subprocess.run([PRIVATE_SLURM, "stop", slurm], check=False)
        shutil.rmtree(slurm, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
