# SPDX-License-Identifier: Apache-2.0
"""Result files of wafers and an interferometer, made once a session, and changed copies."""
from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import HOSTILE, SMALL, run_study
from files import sign

import bitbudget

_QUOTED = HOSTILE.replace('"', '\\"')

WAFER = f"""base: {SMALL}/wafer.yaml
probes:
  - {{name: edge, x_mm: 100, y_mm: 0}}
  - {{name: a_b, x_mm: -26.0, y_mm: -115.5, layer: clamp}}
pipelines:
  - {{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}}
  - {{name: fp32, storage: fp32, multiply: fp32, accumulate: fp64}}
  - {{name: "{_QUOTED}", storage: e4m3, scale: row, multiply: fp32, accumulate: fp64}}
  - {{name: bf16, storage: bf16, scale: row, multiply: fp32, accumulate: fp64}}
"""

# The loss of late corrections is their residual; the numerical error is 1e-7 nm.
LATE = """experiment: wafer
wafer: {diameter_mm: 100.0}
clamp: {spacing_mm: 10.0}
mesh: {spacing_mm: 5.0, step_ms: 2.0}
scan: {fields: [0, 1], light_steps: 12, dark_steps: 4, usable_radius_mm: 48.0}
response: {grid: {columns: 16, rows: 16}, slit_points: {columns: 3, rows: 3}}
metrology: {columns: 5, rows: 5}
pipelines:
  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}
  - {name: late, storage: fp32, multiply: fp32, accumulate: fp64, delivery: {late_steps: 4}}
"""

FRINGE = f"""base: {SMALL}/fringe.yaml
pipelines:
  - {{name: reference, arithmetic: fp64}}
  - {{name: a name that is longer than the width of any of the panels, arithmetic: fp32}}
  - {{name: "{_QUOTED}", bits: 2}}
  - {{name: camera-3, bits: 3}}
  - {{name: e5m2-u, smoother: {{storage: e5m2}}}}
"""


def _run(folder: Path, text: str, *options: str) -> bitbudget.Result:
    (folder / "study.yaml").write_text(text)
    return run_study(folder / "file.h5", str(folder / "study"), *options)


@pytest.fixture(scope="session")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> bitbudget.Result:
    """Run two of three exposures, with temperatures and two probes."""
    return _run(tmp_path_factory.mktemp("exposed"), WAFER, "--dump", "inputs")


@pytest.fixture(scope="session")
def late(tmp_path_factory: pytest.TempPathFactory) -> bitbudget.Result:
    """Run two fields of a small wafer with late corrections."""
    return _run(tmp_path_factory.mktemp("late"), LATE)


@pytest.fixture(scope="session")
def fringe(tmp_path_factory: pytest.TempPathFactory) -> bitbudget.Result:
    """Run an interferometer with two parts and five pipelines."""
    return _run(tmp_path_factory.mktemp("fringe"), FRINGE)


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., bitbudget.Result]:
    """Return a function that copies a file, changes the copy and opens it."""

    def change(result: bitbudget.Result, edit: Callable[[h5py.File], Any]) -> bitbudget.Result:
        path = tmp_path / f"changed-{len(list(tmp_path.iterdir()))}.h5"
        shutil.copy(result.path, path)
        with h5py.File(path, "r+") as file:
            edit(file)
        return bitbudget.open(sign(path))

    return change


def replace(file: h5py.File, path: str, values: Any) -> None:
    """Replace a dataset by one of another shape."""
    attrs = {name: value for name, value in file[path].attrs.items() if name in ("units", "long_name")}
    del file[path]
    text = np.asarray(values).dtype.kind in "UO"
    file.create_dataset(path, data=list(values) if text else values, dtype=h5py.string_dtype() if text else None)
    file[path].attrs.update(attrs)
    for i, count in enumerate(np.shape(values)):
        axis = file.create_dataset(f"{path.replace('/', '_')}_axis_{i}", data=np.arange(float(count)))
        axis.make_scale()
        file[path].dims[i].attach_scale(axis)
