# SPDX-License-Identifier: Apache-2.0
"""Pictures of sweeps: choices, and losses over swept keys."""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Patch, Rectangle
from matplotlib.transforms import ScaledTranslation

from ..errors import FileError, UsageError
from ..result import Result
from . import kind, near, style
from .pipelines import Cloud, draw_front

_REMEDY = "a file of 'bitbudget sweep', or of 'sweep collect'"
MOST_VALUES, _RANGES = 60, 24
_MARKERS = (*style.MARKERS, "<")
_MERITS = ("strehl", "compression_ratio")  # quantities for which larger is better
_FAILED = "#b0b0b0"


@dataclass(frozen=True)
class Key:
    """A swept key: its values in ascending order, texts in order of appearance.

    Attributes
    ----------
    name, path, unit : str
        "r0_m", "atmosphere.r0_m", "m".
    values : list
        Numbers or texts; centres if there are too many numbers, which are then in equal ranges.
    places : ndarray [points]
        Index of each point's value.
    ranges : bool
    """

    name: str
    path: str
    unit: str
    values: list[Any]
    places: np.ndarray
    ranges: bool

    @property
    def labels(self) -> list[str]:
        """Values as texts."""
        return [value if isinstance(value, str) else f"{value:.{3 if self.ranges else 4}g}" for value in self.values]


