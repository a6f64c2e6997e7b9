# SPDX-License-Identifier: Apache-2.0
"""Every group of result files in xarray, netCDF4 and ncdump (tests/readers.py)."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bitbudget as bb

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_files_open_everywhere(tmp_path, monkeypatch):
    pytest.importorskip("netCDF4")
    small = [str(TESTS / "configs" / "small" / f"{name}.yaml") for name in ("ao", "wafer")]
    product = {"experiment": "product", "matrix": np.random.default_rng(1).normal(size=(40, 60)),
               "pipelines": [{"name": "reference", "storage": "fp64", "multiply": "fp64", "accumulate": "fp64"},
                             {"name": "fp16", "storage": "fp16", "multiply": "fp32", "accumulate": "fp32"}]}
    monkeypatch.chdir(tmp_path)
    made = [bb.study(base).run(tmp_path / f"{i}.h5").path for i, base in enumerate((*small, product))]
    sweep = bb.study(small[0]).sweep({"telescope.zenith_angle_deg": [0, 10]}, folder=tmp_path / "angles")
    done = subprocess.run([sys.executable, TESTS / "readers.py", *made, sweep.path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
