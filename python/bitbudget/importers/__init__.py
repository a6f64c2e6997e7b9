# SPDX-License-Identifier: Apache-2.0
"""Instrument files of other simulators of adaptive optics, as studies."""
from __future__ import annotations

import os
from pathlib import Path

from ..errors import FileError, UsageError
from . import maos, specula, tiptop
from .draft import Draft

KINDS = {".ini": tiptop.read, ".yml": specula.read, ".conf": maos.read}


def read(path: str | os.PathLike[str], *more: str, lenslets: int | None = None, sensor: str | None = None) -> Draft:
    """Translate the files of an instrument.

    Parameters
    ----------
    path : path-like
        TIPTOP .ini, SPECULA .yml or MAOS .conf.
    *more : str
        MAOS and SPECULA: further files; MAOS: settings such as ``aper.d=[5]``, in the order of its
        command line.
    lenslets : int, optional
        Reduces the order: number of lenslets across the pupil.
    sensor : {"shack-hartmann"}, optional
        Substitutes sensors that are not simulated; the result is not comparable.

    Returns
    -------
    Draft
        ``.text()`` is the study; ``.assumed`` and ``.missing`` are in its head also.
    """
    reader = KINDS.get(Path(path).suffix)
    if reader is None:
        raise UsageError(f"{path}: expected a file of TIPTOP (.ini), SPECULA (.yml) or MAOS (.conf)")
    if sensor not in (None, "shack-hartmann"):
        raise UsageError(f"sensor '{sensor}': expected shack-hartmann")
    try:
        draft = reader([os.fspath(path), *more], sensor)
    except FileError:
        raise
    except (AttributeError, ArithmeticError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        raise FileError(f"cannot read '{path}': a value of another kind than expected ({error})") from None
    except OSError as error:
        raise FileError(f"cannot read '{error.filename or path}': {error.strerror or error}") from None
    if lenslets is not None:
        draft.reduce(lenslets)
    return draft
