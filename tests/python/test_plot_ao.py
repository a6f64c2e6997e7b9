# SPDX-License-Identifier: Apache-2.0
"""Pictures of ao."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import layout
import numpy as np
import pytest
from conftest import HOSTILE, pipelines_file
from files import write
from layout import check_kind, check_layout, drawn_texts

import bitbudget
from bitbudget import UsageError
from bitbudget.plot import style


def draw(result: bitbudget.Result, kind: str, width: float = 8.5) -> Any:
    """Draw a picture of a width."""
    return layout.draw(result, kind, size=width)


def note(fig: Any) -> str:
    """Caption of a figure in one line."""
    return " ".join(fig._supxlabel.get_text().split())


def test_pictures_are_legible(ao: bitbudget.Result, night: bitbudget.Result) -> None:
    """All texts are on the page and apart; images are wide enough."""
    for result, kind in ((ao, "psf"), (ao, "budget"), (night, "night"), (night, "staleness"), (night, "psf")):
        check_kind(result, kind, least_cm=2.9)


def test_images_are_those_of_the_file(ao: bitbudget.Result) -> None:
    """Image of each pipeline and the magnitude of its difference, on logarithmic scales with ticks at decades."""
    fig = draw(ao, "psf", 17)
    images, x = ao["results/psf"], ao["results/psf_x"]
    panels = [axes for axes in fig.axes if axes.images]
    assert len(panels) == 2 * len(images)
    for p, (left, right) in enumerate(zip(panels[::2], panels[1::2])):
        np.testing.assert_array_equal(left.images[0].get_array(), images[p])
        expected = images[0] if p == 0 else np.abs(images[p] - images[0])
        np.testing.assert_array_equal(right.images[0].get_array(), expected)
    assert panels[4].get_title() == HOSTILE
    image, difference = panels[2].images[0], panels[3].images[0]
    assert (image.norm.vmin, image.norm.vmax) == (1e-4, 1)
    assert difference.norm.vmax == np.abs(images - images[0]).max()
    assert image.get_interpolation() == "none"
    half = (x[1] - x[0]) / 2
    np.testing.assert_allclose(image.get_extent()[:2], (x[0] - half, x[-1] + half))
    texts = [text.get_text() for text in drawn_texts(fig)]
    assert {"10⁰", "10⁻¹", "10⁻²", "10⁻³", "10⁻⁴"} <= set(texts)
    assert {"x [mas]", "y [mas]"} <= set(texts)


def test_rows_of_images_go_up(folder: Path) -> None:
    """The first row of an image, of the lowest y, is at the bottom."""
    axes = {"psf_y": np.array([-2.0, -1, 0, 1]), "psf_x": np.array([-10.0, 0, 10])}
    image = np.arange(1.0, 13).reshape(4, 3) / 12
    psf = np.stack([image, np.full((4, 3), np.nan)])
    result = pipelines_file(folder / "psf.h5", {"name": ["reference", "bad"], "status": ["ok", "not_spd"]}, **{
        **{f"results/{name}": (values, [f"results/{name}"], {}) for name, values in axes.items()},
        "results/psf": (psf.ravel(), ["results/pipeline", "results/psf_y", "results/psf_x"], {})})
    fig = draw(result, "psf")
    drawn = fig.axes[0].images[0]
    assert tuple(drawn.get_extent()) == (-15, 15, -2.5, 1.5)
    assert drawn.origin == "lower"
    np.testing.assert_array_equal(drawn.get_array(), image)
    assert "Not drawn: bad." in note(fig)


def test_the_core_is_ten_diffraction_limits(ao: bitbudget.Result) -> None:
    """The panels show the core, that of the reference also the whole image."""
    fig = draw(ao, "psf")
    core, whole, other = (fig.axes[i] for i in (0, 1, 2))
    width = 10 * 1.65e-6 / 8 * 180 / np.pi * 3600e3
    np.testing.assert_allclose(core.get_xlim(), (-width, width))
    np.testing.assert_allclose(other.get_ylim(), (-width, width))
    assert whole.get_xlim()[1] > ao["results/psf_x"][-1]
    assert whole.patches[0].get_width() == pytest.approx(2 * width)


def test_budgets_have_their_terms(ao: bitbudget.Result) -> None:
    """A bar for each term and target, in nm."""
    axes = draw(ao, "budget").axes[0]
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    np.testing.assert_array_equal(widths, ao["results/error_budget_nm"])
    assert [label.get_text() for label in axes.get_yticklabels()] == list(ao["results/error_term"])
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first term is the highest
    assert axes.get_xlabel().endswith("[nm]")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["target 0", "target 1"]


def test_nights_have_their_strehl_ratios(night: bitbudget.Result) -> None:
    """A line for each pipeline and policy, and the reference of the moment in black."""
    axes, strehl = draw(night, "night").axes[0], night["night/strehl"]
    lines = axes.lines
    assert len(lines) == 2 * 3 + 1
    for i, line in enumerate(lines[:6]):
        np.testing.assert_array_equal(line.get_xdata(), night["night/time"])
        np.testing.assert_array_equal(line.get_ydata(), strehl[i // 3, i % 3])
    np.testing.assert_array_equal(lines[6].get_ydata(), night["night/strehl_moment"][0])
    assert lines[6].get_color() == style.BLACK


def test_legends_distinguish_pipelines_and_policies(night: bitbudget.Result) -> None:
    """Colours are pipelines; dashes and marks are policies, each different and in the legend as in the lines."""
    for kind in ("night", "staleness"):
        axes = draw(night, kind).axes[0]
        legend = {text.get_text(): handle for text, handle in zip(axes.get_legend().get_texts(),
                                                                  axes.get_legend().get_lines())}
        colours = [legend[name].get_color() for name in ("reference", "hp3")]
        looks = [(legend[f"policy {name}"]._dash_pattern[1], legend[f"policy {name}"].get_marker())
                 for name in ("snapshot", "mean", "shrink")]
        dashes = [tuple(dash) if dash else None for dash, _ in looks]
        assert len(set(colours)) == 2
        assert len(set(dashes)) == len({marker for _, marker in looks}) == 3
        for i, line in enumerate(axes.lines[:6]):
            assert line.get_color() == colours[i // 3]
            assert line.get_marker() == looks[i % 3][1]
            # Dashes scale with the width of a line.
            pattern = line._dash_pattern[1]
            assert (pattern is None) == (dashes[i % 3] is None)
            if pattern is not None:
                ratio = np.divide(pattern, line.get_linewidth())
                np.testing.assert_allclose(ratio, np.divide(dashes[i % 3], legend["policy mean"].get_linewidth()))


def test_dashes_differ_in_svg(night: bitbudget.Result) -> None:
    """The lines of three policies have three dash patterns."""
    page = style.svg(draw(night, "night"))
    assert len(set(part.split(";")[0] for part in page.split("stroke-dasharray: ")[1:])) >= 2


def test_staleness_adds_age_and_precision(night: bitbudget.Result) -> None:
    """Losses by age, with that of precision; ages of 0 are absent."""
    axes = draw(night, "staleness").axes[0]
    expected = night["night/aged_loss"] + night["night/precision_loss"][:, None, None]
    positive = (expected > 0) & (night["night/age"] > 0)
    assert positive.any()
    for i, line in enumerate(axes.lines):
        np.testing.assert_array_equal(line.get_xdata(), night["night/age"])
        values = np.where(positive, expected, np.nan)[i // 3, i % 3]
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel() == "Age of the data [min]"


def test_many_pipelines_of_a_night_are_counted(folder: Path) -> None:
    """Six of eight pipelines are drawn, and the note tells."""
    names, policies, times = [f"p{i}" for i in range(8)], ["now"], np.array([0.0, 5, 10])
    axes = {"pipeline": (names, ["pipeline"], {}), "night/pipeline": (names, ["night/pipeline"], {}),
            "night/policy": (policies, ["night/policy"], {}), "night/time": (times, ["night/time"], {})}
    path = write(folder / "nights.h5", {
        **axes, "night/strehl": (np.linspace(0.1, 0.5, 24), ["night/pipeline", "night/policy", "night/time"], {}),
        "night/strehl_moment": (np.linspace(0.2, 0.6, 24), ["night/pipeline", "night/time"], {})}, experiment="ao")
    fig = draw(bitbudget.open(path), "night")
    check_layout(fig)
    assert len(fig.axes[0].lines) == 7
    assert "Drawn: the first 6 of 8 pipelines." in note(fig)


def test_wrong_shapes_are_named(folder: Path) -> None:
    """Images without their axes are refused."""
    result = pipelines_file(folder / "wrong.h5", {"name": ["reference"]}, **{
        "results/psf_x": ([0.0, 1.0], ["results/psf_x"], {}), "results/psf_y": ([0.0, 1.0, 2.0], ["results/psf_y"], {}),
        "results/psf": (np.ones(6), ["results/pipeline", "results/psf_x", "results/psf_y"], {})})
    with pytest.raises(UsageError, match="'psf' do not have the axes pipeline, psf_y and psf_x"):
        draw(result, "psf")
