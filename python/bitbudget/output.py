# SPDX-License-Identifier: Apache-2.0
"""Files that are complete or absent."""
from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .errors import FileError


@contextlib.contextmanager
def made(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name in a file's folder; at the end of the block the file there gets its name.

    Raises
    ------
    FileError
        If the file cannot be written; nothing new is left then.
    """
    path = Path(path)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name[:100]}-", dir=path.parent) as folder:
            part = Path(folder) / "part"
            yield part
            os.replace(part, path)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from None


def write(path: str | os.PathLike[str], content: str) -> None:
    """Write a text, replacing a file of that name; see `made`."""
    with made(path) as part:
        part.write_text(content, encoding="utf-8")
