# SPDX-License-Identifier: Apache-2.0
"""Products with encoded, dense and sparse matrices."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from . import _gpu
from . import _library as lib
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
        where = lib.device(device)
        if isinstance(matrix, Storage):
            if storage is not None:
                raise UsageError("storage is for arrays; this matrix is encoded already")
            given = "create", matrix._handle, arithmetic, where
        elif hasattr(matrix, "tocsr"):
            if storage is not None or where != "cpu" or arithmetic:
                raise UsageError("a sparse matrix is multiplied in fp64 on the cpu, without storage and arithmetic")
            rows = matrix.tocsr()
            parts = [np.ascontiguousarray(part, np.int64) for part in (rows.indptr, rows.indices)]
            given = "create_csr", *rows.shape, 8, *parts, lib.array(rows.data, "matrix", ("entries",))
        else:
            values = lib.array(matrix, "matrix", ("rows", "columns"))
            given = "create_dense", "fp64" if storage is None else storage, *values.shape, values, arithmetic, where
        self._handle = lib.created("bb_operator", *given)
        self.report = lib.described("bb_operator", self._handle)
        self._gpu = lib.ordinal(where)
        self.shape = (self.report["rows"], self.report["columns"])
        self._lock = threading.Lock()  # a handle serves one thread at a time
        ffi, library = lib.load()
        self._apply, self._buffer, self._null = library.bb_operator_apply, ffi.from_buffer, ffi.NULL

    def apply(self, x: Any, out: Any = None) -> Any:
        """Multiply one vector [columns] or several as rows [count][columns].

        Parameters
        ----------
        x : array_like, or a vector on the GPU of the operator
            A GPU array of the format of the products gives a product that is queued on the current
            stream of CuPy or PyTorch, and a result on the GPU. Arrays of other libraries are used
            by DLPack and give a result of CuPy or PyTorch.
        out : array of doubles, optional
            Receives the result.

        Returns
        -------
        array [rows] or [count][rows]
        """
        rows, columns = self.shape
        # Fast path: a contiguous vector of doubles.
        if type(x) is not np.ndarray or x.dtype != np.float64 or x.shape != (columns,) or not x.flags.c_contiguous:
            if lib.on_gpu(x):
                return _gpu.apply(self, x, out)
            x = lib.array(x, "x", (columns,), ("count", columns))
        count = 1 if x.ndim == 1 else x.shape[0]
        y = lib.output(out, x.shape[:-1] + (rows,), x)
        with self._lock:
            status = self._apply(self._handle, count, self._buffer("double[]", x), self._buffer("double[]", y),
                                 self._null)
            if status:
                lib.check(status)
        return y

    __call__ = apply

    def __matmul__(self, x: Any) -> Any:
        if lib.on_gpu(x):
            return self.apply(x)
        return self.apply(lib.array(x, "x", self.shape[1:], (*self.shape[1:], "count")).T).T

    def bound(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return upper bounds of the error of each row of C x: from storage, and from arithmetic."""
        vector = lib.array(x, "x", self.shape[1:])
        coding, rounding = np.empty(self.shape[0]), np.empty(self.shape[0])
        lib.call("bb_operator_bound", self._handle, vector, coding, rounding)
        return coding, rounding
