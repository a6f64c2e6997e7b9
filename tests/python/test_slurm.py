# SPDX-License-Identifier: Apache-2.0
"""A sweep of the package on two nodes of a private Slurm equals a local one. Skipped without Slurm."""
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import bitbudget as bb

SLURM = Path(__file__).resolve().parents[1] / "cluster" / "private_slurm"


@pytest.mark.skipif(shutil.which("slurmctld") is None or os.geteuid() != 0, reason="needs Slurm and root")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_two_nodes_compute_what_one_process_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = np.random.default_rng(1).normal(size=(40, 60))
    study = bb.study({"experiment": "product", "matrix": matrix, "pipelines": [
        {"name": "reference", "storage": "fp64", "multiply": "fp64", "accumulate": "fp64"},
        {"name": "q", "storage": {"codec": "quantiser", "tolerance_of_range": 1e-4}, "multiply": "fp32", "accumulate": "fp64"}]})
    axes = {"pipelines.q.storage.tolerance_of_range": [1e-5, 1e-4, 1e-3, 1e-2]}
    here = study.sweep(axes, folder="here")
    slurm = tmp_path / "slurm"
    monkeypatch.setenv("SLURM_CONF", str(slurm / "slurm.conf"))
    subprocess.run([SLURM, "start", slurm, "2"], check=True)
    try:
        submitted = study.sweep(axes, folder="there", shards=2, submit=["--cpus-per-task=1", "--mem=0"])
        for _ in range(600):
            if submitted.status().startswith("4 of 4 done"):
                break
            time.sleep(0.1)
        there = submitted.open()
        assert there["results/qoi_relative_error"].tolist() == here["results/qoi_relative_error"].tolist()
        nodes = subprocess.run(["scontrol", "show", "job"], capture_output=True, text=True, check=True).stdout
        assert "NodeList=n1" in nodes and "NodeList=n2" in nodes, nodes
    finally:
        subprocess.run([SLURM, "stop", slurm], check=True)
