# SPDX-License-Identifier: Apache-2.0
"""bitbudget: the numerical precision that a real-time optical system needs."""
from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Modules are imported at first use: pictures do not need the C library, nor codecs matplotlib.
_PLACES = {name: module for module, names in {
    "coding": "quantise formats keys describe bound Storage round_in_norm",
    "operators": "Operator",
    "factorization": "factor Factorization factor_and_solve",
    "unwrapping": "unwrap Unwrapper NotConverged",
    "_library": "devices set_threads",
    "studies": "study Study Submitted",
    "result": "open Result",
    "files": "read",
    "trial": "try_formats",
    "errors": "Error UsageError NotPositiveDefiniteError FileError OutOfMemoryError DeviceError InternalError",
}.items() for name in names.split()}

__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    if name in ("importers", "validate"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _PLACES:
        raise AttributeError(f"module 'bitbudget' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
