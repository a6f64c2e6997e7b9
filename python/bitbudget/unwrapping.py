# SPDX-License-Identifier: Apache-2.0
"""Phase unwrapping."""
from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _gpu
from ._library import array, check, device, encode, load, output, record
from .errors import UsageError


class NotConverged(UserWarning):
    """The least-squares solve did not converge: the phase may have wrong cycles."""


class Unwrapper:
    """Plan of unwrapping for one mask, for a stream of phases.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    mask : array_like of bool [rows][columns], optional
        True where a point is valid.
    precision : str
        "fp32" or "fp64", and keys of `unwrap:`: "fp32 storage=fp16 reject=auto reweight=12".
    device : str
        "cpu", "cuda", "opencl" or "auto".
    """

    def __init__(self, shape: tuple[int, int], mask: Any = None, *, precision: str = "fp32",
                 device: str = "cpu") -> None:
        ffi, library = load()
        self.shape = tuple(int(side) for side in shape)
        self._mask = None if mask is None else np.ascontiguousarray(np.asarray(mask, bool), np.uint8)
        if len(self.shape) != 2 or (self._mask is not None and self._mask.shape != self.shape):
            raise UsageError(f"shape {self.shape} and mask {np.shape(mask)}: expected two equal sides")
        place = ffi.new("bb_unwrapper **")
        valid = ffi.NULL if self._mask is None else ffi.from_buffer("unsigned char[]", self._mask)
        check(library.bb_unwrapper_create(*self.shape, valid, encode(precision), _device(device), place))
        self._handle = ffi.gc(place[0], lambda owned: library.bb_unwrapper_destroy(ffi.new("bb_unwrapper **", owned)))
        self._about = ffi.new("bb_unwrapping_report *")
        self._lock, self._on_cuda = threading.Lock(), _device(device).startswith(b"cuda")
        self.report: dict[str, Any] = {}

    def __call__(self, wrapped: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Unwrap a phase [rows][columns] in rad.

        Parameters
        ----------
        wrapped : array_like, or an array of CuPy or PyTorch on the GPU of the plan
            Any phase in host memory; on the GPU from -pi to pi.
        out : ndarray of doubles, optional

        Returns
        -------
        ndarray [rows][columns]
            Phase in rad, NaN outside the mask. `report` has the outcome of the run.
        """
        result = output(out, self.shape, wrapped if isinstance(wrapped, np.ndarray) else None)
        with self._lock:  # a handle serves one thread at a time
            if hasattr(wrapped, "__cuda_array_interface__"):
                self._queue(wrapped, result)
            else:
                self._run(array(wrapped, 2, "wrapped"), result)
            report = self.report = record(self._about)
        if report["outcome"]["kind"] != "ok":
            warnings.warn(f"{report['outcome']['kind']}: {report['outcome']['detail']}", NotConverged, 2)
        return result

    def _run(self, phase: np.ndarray, result: np.ndarray) -> None:
        ffi, library = load()
        if phase.shape != self.shape:
            raise UsageError(f"wrapped has shape {phase.shape}, expected {self.shape}")
        check(library.bb_unwrapper_run(self._handle, ffi.from_buffer("double[]", phase),
                                       ffi.from_buffer("double[]", result), self._about))

    def _queue(self, wrapped: Any, result: np.ndarray) -> None:
        ffi, library = load()
        if not self._on_cuda or tuple(wrapped.shape) != self.shape:
            raise UsageError(f"wrapped is on a GPU with shape {tuple(wrapped.shape)}, expected a plan with device='cuda' "
                             f"and shape {self.shape}")
        place, size = ffi.new("void **"), ffi.new("int *")
        check(library.bb_unwrapper_input(self._handle, place, size))
        module = _gpu._library_of(wrapped)
        view = _gpu.View(int(ffi.cast("uintptr_t", place[0])), f"<f{size[0]}", self.shape)
        field = _gpu.array_of(module, view)
        field[...] = module.where(module.isfinite(wrapped), wrapped, module.zeros_like(wrapped))
        (module.cuda.current_stream() if module.__name__ == "torch" else module.cuda.get_current_stream()).synchronize()
        check(library.bb_unwrapper_queue(self._handle))
        check(library.bb_unwrapper_read(self._handle, ffi.from_buffer("double[]", result), self._about))

    def quality(self) -> np.ndarray:
        """Return the quality of every point of the last run, 0 to 1, NaN outside the mask."""
        ffi, library = load()
        result = np.empty(self.shape)
        check(library.bb_unwrapper_quality(self._handle, ffi.from_buffer("double[]", result)))
        return result

    def parts(self) -> tuple[int, np.ndarray]:
        """Return the number of connected parts of the mask, and the part of each point, -1 outside."""
        ffi, library = load()
        count, labels = ffi.new("bb_index *"), np.empty(self.shape, np.int32)
        check(library.bb_unwrapper_parts(self._handle, ffi.from_buffer("int[]", labels), count))
        return count[0], labels


def _check_wrap_around(wrap_around: Any, dimensions: int) -> None:
    if isinstance(wrap_around, str) or not isinstance(wrap_around, (bool, np.bool_, Iterable)):
        raise UsageError("wrap_around: expected a bool, or a sequence of one for each axis")
    sides = [bool(wrap_around)] if isinstance(wrap_around, (bool, np.bool_)) else [bool(side) for side in wrap_around]
    if not isinstance(wrap_around, (bool, np.bool_)) and len(sides) != dimensions:
        raise UsageError(f"wrap_around has {len(sides)} values, expected one for each of {dimensions} axes")
    if any(sides):
        raise UsageError("wrap_around is not offered: the grids of the multigrid solver end at the edge of the image")


def unwrap(image: Any, wrap_around: Any = False, *, mask: Any = None, weights: Any = None, precision: str = "fp32",
           device: str = "cpu") -> Any:
    """Recover a phase from its values modulo 2 pi; the positional arguments are those of scikit-image.

    Parameters
    ----------
    image : array_like [columns] or [rows][columns]
        Wrapped phase in rad. A masked array gives a masked array.
    wrap_around : bool or sequence of bool
        Only False: periodic axes are not offered.
    mask : array_like of bool, optional
        True where a point is valid; elsewhere the result is NaN.
    weights : array_like, optional
        Points with weight 0 are invalid, as in `mask`; all other weights must be equal.
    precision : str
        "fp32" or "fp64" and keys, as in `Unwrapper`.
    device : str
        "cpu", "cuda", "opencl" or "auto".

    Returns
    -------
    ndarray or masked array
        Phase in rad, the input plus multiples of 2 pi.

    Examples
    --------
    >>> import bitbudget, numpy
    >>> phase = numpy.add.outer(numpy.linspace(0, 40, 64), numpy.linspace(0, 25, 64))
    >>> found = bitbudget.unwrap(numpy.angle(numpy.exp(1j * phase)))
    >>> bool(abs(numpy.ptp(found - phase)) < 1e-9)
    True
    """
    shape = np.shape(image)
    if len(shape) not in (1, 2) or 0 in shape:
        raise UsageError(f"image has shape {shape}, expected one or two axes with at least one point")
    _check_wrap_around(wrap_around, len(shape))
    masked = isinstance(image, np.ma.MaskedArray)
    for name, given in (("mask", mask), ("weights", weights)):
        if given is not None and np.shape(given) != shape:
            raise UsageError(f"{name} has shape {np.shape(given)}, expected {shape}")
    valid = np.ones(shape, bool) if mask is None else np.asarray(mask, bool)
    if masked:
        valid = valid & ~np.ma.getmaskarray(image)
    if weights is not None:
        valid = valid & _of_weights(weights, shape)
    phase = np.ma.getdata(image) if masked else image
    if not valid.any():
        return np.ma.array(np.zeros(shape), mask=True) if masked else np.full(shape, np.nan)
    plane = shape if len(shape) == 2 else (1, shape[0])
    plan = Unwrapper(plane, None if valid.all() else valid.reshape(plane), precision=precision, device=device)
    result = plan(phase if hasattr(phase, "__cuda_array_interface__") else np.reshape(phase, plane)).reshape(shape)
    return np.ma.array(np.where(valid, result, 0.0), mask=~valid) if masked else result


def _of_weights(weights: Any, shape: tuple[int, ...]) -> np.ndarray:
    given = np.broadcast_to(np.asarray(weights, float), shape)
    positive = given[given > 0]
    if not (given >= 0).all() or (positive.size and positive.min() != positive.max()):
        raise UsageError("weights: expected 0 for invalid points and one value for all others; the solver determines "
                         "weights of edges from the phase")
    return given > 0


_device = device
