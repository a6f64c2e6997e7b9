# SPDX-License-Identifier: Apache-2.0
"""Pictures of ao: star images, error budget, and nights."""
from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from ..errors import UsageError
from ..result import Result
from . import kind, style
from .pipelines import MOST_PANELS

_RUN = "an ao file of 'bitbudget run'"
_DECADES = 4.0
_CORE = 10  # half width of the core, lambda/D


def _images(result: Result) -> list[int]:
    """Pipelines whose image is finite."""
    psf = result["results/psf"]
    return [p for p in range(len(psf)) if np.isfinite(psf[p]).all()]


def _psf_grid(result: Result, width: float) -> tuple[list[int], int]:
    """Pipelines that are drawn, and columns of panels: pairs of an image and a difference."""
    columns = 2 if width < 12 else 4
    return _images(result)[:MOST_PANELS * columns // 4], columns


def _psf_height(result: Result, width: float) -> float:
    shown, columns = _psf_grid(result, width)
    return style.rows_cm(width, 2 * len(shown), columns) + 2.2


def _core(result: Result) -> float:
    """Half width of the drawn core in mas: ten times lambda/D, at most the image."""
    x, diameter = result["results/psf_x"], result.single("study/telescope_diameter_m")
    waves = result["study/wavelengths_um"].flat if "study/wavelengths_um" in result else [np.nan]
    core = _CORE * waves[0] * 1e-6 / diameter * 180 / np.pi * 3.6e6
    return min(core if np.isfinite(core) else 0.25 * (x[-1] - x[0]), x[-1], -x[0])


@kind("psf", "star image of every pipeline and its difference from the reference, on logarithmic scales",
      ("results/pipeline", "results/psf", "results/psf_x", "results/psf_y"), _RUN, height=_psf_height)
def psf(result: Result, axes: Any) -> str:
    """Draw the core of every star image and its difference from that of the reference."""
    images, x, y = (result[f"results/{name}"] for name in ("psf", "psf_x", "psf_y"))
    if images.shape != (len(result.pipelines), len(y), len(x)) or min(len(x), len(y)) < 2:
        raise UsageError(f"{result.path}: images 'psf' do not have the axes pipeline, psf_y and psf_x")
    shown, columns = _psf_grid(result, style.page_cm(axes))
    reference, core = result.reference, _core(result)
    if not np.isfinite(images[reference]).all():
        raise UsageError(f"{result.path}: the reference has no image")
    differences = {p: np.abs(images[p] - images[reference]) for p in shown if p != reference}
    peak = max((float(difference.max()) for difference in differences.values()), default=0.0) or 1.0
    norms = [LogNorm(10 ** -_DECADES, 1.0, clip=True), LogNorm(peak * 10 ** -_DECADES, peak, clip=True)]
    panels = style.panels(axes, 2 * len(shown), columns, ("x [mas]", "y [mas]"))
    room = style.panel_cm(panels[0])
    for p, (image, other) in zip(shown, panels.reshape(-1, 2)):
        for panel in (image, other):
            panel.set(xlim=(-core, core), ylim=(-core, core))
            panel.locator_params(nbins=3, steps=[1, 2, 5, 10])
            panel.tick_params(labelsize=style.SMALL, pad=2)
        style.hover(style.image(image, images[p], x, y, norm=norms[0]), result.pipelines[p])
        image.set_title(style.shorten(result.pipelines[p], room), pad=3)
        if p == reference:
            left, right, bottom, top = style.image(other, images[p], x, y, norm=norms[0]).get_extent()
            other.add_patch(Rectangle((-core, -core), 2 * core, 2 * core, fill=False, edgecolor="white", linewidth=0.6))
            other.set_title(f"±{-x[0]:.0f} mas", pad=3)
            other.set(xticks=[], yticks=[], xlabel="", xlim=(left, right), ylim=(bottom, top))
        else:
            style.hover(style.image(other, differences[p], x, y, norm=norms[1]), f"{result.pipelines[p]}, difference")
            other.set_title("difference", pad=3)
    for half, (norm, words) in enumerate(zip(norms, ("Intensity", "Difference"))):
        below = [panel for i, panel in enumerate(panels) if i % columns * 2 // columns == half]
        style.scale_bar(ScalarMappable(norm, style.MAP), below, words + ", relative to the peak" * (columns > 2),
                        location="bottom", fraction=0.05)
    return (f"Long exposure, first target and wavelength; 1 is the diffraction-limited peak. Core of ±{core:.3g} mas, "
            "of the reference also the whole image with the core as a frame. "
            + style.listed("Not drawn: ", [name for p, name in enumerate(result.pipelines) if p not in shown])).strip()


@kind("budget", "terms of the reference's residual wavefront error, by target",
      ("results/error_term", "results/error_budget_nm"), _RUN, height=0.5)
def budget(result: Result, axes: Any) -> str:
    """Draw the error terms of the reference as bars, one for each target."""
    terms, values = [str(term) for term in result["results/error_term"]], result["results/error_budget_nm"]
    if values.ndim != 2 or values.shape[1] != len(terms):
        raise UsageError(f"{result.path}: error_budget_nm does not have the axes target and error_term")
    shown = min(len(values), len(style.COLOURS))
    room, y = 0.8 / shown, np.arange(len(terms))
    for t in range(shown):
        bars = axes.barh(y - 0.4 + (t + 0.5) * room, values[t], 0.9 * room, color=style.COLOURS[t], label=f"target {t}")
        if shown == 1:
            texts = [f"{value:.0f}" if value else "off" for value in values[t]]
            axes.bar_label(bars, texts, padding=2, fontsize=style.SMALL)
    axes.set_yticks(y, terms)
    axes.set(ylim=(len(terms) - 0.4, -0.6), xlabel="Rms of the residual wavefront [nm]")
    axes.margins(x=0.08)
    axes.axvline(0, color=style.BLACK, linewidth=0.6)
    axes.grid(axis="x")
    if len(values) > 1:
        style.legend(axes, axes.containers)
    return ("Reference pipeline; the squares add up to the square of the total. 0: term disabled."
            + (f" The first {shown} of {len(values)} targets are shown." if shown < len(values) else ""))


# Colours distinguish pipelines; dashes and marks distinguish policies; black is the reference of the moment.
_COLOURS = style.COLOURS[:6]
_DASHES = ((None, None), (4, 1.6), (1.2, 1.2), (6, 1.5, 1.2, 1.5))


def _lines(result: Result, axes: Any, across: np.ndarray, values: np.ndarray, note: str, moment: Any = None) -> str:
    """Draw lines [pipeline][policy][across] with a legend for both; return the note."""
    pipelines, policies = ([str(name) for name in result[f"night/{axis}"]] for axis in ("pipeline", "policy"))
    if values.shape != (len(pipelines), len(policies), len(across)):
        raise UsageError(f"{result.path}: the night does not have the axes pipeline, policy and {len(across)} samples")
    every = max(1, len(across) // 10)
    for p, colour in enumerate(_COLOURS[:len(pipelines)]):
        for q, dashes in enumerate(_DASHES[:len(policies)]):
            axes.plot(across, values[p, q], color=colour, dashes=dashes, marker=style.MARKERS[q], markersize=3.2,
                      markevery=(q * every // len(_DASHES), every), label=f"{pipelines[p]}, {policies[q]}")
    handles = [Line2D([], [], color=colour, linewidth=2.2, label=name) for name, colour in zip(pipelines, _COLOURS)]
    handles += [Line2D([], [], color=style.GREY, dashes=dashes, marker=marker, markersize=3.2, label=f"policy {name}")
                for name, dashes, marker in zip(policies, _DASHES, style.MARKERS)]
    if moment is not None:
        handles += axes.plot(across, moment, color=style.BLACK, linewidth=1.8, zorder=1.5, label="current reference")
    axes.grid()
    style.legend(axes, handles)
    limits = ((pipelines, len(_COLOURS), "pipelines"), (policies, len(_DASHES), "policies"))
    cuts = [f"{most} of {len(names)} {word}" for names, most, word in limits if len(names) > most]
    return note + (f" Drawn: the first {' and '.join(cuts)}." if cuts else "")


def _night_height(result: Result, width: float) -> float:
    return 0.62 * width + (0.8 if width < 12 else 0.3)


@kind("night", "Strehl ratio over a night for every pipeline and policy, and for the reconstructor of the moment",
      ("night/pipeline", "night/policy", "night/time", "night/strehl_moment", "night/strehl"),
      _RUN + " with a night.source", height=_night_height)
def night(result: Result, axes: Any) -> str:
    """Draw the Strehl ratio over time by pipeline and policy."""
    time, moment = result["night/time"], result["night/strehl_moment"]
    axes.set(xlabel="Time [min]", ylabel="Strehl ratio")
    names = [str(name) for name in result["night/pipeline"]]
    reference = names.index(result.pipelines[result.reference]) if result.pipelines[result.reference] in names else 0
    return _lines(result, axes, time, result["night/strehl"], "First target and wavelength. Black: the reference's "
                  "reconstructor computed for each moment.", moment[reference])


@kind("staleness", "loss of Strehl ratio against the age of a reconstructor's data, by pipeline and policy",
      ("night/pipeline", "night/policy", "night/age", "night/aged_loss", "night/precision_loss"),
      _RUN + " with a night.source and night.ages_minutes", height=_night_height)
def staleness(result: Result, axes: Any) -> str:
    """Draw the loss due to age and precision against the age of the data."""
    age, losses = result["night/age"], result["night/aged_loss"] + result["night/precision_loss"][:, None, None]
    positive = (age > 0) & (losses > 0)
    note = _lines(result, axes, age, np.where(positive, losses, np.nan), "Mean loss relative to the reference's "
                  "reconstructor of the moment, due to age and to precision. Losses of 0 and ages of 0 are not drawn.")
    style.log_axis(axes, "x", *style.log_range(age, 1.2))
    style.log_axis(axes, "y", *style.log_range(losses[:, :, age > 0], 1.2))
    if age.size <= 8:
        axes.set_xticks(age[age > 0])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="Age of the data [min]", ylabel="Loss of Strehl ratio")
    return note
