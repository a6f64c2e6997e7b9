# SPDX-License-Identifier: Apache-2.0
"""Number formats and codecs: rounding, encoding, and rounding in a norm."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _library as lib
from .errors import UsageError


def formats() -> list[str]:
    """Return the names of all formats and codecs, the plain formats first."""
    _, library = lib.load()
    return [lib.text(library.bb_storage_name(i)) for i in range(library.bb_storage_count())]


def keys() -> dict[str, tuple[str, str]]:
    """Return the keys of storage texts: for each its words ("" for a number) and its meaning."""
    found = {}
    name, meaning, words = lib.new("const char **"), lib.new("const char **"), lib.new("char[]", 512)
    for i in range(lib.load()[1].bb_storage_key_count()):
        lib.call("bb_storage_key", i, name, meaning, words, 512)
        found[lib.text(name[0])] = (lib.text(words), lib.text(meaning[0]))
    return found


def describe(storage: str) -> tuple[str, float]:
    """Return the description of a storage text and its bits per value in long rows.

    The bits are the limit of ``bits_per_value`` of a report, 8 bytes / (rows columns), which exceeds
    it where a row ends with a part of a block; NaN: they depend on the data.
    """
    words, bits = lib.new("char[]", 96), lib.new("double *")
    lib.call("bb_storage_check", storage, words, 96, bits)
    return lib.text(words), bits[0]


def bound(storage: str, magnitude: float, block_magnitude: float | None = None, range: float = math.nan) -> float:  # noqa: A002
    """Return the largest error that a codec guarantees for a value.

    Parameters
    ----------
    storage : str
        Codec and keys, as in `quantise`.
    magnitude : float
        Magnitude of the value.
    block_magnitude : float, optional
        Largest magnitude in its block; the default is `magnitude`.
    range : float, optional
        Maximum minus minimum of the matrix, for ``tolerance_of_range``.

    Returns
    -------
    float
        In the unit of the value; infinity without a guarantee.
    """
    out = lib.new("double *")
    largest = magnitude if block_magnitude is None else block_magnitude
    lib.call("bb_storage_bound", storage, range, magnitude, largest, out)
    return out[0]


def quantise(a: Any, storage: str, *, out: np.ndarray | None = None, report: bool = False) -> Any:
    """Round an array to a number format or codec and back.

    Parameters
    ----------
    a : array_like [columns] or [rows][columns]
        Values; each row is encoded on its own unless the codec couples rows.
    storage : str
        Codec and keys with the names of the configuration: "fp16", "mx element=e4m3",
        "bfp bits=8 scale=row"; `formats` and `keys` list them.
    out : ndarray, optional
        Array of doubles that receives the values; it may be `a`.
    report : bool
        Return also a dictionary: bytes, bits_per_value, max_error, rms_error, saturated, ...

    Returns
    -------
    ndarray, or (ndarray, dict)
        The decoded values.

    Examples
    --------
    >>> import bitbudget
    >>> bitbudget.quantise([1.0, 1.001, 1000.1], "fp16").tolist()
    [1.0, 1.0009765625, 1000.0]
    """
    values = lib.array(a, "a", ("columns",), ("rows", "columns"))
    result = lib.output(out, values.shape)
    about = lib.new("bb_storage_report *")
    lib.call("bb_storage_quantise", storage, *np.atleast_2d(values).shape, values, result, about)
    return (result, lib.record(about)) if report else result


class Storage:
    """An encoded matrix in host memory.

    Parameters
    ----------
    values : array_like [rows][columns]
    storage : str
        Codec and keys, as in `quantise`.
    """

    def __init__(self, values: Any, storage: str) -> None:
        matrix = lib.array(values, "values", ("rows", "columns"))
        self._own(lib.created("bb_storage", "encode", storage, *matrix.shape, matrix))

    def _own(self, handle: Any) -> Storage:
        self._handle, self.report = handle, lib.described("bb_storage", handle)
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.report["rows"], self.report["columns"]

    @property
    def nbytes(self) -> float:
        """Stored bytes, with scales, exponents and index."""
        return self.report["bytes"]

    def decode(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return the stored values [rows][columns]."""
        result = lib.output(out, self.shape)
        lib.call("bb_storage_decode", self._handle, 0, self.shape[0], result)
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.decode() if dtype is None else self.decode().astype(dtype)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<bitbudget storage {rows} x {columns}, {self.report['description']}, {self.nbytes:.0f} bytes>"


def round_in_norm(R: Any, A: Any = None, storage: str | None = None, *, bits: int | None = None,  # noqa: N803
                  device: str = "cpu") -> Storage:
    """Round a matrix so that its error is small in the norm of a covariance.

    Columns are rounded from the last to the first, and each compensates the errors of those before
    it: Babai's nearest plane, GPTQ. The loss is tr(E A E^T) with E the rounding error, in the unit of
    R A R^T: the variance that rounding adds, summed over rows. Divided by tr(R A R^T) it is relative to
    the variance of R x.

    Parameters
    ----------
    R : array_like [m][n]
        Matrix, such as a reconstructor.
    A : array_like [n][n], optional
        Covariance of its input, symmetric positive definite; the default is the identity.
    storage : str, optional
        Codec and keys, as in `quantise`, of a codec that rounds columns one by one.
    bits : int, optional
        Short for "integer bits=BITS", a step for each row.
    device : str
        "cpu", "cuda" or "auto".

    Returns
    -------
    Storage
        With `loss`, `loss_nearest` (rounding every value to nearest) and `seconds`. A loss is infinite
        where a value overflows the format.

    Raises
    ------
    NotPositiveDefiniteError
        With the tile and row.

    Examples
    --------
    >>> import bitbudget, numpy
    >>> R = numpy.random.default_rng(1).normal(size=(4, 64))
    >>> A = numpy.fromfunction(lambda i, j: 0.9 ** abs(i - j), (64, 64))
    >>> Q = bitbudget.round_in_norm(R, A, bits=5)
    >>> bool(Q.loss < 0.5 * Q.loss_nearest)
    True
    """
    if (storage is None) == (bits is None):
        raise UsageError("give either storage or bits")
    matrix = lib.array(R, "R", ("m", "n"))
    norm = None if A is None else lib.array(A, "A", (matrix.shape[1],) * 2)
    about = lib.new("bb_rounding_report *")
    words = storage if bits is None else f"integer bits={bits}"
    handle = lib.created("bb_storage", "round", words, *matrix.shape, matrix, norm, lib.device(device), about)
    report = lib.check_outcome("A or R", lib.record(about))
    result = Storage.__new__(Storage)._own(handle)
    result.loss, result.loss_nearest, result.seconds = report["loss"], report["loss_nearest"], report["seconds"]
    return result
