# SPDX-License-Identifier: Apache-2.0
"""The C library, loaded at first use with the declarations of its header."""
from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI

from .errors import DeviceError, FileError, InternalError, OutOfMemoryError, UsageError

_NAME = "libbitbudget.so.0"
_KINDS = {1: UsageError, 2: FileError, 3: OutOfMemoryError, 4: DeviceError, 5: UsageError}


def _folders() -> list[tuple[Path, Path]]:
    """Folders of the library and of the header: packed, built, installed."""
    here = Path(__file__).resolve().parent
    source = here.parents[1]
    prefixes = here.parents[3:4]  # PREFIX/share/bitbudget/python/bitbudget; none for a tree close to the root
    return [(here / "_lib", here / "_lib"), (source / "build" / "lib", source / "lib"),
            *((library, prefix / "include") for prefix in prefixes
              for library in [*prefix.glob("lib*"), *prefix.glob("lib/*-linux-gnu")])]


def _find() -> tuple[str, Path]:
    named = os.environ.get("BITBUDGET_LIBRARY")
    for folder, header in _folders():
        library = Path(named) if named else folder / _NAME
        if library.exists() and (header / "bitbudget.h").exists():
            return str(library), header / "bitbudget.h"
    raise FileError(f"cannot find {_NAME}; build it with ./setup python, or set BITBUDGET_LIBRARY to its path")


def _declarations(header: Path) -> str:
    text = re.sub(r"//[^\n]*", "", header.read_text(encoding="utf-8"))
    text = re.sub(r'extern "C" \{|^\s*#(?:[^\n]*\\\n)*[^\n]*', "", text, flags=re.M)
    # The last brace closes extern "C".
    return text.replace("BB_API", "").rstrip().removesuffix("}")


_loading = threading.Lock()
_loaded: tuple[Any, Any] | None = None


def load() -> tuple[Any, Any]:
    """Return the interface (FFI) and the loaded library."""
    global _loaded
    if _loaded is None:
        with _loading:
            _loaded = _loaded or _load()
    return _loaded


def _load() -> tuple[Any, Any]:
    path, header = _find()
    ffi = FFI()
    ffi.cdef("typedef ptrdiff_t bb_index;\n" + _declarations(header).replace("typedef ptrdiff_t bb_index;", ""))
    try:
        return ffi, ffi.dlopen(path)
    except OSError as error:
        raise FileError(f"cannot load '{path}': {error}") from None


def check(status: int) -> None:
    """Raise the error of a status code with the library's message."""
    if status:
        ffi, library = load()
        raise _KINDS.get(status, InternalError)(ffi.string(library.bb_status_message()).decode(errors="replace"))


def array(values: Any, dimensions: int, name: str) -> np.ndarray:
    """Return values as a contiguous array of doubles without a copy where that is possible."""
    if hasattr(values, "__cuda_array_interface__"):
        raise UsageError(f"{name} is on a GPU; copy it to the host first")
    if isinstance(values, np.ma.MaskedArray):
        raise UsageError(f"{name} is a masked array; fill it or use its data")
    found = np.asarray(values)
    if found.dtype.kind not in "fiub":
        raise UsageError(f"{name} has dtype {found.dtype}, expected real numbers")
    if found.ndim != dimensions:
        raise UsageError(f"{name} has shape {found.shape}, expected {dimensions} dimensions")
    return np.ascontiguousarray(found, np.float64)


def output(out: np.ndarray | None, shape: tuple[int, ...], given: np.ndarray | None = None) -> np.ndarray:
    """Return an array for results: a new one, or `out` if its shape and type fit and it does not overlap `given`."""
    if out is None:
        return np.empty(shape)
    if (not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape or not out.flags.carray):
        raise UsageError(f"out: expected a contiguous, writable array of doubles with shape {shape}")
    if given is not None and np.may_share_memory(out, given):
        raise UsageError("out overlaps the input; pass another array")
    return out


def encode(words: str) -> bytes:
    """Return a text for the library."""
    if not isinstance(words, str) or "\0" in words:
        raise UsageError(f"{words!r}: expected a text without NUL")
    return words.encode()


def options(given: str, **keys: Any) -> bytes:
    """Return an options text: the given words, then keys that are not None ("policy__width" as "policy.width")."""
    def word(value: Any) -> str:
        return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

    words = [given, *(f"{key.replace('__', '.')}={word(value)}" for key, value in keys.items() if value is not None)]
    return encode(" ".join(word for word in words if word))


def text(value: Any) -> str:
    """Return a C text as str."""
    return load()[0].string(value).decode(errors="replace")


def device(name: str | None) -> bytes:
    """Return the name of a device for the library; "auto": cuda if there is one, else cpu."""
    if name == "auto":
        name = next((row["device"] for row in devices() if row["device"].startswith("cuda")), "cpu")
    return encode(name or "cpu")


def devices() -> list[dict[str, Any]]:
    """Return the devices of this host.

    Returns
    -------
    list of dict
        "device" (the name to pass to functions), "name", "architecture", "memory_bytes",
        "free_memory_bytes" and "units" of each.
    """
    ffi, library = load()
    count = ffi.new("bb_index *")
    check(library.bb_list_devices(0, ffi.NULL, count))
    rows = ffi.new("bb_device_info[]", count[0])
    check(library.bb_list_devices(count[0], rows, count))
    return [record(row) for row in rows]


def record(struct: Any) -> dict[str, Any]:
    """Return a struct of the library as a dictionary."""
    ffi, library = load()
    found = {}
    kind = ffi.typeof(struct)
    for name, field in (kind if kind.kind == "struct" else kind.item).fields:
        value = getattr(struct, name)
        if field.type.kind == "array":
            value = text(value)
        elif field.type.kind == "struct":
            value = {"kind": text(library.bb_outcome_name(value.kind)), "detail": text(value.detail)}
        found[name] = value
    return found
