# SPDX-License-Identifier: Apache-2.0
"""Pictures of pipelines: losses, draws, tiles, spectrum of the factored matrix, and latencies."""
from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import blended_transform_factory

from ..errors import UsageError
from ..result import Result
from . import kind, style

MOST_NAMES = 40
MOST_PANELS = 12
MOST_MARKS = 2000  # of more marks in a picture, large groups are pixels in a vector format
_RUN = "a file of 'bitbudget run'"
_PLAIN = ("fp64", "fp32", "tf32", "bf16", "fp16", "e4m3", "e5m2")


class Cloud:
    """Points on logarithmic axes, named: a loss against a cost.

    Losses of 0 or below are on the lower edge, failed points with a known cost on the upper edge.

    Parameters
    ----------
    axes : matplotlib Axes
    x, losses : array_like
        NaN: unknown.
    names, words : sequence of str
        Names, and their statuses.
    x_label, y_label : str
    """

    def __init__(self, axes: Any, x: Any, losses: Any, names: Any, words: Any, x_label: str, y_label: str) -> None:
        self.axes, self.names = axes, [str(name) for name in names]
        x, losses = np.asarray(x, float), np.asarray(losses, float)
        self.placed = np.isfinite(x) & (x > 0)
        self.failed = self.placed & ~np.isfinite(losses)
        floor = self.placed & (losses <= 0)
        low, high = style.log_range(losses[self.placed])
        low, high = low / (3 if floor.any() else 1), high * (2 if self.failed.any() else 1)
        self.x, self.y = x, np.where(self.failed, high, np.where(floor, low, losses))
        style.log_axis(axes, "x", *style.log_range(x))
        style.log_axis(axes, "y", low, high)
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.grid()
        self.hovers = [f"{name}: {y_label} {loss:.4g}, {x_label} {cost:.4g}" + ("" if word == "ok" else f", {word}")
                       for name, word, loss, cost in zip(self.names, words, losses, x)]
        words = np.where(self.placed | ~np.isfinite(losses), words, "size unknown")
        named = np.array([f"{name} ({word})" for name, word in zip(self.names, words)])
        self.notes = [style.listed("On the upper edge: failed, ", named[self.failed]),
                      style.listed("Not drawn: ", named[~self.placed]),
                      "On the lower edge: losses of 0 or below." if floor.any() else ""]

    def scatter(self, which: Any, **marks: Any) -> None:
        """Draw some of the points; also those on an edge whole."""
        which = np.flatnonzero(which & self.placed)
        if which.size:
            many = self.placed.sum() > MOST_MARKS and which.size > MOST_NAMES
            points = self.axes.scatter(self.x[which], self.y[which], clip_on=False, rasterized=many, **marks)
            if not many:
                style.hover(points, [self.hovers[i] for i in which])

    def write_names(self, first: Any, stairs: Any = ()) -> None:
        """Write the names, those of the points `first` before the others."""
        order = np.concatenate([np.flatnonzero(self.placed & first), np.flatnonzero(self.placed & ~first)])
        names = [self.names[i] for i in order[:MOST_NAMES]]
        kept = int(np.sum(self.placed & first))
        style.Names(self.axes, self.x[order], self.y[order], names, stairs, kept)
        if len(order) > MOST_NAMES:
            self.notes.append(f"{MOST_NAMES} of {len(order)} points are named.")
        if len(order) > style.Names.CROWD:
            self.notes.append("Names without a free place are omitted.")

    def note(self) -> str:
        """Return the note for the caption."""
        return " ".join(filter(None, self.notes))


def draw_front(cloud: Cloud, front: Any, safe: Any, words: tuple[str, str, str]) -> str:
    """Draw the points of a cloud with their Pareto front as stairs; return the note.

    Parameters
    ----------
    cloud : Cloud
    front, safe : array_like of bool
    words : (str, str, str)
        Legend: points of the front, other safe points, unsafe points.
    """
    stairs = sorted((cloud.x[i], cloud.y[i]) for i in np.flatnonzero(front & cloud.placed))
    corners = [stairs[0]] if stairs else []
    for (_, above), (x, y) in zip(stairs, stairs[1:]):
        corners += [(x, above), (x, y)]
    if corners:
        cloud.axes.plot(*zip(*corners), color=style.VERMILION, linewidth=0.9, zorder=2)
    cloud.scatter(safe & ~front, marker="o", s=16, facecolors="white", edgecolors=style.BLUE, linewidths=0.9, zorder=3)
    cloud.scatter(front, marker="o", s=16, color=style.VERMILION, linewidths=0.9, zorder=4)
    cloud.scatter(~safe, marker="x", s=20, color=style.BLACK, linewidths=1.1, zorder=5)
    cloud.write_names(front, corners)
    style.legend(cloud.axes, [style.mark(words[0], style.VERMILION), style.mark(words[2], style.BLACK, "x"),
                              style.mark(words[1], style.BLUE, markerfacecolor="white")])
    return cloud.note()


