# SPDX-License-Identifier: Apache-2.0
"""Number formats and codecs: rounding, encoding, and rounding in a norm."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._library import array, check, device, encode, load, output, record, text
from .errors import UsageError


def formats() -> list[str]:
    """Return the names of all formats and codecs, the plain formats first."""
    _, library = load()
    return [text(library.bb_storage_name(i)) for i in range(library.bb_storage_count())]


def keys() -> dict[str, tuple[str, str]]:
    """Return the keys of storage texts: for each its words ("" for a number) and its meaning."""
    ffi, library = load()
    found = {}
    name, meaning, words = ffi.new("const char **"), ffi.new("const char **"), ffi.new("char[]", 512)
    for i in range(library.bb_storage_key_count()):
        check(library.bb_storage_key(i, name, meaning, words, 512))
        found[text(name[0])] = (text(words), text(meaning[0]))
    return found


def describe(storage: str) -> tuple[str, float]:
    """Return the description of a storage text and its stored bits per value (NaN: they depend on the data)."""
    ffi, library = load()
    words, bits = ffi.new("char[]", 96), ffi.new("double *")
    check(library.bb_storage_check(encode(storage), words, 96, bits))
    return text(words), bits[0]


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
    ffi, library = load()
    out = ffi.new("double *")
    largest = magnitude if block_magnitude is None else block_magnitude
    check(library.bb_storage_bound(encode(storage), range, magnitude, largest, out))
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
    ffi, library = load()
    shape = np.shape(a)
    values = array(a, len(shape) if len(shape) in (1, 2) else 2, "a")
    rows, columns = values.shape if values.ndim == 2 else (1, values.size)
    result = output(out, values.shape)
    about = ffi.new("bb_storage_report *")
    check(library.bb_storage_quantise(encode(storage), rows, columns, ffi.from_buffer("double[]", values),
                                      ffi.from_buffer("double[]", result), about))
    return (result, record(about)) if report else result


class Storage:
    """An encoded matrix in host memory.

    Parameters
    ----------
    values : array_like [rows][columns]
    storage : str
        Codec and keys, as in `quantise`.
    """

    def __init__(self, values: Any, storage: str) -> None:
        ffi, library = load()
        matrix = array(values, 2, "values")
        place = ffi.new("bb_storage **")
        check(library.bb_storage_encode(encode(storage), *matrix.shape, ffi.from_buffer("double[]", matrix), place))
        self._own(place[0])

    def _own(self, handle: Any) -> None:
        ffi, library = load()
        self._handle = ffi.gc(handle, lambda owned: library.bb_storage_destroy(ffi.new("bb_storage **", owned)))
        about = ffi.new("bb_storage_report *")
        check(library.bb_storage_describe(self._handle, about))
        self.report = record(about)

    @classmethod
    def _of(cls, handle: Any) -> Storage:
        made = cls.__new__(cls)
        made._own(handle)
        return made

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
        ffi, library = load()
        result = output(out, self.shape)
        check(library.bb_storage_decode(self._handle, 0, self.shape[0], ffi.from_buffer("double[]", result)))
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
    it: Babai's nearest plane, GPTQ. The loss is tr(E A E^T) with E the rounding error.

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
        With `loss`, `loss_nearest` (rounding every value to nearest) and `seconds`.

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
    ffi, library = load()
    matrix = array(R, 2, "R")
    norm = None if A is None else array(A, 2, "A")
    if norm is not None and norm.shape != (matrix.shape[1],) * 2:
        raise UsageError(f"A has shape {norm.shape}, expected {(matrix.shape[1],) * 2} for R of shape {matrix.shape}")
    place, about = ffi.new("bb_storage **"), ffi.new("bb_rounding_report *")
    words = storage if bits is None else f"integer bits={bits}"
    check(library.bb_storage_round(encode(words), *matrix.shape, ffi.from_buffer("double[]", matrix),
                                   ffi.NULL if norm is None else ffi.from_buffer("double[]", norm),
                                   _device(device), about, place))
    report = record(about)
    if report["outcome"]["kind"] != "ok":
        raise UsageError(f"A or R: {report['outcome']['detail']}")
    result = Storage._of(place[0])
    result.loss, result.loss_nearest, result.seconds = report["loss"], report["loss_nearest"], report["seconds"]
    return result


_device = device
