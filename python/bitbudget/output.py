# SPDX-License-Identifier: Apache-2.0
"""Files that are complete or absent."""
from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from .errors import FileError


def write(path: str | os.PathLike[str], content: bytes | str, force: bool = False) -> None:
    """Write a file under a temporary name in its folder, and rename it when it is complete.

    Raises
    ------
    FileError
        If the file exists and `force` is not set, or cannot be written; nothing new is left then.
    """
    if Path(path).exists() and not force:
        raise FileError(f"output '{path}' exists; choose another name or add --force")
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=Path(path).parent, prefix=f".{Path(path).name[:100]}-", delete=False) as file:
            temporary = file.name
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