def _key(result: Result, name: str, axes: list[str], shape: tuple[int, ...]) -> Key:
    numbers, along = result[name], result.axes(name)[0]
    if along not in axes or len(numbers) != shape[axes.index(along)]:
        raise FileError(f"{result.path}: key {name} has axis {along}, expected an axis of /results/point_number")
    point = np.indices(shape)[axes.index(along)].reshape(-1)
    text = numbers.dtype.kind not in "fiu"
    numbers = numbers.astype(str) if text else numbers
    values, first, places = np.unique(numbers, return_index=True, return_inverse=True)
    if text:  # in order of appearance, the last ones together
        order = np.argsort(first)
        places = np.argsort(order)[places]
        values = values[order]
        if len(values) > MOST_VALUES:
            places = np.minimum(places, MOST_VALUES - 1)
            values = [*values[:MOST_VALUES - 1], f"{len(values) - MOST_VALUES + 1} others"]
    ranges = not text and len(values) > MOST_VALUES
    if ranges:
        low, step = values[0], (values[-1] - values[0]) / _RANGES
        places = np.minimum((numbers - low) // step, _RANGES - 1).astype(int)
        values = list(low + (np.arange(_RANGES) + 0.5) * step)
    unit = "" if text else result.attribute(name, "units", "1")
    return Key(name, result.attribute(name, "key"), unit, list(values), places[point], ranges)


def keys(result: Result) -> list[Key]:
    """Return the swept keys in the order of the axes of the points."""
    axes, shape = result.axes("results/point_number"), result["results/point_number"].shape
    names = [name for name in result.members("/") if result.attribute(name, "key") and result[name].ndim == 1]
    found = [_key(result, name, axes, shape) for name in names]
    return sorted(found, key=lambda key: (axes.index(result.axes(key.name)[0]), key.name))


def table(result: Result, name: str) -> np.ndarray | None:
    """Dataset of /results over points, or over points and pipelines, as [points][pipelines]; else None."""
    path, points, pipelines = f"results/{name}", result["results/point_number"].size, len(result.pipelines)
    if path not in result:
        return None
    values, paired = result[path], result.axes(path)[-1:] == ["pipeline"]
    if values.size != points * (pipelines if paired else 1):
        return None
    return np.broadcast_to(values.reshape(points, -1), (points, pipelines))


class Plane:
    """Numbers of a sweep over two of its keys: a cell has the worst value of its points.

    Attributes
    ----------
    x, y : Key
        `y` is None for a row for each pipeline.
    worst : ndarray [rows][columns]
        NaN: all failed.
    runs, fails : ndarray [rows][columns]
        Numbers of points and of failed points.
    low, high : float
        Range of `worst`, of its positive values if `logarithmic`; NaN if all failed.
    """

    def __init__(self, result: Result, x: str | None = None, y: str | None = None, pipeline: str | None = None,
                 value: str | None = None) -> None:
        self._keys, self._result = keys(result), result
        if y not in (None, "pipeline"):
            self.y = self._find("y", y)
        else:
            self.y = None
        self.x = self._choose(self.y) if x is None else self._find("x", x)
        if self.x is None:
            raise UsageError(f"{result.path}: a sweep of one point has no axis to plot")
        self.y = self._choose(self.x) if y is None else self.y
        if self.x is self.y:
            raise UsageError(f"--x and --y are both {self.x.name}; use two different swept keys")
        self.pipeline = self._choose_pipeline(pipeline)
        self.rows = result.pipelines if self.y is None else self.y.labels
        self._fill("loss" if value is None else value)

    def _find(self, option: str, name: str) -> Key:
        found = next((key for key in self._keys if name in (key.name, key.path)), None)
        if found is None:
            raise UsageError(f"--{option} {name}: not a swept key{near(name, [key.name for key in self._keys])}")
        return found

    def _owner(self, key: Key | None) -> int | None:
        """Pipeline that a key belongs to."""
        path = "" if key is None else key.path
        names = [name for name in self._result.pipelines if path.startswith(f"pipelines.{name}.")]
        return self._result.pipelines.index(max(names, key=len)) if names else None

    def _choose(self, other: Key | None) -> Key | None:
        """Condition with most values, else key of a pipeline with most values."""
        free = [key for key in self._keys if key is not other and len(key.values) > 1]
        return max(free, key=lambda key: (not key.path.startswith("pipelines."), len(key.values)), default=None)

    def _choose_pipeline(self, name: str | None) -> int:
        result, names = self._result, self._result.pipelines
        if name is not None:
            if name not in names:
                raise UsageError(f"--pipeline {name}: not a pipeline of this file{near(name, names)}")
            if self.y is None:
                raise UsageError("--pipeline selects one pipeline, but each has a row; add --y KEY or remove "
                                 "--pipeline")
            return names.index(name)
        owners = [owner for owner in map(self._owner, (self.x, self.y)) if owner is not None]
        if owners:
            return owners[0]
        who, failed, loss, size = (result[f"statistics/{column}"] for column in
                                   ("choice_pipeline", "points_failed", "loss_most", "operator_bytes"))
        safe = np.flatnonzero((failed == 0) & (loss > 0) & np.isfinite(size))
        found = safe[np.argmin(size[safe])] if safe.size else next(iter(np.flatnonzero(failed > 0)), 0)
        return names.index(str(who[found]))

    def _fill(self, value: str) -> None:
        result = self._result
        numbers = result.largest_loss(functools.partial(table, result)) if value == "loss" else table(result, value)
        if numbers is None or numbers.dtype.kind not in "fiu":
            raise UsageError(f"--value {value}: use 'loss' or a numeric dataset of /results whose axes are only the "
                             "sweep's and pipelines")
        self.less = value in _MERITS
        self.name = (result.loss_label if value == "loss" else
                     style.label(value, result.attribute(f"results/{value}", "units", "1")))
        status = table(result, "status")
        done = status == "ok" if status is not None else np.zeros(numbers.shape, bool)
        chosen = slice(None) if self.y is None else slice(self.pipeline, self.pipeline + 1)
        numbers, done = np.where(done, numbers, np.nan)[:, chosen], done[:, chosen]
        shape = (len(self.rows), len(self.x.values))
        rows = np.arange(len(self.rows))[None, :] if self.y is None else self.y.places[:, None]
        cells = np.broadcast_arrays(rows, self.x.places[:, None])
        self.worst, self.runs, self.fails = np.full(shape, np.nan), np.zeros(shape, int), np.zeros(shape, int)
        (np.fmin if self.less else np.fmax).at(self.worst, tuple(cells), numbers)
        np.add.at(self.runs, tuple(cells), 1)
        np.add.at(self.fails, tuple(cells), ~done)
        finite = self.worst[np.isfinite(self.worst)]
        positive = finite[finite > 0]
        self.low, self.high = (finite.min(), finite.max()) if finite.size else (np.nan, np.nan)
        self.logarithmic = bool(positive.size and self.low >= 0 and self.high > 5 * positive.min())
        self.low = positive.min() if self.logarithmic else self.low

    @property
    def y_label(self) -> str:
        """Name of the rows."""
        return "Pipeline" if self.y is None else style.label(self.y.name, self.y.unit)

    def hover(self, row: int, column: int) -> str:
        """Return position, value and failures of a cell."""
        worst, runs, fails = (numbers[row, column] for numbers in (self.worst, self.runs, self.fails))
        place = (f"{self.x.name} {'about ' * self.x.ranges}{self.x.labels[column]}, "
                 f"{'pipeline' if self.y is None else self.y.name} {self.rows[row]}")
        return (place + (f": {self.name} {worst:.4g}" if np.isfinite(worst) else "")
                + (": not run" if runs == 0 else f", failed at {fails} of {runs}" if fails else ""))

    def notes(self) -> list[str]:
        """Return notes on pipeline, other keys and ranges."""
        shown = [key for key in (self.x, self.y) if key is not None]
        rest = [key.name for key in self._keys if key not in shown and len(key.values) > 1]
        notes = [] if self.y is None else [f"Pipeline {self._result.pipelines[self.pipeline]}."]
        if rest:
            notes.append(f"Worst value ({'least' if self.less else 'largest'}) over {', '.join(rest)}.")
        ranges = [key.name for key in shown if key.ranges]
        return notes + [f"{name} in {_RANGES} equal ranges, labelled by their centres." for name in ranges]


@kind("pareto", "worst loss over the conditions against bytes, with the name of every choice",
      ("statistics/choice_pipeline", "statistics/operator_bytes"), _REMEDY, of_sweeps=True)
def choices(result: Result, axes: Any) -> str:
    """Draw the worst loss of every choice against the median of its bytes."""
    who, how, failed, loss, size = (result[f"statistics/{name}"] for name in
                                    ("choice_pipeline", "setting", "points_failed", "loss_most", "operator_bytes"))
    safe, known = failed == 0, np.isfinite(loss)
    words = np.where(safe, np.where(known, "ok", "loss unknown"),
                     np.where(known, "failed at some conditions", "failed at all conditions"))
    names = [f"{name}, {setting}" if setting else str(name) for name, setting in zip(who, how)]
    label = result.loss_label
    label = label if label.startswith("Strehl") else label[0].lower() + label[1:]
    cloud = Cloud(axes, 1e-6 * size, loss, names, words, "Operator as stored [MB]", f"Worst {label}")
    return " ".join((draw_front(cloud, result.front, safe & known, ("safe, Pareto front", "safe", "failed somewhere")),
                     "Worst loss over the conditions where a choice succeeded, median of its bytes; safe: succeeded at "
                     "every condition.")).strip()


def _ticks(axis: Any, labels: list[str], room_cm: float) -> None:
    """Write as many of the names of cells as fit."""
    step = -(-len(labels) // max(1, int(room_cm)))
    axis.set_ticks(range(0, len(labels), step), labels[::step])
    axis.set_tick_params(length=2)


def _heatmap_height(result: Result, width: float, **options: str) -> float:
    plane = Plane(result, **options)
    return max(0.62 * width, 0.3 * len(plane.rows) + 2 if plane.y is None else 0)


@kind("heatmap", "a pipeline's loss over two swept keys",
      ("results/point_number", "results/status", "statistics/choice_pipeline"), _REMEDY, of_sweeps=True,
      height=_heatmap_height)
def heatmap(result: Result, axes: Any, x: str | None = None, y: str | None = None, pipeline: str | None = None,
            value: str | None = None) -> str:
    """Draw a cell for each pair of values of two keys.

    Parameters
    ----------
    x, y : str, optional
        Swept keys, by name or path; `y` may be "pipeline": a row for each pipeline. The default of
        `x` is the condition with most values, then keys of pipelines; that of `y` the next key.
    pipeline : str, optional
        Pipeline that is drawn; the default is the owner of a key that is drawn, else the safe choice
        of fewest bytes with a loss.
    value : str, optional
        "loss", the default, or a dataset of numbers in /results.
    """
    plane = Plane(result, x, y, pipeline, value)
    rows, columns = plane.worst.shape
    room = 0.3 * style.panel_cm(axes)
    known = np.isfinite(plane.low)
    norm = (LogNorm if plane.logarithmic else Normalize)(*(plane.low, plane.high) if known else (0, 1), clip=True)
    mesh = axes.pcolormesh(np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5, np.ma.masked_invalid(plane.worst),
                           norm=norm)
    style.hover(mesh, [plane.hover(row, column) for row in range(rows) for column in range(columns)])
    lost = np.isnan(plane.worst) & (plane.runs > 0)
    for which, face in ((lost, _FAILED), ((plane.fails > 0) & ~lost, "none")):
        cells = np.argwhere(which)
        if len(cells):
            hatched = PatchCollection([Rectangle((c - 0.5, r - 0.5), 1, 1) for r, c in cells], hatch="/////",
                                      facecolor=face, edgecolor="#303030", linewidth=0)
            style.hover(axes.add_collection(hatched), [plane.hover(row, column) for row, column in cells])
    names = [style.shorten(name, room) for name in plane.rows]
    width = style.page_cm(axes) - 1.1 - max(map(style.text_cm, names)) - 1.9 * known
    height = axes.bbox.height / axes.figure.dpi / style.CM
    _write_cells(axes, plane, norm, width / columns, height / rows)
    _ticks(axes.xaxis, plane.x.labels, width / (max(map(style.text_cm, plane.x.labels)) + 0.2))
    _ticks(axes.yaxis, names, height / 0.32)
    axes.set(xlabel=style.label(plane.x.name, plane.x.unit), ylabel=plane.y_label)
    if known:
        style.scale_bar(mesh, axes, plane.name, fraction=0.06)
    entries = (((plane.fails > 0) & ~lost, "white", "/////", "failed at some points"),
               (lost, _FAILED, "/////", "failed at all points"), (plane.runs == 0, "white", None, "not run"))
    present = [Patch(facecolor=face, edgecolor="#303030", hatch=hatch, linewidth=0.4, label=words)
               for which, face, hatch, words in entries if which.any()]
    if present:
        style.legend(axes, present)
    return " ".join(plane.notes() + ([] if known else [f"No point has a {plane.name}."]))


def _write_cells(axes: Any, plane: Plane, norm: Any, width: float, height: float) -> None:
    """Write the numbers of cells, of `width` and `height` cm, if they fit."""
    values = {tuple(cell): plane.worst[tuple(cell)] for cell in np.argwhere(np.isfinite(plane.worst))}
    texts = {cell: f"{value:.1e}".replace("e-0", "e-") if 0 < abs(value) < 0.01 else f"{value:.2g}"
             for cell, value in values.items()}
    if height < 0.36 or any(style.text_cm(text, style.SMALL) + 0.2 > width for text in set(texts.values())):
        return
    for cell, text in texts.items():
        shade = norm(values[cell])
        back = matplotlib.colormaps[style.MAP](shade) if plane.fails[cell] else "none"  # hides the hatching
        axes.text(*cell[::-1], text, ha="center", va="center", fontsize=style.SMALL,
                  color="black" if shade > 0.6 else "white", bbox={"facecolor": back, "edgecolor": "none", "pad": 0.8})


@kind("lines", "a pipeline's loss along a swept key, a line for each value of another",
      ("results/point_number", "results/status", "statistics/choice_pipeline"), _REMEDY, of_sweeps=True)
def lines(result: Result, axes: Any, x: str | None = None, y: str | None = None, pipeline: str | None = None,
          value: str | None = None) -> str:
    """Draw a line for each value of a key, or each pipeline, along another key.

    Parameters
    ----------
    x, y : str, optional
        Swept keys, by name or path; `y` may be "pipeline": a line for each pipeline. The default of
        `x` is the condition with most values, then keys of pipelines; that of `y` the next key.
    pipeline : str, optional
        Pipeline that is drawn; the default is the owner of a key that is drawn, else the safe choice
        of fewest bytes with a loss.
    value : str, optional
        "loss", the default, or a dataset of numbers in /results.
    """
    plane = Plane(result, x, y, pipeline, value)
    count = min(len(plane.rows), len(_MARKERS))
    drawn = [line * (len(plane.rows) - 1) // max(count - 1, 1) for line in range(count)]
    text = isinstance(plane.x.values[0], str)
    places, worst = np.arange(len(plane.x.values)) if text else np.array(plane.x.values, float), plane.worst[drawn]
    floor, failed = bool((worst <= 0).any()) and plane.logarithmic, plane.fails[drawn] > 0
    if plane.logarithmic:
        low, high = style.log_range(plane.worst)
        style.log_axis(axes, "y", low / (2 if floor or failed.any() else 1), high)
    elif np.isfinite(plane.low):
        room = 0.08 * (plane.high - plane.low) or max(0.1 * abs(plane.high), 1e-12)
        axes.set_ylim(plane.low - room * (2 if failed.any() else 1), plane.high + room)
    else:
        axes.set(ylim=(0, 1), yticks=[])
    low, name = axes.get_ylim()[0], "" if plane.y is None else f"{plane.y_label} "
    for line, row in enumerate(drawn):
        colour, values = style.COLOURS[line % 7], np.maximum(worst[line], low) if plane.logarithmic else worst[line]
        label = f"{name if line == 0 else ''}{plane.rows[row]}"
        axes.plot(places, values, color=colour, marker=_MARKERS[line], label=label, clip_on=not floor, zorder=3,
                  dashes=((None, None), (4, 1.6), (1.2, 1.2), (6, 1.5, 1.2, 1.5))[line % 4])
        # Crosses of several lines at one value are above each other.
        for column in np.flatnonzero(failed[line]):
            lift = ScaledTranslation(0, (4 + 6 * failed[:line, column].sum()) / 72, axes.figure.dpi_scale_trans)
            cross, = axes.plot(places[column], low, "x", color=colour, markersize=5, markeredgewidth=1.4, zorder=6,
                               transform=axes.transData + lift)
            style.hover(cross, plane.hover(row, column))
    first, last = places[0], places[-1]
    if not text and first > 0 and last > 50 * first:
        style.log_axis(axes, "x", first / (last / first) ** 0.04, last * (last / first) ** 0.04)
    else:
        axes.set_xlim(first - 0.04 * (last - first), last + 0.04 * (last - first))
    if text:
        _ticks(axes.xaxis, plane.x.labels, style.panel_cm(axes) / (max(map(style.text_cm, plane.x.labels)) + 0.2))
    axes.set(xlabel=style.label(plane.x.name, plane.x.unit), ylabel=plane.name)
    axes.grid()
    style.legend(axes, [line for line in axes.lines if not line.get_label().startswith("_")])
    rows = "pipelines" if plane.y is None else f"values of {plane.y.name}"
    return " ".join(plane.notes()
                    + ([f"{count} of {len(plane.rows)} {rows} are shown."] if count < len(plane.rows) else [])
                    + (["Crosses above the lower edge: failed at some points."] if failed.any() else [])
                    + (["Marks on the lower edge: 0 or below."] if floor else []))