@kind("pareto", "loss against bytes of the operator, with the Pareto front",
      ("results/pipeline", "results/status", "results/operator_bytes"), _RUN)
def pareto(result: Result, axes: Any) -> str:
    """Draw the loss of every pipeline against the bytes of its operator."""
    megabytes = 1e-6 * result["results/operator_bytes"]
    cloud = Cloud(axes, megabytes, result.losses, result.pipelines, result["results/status"],
                  "Operator as stored [MB]", result.loss_label)
    return draw_front(cloud, result.front, result.eligible, ("Pareto front", "others", "failed, unsafe or invalid"))


def _families(result: Result) -> np.ndarray:
    """Family of each pipeline's codec: plain formats are one, "cube 3" belongs to "cube"."""
    codecs = result.column("codec")
    if codecs is None:
        return np.full(len(result.pipelines), "factor and reconstructor")
    words = [str(codec).split(" ")[0] for codec in codecs]
    return np.array(["plain formats" if word in _PLAIN else word for word in words])


def _bits_height(result: Result, width: float) -> float:
    return 0.62 * width + 0.34 * (len(set(_families(result))) // (2 if width < 12 else 6))


@kind("loss-against-bits", "loss against stored bits per value, by family of codecs",
      ("results/pipeline", "results/status", "results/compression_ratio"), _RUN, height=_bits_height)
def loss_against_bits(result: Result, axes: Any) -> str:
    """Draw the loss of every pipeline against the bits of a stored value, by family of codecs."""
    ratios, families = result["results/compression_ratio"], _families(result)
    bits = 32 / np.where(ratios > 0, ratios, np.nan)
    cloud = Cloud(axes, bits, result.losses, result.pipelines, result["results/status"],
                  "Bits per value of the operator [bit]", result.loss_label)
    bad, handles = ~result.eligible, []
    for f, family in enumerate(dict.fromkeys(families)):
        colour, marker = style.COLOURS[f % 7], style.MARKERS[f % 7]
        face = colour if f < 7 else "white"
        cloud.scatter((families == family) & ~cloud.failed, marker=marker, s=18, linewidths=0.9, zorder=3,
                      facecolors=face, edgecolors=colour)
        handles.append(style.mark(family, colour, marker, markerfacecolor=face))
    cloud.scatter(bad, marker="x", s=26, color=style.BLACK, linewidths=1.0, zorder=5)
    if (bad & cloud.placed).any():
        handles.append(style.mark("failed, unsafe or invalid", style.BLACK, "x"))
    low, high = axes.get_xlim()
    axes.set_xticks([bit for bit in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128) if low <= bit <= high])
    axes.minorticks_off()
    cloud.write_names(result.front)
    style.legend(axes, handles)
    return cloud.note()


def _draws_height(result: Result, width: float) -> float:
    return 2.2 + (width < 12) * 0.3 + 0.38 * int(np.sum(result["results/draws"] > 1))


@kind("draws", "spread of the loss over a pipeline's draws, and number of failed draws",
      ("results/pipeline", "results/draws", "results/loss_std"), _RUN + " of pipelines with draws above 1",
      height=_draws_height)
