# SPDX-License-Identifier: Apache-2.0
"""Pictures of sweeps."""
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import h5py
import layout
import numpy as np
import pytest
from conftest import HOSTILE, sweep_file
from files import sign, write
from layout import check_kind, check_layout, drawn_texts
from matplotlib.collections import PatchCollection, QuadMesh

import bitbudget
from bitbudget import UsageError
from bitbudget.plot import style
from bitbudget.plot.sweep import Plane


def draw(result: bitbudget.Result, kind: str, width: float = 8.5, **options: str) -> Any:
    """Draw a picture of a width."""
    return layout.draw(result, kind, size=width, **options)


def note(fig: Any) -> str:
    """Caption of a figure in one line."""
    return " ".join(fig._supxlabel.get_text().split())


def cells(axes: Any) -> np.ndarray:
    """Numbers of the cells of a heatmap, [rows][columns]."""
    mesh = next(found for found in axes.collections if isinstance(found, QuadMesh))
    rows, columns = (size - 1 for size in mesh.get_coordinates().shape[:2])
    return mesh.get_array().reshape(rows, columns).filled(np.nan)


def hatched(axes: Any, face: str) -> list[tuple[float, float]]:
    """Corners of the hatched cells with a face colour."""
    collections = [found for found in axes.collections if isinstance(found, PatchCollection)]
    chosen = [found for found in collections if (found.get_facecolor().size == 0) == (face == "none")]
    assert all(found.get_hatch() for found in collections)
    return [tuple(path.vertices.min(axis=0)) for found in chosen for path in found.get_paths()]


def test_pictures_are_legible(sweep: bitbudget.Result, folder: Path) -> None:
    """All texts are on the page and apart, also if every point failed."""
    failing = sweep_file(folder / "all-fail.h5", fails=lambda i, width: i >= 0)
    for kind, options in (("pareto", {}), ("heatmap", {}), ("lines", {}), ("heatmap", {"y": "pipeline"}),
                          ("lines", {"y": "pipeline"})):
        check_kind(sweep, kind, **options)
        for width in (8.5, 17):
            check_layout(draw(failing, kind, width, **options))


def test_choices_are_at_their_bytes(sweep: bitbudget.Result) -> None:
    """Worst losses, the front of the safe ones, and a cross for the choice that failed once."""
    fig = draw(sweep, "pareto", 17)
    axes = fig.axes[0]
    safe, front, unsafe = axes.collections
    np.testing.assert_allclose(safe.get_offsets(), [(3, 0.015)])
    np.testing.assert_allclose(front.get_offsets(), [(8, axes.get_ylim()[0]), (4, 2e-6), (2, 0.013)])
    np.testing.assert_allclose(unsafe.get_offsets(), [(1, 0.001)])
    assert unsafe.get_zorder() > front.get_zorder()
    assert axes.get_ylabel() == "Worst Strehl loss"
    title = f"{HOSTILE}, width 0: Worst Strehl loss 0.001, Operator as stored [MB] 1, failed at some conditions"
    assert f"<title>{escape(title)}</title>" in style.svg(fig)
    assert f"{HOSTILE}, width 2" in [text.get_text() for text in drawn_texts(fig)]


def test_unknown_losses_leave_the_front(sweep: bitbudget.Result, folder: Path) -> None:
    """A choice whose loss is unknown somewhere is not on the front."""
    path = shutil.copy(sweep.path, folder / "unknown.h5")
    with h5py.File(path, "a") as file:
        file["statistics/points_without_loss"] = [0.0, 0, 0, 1, 0]
        file["statistics/points_without_loss"].attrs.update(units="1", long_name="points")
        file["statistics/points_without_loss"].dims[0].attach_scale(file["statistics/choice"])
    _, front, _ = draw(bitbudget.open(sign(path)), "pareto").axes[0].collections
    assert sorted(front.get_offsets()[:, 0]) == [3, 4, 8]


def test_cells_are_those_of_the_points(sweep: bitbudget.Result) -> None:
    """The pipeline whose key is drawn; the failed point is hatched and grey."""
    fig = draw(sweep, "heatmap")
    axes, bar = fig.axes
    np.testing.assert_allclose(cells(axes), [[0.001, np.nan], [0.003, 0.013], [0.005, 0.015]])
    assert hatched(axes, "grey") == [(0.5, -0.5)]
    assert hatched(axes, "none") == []
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("r0 [m]", "Width [tiles]", "Strehl loss")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "2", "4"]
    assert f"Pipeline {HOSTILE}." in note(fig)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["failed at all points"]
    page = style.svg(fig)
    assert "<title>r0_m 0.2, width 0, failed at 1 of 1</title>" in page
    assert "<title>r0_m 0.2, width 4: Strehl loss 0.015</title>" in page
    assert page.count("<title>") == 6 + 1


