# SPDX-License-Identifier: Apache-2.0
"""Pictures of a wafer: overlay vectors, temperatures and probes."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle
from matplotlib.transforms import ScaledTranslation

from ..errors import UsageError
from ..result import Result
from . import kind, style

_ARROW_CM, _SPACING_CM = 0.55, 0.22  # length of the longest vector, distance of vectors
_PANEL_CM = 3.0
_MOST_STEPS = 4000  # more steps than dots of a page only increase the size of the picture

_NEEDS = ("view/point_mm", "view/raw_nm", "view/field_width_mm", "view/wafer_radius_mm")
_REMEDY = "a wafer file of 'bitbudget run' of this version"


@dataclass
class _View:
    """Scored points and fields [mm], and displacements of the reference [nm], all [count][2]."""

    points: np.ndarray
    raw: np.ndarray
    field_of: np.ndarray
    fields: np.ndarray
    centres: np.ndarray
    size: np.ndarray
    radius: float

    def box(self, fields: np.ndarray) -> np.ndarray:
        """Return the corners [2][2] of some fields with a margin for their vectors."""
        low, high = (self.centres[fields] - self.size / 2).min(0), (self.centres[fields] + self.size / 2).max(0)
        margin = 0.1 * (high - low).max()
        return np.array([low - margin, high + margin])


def _view(result: Result) -> _View:
    names = ("results/point_field", "results/field", "results/field_x_mm", "results/field_y_mm")
    if any(name not in result for name in names):
        raise UsageError(f"{result.path}: no scored fields; use {_REMEDY}")
    field_of, fields, x, y = (result[name] for name in names)
    points, raw = result["view/point_mm"], result["view/raw_nm"]
    if points.shape != (len(field_of), 3) or raw.shape != points.shape or not len(fields) == len(x) == len(y) > 0:
        raise UsageError(f"{result.path}: points and fields do not match the results; use {_REMEDY}")
    size = np.array([result.single("view/field_width_mm"), result.single("view/field_height_mm")])
    return _View(points[:, :2], raw[:, :2], field_of, fields, np.stack([x, y], 1), size,
                 result.single("view/wafer_radius_mm"))


def _cheapest(result: Result) -> int | None:
    """Return the pipeline of the front with the fewest bytes and a loss, the likely choice of a user."""
    size = result.column("operator_bytes")
    found = np.flatnonzero(result.front & (result.losses > 0))
    return None if size is None else min(found, key=lambda p: np.nan_to_num(size[p], nan=np.inf), default=None)


def _error(result: Result, view: _View) -> tuple[np.ndarray | None, str]:
    """Return the vectors of the error that the loss of the cheapest pipeline measures, and a note."""
    p = _cheapest(result)
    if p is None:
        return None, "No safe pipeline has an error."
    x, y, left = (result.column(f"overlay_{name}_nm") for name in ("error_x", "error_y", "residual"))
    late = left is not None and x is not None and y is not None and left[p] > max(x[p], y[p])
    path = f"view/{'residual' if late else 'model'}_{p}_nm"
    which = "residual after late or missed corrections" if late else "numerical error"
    if path not in result or result[path].shape != (len(view.points), 3):
        return None, f"The file has no vectors of the {which} of {result.pipelines[p]}."
    vectors = result[path][:, :2] - (0.0 if late else view.raw)
    return vectors, f"The error is the {which} of {result.pipelines[p]}, the safe pipeline with the fewest bytes."


def _thin(view: _View, points: np.ndarray, spacing: float) -> np.ndarray:
    """Select every n-th row and column of the metrology grid of each field, at least `spacing` mm apart."""
    kept = np.zeros_like(points)
    kept[np.unique(np.round(view.points, 3), axis=0, return_index=True)[1]] = True  # other wafers of a lot
    kept &= points
    centre = view.centres[(view.field_of[:, None] == view.fields).argmax(1)]
    for axis in range(2):
        places, rank = np.unique(np.round(view.points[:, axis] - centre[:, axis], 3), return_inverse=True)
        step = max(1, int(np.ceil(spacing * (len(places) - 1) / max(np.ptp(places), 1e-9) - 1e-6)))
        count = max(1, len(places) // step)  # half a step away from the neighbouring fields
        shift = rank - (len(places) - 1 - (count - 1) * step) // 2
        kept &= (shift % step == 0) & (shift >= 0) & (shift < count * step)
    return kept


def _outline(axes: Any, view: _View, width: float = 0.5) -> None:
    axes.add_patch(Circle((0, 0), view.radius, fill=False, lw=0.8 if width == 0.5 else 0.6))
    for centre in view.centres:
        axes.add_patch(Rectangle(centre - view.size / 2, *view.size, fill=False, lw=width, ec=style.GREY))


def _key_map(axes: Any, view: _View, box: np.ndarray) -> None:
    """Draw the wafer with its scored fields; the part in other panels is filled."""
    axes.add_patch(Rectangle(box[0], *(box[1] - box[0]), fc="#f5d5c0", ec=style.VERMILION, lw=0.6, zorder=0.5))
    _outline(axes, view, 0.4)
    limit = 1.03 * max(view.radius, np.abs(box).max())
    axes.set(aspect="equal", xlim=(-limit, limit), ylim=(-limit, limit))
    axes.axis("off")


def _arrows(axes: Any, view: _View, title: str, vectors: np.ndarray, points: np.ndarray, box: np.ndarray,
            colour: str, width_cm: float) -> None:
    """Draw vectors in a panel of some width, with a reference arrow above it."""
    lengths = np.hypot(*vectors[points].T)
    peak = lengths[np.isfinite(lengths)].max(initial=0.0)
    unit = 1.0
    if peak > 0:
        power = 10.0 ** np.floor(np.log10(peak))
        unit = power * max(digit for digit in (1.0, 2.0, 5.0) if digit * power <= peak * (1 + 1e-12))
    shape = dict(color=colour, units="inches", width=0.011, headwidth=4, headlength=4.5, headaxislength=4,
                 minshaft=1.5, minlength=0.4, scale_units="inches", scale=(peak or 1.0) / (_ARROW_CM * style.CM))
    kept = _thin(view, points & np.isfinite(vectors).all(1), _SPACING_CM * np.ptp(box[:, 0]) / width_cm)
    axes.quiver(*view.points[kept].T, *vectors[kept].T, angles="uv", **shape)
    above = axes.transAxes + ScaledTranslation(0, 5 / 72, axes.figure.dpi_scale_trans)
    axes.quiver(0, 1, unit, 0, transform=above, clip_on=False, **shape)
    axes.annotate(f"{unit:g} nm", (0, 1), (_ARROW_CM * unit / (peak or 1.0) * style.CM * 72 + 4, 5), fontsize=6.5,
                  xycoords="axes fraction", textcoords="offset points", va="center", annotation_clip=False)
    axes.set_title(title, loc="left", y=1.0, pad=11)
    _outline(axes, view)
    axes.set(aspect="equal", xlim=box[:, 0], ylim=box[:, 1])
    axes.locator_params(nbins=6, steps=[1, 2, 5, 10])


def _overlay_box(view: _View) -> np.ndarray:
    box = view.box(np.arange(len(view.fields)))
    return np.clip(box, -1.1 * view.radius, 1.1 * view.radius) if np.ptp(box, 0).min() > view.radius else box


def _arrange(box: np.ndarray, width_cm: float, most: int) -> tuple[int, float]:
    """Return the columns of `most` panels, all in a row if they are large enough, and the height in cm."""
    ratio, panel = np.ptp(box[:, 1]) / np.ptp(box[:, 0]), (width_cm - 1.5) / most
    columns = most if min(panel, panel * ratio) >= _PANEL_CM and width_cm >= 12 else most // 2
    return columns, min(((width_cm - 1.5) / columns * ratio + 0.75) * most / columns + 1.2, max(width_cm, 16.0))


def _draw(axes: Any, view: _View, box: np.ndarray, points: np.ndarray, drawn: list[tuple[str, Any, str]],
          most: int, more: int = 0) -> tuple[np.ndarray, int]:
    """Draw vectors that are not None, each in a panel; return `more` further panels too, and the columns."""
    drawn, page = [row for row in drawn if row[1] is not None], style.page_cm(axes)
    columns = min(_arrange(box, page, most)[0], len(drawn) + more)
    style.compress(axes)
    panels = style.panels(axes, len(drawn) + more, columns, ("x [mm]", "y [mm]"), wspace=0.03)
    for panel, (title, vectors, colour) in zip(panels, drawn):
        _arrows(panel, view, title, vectors, points, box, colour, (page - 1.5) / columns)
    return panels[:len(drawn) + more], columns


@kind("overlay", "displacement over the wafer, and the error of the safe pipeline with the fewest bytes", _NEEDS,
      _REMEDY, height=lambda result, width_cm: _arrange(_overlay_box(_view(result)), width_cm, 2)[1])
def overlay(result: Result, axes: Any) -> str:
    """Draw the displacement at scored points, and the error of the cheapest safe pipeline."""
    view = _view(result)
    box = _overlay_box(view)
    error, note = _error(result, view)
    drawn = [("Displacement", view.raw, style.BLUE), ("Error", error, style.VERMILION)]
    panels, columns = _draw(axes, view, box, np.ones(len(view.points), bool), drawn, 2)
    if np.ptp(box, 0).min() < 1.6 * view.radius:
        right = panels[columns - 1]
        corner = right.figure.dpi_scale_trans + ScaledTranslation(1, 1, right.transAxes)  # inches
        _key_map(right.inset_axes([-0.36, 0.03, 0.36, 0.36], transform=corner), view, box)
    return f"Mean over the light steps of a point; scored fields only. {note}"


@kind("field", "field with the largest displacement: unchanged, minus its mean, and the error", _NEEDS, _REMEDY,
      height=lambda result, width_cm: _arrange(_view(result).box(slice(0, 1)), width_cm, 4)[1])
def field(result: Result, axes: Any) -> str:
    """Draw the field with the largest displacement: unchanged, minus its mean, and the error."""
    view = _view(result)
    lengths = np.hypot(*view.raw.T)
    chosen = view.field_of[np.nanargmax(np.where(np.isfinite(lengths), lengths, -1))]
    points = view.field_of == chosen
    box = view.box(view.fields == chosen)
    mean = view.raw[points].mean(0)
    error, note = _error(result, view)
    drawn = [("Displacement", view.raw, style.BLUE), ("Minus its mean", view.raw - mean, style.GREEN),
             ("Error", error, style.VERMILION)]
    panels, columns = _draw(axes, view, box, points, drawn, 4, 1)
    _key_map(panels[-1], view, box)
    panels[-1].set_title("Position", loc="left")
    above = panels[max(len(panels) - 1 - columns, 0)]  # its lower neighbour has no axis
    above.set_xlabel("x [mm]")
    above.tick_params(labelbottom=True)
    return (f"Exposure {chosen:.0f}, the field with the largest displacement. Its mean is {mean[0]:.4g} nm in x, "
            f"{mean[1]:.4g} nm in y, subtracted in the second panel. {note}")


def _exposure(result: Result, wanted: Any) -> str:
    names = [name.removeprefix("exposure_") for name in result.members("temperature")
             if re.fullmatch(r"exposure_\d+", name)]
    found = [name for name in names if wanted is None or name == str(wanted)]
    if not found:
        raise UsageError(f"--exposure {wanted}: the file has no temperatures of this exposure, expected one of "
                         f"{', '.join(sorted(names, key=int)) or '(none)'}")
    return max(found, key=int)


def _rises(result: Result, exposure: str, step: int | None, shape: tuple[int, int]) -> tuple[np.ndarray, str]:
    """Return the temperature rise [y][x] above the water in a light step, and the name of the step."""
    rises = result[f"temperature/exposure_{exposure}"]
    if rises.size != shape[0] * shape[1] or min(shape) < 2:
        raise UsageError(f"{result.path}: the temperatures of exposure {exposure} do not match x and y")
    if step is None:
        return rises.reshape(shape), "last light step"
    path = f"operators/S_{exposure}"
    inputs = result[path] if path in result else np.empty((0, 0))
    if inputs.ndim != 2 or inputs.shape[1] < rises.size:
        raise UsageError(f"--step {step}: the file does not have the temperatures of all light steps; use a wafer "
                         "file of 'bitbudget run --dump inputs'")
    if not 1 <= step <= len(inputs):
        raise UsageError(f"--step {step}, expected 1 to {len(inputs)}")
    # Inputs may be relative to another level, which is equal in all steps.
    change = (inputs[step - 1] - inputs[-1])[:rises.size]
    return (rises.reshape(-1) + change).reshape(shape), f"light step {step} of {len(inputs)}"


@kind("heat", "temperature of the wafer in a light step of a scored exposure",
      ("temperature/x", "temperature/y", "view/wafer_radius_mm"),
      "a wafer file of 'bitbudget run --dump inputs' of this version",
      height=lambda result, width_cm, **options: min(width_cm - 2.2, 12.0))
def heat(result: Result, axes: Any, exposure: Any = None, step: int | None = None) -> str:
    """Draw the temperature rise of the wafer in a light step of an exposure.

    Parameters
    ----------
    exposure : int or str, optional
        Number of a scored exposure; the default is the last one.
    step : int, optional
        Light step from 1 on; the default is the last one.
    """
    x, y, radius = result["temperature/x"], result["temperature/y"], result.single("view/wafer_radius_mm")
    number = _exposure(result, exposure)
    rises, name = _rises(result, number, step, (len(y), len(x)))
    rises = np.where(np.hypot(x, y[:, None]) > radius, np.nan, rises)
    style.compress(axes)
    low, high = np.nanmin(rises), np.nanmax(rises)
    image = style.image(axes, rises, x, y, vmin=low, vmax=high if high > low else low + 1)
    axes.add_patch(Circle((0, 0), radius, fill=False, lw=0.8))
    axes.set(xlim=(-1.03 * radius, 1.03 * radius), ylim=(-1.03 * radius, 1.03 * radius), xlabel="x [mm]",
             ylabel="y [mm]")
    style.scale_bar(image, axes, "Temperature rise [K]")
    return f"Mean temperature rise of a cell, {name} of exposure {number}."


@kind("probes", "temperatures of the probes over time", ("probes/time_s",), "a wafer file of a study with 'probes'",
      height=0.6)
def probes(result: Result, axes: Any) -> str | None:
    """Draw the temperature of up to seven probes over time."""
    time = result["probes/time_s"]
    names = [name for name in result.members("probes") if result.attribute(f"probes/{name}", "units") == "K"
             and result[f"probes/{name}"].shape == time.shape]
    if not names:
        raise UsageError(f"{result.path}: the file has no probes; use a wafer file of a study with 'probes'")
    stride = len(time) // _MOST_STEPS + 1
    lines: list[Line2D] = []
    for name, colour, dash in zip(names, style.COLOURS, style.DASHES):
        lines += axes.plot(time[::stride], result[f"probes/{name}"][::stride], color=colour, ls=dash,
                           label=name.removesuffix("_k"))
        style.hover(lines[-1], f"{name}: {result.attribute(f'probes/{name}', 'long_name')}")
    style.legend(axes, lines)
    axes.grid()
    axes.set(xlim=(time[0], time[-1] if time[-1] > time[0] else time[0] + 1), ylabel="Temperature rise [K]",
             xlabel="Time since the first wafer was clamped [s]")
    more = len(names) - len(lines)
    return f"The file has {more} more probe{'s' * (more > 1)}." if more else None
