# SPDX-License-Identifier: Apache-2.0
"""The C library with the declarations of its header; importing this module loads it."""
from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from cffi import FFI

from . import __version__
from .errors import FileError

_NAME = "libbitbudget.so.0"


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
    raise FileError(f"cannot find {named or _NAME}; build it with ./setup python, or set BITBUDGET_LIBRARY to its path")


def _declarations(header: Path) -> str:
    text = re.sub(r"//[^\n]*", "", header.read_text(encoding="utf-8"))
    text = re.sub(r'extern "C" \{|^\s*#(?:[^\n]*\\\n)*[^\n]*', "", text, flags=re.M)
    # The last brace closes extern "C".
    return text.replace("BB_API", "").rstrip().removesuffix("}")


def _load() -> tuple[Any, Any]:
    path, header = _find()
    ffi = FFI()
    ffi.cdef("typedef ptrdiff_t bb_index;\n" + _declarations(header).replace("typedef ptrdiff_t bb_index;", ""))
    try:
        library = ffi.dlopen(path)
        version = ffi.string(library.bb_version()).decode()
    except (OSError, AttributeError) as error:
        raise FileError(f"cannot load '{path}': {error}") from None
    if version != __version__:
        raise FileError(f"'{path}' has version {version}, this package {__version__}; set BITBUDGET_LIBRARY to "
                        f"a library of version {__version__}")
    return ffi, library


ffi, library = _load()
