# SPDX-License-Identifier: Apache-2.0
"""bitbudget: the numerical precision that a real-time optical system needs."""
from __future__ import annotations

import importlib
from typing import Any

from .errors import DeviceError, Error, FileError, InternalError, OutOfMemoryError, UsageError

__version__ = "0.1.0"

# Modules are imported at first use: pictures do not need the C library, nor codecs matplotlib.
_PLACES = {
    "quantise": "coding",
    "formats": "coding",
    "keys": "coding",
    "describe": "coding",
    "bound": "coding",
    "Storage": "coding",
    "round_in_norm": "coding",
    "Operator": "operators",
    "factor": "factorization",
    "Factorization": "factorization",
    "unwrap": "unwrapping",
    "Unwrapper": "unwrapping",
    "devices": "_library",
    "study": "studies",
    "Study": "studies",
    "Submitted": "studies",
    "open": "result",
    "Result": "result",
}

__all__ = [*_PLACES, "Error", "UsageError", "FileError", "OutOfMemoryError", "DeviceError", "InternalError"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'bitbudget' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
