# SPDX-License-Identifier: Apache-2.0
"""Table of machines with their peaks, prices and sources (configs/machines.yaml)."""
from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from .errors import FileError, UsageError

# Operations per byte of y = A x in single precision: two for every element of four bytes.
PRODUCT = 0.5

_TEXTS = ("name", "kind", "memory", "source", "price_source")
_NUMBERS = {"year": (1950, 2200), "single_gflop_per_s": (0, 1e9), "memory_gb_per_s": (0, 1e9), "memory_gb": (0, 1e9),
            "power_w": (0, 1e9), "price_usd": (0, 1e12), "price_year": (1950, 2200)}
_PRICE = ("price_usd", "price_year", "price_source")
_OPTIONAL = ("power_w", *_PRICE)
_KINDS = ("cpu", "gpu", "fpga")


def _problems(row: Any) -> list[str]:
    if not isinstance(row, dict):
        return ["expected a record {name: ..., kind: ..., ...}"]
    found = [f"unknown key {key}" for key in row if key not in _TEXTS and key not in _NUMBERS]
    found += [f"{key} is missing" for key in (*_TEXTS, *_NUMBERS) if key not in row and key not in _OPTIONAL]
    found += [f"{key} = {row[key]}, expected a text" for key in _TEXTS if not isinstance(row.get(key, ""), str)]
    for key, (low, high) in _NUMBERS.items():
        value = row.get(key, high)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low < value <= high:
            found.append(f"{key} = {value}, expected a number above {low} and at most {high:g}")
    if row.get("kind", "cpu") not in _KINDS:
        found.append(f"kind = {row['kind']}, expected one of {', '.join(_KINDS)}")
    if len({key in row for key in _PRICE}) > 1:
        found.append("set all of price_usd, price_year and price_source, or none of them")
    return found


def read(path: str | os.PathLike[str]) -> tuple[str, dict[str, np.ndarray]]:
    """Read a table of machines.

    Returns
    -------
    title : str
    columns : dict
        Arrays over the machines: "machine", "kind", "single_flops_per_s", "memory_bytes_per_s", "power_w",
        "price_usd" and, for y = A x in single precision, "product_flops_per_s", "_per_usd" and "_per_w". Absent
        numbers are NaN.

    Raises
    ------
    FileError, UsageError
        If the file cannot be read, or with all its problems.
    """
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            table = yaml.safe_load(file)
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: {error}") from None
    rows = table.get("machines") if isinstance(table, dict) else None
    if not isinstance(rows, list) or not rows or not isinstance(table.get("title"), str):
        raise UsageError(f"{path}: expected 'title: TEXT' and 'machines:' with a list of records")
    problems = [f"{path}: machines[{i}] ({row.get('name', '?') if isinstance(row, dict) else '?'}): {problem}"
                for i, row in enumerate(rows) for problem in _problems(row)]
    if problems:
        raise UsageError("\n".join(problems))

    def numbers(key: str, scale: float = 1.0) -> np.ndarray:
        return np.array([scale * row.get(key, math.nan) for row in rows])

    peak, memory = numbers("single_gflop_per_s", 1e9), numbers("memory_gb_per_s", 1e9)
    product, price, power = np.minimum(peak, PRODUCT * memory), numbers("price_usd"), numbers("power_w")
    return table["title"], {
        "machine": np.array([row["name"] for row in rows], object),
        "kind": np.array([row["kind"] for row in rows], object),
        "single_flops_per_s": peak, "memory_bytes_per_s": memory, "power_w": power, "price_usd": price,
        "product_flops_per_s": product, "product_flops_per_usd": product / price,
        "product_flops_per_w": product / power,
    }
