# SPDX-License-Identifier: Apache-2.0
"""Result files written for tests."""
import itertools
import math
import re
import subprocess

import h5py
import numpy as np

from bitbudget import program

TITLE = "</script><img src=x onerror=alert(1)>"
NAME = "h'\"<b>&3"


def write(path, datasets, **attributes):
    """Write datasets {path: (values, axes, attributes)} with their scales; axes are names, "" for scalars."""
    with h5py.File(path, "w") as file:
        file.attrs.update(source="bitbudget 0.1.0", results_digest="0" * 32, **attributes)
        for name, (values, axes, more) in datasets.items():
            text = h5py.string_dtype() if isinstance(values[0], str) else None
            shape = [len(datasets[axis][0]) for axis in axes]
            file.create_dataset(name, data=values, shape=shape, dtype=text or "f8")
            file[name].attrs.update({"units": "1", "long_name": name, **more})
        for name, (_, axes, _) in datasets.items():
            if list(axes) == [name]:
                file[name].make_scale(name.rsplit("/", 1)[-1])
        for name, (_, axes, _) in datasets.items():
            for i, axis in enumerate(axes):
                if axis != name:
                    file[name].dims[i].attach_scale(file[axis])
    return path


def swept(path):
    """Collected sweep of two values of r0 by three widths.

    Pipelines are reference, sp and the one with the hostile name, which has the key width, the loss
    0.001 (1 + r0 number + width), and fails at r0 0.2 and width 0.
    """
    r0, widths, names = [0.1, 0.2], [0, 2, 4], ["reference", "sp", NAME]
    grid, pipelines = ["r0_m", "width"], ["r0_m", "width", "pipeline"]
    status, loss, size = [], [], []
    for p, i in itertools.product(range(6), range(3)):
        failed = i == 2 and p == 3
        status.append("not_spd" if failed else "ok")
        loss.append(math.nan if failed else 1e-3 * (1 + (p >= 3) + widths[p % 3]) if i == 2 else 1e-6 * i * (1 + p))
        size.append(math.nan if failed else 1e6 * (1 + p % 3) if i == 2 else 8e6 / (1 + i))
    choice = ["statistics/choice"]
    statistics = {"points": [6, 6, 2, 2, 2], "points_failed": [0, 0, 1, 0, 0],
                  "share_failed_bound": [0.39, 0.39, 0.97, 0.78, 0.78],
                  "loss_median": [0, 3.5e-6, 1e-3, 3.5e-3, 5.5e-3],
                  "loss_p99": [0, 6e-6, 1e-3, 4e-3, 6e-3], "loss_most": [0, 6e-6, 1e-3, 4e-3, 6e-3],
                  "bits_per_value": [64, 32, 16, 16, 16], "operator_bytes": [8e6, 4e6, 1e6, 2e6, 3e6],
                  "worst_point": [0, 5, 0, 4, 5]}
    datasets = {
        "r0_m": (r0, ["r0_m"], {"units": "m", "key": "atmosphere.r0_m"}),
        "width": (widths, ["width"], {"units": "tiles", "key": f"pipelines.{NAME}.policy.width"}),
        "pipeline": (names, ["pipeline"], {}),
        "results/point_number": (list(range(6)), grid, {}),
        "results/point_status": (["done"] * 6, grid, {}),
        "results/status": (status, pipelines, {}),
        "results/strehl_loss": (loss, pipelines, {}),
        "results/operator_bytes": (size, pipelines, {"units": "byte"}),
        "results/compression_ratio": ([8e6 / s / 2 for s in size], pipelines, {}),
        "statistics/choice": ([0, 1, 2, 3, 4], choice, {}),
        "statistics/choice_pipeline": (["reference", "sp", NAME, NAME, NAME], choice, {}),
        "statistics/setting": (["", "", "width 0", "width 2", "width 4"], choice, {}),
        **{f"statistics/{name}": (values, choice, {}) for name, values in statistics.items()},
    }
    write(path, datasets, title=TITLE, experiment="ao", sweep_plan="0123456789abcdef", status="complete",
          schema_version="2")
    with h5py.File(path, "a") as file:
        file.create_group("provenance").attrs.update(sweep_plan='{"plan": "of </script>"}', start_utc="2026-01-02T03:04:05Z")
    return sign(path)


def large(path, count):
    """Sweep of `count` widths of the last of five pipelines, with random losses and sizes."""
    rest, random = [f"p{i}" for i in range(4)], np.random.default_rng(1)
    choices, axis, choice = count + 4, ["width"], ["statistics/choice"]
    loss, size = 1e-3 * random.random(choices), 1e6 * (1 + random.random(choices))
    cells = np.concatenate([np.tile(loss[:4], (count, 1)), loss[4:, None]], axis=1)
    same = {"points": float(count), "points_failed": 0.0, "share_failed_bound": 0.1, "bits_per_value": 16.0, "worst_point": 0.0}
    statistics = {"choice": range(choices), "choice_pipeline": rest + ["p4"] * count,
                  "setting": [""] * 4 + [f"width {i}" for i in range(count)], "operator_bytes": size,
                  **{f"loss_{name}": loss for name in ("median", "p99", "most")},
                  **{name: [value] * choices for name, value in same.items()}}
    write(path, {
        "width": (range(count), axis, {"key": "pipelines.p4.policy.width"}), "pipeline": ([*rest, "p4"], ["pipeline"], {}),
        "results/point_number": (range(count), axis, {}), "results/point_status": (["done"] * count, axis, {}),
        "results/status": (["ok"] * 5 * count, ["width", "pipeline"], {}),
        "results/strehl_loss": (cells.ravel(), ["width", "pipeline"], {}),
        **{f"statistics/{name}": (list(values), choice, {}) for name, values in statistics.items()},
    }, title="large", experiment="ao", sweep_plan="0123456789abcdef", status="complete", schema_version="2")
    return sign(path)


def sign(path):
    """Set the digest that the program computes, which refuses files with another one, and return the path."""
    said = subprocess.run([program.find(), "show", str(path)], capture_output=True, text=True, check=False).stderr
    with h5py.File(path, "a") as file:
        found = re.search("have digest ([0-9a-f]{32})", said)  # None: signed already, or not for 'show'
        file.attrs["results_digest"] = found.group(1) if found else file.attrs["results_digest"]
    return path