def draws(result: Result, axes: Any) -> str:
    """Draw mean, standard deviation and worst loss of the draws of every pipeline."""
    columns = {name: result.column(name) for name in ("draws", "loss_mean", "loss_std", "loss_worst", "draws_failed")}
    if any(column is None for column in columns.values()):
        raise UsageError(f"{result.path}: the results have no draws")
    rows = np.flatnonzero(columns["draws"] > 1)
    drawn, mean, deviation, worst, failed = (columns[name][rows] for name in columns)
    deviation, y = np.nan_to_num(deviation), np.arange(len(rows))
    low, high = style.log_range(np.concatenate([mean - deviation, mean, worst]), 1.3)
    style.log_axis(axes, "x", low, high)
    marks = (mean - deviation, mean, mean + deviation, worst)
    left, centre, right, worst = (np.clip(losses, low, None) for losses in marks)
    bar, end = {"color": style.BLUE, "alpha": 0.55}, {"color": style.VERMILION, "markeredgewidth": 1.3}
    axes.hlines(y, centre, worst, color=style.VERMILION, linewidth=0.9)
    axes.hlines(y, left, right, linewidth=2.6, **bar)
    axes.plot(centre, y, "o", color=style.BLUE, markersize=3.5)
    axes.plot(worst, y, "|", markersize=7, **end)
    lost, place = drawn == failed, blended_transform_factory(axes.transAxes, axes.transData)
    if lost.any():
        axes.plot(np.full(lost.sum(), 0.96), y[lost], "x", color=style.BLACK, markersize=5, zorder=5, transform=place)
    room = 0.35 * style.panel_cm(axes)
    axes.set_yticks(y, [style.shorten(result.pipelines[p], room) for p in rows])
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=result.loss_label)
    axes.grid(axis="x")
    for row, (bad, count) in enumerate(zip(failed, drawn)):
        axes.text(1.02, row, f"{bad:.0f} of {count:.0f}", transform=place, va="center", fontsize=style.SMALL + 1)
    axes.text(1.02, 1.0, "failed", transform=axes.transAxes, va="bottom", fontsize=style.SMALL + 1)
    handles = [style.mark("mean of the draws", style.BLUE),
               Line2D([], [], linewidth=2.6, label="one standard deviation", **bar),
               Line2D([], [], marker="|", linestyle="none", label="worst draw", **end)]
    style.legend(axes, handles + ([style.mark("no draw succeeded", style.BLACK, "x")] if lost.any() else []))
    return "Losses of the completed draws; bars that reach 0 end at the edge. Right: failed draws."


@kind("spectrum", "eigenvalues of the factored covariance, with the unit roundoffs of the formats",
      ("spectrum/format", "spectrum/eigenvalue", "spectrum/roundoff_line"),
      "an ao or reconstructor file with 'solver: {spectrum: {matrix: true}}'")
def spectrum(result: Result, axes: Any) -> str:
    """Draw the eigenvalues in descending order, and the roundoff of each format."""
    formats, values, levels = (result[f"spectrum/{name}"] for name in ("format", "eigenvalue", "roundoff_line"))
    if len(levels) != len(formats):
        raise UsageError(f"{result.path}: the file has a spectrum without its formats")
    low, high = style.log_range(values)
    axes.plot(np.arange(len(values)), np.where(values > 0, values, np.nan), color=style.BLUE, linewidth=1.4)
    style.log_axis(axes, "y", low, high)
    axes.set(xlim=(0, max(len(values), 1)), xlabel="Rank in descending order",
             ylabel=style.label("eigenvalue", result.attribute("spectrum/eigenvalue", "units", "1")))
    # Labels of levels that are closer than the height of a text are joined.
    groups: list[list[int]] = []
    apart = (high / low) ** (0.3 / (0.85 * style.panel_cm(axes) * axes.bbox.height / axes.bbox.width))
    for f in sorted((f for f in range(len(levels)) if low < levels[f] < high), key=lambda f: -levels[f]):
        axes.axhline(levels[f], color=style.GREY, linewidth=0.8, dashes=(4, 2))
        if groups and levels[f] * apart > levels[groups[-1][0]]:
            groups[-1].append(f)
        else:
            groups.append([f])
    for group in groups:
        axes.text(1.015, np.exp(np.mean(np.log(levels[group]))), ", ".join(str(formats[f]) for f in group),
                  transform=axes.get_yaxis_transform(), va="center", fontsize=style.SMALL + 1)
    below = int(np.sum(~(values > 0)))
    return ("Dashed: unit roundoff of a format times the largest eigenvalue; smaller eigenvalues are below its "
            "rounding error." + (f" {below} eigenvalues of 0 or below are not drawn." if below else ""))


def _maps(result: Result) -> dict[int, np.ndarray]:
    maps = {p: f"tiles/variant_{p}" for p in range(len(result.pipelines))}
    return {p: result[path] for p, path in maps.items() if path in result}


def _tile_columns(count: int, width: float) -> int:
    return min(count, 4, max(1, int(width / 4.1)))


def _tiles_height(result: Result, width: float) -> float:
    count = len(list(_maps(result))[:MOST_PANELS]) or 1
    return style.rows_cm(width, count, _tile_columns(count, width), most_cm=6.5) + 1.3