def test_rows_of_pipelines_have_the_worst_value(sweep: bitbudget.Result) -> None:
    """A cell is the worst of the other key, coloured and hatched if some of its points failed."""
    fig = draw(sweep, "heatmap", y="pipeline")
    np.testing.assert_allclose(cells(fig.axes[0]), [[0, 0], [1e-6, 2e-6], [0.005, 0.015]])
    assert hatched(fig.axes[0], "none") == [(0.5, 1.5)]
    assert "Worst value (largest) over width." in note(fig)
    assert Plane(sweep, y="pipeline").hover(2, 1).endswith(": Strehl loss 0.015, failed at 1 of 3")


def test_for_merits_the_least_is_the_worst(sweep: bitbudget.Result) -> None:
    """Strehl ratios: the smallest of the points; options select keys by name or path."""
    fig = draw(sweep, "heatmap", x=f"pipelines.{HOSTILE}.policy.width", y="r0_m", pipeline="sp", value="strehl")
    np.testing.assert_allclose(cells(fig.axes[0]), [[0.499999] * 3, [0.499998] * 3])
    assert "Pipeline sp." in note(fig)
    plane = Plane(sweep, y="pipeline", value="strehl")
    assert plane.less
    np.testing.assert_allclose(plane.worst[2], [0.495, 0.485])


def test_failing_pipelines_have_a_map(folder: Path) -> None:
    """A pipeline that fails everywhere gives a map that is all hatched, without a colour scale."""
    result = sweep_file(folder / "all.h5", fails=lambda i, width: i >= 0)
    fig = draw(result, "heatmap")
    assert len(fig.axes) == 1
    assert len(hatched(fig.axes[0], "grey")) == 6
    assert np.isnan(cells(fig.axes[0])).all()
    assert "No point has a Strehl loss." in note(fig)


def test_lines_break_where_points_failed(sweep: bitbudget.Result) -> None:
    """A line for each width; a cross on top above the lower edge where a point failed."""
    axes = draw(sweep, "lines").axes[0]
    drawn = [line for line in axes.lines if line.get_linestyle() != "None"]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    np.testing.assert_allclose([line.get_ydata() for line in drawn], [[0.001, np.nan], [0.003, 0.013], [0.005, 0.015]])
    np.testing.assert_allclose(drawn[0].get_xdata(), [0.1, 0.2])
    assert len(crosses) == 1
    assert np.ravel(crosses[0].get_xydata()) == pytest.approx((0.2, axes.get_ylim()[0]))
    assert crosses[0].get_color() == drawn[0].get_color()
    assert crosses[0].get_zorder() > max(line.get_zorder() for line in drawn)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Width [tiles] 0", "2", "4"]


def test_crosses_do_not_hide_each_other(folder: Path) -> None:
    """Crosses of several lines at one value are at different heights."""
    axes = draw(sweep_file(folder / "crosses.h5", fails=lambda i, width: i == 0), "lines").axes[0]
    axes.figure.draw_without_rendering()
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    heights = [cross.get_transform().transform(cross.get_xydata())[0, 1] for cross in crosses]
    assert len(heights) == 3
    assert np.diff(heights).min() > 5 / 72 * axes.figure.dpi


