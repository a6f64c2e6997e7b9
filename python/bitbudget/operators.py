# SPDX-License-Identifier: Apache-2.0
"""Products with encoded, dense and sparse matrices."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from . import _gpu
from ._library import array, check, device, encode, load, output, record
from .coding import Storage
from .errors import UsageError


class Operator:
    """Product y = C x with a stored matrix on a device.

    Parameters
    ----------
    matrix : Storage, array_like [rows][columns], or scipy.sparse matrix
        An array is encoded; a sparse matrix stays in fp64 on the cpu.
    storage : str
        Codec and keys of an array, as in `quantise`; default "fp64".
    arithmetic : str
        "multiply=fp32 accumulate=fp64 run=128"; the default is fp64 throughout.
    device : str
        "cpu", "cuda" or "auto".

    Examples
    --------
    >>> import bitbudget, numpy
    >>> C = bitbudget.Operator(numpy.eye(3), "fp16")
    >>> C(numpy.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(self, matrix: Any, storage: str | None = None, *, arithmetic: str = "", device: str = "cpu") -> None:
        ffi, library = load()
        place = ffi.new("bb_operator **")
        words, where = encode(arithmetic), _device(device)
        if isinstance(matrix, Storage):
            if storage is not None:
                raise UsageError("storage is for arrays; this matrix is encoded already")
            check(library.bb_operator_create(matrix._handle, words, where, place))
        elif hasattr(matrix, "tocsr"):
            if storage is not None or where != b"cpu" or arithmetic:
                raise UsageError("a sparse matrix is multiplied in fp64 on the cpu, without storage and arithmetic")
            self._create_sparse(matrix.tocsr(), place)
        else:
            values = array(matrix, 2, "matrix")
            check(library.bb_operator_create_dense(encode(storage or "fp64"), *values.shape,
                                                   ffi.from_buffer("double[]", values), words, where, place))
        self._handle = ffi.gc(place[0], lambda owned: library.bb_operator_destroy(ffi.new("bb_operator **", owned)))
        about = ffi.new("bb_operator_report *")
        check(library.bb_operator_describe(self._handle, about))
        self.report = record(about)
        self.shape = (self.report["rows"], self.report["columns"])
        self._lock = threading.Lock()  # a handle serves one thread at a time
        self._apply, self._buffer, self._null = library.bb_operator_apply, ffi.from_buffer, ffi.NULL

    @staticmethod
    def _create_sparse(matrix: Any, place: Any) -> None:
        ffi, library = load()
        starts, columns = (np.ascontiguousarray(part, np.int64) for part in (matrix.indptr, matrix.indices))
        values = array(matrix.data, 1, "matrix")
        check(library.bb_operator_create_csr(*matrix.shape, starts.itemsize, ffi.from_buffer(starts),
                                             ffi.from_buffer(columns), ffi.from_buffer("double[]", values), place))

    def apply(self, x: Any, out: Any = None) -> Any:
        """Multiply one vector [columns] or several as rows [count][columns].

        Parameters
        ----------
        x : array_like, or a vector on the GPU of the operator
            A GPU array (CuPy, PyTorch) of the format of the products gives a product that is queued
            on its current stream, and a result on the GPU.
        out : array of doubles, optional
            Receives the result.

        Returns
        -------
        array [rows] or [count][rows]
        """
        if hasattr(x, "__cuda_array_interface__"):
            return _gpu.apply(self, x, out)
        rows, columns = self.shape
        # Fast path: a contiguous vector of doubles.
        if type(x) is not np.ndarray or x.dtype != np.float64 or not x.flags.c_contiguous:
            x = array(x, 2 if np.ndim(x) == 2 else 1, "x")
        if x.shape[-1] != columns or x.ndim > 2:
            raise UsageError(f"x has shape {x.shape}, expected ({columns},) or (count, {columns})")
        count = 1 if x.ndim == 1 else x.shape[0]
        y = output(out, x.shape[:-1] + (rows,), x) if out is not None else np.empty(x.shape[:-1] + (rows,))
        with self._lock:
            status = self._apply(self._handle, count, self._buffer("double[]", x), self._buffer("double[]", y),
                                 self._null)
            if status:
                check(status)
        return y

    __call__ = apply

    def __matmul__(self, x: Any) -> Any:
        if np.ndim(x) == 1:
            return self.apply(x)
        return self.apply(np.ascontiguousarray(np.asarray(x).T)).T

    def bound(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return upper bounds of the error of each row of C x: from storage, and from arithmetic."""
        ffi, library = load()
        vector = array(x, 1, "x")
        if vector.size != self.shape[1]:
            raise UsageError(f"x has {vector.size} values, expected {self.shape[1]}")
        coding, rounding = np.empty(self.shape[0]), np.empty(self.shape[0])
        check(library.bb_operator_bound(self._handle, *(ffi.from_buffer("double[]", v)
                                                        for v in (vector, coding, rounding))))
        return coding, rounding


_device = device
