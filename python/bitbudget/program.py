# SPDX-License-Identifier: Apache-2.0
"""The program ``bitbudget``, started as a process."""
from __future__ import annotations

import codecs
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from .errors import UsageError, of_exit_code

_ERASE = "\033[K"  # the program's code that erases the rest of a line


class ProgramWarning(UserWarning):
    """A warning of the program."""


def find() -> str:
    """Return the path of the program.

    ``BITBUDGET_PROGRAM`` comes first, then the build tree or installation around this package, then
    ``PATH``.
    """
    named = os.environ.get("BITBUDGET_PROGRAM")
    if named:
        return named
    here = Path(__file__).resolve().parents
    places = [here[2] / "build" / "bitbudget", *(parent / "bin" / "bitbudget" for parent in here[4:5])]
    near = [path for path in places if os.access(path, os.X_OK) and path.is_file()]
    found = str(near[0]) if near else shutil.which("bitbudget")
    if found is None:
        raise UsageError("no program 'bitbudget' in PATH; run ./setup and set BITBUDGET_PROGRAM to its path")
    return found


def run(arguments: Sequence[str], progress: bool = False) -> str:
    """Run the program and return its output.

    Parameters
    ----------
    arguments : sequence of str
        Arguments after the name of the program.
    progress : bool
        Show its messages and progress while it runs.

    Raises
    ------
    Error
        With the program's message, if it fails.
    """
    reader, writer = _terminal() if progress else os.pipe()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output, open(reader, "rb", 0) as messages:
        with open(writer, "wb", 0) as end:
            process = subprocess.Popen([find(), *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=end)
        with process:
            try:
                said = _read(messages, progress)
            except BaseException:
                process.terminate()
                raise
        output.seek(0)
        text = output.read()
    code = process.returncode
    if code != 0:
        failure = said.strip() or text.strip() or f"the program ended with code {code}"
        raise of_exit_code(code, failure.replace("bitbudget: ", "", 1))
    for line in said.splitlines():
        if " warning: " in line and not progress:
            warnings.warn(line.split(" warning: ", 1)[1].strip(), ProgramWarning, 3)
    return text


def _terminal() -> tuple[int, int]:
    """Return a terminal, on which progress is one line that changes; a pipe where the system has none."""
    try:
        return os.openpty()
    except OSError:
        return os.pipe()


def _read(messages: BinaryIO, progress: bool) -> str:
    """Return the messages of the program, and show them and its progress while it runs."""
    decoder, found = codecs.getincrementaldecoder("utf-8")("replace"), []
    erase = _ERASE if sys.stderr.isatty() else " " * 100 + "\r"  # notebooks have no code that erases a line
    with contextlib.suppress(OSError):  # a terminal without writers
        while data := messages.read(1 << 16):
            found.append(decoder.decode(data).replace("\r\n", "\n"))
            if progress:
                sys.stderr.write(found[-1].replace(_ERASE, erase))
                sys.stderr.flush()
    return re.sub(f"[^\n]*{re.escape(_ERASE)}", "", "".join(found))
