#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The batch script of examples/cluster on a real Slurm gives the same results as one process.

    processes_on_slurm.py BITBUDGET BITBUDGET_MPI SOURCE FOLDER

Exit 77: skipped.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

BITBUDGET, BITBUDGET_MPI, SOURCE, FOLDER = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
SLURM = SOURCE / "tests/cluster/private_slurm"
STUDY = SOURCE / "tests/configs/small/ao.yaml"


def call(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=240,
                          **more)
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main():
    if shutil.which("sbatch") is None or shutil.which("slurmctld") is None:
        print("skipped: no Slurm here; ./setup test-full installs it")
        sys.exit(77)
    if os.geteuid() != 0:
        print("skipped: a private Slurm is started by root alone")
        sys.exit(77)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    # Both nodes are this host: processes share its cores and run as root.
    inherited = {name: text for name, text in os.environ.items() if name != "OMPI_MCA_plm"}
    environment = {**inherited, "SLURM_CONF": f"{FOLDER}/slurm/slurm.conf",
                   "BITBUDGET_MPI": str(BITBUDGET_MPI), "BITBUDGET_SHARE": str(SOURCE),
                   "STARPU_HOME": str(FOLDER), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    call(SLURM, "start", FOLDER / "slurm", 2)
    try:
        begin = time.monotonic()
        call("sbatch", "--wait", "--nodes=2", "--cpus-per-task=1", "--mem=0", "-o", "job.out",
             SOURCE / "examples/cluster/processes.slurm", STUDY, "-q", "--device", "cpu", "-o",
             "shared.h5", cwd=FOLDER, env=environment)
        print(f"a job of two nodes: {time.monotonic() - begin:.1f} s")
    finally:
        if (FOLDER / "job.out").exists():
            print((FOLDER / "job.out").read_text())
        call(SLURM, "stop", FOLDER / "slurm")
    call(BITBUDGET, "run", STUDY, "-q", "--device", "cpu", "-o", "alone.h5", cwd=FOLDER)
    same = subprocess.run([BITBUDGET, "diff", "alone.h5", "shared.h5"], capture_output=True,
                          text=True, cwd=FOLDER, check=False).stdout
    assert "results except times: equal" in same, same
    import h5py
    with h5py.File(FOLDER / "shared.h5") as file:
        said = {name: str(file["provenance"].attrs[name]) for name in ("engine", "engine_grid")}
        assert "starpu" in said["engine"] and "1x2" in said["engine_grid"], said
        assert file["results/wire_bytes"][0] > 0


main()
