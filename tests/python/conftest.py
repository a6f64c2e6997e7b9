# SPDX-License-Identifier: Apache-2.0
"""Result files for the tests of pictures: small runs of the program, and files written by hand."""
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from files import sign, write

import bitbudget
from bitbudget import program

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests" / "configs" / "small"
HOSTILE = "h'\"<b>&3_$x$"


def run_study(path: Path, study: str, *changes: str) -> bitbudget.Result:
    """Run a small study and open its result."""
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
    program.run(["run", str(SMALL / f"{study}.yaml"), *changes, "-o", str(path), "-q"])
    return bitbudget.open(path)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the files of the session."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="session")
def ao(folder: Path) -> bitbudget.Result:
    """Run an ao study with a spectrum, draws, policies, two targets and a hostile name."""
    return run_study(folder / "ao.h5", "ao", "solver.spectrum.matrix=true", f"pipelines.2.name={HOSTILE}",
                     "pipelines.3.draws=3", "pipelines.4.draws=2")


@pytest.fixture(scope="session")
def night(folder: Path) -> bitbudget.Result:
    """Run a night of two pipelines and three policies."""
    return run_study(folder / "night.h5", "night", "night.policies=[snapshot, mean, shrink]",
                     "pipelines=[{name: reference, arithmetic: dp}, {name: hp3, arithmetic: hp3}]")


@pytest.fixture(scope="session")
def wafer(folder: Path) -> bitbudget.Result:
    """Run a wafer study with plain formats and a codec of the hostile name."""
    return run_study(folder / "wafer.h5", "wafer", "pipelines.6.storage={codec: bfp, bits: 8}",
                     f"pipelines.6.name={HOSTILE}", "pipelines.6.scale=none")


def pipelines_file(path: Path, columns: dict[str, Any], experiment: str = "ao", **more: Any) -> bitbudget.Result:
    """Write a run with columns of numbers or texts over pipelines; "name" has the names."""
    names, axis = columns.pop("name"), ["results/pipeline"]
    datasets = {"results/pipeline": (names, axis, {}), "pipeline": (names, axis, {}), **more}
    datasets.update({f"results/{name}": (list(values), axis, {}) for name, values in columns.items()})
    return bitbudget.open(sign(write(path, datasets, experiment=experiment, schema_version="2", status="complete")))


def sweep_file(path: Path, r0: Any = (0.1, 0.2), widths: Any = (0, 2, 4), fails: Callable[..., Any] | None = None,
               **attributes: Any) -> bitbudget.Result:
    """Write a collected sweep over r0 and the width of the last of three pipelines.

    This pipeline has the hostile name, the loss 0.001 (1 + 10 i + width) at number i of r0, and fails
    where ``fails(i, width)``, by default at i = 1 and width 0.
    """
    i, width = np.meshgrid(np.arange(len(r0)), np.asarray(widths, float), indexing="ij")
    lost = (fails or (lambda i, width: (i == 1) & (width == 0)))(i, width) | np.zeros(i.shape, bool)
    loss = np.stack([0.0 * i, 1e-6 * (1 + i), np.where(lost, np.nan, 1e-3 * (1 + 10 * i + width))], axis=-1)
    each = np.moveaxis(loss[..., 2], 1, 0)
    losses = [loss[..., 0].ravel(), loss[..., 1].ravel(), *each]
    grid, cell, choice = ["r0_m", "width"], ["r0_m", "width", "pipeline"], ["statistics/choice"]
    names, who = ["reference", "sp", HOSTILE], ["reference", "sp"] + [HOSTILE] * len(widths)
    statistics = {
        "choice": range(len(who)), "choice_pipeline": who,
        "setting": ["", "", *(f"width {width:g}" for width in widths)],
        "points_failed": [int(np.isnan(values).sum()) for values in losses],
        **{name: [np.nan if np.isnan(values).all() else np.nanmax(values) for values in losses]
           for name in ("loss_median", "loss_p99", "loss_most")},
        **{name: [1.0] * len(who) for name in ("points", "share_failed_bound", "bits_per_value", "worst_point")},
        "operator_bytes": [8e6, 4e6, *(1e6 * (1 + width / 2) for width in widths)]}
    datasets = {
        "r0_m": (list(r0), ["r0_m"], {"units": "m", "key": "atmosphere.r0_m"}),
        "width": (list(map(float, widths)), ["width"], {"units": "tiles", "key": f"pipelines.{HOSTILE}.policy.width"}),
        "pipeline": (names, ["pipeline"], {}),
        "results/point_number": (np.arange(i.size), grid, {}),
        "results/point_status": (["done"] * i.size, grid, {}),
        "results/status": (list(np.where(np.isnan(loss), "not_spd", "ok").ravel()), cell, {}),
        "results/strehl_loss": (loss.ravel(), cell, {}),
        "results/strehl": (0.5 - loss.ravel(), cell, {}),
        **{f"statistics/{name}": (list(values), choice, {}) for name, values in statistics.items()}}
    attributes = {"experiment": "ao", "sweep_plan": "0123456789abcdef", "schema_version": "2", "status": "complete", **attributes}
    write(path, datasets, **attributes)
    with h5py.File(path, "a") as file:
        file.create_group("provenance").attrs.update(sweep_plan="{}", start_utc="2026-01-02T03:04:05Z")
    return bitbudget.open(sign(path))


@pytest.fixture(scope="session")
def sweep(folder: Path) -> bitbudget.Result:
    """Write a sweep of two by three points."""
    return sweep_file(folder / "sweep.h5", title="over r0 and width")


@pytest.fixture(scope="session")
def loop(folder: Path) -> bitbudget.Result:
    """Write latencies of a loop: bins of 1 us, three kinds of steps, a deadline and two worst steps."""
    counts = np.zeros((3, 60))
    counts[1, 20:24], counts[2, 30:33] = (5, 80, 40, 2), (7, 9, 1)
    counts[0] = counts[1] + counts[2]
    return bitbudget.open(write(folder / "loop.h5", {
        "kind": (["all", "light", "dark"], ["kind"], {}), "latency/bin_us": (np.arange(60.0), ["latency/bin_us"], {}),
        "results/deadline_us": ([50.0], [], {}), "latency/count": (counts.ravel(), ["kind", "latency/bin_us"], {}),
        "worst/rank": ([0.0, 1.0], ["worst/rank"], {}), "worst/latency_us": ([32.7, 31.9], ["worst/rank"], {}),
    }, title="loop", experiment="wafer"))
