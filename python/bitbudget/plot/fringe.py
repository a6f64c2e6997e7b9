# SPDX-License-Identifier: Apache-2.0
"""Pictures of an interferometer's maps: camera frame, wrapped and unwrapped phase, error and quality."""
from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.patches import Patch

from ..errors import UsageError
from ..result import Result
from . import kind, style
from .pipelines import MOST_PANELS

_PANEL_CM, _WIDEST_CM, _LEAST_CM = 3.1, 10.0, 5.4
_ERROR_DECADES = 4

_AXES = ("maps/row", "maps/column")
_REMEDY = "a fringe file of 'bitbudget run'"


def _maps(result: Result, name: str) -> np.ndarray:
    """Return the maps [planes][rows][columns] of a dataset."""
    shape, values = tuple(result[path].size for path in _AXES), result[f"maps/{name}"]
    if values.ndim < 2 or values.shape[-2:] != shape or min(shape) < 2:
        raise UsageError(f"{result.path}: maps/{name} does not match its rows and columns; use {_REMEDY}")
    return values.reshape(-1, *shape)


def _columns(count: int, width_cm: float) -> int:
    most = min(4, max(1, int((width_cm - 1.3) / _PANEL_CM)))
    return -(-count // -(-count // most))


def _height(result: Result, width_cm: float, count: int) -> float:
    """Return the height for `count` maps side by side above their scale."""
    ratio = result["maps/row"].size / result["maps/column"].size
    return min(style.rows_cm(width_cm, count, _columns(count, width_cm), ratio, _WIDEST_CM) + 2.6, 24.0)


def _panel(axes: Any, result: Result, values: np.ndarray, title: str = "", **colours: Any) -> Any:
    """Draw a map with row 0 at the top."""
    row, column = (result[path] for path in _AXES)
    image = style.image(axes, values, column, row, **colours)
    axes.set(xlim=image.get_extent()[:2], ylim=image.get_extent()[:1:-1], title=title)
    axes.locator_params(nbins=5, steps=[1, 2, 5, 10])
    return image


def _stride(result: Result) -> str:
    stride = result.single("maps/stride")
    return f"Downsampled to one row and column of {stride:g}: fine fringes look coarser." if stride > 1 else ""


def _draw_one(result: Result, axes: Any, name: str, label: str, low: float, high: float) -> str:
    style.compress(axes)
    image = _panel(axes, result, _maps(result, name)[0], vmin=low, vmax=high)
    axes.set(xlabel="Column [px]", ylabel="Row [px]")
    style.scale_bar(image, axes, label)
    return _stride(result)


def _one_height(result: Result, width_cm: float) -> float:
    wide = min(width_cm - 3.2, _WIDEST_CM)
    return max(wide * result["maps/row"].size / result["maps/column"].size + 1.2, _LEAST_CM)


@kind("interferogram", "first frame of an interferometer's camera", ("maps/interferogram", *_AXES),
      "a fringe file of 'bitbudget run' with frames", height=_one_height)
def interferogram(result: Result, axes: Any) -> str:
    """Draw the first camera frame of the reference."""
    note = _draw_one(result, axes, "interferogram", "Intensity [fraction of full scale]", 0.0, 1.0)
    return f"First frame of the reference's camera. {note}".strip()


@kind("wrapped", "wrapped phase unwrapped by the reference", ("maps/wrapped", *_AXES), _REMEDY, height=_one_height)
def wrapped(result: Result, axes: Any) -> str:
    """Draw the wrapped phase of the reference."""
    note = _draw_one(result, axes, "wrapped", "Wrapped phase [rad]", -np.pi, np.pi)
    return f"Phase of the reference. {note}".strip()


def _present(result: Result, name: str) -> tuple[np.ndarray, list[int]]:
    """Return the maps of the pipelines and the indices of those to draw."""
    maps = _maps(result, name)
    if len(maps) != len(result.pipelines):
        raise UsageError(f"{result.path}: maps/{name} does not match the pipelines; use {_REMEDY}")
    drawn = [p for p in range(len(maps)) if np.isfinite(maps[p]).any()][:MOST_PANELS]
    return maps, drawn


def _draw_each(result: Result, axes: Any, name: str, label: str, norm: Normalize) -> str:
    """Draw the map of every pipeline on one scale; points without a phase have a colour of their own."""
    maps, drawn = _present(result, name)
    width = style.page_cm(axes)
    columns = _columns(len(drawn), width)
    style.compress(axes)
    panels = style.panels(axes, len(drawn), columns, ("Column [px]", "Row [px]"), wspace=0.03)
    reference = np.isfinite(maps[result.reference])
    if isinstance(norm, LogNorm):
        maps = np.where(np.isfinite(maps), np.maximum(np.abs(maps), norm.vmin), np.nan)
    missing = reference & ~np.isfinite(maps)
    for panel, p in zip(panels, drawn):
        title = style.shorten(result.pipelines[p], (width - 1.3) / columns - 0.2, style.POINTS)
        image = _panel(panel, result, maps[p], title, norm=norm)
        if missing[p].any():
            _panel(panel, result, np.where(missing[p], 1.0, np.nan), title, cmap=ListedColormap([style.VERMILION]))
    style.scale_bar(image, list(panels), label, location="bottom", aspect=50, shrink=0.9)
    notes = (style.listed("Not drawn: ", [name for p, name in enumerate(result.pipelines) if p not in drawn]),
             "Vermilion: points without a phase." if missing[drawn].any() else "", _stride(result))
    return " ".join(filter(None, notes))


def _each_height(name: str) -> Any:
    return lambda result, width_cm: _height(result, width_cm, len(_present(result, name)[1]))


@kind("unwrapped", "unwrapped phase of every pipeline", ("maps/unwrapped", *_AXES), _REMEDY,
      height=_each_height("unwrapped"))
def unwrapped(result: Result, axes: Any) -> str:
    """Draw the unwrapped phase of every pipeline on one scale."""
    maps, drawn = _present(result, "unwrapped")
    low, high = np.nanmin(maps[drawn]), np.nanmax(maps[drawn])
    return _draw_each(result, axes, "unwrapped", "Unwrapped phase [rad]",
                      Normalize(low, high if high > low else low + 1))


@kind("phase-error", "magnitude of every pipeline's phase error, logarithmic", ("maps/error", *_AXES), _REMEDY,
      height=_each_height("error"))
def phase_error(result: Result, axes: Any) -> str:
    """Draw the magnitude of every pipeline's phase error, down four decades from a cycle or its largest."""
    maps, drawn = _present(result, "error")
    largest = np.nanmax(np.abs(maps[drawn]))
    high = min(largest, 2 * np.pi) if largest > 0 else 1.0
    note = _draw_each(result, axes, "error", "Magnitude of the phase error [rad]",
                      LogNorm(high * 10.0**-_ERROR_DECADES, high, clip=True))
    return f"{'Brightest: a cycle or more. ' if high == 2 * np.pi else ''}{note}"


@kind("parts", "quality of each point of a phase, and the parts of the pupil",
      ("maps/quality", "maps/parts", *_AXES), _REMEDY, height=lambda result, width_cm: _height(result, width_cm, 2))
def parts(result: Result, axes: Any) -> str:
    """Draw the quality of each point, and the connected parts of the pupil."""
    quality, part = _maps(result, "quality")[0], _maps(result, "parts")[0]
    style.compress(axes)
    left, right = style.panels(axes, 2, 2, ("Column [px]", "Row [px]"), wspace=0.03)
    image = _panel(left, result, quality, "Quality", vmin=0.0, vmax=1.0)
    numbers, counts = np.unique(part[np.isfinite(part)], return_counts=True)
    colours = style.COLOURS[:-1]  # without black
    patches = _panel(right, result, part % len(colours), "Parts of the pupil", cmap=ListedColormap(colours), vmin=-0.5,
                     vmax=len(colours) - 0.5)
    named = sorted(np.argsort(-counts, kind="stable")[:len(colours)])
    handles = [Patch(color=colours[int(numbers[i]) % len(colours)], label=f"{numbers[i]:.0f}") for i in named]
    style.scale_bar(image, left, "Quality", location="bottom")
    legend = style.scale_bar(patches, right, "", location="bottom").ax  # the panels have equal sizes
    legend.clear()
    legend.axis("off")
    legend.legend(handles=handles, title="Part", loc="center", ncol=len(handles), handlelength=1, columnspacing=0.6,
                      handletextpad=0.3, borderpad=0)
    more = f"The pupil has {len(numbers)} parts; colours repeat. " if len(numbers) > len(colours) else ""
    return f"{more}{_stride(result)}".strip()