def test_points_that_were_not_run_are_white(folder: Path) -> None:
    """A list of points: empty combinations; the pipeline is the safe one of fewest bytes with a loss."""
    run, cell, choice = ["run"], ["run", "pipeline"], ["statistics/choice"]
    path = write(folder / "list.h5", {
        "run": ([0.0, 1, 2], run, {}), "a": ([1.0, 1, 2], run, {"key": "x.a"}),
        "b": (["u", "v", "u"], run, {"key": "x.b"}), "results/point_number": ([0.0, 1, 2], run, {}),
        "pipeline": (["reference", "failing", "p"], ["pipeline"], {}),
        "results/status": (["ok"] * 3 + ["ok", "not_spd", "ok"] + ["ok"] * 3, cell, {}),
        "results/strehl_loss": ([0, 0.4, 0.1, 0, 0.9, 0.2, 0, 0.4, 0.3], cell, {}),
        "statistics/choice": ([0.0, 1, 2], choice, {}), "statistics/setting": ([""] * 3, choice, {}),
        "statistics/choice_pipeline": (["reference", "failing", "p"], choice, {}),
        "statistics/points_failed": ([0.0, 1, 0], choice, {}), "statistics/loss_most": ([0, 0.4, 0.3], choice, {}),
        "statistics/operator_bytes": ([1e6, 2e6, 4e6], choice, {})}, experiment="ao", sweep_plan="0")
    result = bitbudget.open(path)
    fig = draw(result, "heatmap")
    axes = fig.axes[0]
    np.testing.assert_allclose(cells(axes), [[0.1, 0.3], [0.2, np.nan]])
    assert "Pipeline p." in note(fig)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["u", "v"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["not run"]
    assert not hatched(axes, "none")
    assert not hatched(axes, "grey")
    failing = draw(result, "heatmap", pipeline="failing").axes[0]  # it has a loss where it failed
    np.testing.assert_allclose(cells(failing), [[0.4, 0.4], [np.nan, np.nan]])
    assert hatched(failing, "grey") == [(-0.5, 0.5)]
    texts = draw(result, "lines", x="b", y="a").axes[0]
    np.testing.assert_allclose([line.get_ydata() for line in texts.lines], [[0.1, 0.2], [0.3, np.nan]])
    assert [label.get_text() for label in texts.get_xticklabels()] == ["u", "v"]


def test_large_sweeps_are_in_ranges(folder: Path) -> None:
    """10,000 points: 24 equal ranges of each key, at most eight lines."""
    r0, widths = np.linspace(0.05, 0.3, 100), np.arange(100)
    result = sweep_file(folder / "large.h5", r0, widths)
    plane, low, step = Plane(result), 0.05, 0.25 / 24
    assert plane.worst.shape == (24, 24)
    expected = max(1e-3 * (1 + 10 * i + w) for i in range(100) for w in range(100)
                   if low + 3 * step <= r0[i] < low + 4 * step and 2 * 99 / 24 <= w < 3 * 99 / 24)
    assert plane.worst[2, 3] == pytest.approx(expected)
    assert plane.runs.sum() == 10000
    assert plane.x.values[3] == pytest.approx(low + 3.5 * step)
    for kind in ("pareto", "heatmap", "lines"):
        fig = draw(result, kind)
        check_layout(fig)
    assert "8 of 24 values of width are shown." in note(fig)
    assert "r0_m in 24 equal ranges, labelled by their centres." in note(fig)


def test_ten_thousand_choices_are_pixels(folder: Path) -> None:
    """Large groups of marks are images; front, names and legend stay texts and shapes; the page is small."""
    count, random = 10_000, np.random.default_rng(1)
    path = sweep_file(folder / "choices.h5", (0.1,), np.arange(count)).path
    with h5py.File(path, "a") as file:
        file["statistics/loss_most"][...] = 10 ** random.uniform(-6, -1, count + 2)
        file["statistics/operator_bytes"][...] = 10 ** random.uniform(5, 8, count + 2)
        file["statistics/points_failed"][...] = random.uniform(size=count + 2) < 0.1
    fig = draw(bitbudget.open(sign(path)), "pareto", 17)
    page = style.svg(fig)
    assert len(page) < 1e6
    safe, front, failed = fig.axes[0].collections
    assert safe.get_rasterized() and failed.get_rasterized() and not front.get_rasterized()
    assert page.count("<title>") == len(front.get_offsets()) < 40
    names = [text for text in drawn_texts(fig) if text.get_text().startswith(HOSTILE)]
    assert 0 < len(names) <= 40


def test_many_texts_are_joined(folder: Path) -> None:
    """Of 200 values that are texts, 59 have a row each, and the others one."""
    run, texts = ["run"], [f"t{i}" for i in range(200)]
    choice = ["statistics/choice"]
    path = write(folder / "texts.h5", {
        "run": (np.arange(200.0), run, {}), "a": (np.arange(200.0) % 2, run, {"key": "x.a"}),
        "b": (texts, run, {"key": "x.b"}), "results/point_number": (np.arange(200.0), run, {}),
        "pipeline": (["p"], ["pipeline"], {}), "results/status": (["ok"] * 200, ["run", "pipeline"], {}),
        "results/strehl_loss": (np.arange(200.0), ["run", "pipeline"], {}), "statistics/choice": ([0.0], choice, {}),
        "statistics/setting": ([""], choice, {}), "statistics/choice_pipeline": (["p"], choice, {}),
        "statistics/points_failed": ([0.0], choice, {}), "statistics/loss_most": ([199.0], choice, {}),
        "statistics/operator_bytes": ([1.0], choice, {})}, experiment="ao", sweep_plan="0")
    plane = Plane(bitbudget.open(path), x="a", y="b")
    assert plane.rows == [*texts[:59], "141 others"]
    np.testing.assert_array_equal(plane.worst[[0, 58]], [[0, np.nan], [58, np.nan]])
    np.testing.assert_array_equal(plane.worst[59], [198, 199])


def test_wrong_options_are_named(sweep: bitbudget.Result) -> None:
    """Messages name the option, the mistake and the nearest name."""
    for options, message in (({"x": "r0"}, "--x r0: not a swept key .did you mean 'r0_m'"),
                             ({"x": "r0_m", "y": "r0_m"}, "--x and --y are both r0_m"),
                             ({"pipeline": "spp"}, "--pipeline spp: not a pipeline of this file .did you mean 'sp'"),
                             ({"pipeline": "sp", "y": "pipeline"}, "--pipeline selects one pipeline, but each has"),
                             ({"value": "status"}, "--value status: use 'loss' or a numeric dataset")):
        for kind in ("lines", "heatmap"):
            with pytest.raises(UsageError, match=message):
                draw(sweep, kind, **options)
    with pytest.raises(UsageError, match="--x is valid only for heatmap and lines, not for 'pareto'"):
        draw(sweep, "pareto", x="r0_m")
    with pytest.raises(UsageError, match="picture 'psf' is not available for this file"):
        draw(sweep, "psf")
