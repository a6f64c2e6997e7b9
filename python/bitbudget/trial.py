# SPDX-License-Identifier: Apache-2.0
"""Trial of all formats and codecs on a matrix: the fewest bytes within a loss."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import files
from .errors import UsageError
from .result import Result
from .studies import study

# Candidates: formats without a parameter, codecs by bits, and codecs by tolerance in multiples of the accepted loss.
_FORMATS = ("fp32", "tf32", "bf16", "fp16", "e4m3", "e5m2")
_ELEMENTS = ("int8", "e4m3", "e2m1")
_BITS = (4, 5, 6, 7, 8, 10, 12, 14, 16)
_STEPS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)


def candidates(max_loss: float, meshes: int) -> list[dict[str, Any]]:
    """Return the pipelines of a trial, the reference in fp64 first; zfp uses a number of meshes, 0 to 2."""
    storages: dict[str, dict[str, Any]] = {"reference": {"codec": "fp64"}}
    storages |= {codec: {"codec": codec} for codec in _FORMATS}
    storages |= {f"mx {element}": {"codec": "mx", "element": element} for element in _ELEMENTS}
    storages |= {f"{codec} {bits}": {"codec": codec, "bits": bits} for codec in ("bfp", "integer") for bits in _BITS}
    tolerant = {"quantiser": {}, "zfp": {"mode": "accuracy", "dimensions": (1, 2, 4)[meshes]}}
    tolerant |= {"low_rank": {}} if meshes else {}
    storages |= {f"{codec} {step * max_loss:.0e}": {"codec": codec, **keys, "tolerance_of_range": step * max_loss}
                 for codec, keys in tolerant.items() for step in _STEPS if step * max_loss <= 1}
    return [{"name": name, "storage": storage, "multiply": "fp64", "accumulate": "fp64"}
            for name, storage in storages.items()]


def layout(shape: Sequence[int]) -> tuple[tuple[int, int], dict[str, int]]:
    """Return rows and columns of the matrix of an array, and its meshes.

    One axis is a row; of two axes the last are columns. Of three, the last two are a mesh of columns;
    of four, the first two are a grid of rows also.
    """
    if len(shape) > 4 or not shape or 0 in shape:
        raise UsageError(f"an array of shape {tuple(shape)}, expected 1 to 4 axes with values")
    if len(shape) <= 2:
        return (1 if len(shape) == 1 else shape[0], shape[-1]), {}
    rows = shape[:-2]
    meshes = {"mesh_columns": int(shape[-1]), **({"row_columns": int(rows[1])} if len(rows) == 2 else {})}
    return (int(np.prod(rows)), int(shape[-2] * shape[-1])), meshes


def try_formats(matrix: Any, max_loss: float = 1e-3, *, name: str | None = None, shape: Sequence[int] | None = None,
                output: str | os.PathLike[str] | None = None, device: str = "auto", progress: bool = False) -> Result:
    """Multiply a matrix by standard normal vectors in every format and codec.

    Parameters
    ----------
    matrix : array_like with 1 to 4 axes, or path-like
        Axes beyond two are meshes of rows and columns for zfp and low_rank.
        A file of any kind that `read` reads.
    max_loss : float
        Accepted error of the products, relative to their norm.
    name, shape
        As in `read`.
    output : path-like, optional
        Result file; the default is ``outputs/product-study-<digest>.h5``.
    device : str
        "auto", "cpu", "cuda" or "opencl".
    progress : bool
        Show messages and progress.

    Returns
    -------
    Result
        ``.answer()`` names the fewest bytes within `max_loss`, ``.table`` all candidates.
    """
    if not 0 < max_loss < 1:
        raise UsageError(f"max_loss is {max_loss}, expected a number in (0, 1)")
    if isinstance(matrix, (str, os.PathLike)):
        values, where = files.read(matrix, name, shape).values, f"{matrix}: "
    else:
        values, where = np.asarray(matrix), ""
    if not np.isfinite(values).all():
        raise UsageError(f"{where}{np.size(values) - np.isfinite(values).sum()} of {np.size(values)} values are not "
                         "finite; replace them")
    size, meshes = layout(values.shape)
    configuration = {"experiment": "product", "title": f"Formats of {matrix if where else 'a matrix'}",
                     "matrix": values.reshape(size), **({"layout": meshes} if meshes else {}),
                     "pipelines": candidates(max_loss, len(meshes))}
    return study(configuration).run(output, device=device, max_loss=max_loss, progress=progress)
