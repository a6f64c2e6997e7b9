# SPDX-License-Identifier: Apache-2.0
"""The program ``bitbudget``, started as a process."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

from .errors import UsageError, of_exit_code


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
    lines = []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output, \
            subprocess.Popen([find(), *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
                             text=True, errors="replace") as process:
        try:
            for line in process.stderr:
                lines.append(line)
                if progress:
                    print(line, end="", file=sys.stderr, flush=True)
        except BaseException:
            process.terminate()
            raise
        code = process.wait()
        output.seek(0)
        text = output.read()
    if code != 0:
        failure = "".join(lines).strip() or text.strip() or f"the program ended with code {code}"
        raise of_exit_code(code, failure.replace("bitbudget: ", "", 1))
    for line in lines:
        if " warning: " in line and not progress:
            warnings.warn(line.split(" warning: ", 1)[1].strip(), ProgramWarning, 3)
    return text