@kind("tiles", "variant of each tile of the factorization, by pipeline with a policy",
      ("results/pipeline", "tiles/variant", "tiles/tile_row"),
      "an ao or reconstructor file of this version with a policy that is not uniform", height=_tiles_height)
def tiles(result: Result, axes: Any) -> str:
    """Draw the precision map of every pipeline with a policy."""
    variants, maps = [str(name) for name in result["tiles/variant"]], _maps(result)
    if not maps:
        raise UsageError(f"{result.path}: no pipeline has a map of tiles")
    shown, omitted = list(maps)[:MOST_PANELS], [result.pipelines[p] for p in list(maps)[MOST_PANELS:]]
    lower = np.tril(np.ones_like(maps[shown[0]], bool))
    used = sorted({int(v) for p in shown for v in maps[p][lower] if np.isfinite(v)})
    ranks = np.full(len(variants), np.nan)
    ranks[used] = np.arange(len(used))
    colours = [matplotlib.colormaps[style.MAP](v / max(len(used) - 1, 1)) for v in range(len(used))]
    columns = _tile_columns(len(shown), style.page_cm(axes))
    rest = style.legend_row(axes, [Patch(color=colour, label=variants[v]) for v, colour in zip(used, colours)])
    panels = style.panels(rest, len(shown), columns, ("Tile column", "Tile row"))
    room = style.panel_cm(panels[0])
    for panel, p in zip(panels, shown):
        codes = np.where(lower & np.isfinite(maps[p]), maps[p], -1).astype(int)
        places = np.arange(len(codes))
        panel.imshow(np.ma.masked_invalid(np.where(codes < 0, np.nan, ranks[codes])), vmin=-0.5, vmax=len(used) - 0.5,
                     cmap=ListedColormap(colours), interpolation="none",
                     extent=(-0.5, places[-1] + 0.5, places[-1] + 0.5, -0.5))
        panel.set_title(style.shorten(result.pipelines[p], room), pad=3)
        panel.locator_params(nbins=5, integer=True)
    return ("Variant of the products into each tile of the lower triangle; uniform pipelines are not drawn. "
            + style.listed("Not drawn either: ", omitted)).strip()


@kind("latency", "histogram of a loop's latencies, its deadline and its worst steps",
      ("latency/bin_us", "latency/count"), "a file of 'bitbudget realtime'")
def latency(result: Result, axes: Any) -> str:
    """Draw the histogram of latencies of every kind of step."""
    names = next((result[path] for path in ("kind", "results/kind") if path in result), [])
    bins, counts = result["latency/bin_us"], result["latency/count"]
    if counts.shape != (len(names), len(bins)) or len(bins) < 2:
        raise UsageError(f"{result.path}: the histogram does not have the axes kind and bin_us")
    if not (counts > 0).any():
        raise UsageError(f"{result.path}: the histogram has no steps")
    worst = result["worst/latency_us"] if "worst/latency_us" in result else np.empty(0)
    deadline, width = result.single("results/deadline_us"), bins[1] - bins[0]
    edges = np.maximum(np.append(bins, bins[-1] + width), 0.5 * width)
    seen = np.flatnonzero((counts > 0).any(axis=0))
    right = np.nanmax([edges[seen[-1] + 1], deadline, *worst])
    style.log_axis(axes, "x", edges[seen[0]] / 1.3, right * 1.3)
    style.log_axis(axes, "y", 0.6, 2 * counts.max())
    handles = []
    for k in np.flatnonzero(counts.sum(axis=1) > 0)[:len(style.COLOURS)]:
        first = not handles
        look = {"color": "#c8c8c8" if first else style.COLOURS[k - 1], "label": str(names[k])}
        drawn = axes.stairs(np.maximum(counts[k], 0.5), edges, baseline=0.5, fill=first, zorder=2 + k, **look)
        handles.append(drawn if first else Line2D([], [], **look))
    axes.plot(worst, np.full(len(worst), 0.8), "x", color=style.BLACK, markersize=4, zorder=20)
    handles += [style.mark("worst steps", style.BLACK, "x")] if len(worst) else []
    if np.isfinite(deadline):
        handles.append(axes.axvline(deadline, color=style.BLACK, dashes=(4, 2), label="deadline", zorder=15))
    axes.set(xlabel="Latency [us]", ylabel="Steps")
    style.legend(axes, handles)
    return f"From the release of a step to its end; bins of {width:g} us. Crosses on the lower edge: the worst steps."
