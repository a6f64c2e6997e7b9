# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU: those of CuPy and PyTorch by the CUDA array interface, others by DLPack."""
from __future__ import annotations

import importlib
from typing import Any

from . import _library as lib
from .errors import UsageError

_MODULES = ("cupy", "torch")


def _native(x: Any) -> tuple[Any, Any]:
    """Return CuPy or PyTorch, and x as an array of it."""
    own = type(x).__module__.split(".")[0]
    for name in [own] if own in _MODULES else _MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module, x if name == own else module.from_dlpack(x)
    raise UsageError(f"a GPU array of {own} needs CuPy or PyTorch; install one of them, or copy the array to the host")


def placed(x: Any, name: str, ordinal: int | None) -> tuple[Any, Any]:
    """Return CuPy or PyTorch, and x as an array of it on a GPU; refuse arrays elsewhere."""
    if ordinal is None:
        raise UsageError(f"{name} is on a GPU; copy it to the host first, or set device='cuda'")
    if not lib.on_gpu(x):
        raise UsageError(f"{name} is in host memory; pass an array on GPU {ordinal}")
    module, x = _native(x)
    found = x.device.index if module.__name__ == "torch" else x.device.id
    if found != ordinal:
        raise UsageError(f"{name} is on GPU {found}, expected {ordinal}; copy it there, or set device='cuda:{found}'")
    return module, x


def current(module: Any, ordinal: int) -> Any:
    """Return a context in which a GPU is the current one."""
    return module.cuda.device(ordinal) if module.__name__ == "torch" else module.cuda.Device(ordinal)


def array_of(module: Any, values: Any) -> Any:
    """Return an array of the host or a `View` as an array of a module on its current GPU."""
    return module.as_tensor(values, device="cuda") if module.__name__ == "torch" else module.asarray(values)


class View:
    """Device memory of the library as an array of CuPy (`cupy.asarray`) or PyTorch (`torch.as_tensor`)."""

    def __init__(self, address: Any, typestr: str, shape: tuple[int, ...]) -> None:
        place = int(lib.load()[0].cast("uintptr_t", address))
        self.__cuda_array_interface__ = {"data": (place, False), "typestr": typestr, "shape": shape, "version": 3}


def _address(x: Any, name: str, typestr: str, shape: tuple[int, ...], alignment: int) -> Any:
    about = x.__cuda_array_interface__
    if about["typestr"] != typestr or tuple(about["shape"]) != shape or about.get("strides") is not None:
        raise UsageError(f"{name} has type {about['typestr']} and shape {about['shape']}, expected contiguous "
                         f"{typestr} and {shape}")
    if about["data"][0] % alignment:
        raise UsageError(f"{name} is at an address that is no multiple of {alignment} bytes; pass a copy")
    return lib.load()[0].cast("void *", about["data"][0])


def apply(operation: Any, x: Any, out: Any) -> Any:
    """Queue one product on the current stream of the array's library."""
    rows, columns = operation.shape
    module, x = placed(x, "x", operation._gpu)
    source = _address(x, "x", f"<f{operation.report['operand_bytes']}", (columns,), 16)
    with current(module, operation._gpu):
        if out is None:
            out = module.empty(rows, dtype=module.float64, **({"device": "cuda"} if module.__name__ == "torch" else {}))
        _, y = placed(out, "out", operation._gpu)
        target = _address(y, "out", "<f8", (rows,), 8)
        stream = (module.cuda.current_stream().cuda_stream if module.__name__ == "torch"
                  else module.cuda.get_current_stream().ptr)
        lib.call("bb_operator_queue", operation._handle, source, target, lib.load()[0].cast("void *", stream))
    return out
