# SPDX-License-Identifier: Apache-2.0
"""Phase unwrapping."""
from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np

from . import _gpu
from . import _library as lib
from .errors import UsageError

_MOST = float(np.float32(np.pi))  # the largest phase in fp32 is above pi


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
        self.shape, where = tuple(int(side) for side in shape), lib.device(device)
        lib.check_shape("phase", self.shape, ("rows", "columns"))
        self._mask = None if mask is None else (lib.array(mask, "mask", self.shape) != 0).view(np.uint8)
        self._handle = lib.created("bb_unwrapper", "create", *self.shape, self._mask, precision, where)
        self._about = lib.new("bb_unwrapping_report *")
        self._lock, self._gpu = threading.Lock(), lib.ordinal(where)
        self.report: dict[str, Any] = {}

    def __call__(self, wrapped: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Unwrap a phase [rows][columns] in rad.

        Parameters
        ----------
        wrapped : array_like, or an array on the GPU of the plan
            Any phase in host memory; on the GPU from -pi to pi. Finite within the mask.
        out : ndarray of doubles, optional

        Returns
        -------
        ndarray [rows][columns]
            Phase in rad, NaN outside the mask. `report` has the outcome of the run.
        """
        return self._unwrap(wrapped, out)

    def _unwrap(self, wrapped: Any, out: np.ndarray | None = None) -> np.ndarray:
        result = lib.output(out, self.shape, wrapped)
        with self._lock:  # a handle serves one thread at a time
            if lib.on_gpu(wrapped):
                self._queue(wrapped, result)
            else:
                phase = lib.array(wrapped, "wrapped", self.shape)
                lib.call("bb_unwrapper_run", self._handle, phase, result, self._about)
            report = self.report = lib.record(self._about)
        if report["outcome"]["kind"] != "ok":
            warnings.warn(f"{report['outcome']['kind']}: {report['outcome']['detail']}", NotConverged, 3)
        return result

    def _queue(self, wrapped: Any, result: np.ndarray) -> None:
        module, phase = _gpu.placed(wrapped, "wrapped", self._gpu)
        lib.check_shape("wrapped", phase.shape, self.shape)
        place, size = lib.new("void **"), lib.new("int *")
        lib.call("bb_unwrapper_input", self._handle, place, size)
        view = _gpu.View(place[0], f"<f{size[0]}", self.shape)
        with _gpu.current(module, self._gpu):
            fits = abs(phase) <= _MOST  # false for NaN
            _gpu.array_of(module, view)[...] = module.where(fits, phase, module.zeros_like(phase))
            if self._mask is not None:
                fits |= _gpu.array_of(module, self._mask) == 0
            if not bool(fits.all()):  # waits for the current stream
                raise UsageError("wrapped has values that are not finite or not from -pi to pi; mask them, or wrap "
                                 "them with angle(exp(1j * wrapped))")
        lib.call("bb_unwrapper_queue", self._handle)
        lib.call("bb_unwrapper_read", self._handle, result, self._about)

    def quality(self) -> np.ndarray:
        """Return the quality of every point of the last run, 0 to 1, NaN outside the mask."""
        result = np.empty(self.shape)
        lib.call("bb_unwrapper_quality", self._handle, result)
        return result

    def parts(self) -> tuple[int, np.ndarray]:
        """Return the number of connected parts of the mask, and the part of each point, -1 outside."""
        count, labels = lib.new("bb_index *"), np.empty(self.shape, np.int32)
        lib.call("bb_unwrapper_parts", self._handle, labels, count)
        return count[0], labels


def _check_wrap_around(wrap_around: Any, dimensions: int) -> None:
    sides = np.asarray(wrap_around)
    if sides.dtype != bool or sides.shape not in ((), (dimensions,)):
        raise UsageError(f"wrap_around = {wrap_around!r}: expected a bool, or one for each axis of {dimensions}")
    if sides.any():
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
    masked = isinstance(image, np.ma.MaskedArray)
    phase = image.data if masked else image
    if not lib.on_gpu(image):
        phase = lib.array(phase, "image", ("columns",), ("rows", "columns"))
    shape = tuple(phase.shape)
    if 0 in shape:
        raise UsageError(f"image has shape {shape}, expected at least one point")
    _check_wrap_around(wrap_around, len(shape))
    valid = ~np.ma.getmaskarray(image) if masked else np.ones(shape, bool)
    for name, given in (("mask", mask), ("weights", weights)):
        if given is not None:
            values = lib.array(given, name, shape)
            valid = valid & (values != 0 if name == "mask" else _of_weights(values))
    if not valid.any():
        return np.ma.array(np.zeros(shape), mask=True) if masked else np.full(shape, np.nan)
    plane = shape if len(shape) == 2 else (1, shape[0])
    plan = Unwrapper(plane, None if valid.all() else valid.reshape(plane), precision=precision, device=device)
    result = plan._unwrap(phase.reshape(plane)).reshape(shape)
    return np.ma.array(np.where(valid, result, 0.0), mask=~valid) if masked else result


def _of_weights(given: np.ndarray) -> np.ndarray:
    positive = given[given > 0]
    if not (given >= 0).all() or (positive.size and positive.min() != positive.max()):
        raise UsageError("weights: expected 0 for invalid points and one value for all others; the solver determines "
                         "weights of edges from the phase")
    return given > 0
