# SPDX-License-Identifier: Apache-2.0
"""Mixed-precision Cholesky factorization."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ._library import array, check, load, options, record
from .errors import UsageError


class NotPositiveDefiniteError(UsageError):
    """The matrix is not positive definite in the arithmetic of the factorization."""


class Factorization:
    """Cholesky factor of a symmetric positive definite matrix; see `factor`."""

    def __init__(self, handle: Any, matrix: np.ndarray, report: dict[str, Any]) -> None:
        self._handle, self._matrix, self.report = handle, matrix, report
        self._lock = threading.Lock()  # a handle serves one thread at a time

    @property
    def digest(self) -> str:
        """Digest of the factor's tiles: equal for equal bits."""
        return self.report["digest"]

    @property
    def certificate(self) -> float:
        """Bound on the relative error of L L^T in the Frobenius norm; NaN if products are rounded too."""
        return self.report["certificate"]

    def solve(self, b: Any, *, certify: bool = False) -> Any:
        """Solve A x = b for one vector [n] or several as rows [count][n].

        Parameters
        ----------
        b : array_like
        certify : bool
            Return also a dictionary: backward_error, iterations_mean, worst_residual, ...

        Returns
        -------
        ndarray, or (ndarray, dict)
        """
        ffi, library = load()
        n = self._matrix.shape[0]
        x = array(b, 2 if np.ndim(b) == 2 else 1, "b")
        x = x.copy() if x is b or np.shares_memory(x, b) else x
        if x.shape[-1] != n:
            raise UsageError(f"b has shape {x.shape}, expected ({n},) or (count, {n})")
        about = ffi.new("bb_solve_report *")
        count = 1 if x.ndim == 1 else x.shape[0]
        with self._lock:
            check(library.bb_factorization_solve(self._handle, count, ffi.from_buffer("double[]", x), certify, about))
        report = record(about)
        if report["outcome"]["kind"] != "ok":
            raise UsageError(f"solve: {report['outcome']['kind']}: {report['outcome']['detail']}")
        return (x, report) if certify else x

    def lower(self) -> tuple[np.ndarray, np.ndarray]:
        """Return L [n][n] and the scale D [n]: D A D = L L^T."""
        ffi, library = load()
        n = self._matrix.shape[0]
        out, scale = np.empty((n, n)), np.empty(n)
        check(library.bb_factorization_lower(self._handle, ffi.from_buffer("double[]", out),
                                             ffi.from_buffer("double[]", scale)))
        return out, scale


def factor(A: Any, arithmetic: str = "dp", *, policy: str | None = None, scale: str | None = None,  # noqa: N803
           refine: str | None = None, **keys: Any) -> Factorization:
    """Factor a symmetric positive definite matrix with mixed precision.

    Parameters
    ----------
    A : array_like [n][n]
        A contiguous array of doubles is borrowed, not copied: do not change it while the factor is used.
    arithmetic : str
        "dp", "sp", "tf32", "bf16", "hp1", "hp2", "hp3", "x3" or "fp8" of the tile updates; keys may follow.
    policy : str, optional
        "uniform", "band", "tile_norm", "product" or "three_zones".
    scale : str, optional
        "unit_diagonal" (default) or "none".
    refine : str, optional
        "ir", "cg" or "gmres".
    **keys
        Further keys of the configuration; two underscores stand for a dot: ``policy__width=3``.

    Raises
    ------
    NotPositiveDefiniteError
        With the tile and row.

    Examples
    --------
    >>> import bitbudget, numpy
    >>> A = numpy.fromfunction(lambda i, j: 0.9 ** abs(i - j), (200, 200))
    >>> x, report = bitbudget.factor(A, "hp2", refine="cg").solve(numpy.ones(200), certify=True)
    >>> report["backward_error"] < 1e-10
    True
    """
    ffi, library = load()
    matrix = array(A, 2, "A")
    if matrix.shape[0] != matrix.shape[1]:
        raise UsageError(f"A has shape {matrix.shape}, expected a square matrix")
    place = ffi.new("bb_factorization **")
    words = options(arithmetic, policy=policy, scale=scale, refine=refine, **keys)
    check(library.bb_factorization_create(matrix.shape[0], ffi.from_buffer("double[]", matrix), words, place))
    handle = ffi.gc(place[0], lambda owned: library.bb_factorization_destroy(ffi.new("bb_factorization **", owned)))
    about = ffi.new("bb_factorization_report *")
    check(library.bb_factorization_describe(handle, about))
    report = record(about)
    if report["outcome"]["kind"] != "ok":
        raise NotPositiveDefiniteError(f"A: {report['outcome']['kind']}: {report['outcome']['detail']}")
    return Factorization(handle, matrix, report)
