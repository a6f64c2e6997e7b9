# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU, of CuPy or PyTorch, by the CUDA array interface."""
from __future__ import annotations

import importlib
from typing import Any

from ._library import check, load
from .errors import UsageError


def _library_of(x: Any) -> Any:
    name = type(x).__module__.split(".")[0]
    if name not in ("cupy", "torch"):
        raise UsageError(f"GPU arrays of {name} have no 'out' here; convert them by DLPack to CuPy or PyTorch")
    return importlib.import_module(name)


def _stream(module: Any) -> int:
    current = module.cuda.current_stream() if module.__name__ == "torch" else module.cuda.get_current_stream()
    return current.cuda_stream if module.__name__ == "torch" else current.ptr


def _address(x: Any, typestr: str, shape: tuple[int, ...], name: str) -> int:
    about = x.__cuda_array_interface__
    if about["typestr"] != typestr or tuple(about["shape"]) != shape or about.get("strides") is not None:
        raise UsageError(f"{name} has type {about['typestr']} and shape {about['shape']}, expected contiguous "
                         f"{typestr} and {shape}")
    return about["data"][0]


class View:
    """Device memory of the library as an array of CuPy (`cupy.asarray`) or PyTorch (`torch.as_tensor`)."""

    def __init__(self, address: int, typestr: str, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {"data": (address, False), "typestr": typestr, "shape": shape, "version": 3,
                                         "strides": None}


def array_of(module: Any, view: View) -> Any:
    """Return a view as an array of a module."""
    return module.as_tensor(view, device="cuda") if module.__name__ == "torch" else module.asarray(view)


def apply(operation: Any, x: Any, out: Any) -> Any:
    """Queue one product on the current stream of the array's library."""
    ffi, library = load()
    module = _library_of(x)
    rows, columns = operation.shape
    place = _address(x, f"<f{operation.report['operand_bytes']}", (columns,), "x")
    if out is None:
        settings = {"device": x.device} if module.__name__ == "torch" else {}
        out = module.empty((rows,), dtype=module.float64, **settings)
    target = _address(out, "<f8", (rows,), "out")
    check(library.bb_operator_queue(operation._handle, ffi.cast("void *", place), ffi.cast("void *", target),
                                    ffi.cast("void *", _stream(module))))
    return out
