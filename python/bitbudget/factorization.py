# SPDX-License-Identifier: Apache-2.0
"""Mixed-precision Cholesky factorization."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from . import _library as lib


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
        x, about = _sides(b, self._matrix), lib.new("bb_solve_report *")
        with self._lock:
            lib.call("bb_factorization_solve", self._handle, np.atleast_2d(x).shape[0], x, certify, about)
        report = lib.check_outcome("solve", lib.record(about))
        return (x, report) if certify else x

    def lower(self) -> tuple[np.ndarray, np.ndarray]:
        """Return L [n][n] and the scale D [n]: D A D = L L^T."""
        out, scale = np.empty(self._matrix.shape), np.empty(len(self._matrix))
        lib.call("bb_factorization_lower", self._handle, out, scale)
        return out, scale


def _sides(b: Any, matrix: np.ndarray) -> np.ndarray:
    """Return a copy of right-hand sides."""
    return lib.array(b, "b", matrix.shape[1:], ("count", *matrix.shape[1:])).copy()


def factor(A: Any, arithmetic: str = "dp", *, policy: str | None = None, scale: str | None = None,  # noqa: N803
           refine: str | None = None, **keys: Any) -> Factorization:
    """Factor a symmetric positive definite matrix with mixed precision.

    Parameters
    ----------
    A : array_like [n][n]
        A contiguous array of doubles is borrowed, not copied: do not change it while the factor is used.
    arithmetic : str
        "dp", "sp", "tf32", "bf16", "hp1", "hp2", "hp3", "x3" or "fp8" of the tile updates; keys may follow.
        Updates of diagonal tiles are in sp, so at least three tiles a side are needed. The default tile
        gives 8 or more from n = 64 on; ``report["tile"]`` has it.
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
    matrix = lib.array(A, "A", ("n", "n"))
    words = lib.options(arithmetic, policy=policy, scale=scale, refine=refine, **keys)
    handle = lib.created("bb_factorization", "create", len(matrix), matrix, words)
    return Factorization(handle, matrix, lib.check_outcome("A", lib.described("bb_factorization", handle)))


def factor_and_solve(A: Any, b: Any, arithmetic: str = "dp", *, device: str = "cpu", certify: bool = False,  # noqa: N803
                     **keys: Any) -> Any:
    """Factor a matrix and solve A x = b in one call, on any device; no factor remains.

    Parameters
    ----------
    A : array_like [n][n]
    b : array_like [n] or [count][n]
        Right-hand sides as rows.
    arithmetic : str
        As in `factor`.
    device : str
        "cpu", "cuda" or "auto". On cuda the policy is uniform, without refinement.
    certify : bool
        Return also two dictionaries: the reports of the factorization and of the solve.
    **keys
        Keys of `factor`, also policy, scale and refine.

    Returns
    -------
    ndarray, or (ndarray, dict, dict)
    """
    matrix = lib.array(A, "A", ("n", "n"))
    x = _sides(b, matrix)
    factored, solved = lib.new("bb_factorization_report *"), lib.new("bb_solve_report *")
    lib.call("bb_factor_and_solve", len(matrix), matrix, lib.options(arithmetic, **keys), lib.device(device),
             np.atleast_2d(x).shape[0], x, certify, factored, solved)
    reports = lib.check_outcome("A", lib.record(factored)), lib.check_outcome("solve", lib.record(solved))
    return (x, *reports) if certify else x
