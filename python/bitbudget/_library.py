# SPDX-License-Identifier: Apache-2.0
"""Calls of the C library: arrays, texts, handles, reports and errors."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import errors
from .errors import UsageError

_KINDS = {1: UsageError, 2: errors.FileError, 3: errors.OutOfMemoryError, 4: errors.DeviceError, 5: UsageError}
_TYPES = {"float64": "double[]", "uint8": "unsigned char[]", "int32": "int[]", "int64": "int64_t[]"}
_GPU = (2, 13)  # device memory and managed memory of CUDA in DLPack


def load() -> tuple[Any, Any]:
    """Return the interface (FFI) and the library, loaded at first use."""
    from . import _c

    return _c.ffi, _c.library


def new(kind: str, *count: int) -> Any:
    """Return new memory of a C type."""
    return load()[0].new(kind, *count)


def check(status: int) -> None:
    """Raise the error of a status code with the library's message."""
    if status:
        raise _KINDS.get(status, errors.InternalError)(text(load()[1].bb_status_message()))


def check_outcome(name: str, report: dict[str, Any]) -> dict[str, Any]:
    """Return a report, or raise the error of its outcome."""
    kind, detail = report["outcome"]["kind"], report["outcome"]["detail"]
    if kind != "ok":
        raise (errors.NotPositiveDefiniteError if kind == "not_spd" else UsageError)(f"{name}: {kind}: {detail}")
    return report


def call(function: str, *arguments: Any) -> None:
    """Call a function that returns a status; arrays, texts and None are passed as pointers."""
    ffi, library = load()

    def converted(value: Any, kind: Any) -> Any:
        if isinstance(value, np.ndarray):
            return ffi.from_buffer(_TYPES[value.dtype.name], value)
        if value is None:
            return ffi.NULL
        return encode(value) if kind.cname == "char *" and not isinstance(value, ffi.CData) else value

    called = getattr(library, function)
    check(called(*map(converted, arguments, ffi.typeof(called).args)))


def created(kind: str, verb: str, *arguments: Any) -> Any:
    """Call a function that creates a handle, and return the handle with its destructor."""
    ffi, library = load()
    place = ffi.new(f"{kind} **")
    call(f"{kind}_{verb}", *arguments, place)
    destroy = getattr(library, f"{kind}_destroy")
    return ffi.gc(place[0], lambda owned: destroy(ffi.new(f"{kind} **", owned)))


def described(kind: str, handle: Any) -> dict[str, Any]:
    """Return the report of a handle."""
    about = new(f"{kind}_report *")
    call(f"{kind}_describe", handle, about)
    return record(about)


def on_gpu(values: Any) -> bool:
    """Return whether an array is in the memory of a GPU, by the CUDA array interface or DLPack."""
    return hasattr(values, "__cuda_array_interface__") or (
        hasattr(values, "__dlpack_device__") and values.__dlpack_device__()[0] in _GPU)


def check_shape(name: str, shape: tuple[int, ...], *forms: tuple[int | str, ...]) -> None:
    """Refuse a shape that has none of the forms, such as (3, "columns"); equal words stand for equal sizes."""
    def fits(form: tuple[int | str, ...]) -> bool:
        sizes = dict(zip(form, shape))
        return len(form) == len(shape) and all(sizes[side] == size if isinstance(side, str) else side == size
                                               for side, size in zip(form, shape))

    if not any(map(fits, forms)):
        expected = " or ".join(str(form).replace("'", "") for form in forms)
        raise UsageError(f"{name} has shape {tuple(shape)}, expected {expected}")


def array(values: Any, name: str, *forms: tuple[int | str, ...]) -> np.ndarray:
    """Return values of one of the shapes as a contiguous array of doubles, without a copy where that is possible."""
    if on_gpu(values):
        raise UsageError(f"{name} is on a GPU; copy it to the host first")
    if np.ma.is_masked(values):
        raise UsageError(f"{name} has masked values; fill them")
    try:
        found = np.asarray(values)
        if found.shape == () and hasattr(values, "__dlpack__"):
            found = np.from_dlpack(values)
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        raise UsageError(f"{name} is no array: {error}") from None
    if found.dtype.kind not in "fiub":
        raise UsageError(f"{name} has dtype {found.dtype}, expected real numbers")
    check_shape(name, found.shape, *forms)
    return np.ascontiguousarray(found, np.float64)


def output(out: np.ndarray | None, shape: tuple[int, ...], given: Any = None) -> np.ndarray:
    """Return an array for results: a new one, or `out` if its shape and type fit and it does not overlap `given`."""
    if out is None:
        return np.empty(shape)
    if (not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape or not out.flags.carray):
        raise UsageError(f"out: expected a contiguous, writable array of doubles with shape {shape}")
    if isinstance(given, np.ndarray) and np.may_share_memory(out, given):
        raise UsageError("out overlaps the input; pass another array")
    return out


def encode(words: str) -> bytes:
    """Return a text for the library."""
    if not isinstance(words, str) or "\0" in words:
        fault = "has a NUL" if isinstance(words, str) else f"is of type {type(words).__name__}"
        raise UsageError(f"{words!r} {fault}; pass a text such as 'bfp bits=8'")
    return words.encode()


def options(given: str, **keys: Any) -> str:
    """Return an options text: the given words, then keys that are not None ("policy__width" as "policy.width")."""
    def word(value: Any) -> str:
        return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

    words = [f"{key.replace('__', '.')}={word(value)}" for key, value in keys.items() if value is not None]
    return " ".join([encode(given).decode(), *words]).strip()


def text(value: Any) -> str:
    """Return a C text as str."""
    return load()[0].string(value).decode(errors="replace")


def device(name: str | None) -> str:
    """Return the name of a device for the library; "auto": cuda if there is one, else cpu."""
    if name == "auto":
        name = next((row["device"] for row in devices() if row["device"].startswith("cuda")), "cpu")
    return "cpu" if name is None else name


def ordinal(name: str) -> int | None:
    """Return the number of the GPU of a device's name, None for another device."""
    kind, _, number = name.partition(":")
    return int(number or 0) if kind == "cuda" else None


def set_threads(count: int = 0) -> int:
    """Set the number of threads of the library, 1 to 1024 or 0 for all processors, and return it."""
    call("bb_set_threads", count)
    return load()[1].bb_get_threads()


def devices() -> list[dict[str, Any]]:
    """Return the devices of this host.

    Returns
    -------
    list of dict
        "device" (the name to pass to functions), "name", "architecture", "memory_bytes",
        "free_memory_bytes" and "units" of each.
    """
    count = new("bb_index *")
    call("bb_list_devices", 0, None, count)
    rows = new("bb_device_info[]", count[0])
    call("bb_list_devices", count[0], rows, count)
    return [record(row) for row in rows]


def record(struct: Any) -> dict[str, Any]:
    """Return a struct of the library as a dictionary."""
    ffi, library = load()
    found, kind = {}, ffi.typeof(struct)
    for name, field in (kind if kind.kind == "struct" else kind.item).fields:
        value = getattr(struct, name)
        if field.type.kind == "array":
            value = text(value)
        elif field.type.kind == "struct":
            value = {"kind": text(library.bb_outcome_name(value.kind)), "detail": text(value.detail)}
        found[name] = value
    return found
