# SPDX-License-Identifier: Apache-2.0
"""Pictures of pipelines."""
from __future__ import annotations

import inspect
import pydoc
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import layout
import numpy as np
import pytest
from conftest import HOSTILE, pipelines_file
from files import write
from layout import check_kind, check_layout, drawn_texts

import bitbudget
from bitbudget import FileError, UsageError, plot
from bitbudget.plot import style

WIDTHS = (8.5, 17.0)


def draw(result: bitbudget.Result, kind: str, width: float = 8.5, **options: Any) -> Any:
    """Draw a picture of a width."""
    return layout.draw(result, kind, size=width, **options)


def words(fig: Any) -> list[str]:
    """Texts of a figure as drawn."""
    return [text.get_text() for text in drawn_texts(fig)]


def note(fig: Any) -> str:
    """Caption of a figure in one line."""
    return " ".join(fig._supxlabel.get_text().split())


def points(axes: Any) -> np.ndarray:
    """Positions of all marks of scatter plots, in their order."""
    return np.concatenate([np.asarray(marks.get_offsets()) for marks in axes.collections])


@pytest.fixture(scope="module")
def losses(folder: Path) -> bitbudget.Result:
    """Seven pipelines: three on the front, one behind it, an unsafe one, a failed one, one of unknown size."""
    return pipelines_file(folder / "losses.h5", {
        "name": ["reference", "a", "b", "c", "unsafe", "hp3", "lost"],
        "status": ["ok", "ok", "ok", "ok", "unsafe", "not_spd", "ok"],
        "overlay_error_x_nm": [0, 0.5, 0.01, 0.3, 0.001, np.nan, 0.1],
        "overlay_error_y_nm": [0, 0.4, 0.02, 0.6, 0.001, np.nan, 0.1],
        "operator_bytes": [8e6, 2e6, 4e6, 6e6, 1e6, 3e6, np.nan], "compression_ratio": [0.5, 2, 1, 0.7, 4, 1.3, np.nan],
        "codec": ["fp64", "fp16", "bfp 8", "bfp 6", "zfp x", "fp16", "bf16"]}, "wafer")


@pytest.mark.parametrize("kind", ["pareto", "loss-against-bits", "draws", "spectrum", "tiles"])
def test_pictures_of_ao_are_legible(ao: bitbudget.Result, kind: str) -> None:
    """All texts of pictures of ao are on the page and apart."""
    check_kind(ao, kind, least_cm=2.9)


def test_other_pictures_are_legible(wafer: bitbudget.Result, loop: bitbudget.Result, losses: bitbudget.Result) -> None:
    """All texts of the other pictures are on the page and apart."""
    for result, kind in ((wafer, "pareto"), (wafer, "loss-against-bits"), (loop, "latency"), (losses, "pareto")):
        check_kind(result, kind)


def test_losses_are_at_their_bytes(losses: bitbudget.Result) -> None:
    """The loss is the larger of x and y, the front a staircase, failed points are crosses on top."""
    axes = draw(losses, "pareto").axes[0]
    others, front, unsafe = axes.collections
    low, high = axes.get_ylim()
    np.testing.assert_allclose(others.get_offsets(), [(6, 0.6)])
    np.testing.assert_allclose(front.get_offsets(), [(8, low), (2, 0.5), (4, 0.02)])
    np.testing.assert_allclose(unsafe.get_offsets(), [(1, 0.001), (3, high)])
    assert unsafe.get_zorder() > max(others.get_zorder(), front.get_zorder())
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [(2, 0.5), (4, 0.5), (4, 0.02), (8, 0.02), (8, low)])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Operator as stored [MB]", "Overlay error [nm]")


def test_notes_name_the_edges(losses: bitbudget.Result) -> None:
    """The caption lists points without a loss or a size; their names are in the picture."""
    fig = draw(losses, "pareto", 17)
    assert note(fig).startswith("On the upper edge: failed, hp3 (not_spd). Not drawn: lost (size unknown). On the "
                                "lower edge: losses of 0 or below.")
    assert {"reference", "a", "b", "c", "unsafe", "hp3"} <= set(words(fig))


def test_pareto_of_a_run_has_the_numbers_of_the_file(wafer: bitbudget.Result) -> None:
    """Loss and megabytes of each pipeline."""
    axes, loss = draw(wafer, "pareto").axes[0], np.fmax(*(wafer[f"results/overlay_error_{axis}_nm"] for axis in "xy"))
    expected = np.column_stack([1e-6 * wafer["results/operator_bytes"], np.where(loss > 0, loss, axes.get_ylim()[0])])
    drawn = points(axes)
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])


def test_residual_of_late_corrections_is_a_loss(folder: Path) -> None:
    """The loss of a wafer includes the residual of late corrections."""
    result = pipelines_file(folder / "late.h5", {
        "name": ["reference", "late"], "status": ["ok", "ok"], "operator_bytes": [8e6, 4e6],
        "overlay_error_x_nm": [0, 1e-7], "overlay_error_y_nm": [0, 1e-7], "overlay_residual_nm": [0, 0.25]}, "wafer")
    assert result.losses[1] == 0.25


def test_the_front_ignores_rounding(folder: Path) -> None:
    """A loss below the rounding error of the score equals 0; lost answers are not on the front."""
    result = pipelines_file(folder / "rounding.h5", {
        "name": ["reference", "tiny", "bad"], "status": ["ok"] * 3, "operator_bytes": [8e6, 4e6, 1e6],
        "strehl": [0.5, 0.5, 0.1], "strehl_loss": [0, -4e-13, 0.4], "qoi_relative_error": [0, 0, 0.9995]})
    assert list(result.front) == [False, True, False]


def test_bits_are_by_family(losses: bitbudget.Result) -> None:
    """32 over the ratio, a mark for each family, plain formats as one; crosses on bad points."""
    axes = draw(losses, "loss-against-bits").axes[0]
    plain, bfp, zfp, bad = axes.collections
    np.testing.assert_allclose(plain.get_offsets()[:, 0], [64, 16])
    np.testing.assert_allclose(bfp.get_offsets(), [(32, 0.02), (32 / 0.7, 0.6)])
    np.testing.assert_allclose(zfp.get_offsets(), [(8, 0.001)])
    np.testing.assert_allclose(bad.get_offsets()[:, 0], [8, 32 / 1.3])
    assert bad.get_zorder() > zfp.get_zorder()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["plain formats", "bfp", "zfp", "failed, unsafe or invalid"]


def test_draws_have_mean_deviation_and_worst(ao: bitbudget.Result) -> None:
    """Rows of pipelines with draws above 1: ranges from mean to worst, and counts of failures."""
    fig = draw(ao, "draws")
    axes, rows = fig.axes[0], [3, 4]
    mean, deviation, worst = (ao[f"results/loss_{name}"][rows] for name in ("mean", "std", "worst"))
    ranges, deviations = (np.array(lines.get_segments())[:, :, 0] for lines in axes.collections)
    np.testing.assert_allclose(ranges, np.column_stack([mean, worst]))
    lowest = np.maximum(mean - deviation, axes.get_xlim()[0])
    np.testing.assert_allclose(deviations, np.column_stack([lowest, mean + deviation]))
    np.testing.assert_allclose(axes.lines[0].get_xdata(), mean)
    np.testing.assert_allclose(axes.lines[1].get_xdata(), worst)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["hp2", "hp3"]
    failed, count = (ao[f"results/{name}"][rows].astype(int) for name in ("draws_failed", "draws"))
    assert {f"{bad} of {all_}" for bad, all_ in zip(failed, count)} <= set(words(fig))


def test_draws_that_all_failed_have_a_cross(folder: Path) -> None:
    """A row without a loss is marked."""
    result = pipelines_file(folder / "failing.h5", {
        "name": ["reference", "bad"], "draws": [2, 4], "draws_failed": [0, 4], "loss_mean": [0.1, np.nan],
        "loss_std": [0.01, np.nan], "loss_worst": [0.2, np.nan]})
    fig = draw(result, "draws")
    assert list(fig.axes[0].lines[2].get_ydata()) == [1]
    check_layout(fig)


def test_spectra_have_all_eigenvalues(ao: bitbudget.Result) -> None:
    """Eigenvalues by rank, a line for each level inside, and a name for each format inside."""
    fig = draw(ao, "spectrum")
    axes, levels, names = fig.axes[0], ao["spectrum/roundoff_line"], ao["spectrum/format"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata()[:, 1], ao["spectrum/eigenvalue"])
    low, high = axes.get_ylim()
    inside = (levels > low) & (levels < high)
    np.testing.assert_allclose(sorted(line.get_ydata()[0] for line in axes.lines[1:]), sorted(levels[inside]))
    labels = ", ".join(words(fig)).split(", ")
    assert set(map(str, names[inside])) <= set(labels)
    assert not set(map(str, names[~inside])) & set(labels)


def test_maps_have_the_variants_of_the_policy(ao: bitbudget.Result) -> None:
    """hp3 with a band of two tiles: sp near the diagonal, hp3 beyond, nothing above it."""
    fig = draw(ao, "tiles")
    panel = next(axes for axes in fig.axes if axes.images)
    image, tiles = panel.images[0], ao["tiles/variant_4"]
    labels = [text.get_text() for axes in fig.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
    assert labels == ["sp", "hp3"]
    expected = np.tril(np.where(np.abs(np.subtract.outer(*2 * [np.arange(len(tiles))])) < 2, 0.0, 1.0))
    np.testing.assert_array_equal(np.tril(image.get_array().filled(9)), expected)
    assert np.triu(image.get_array().mask, 1).sum() == len(tiles) * (len(tiles) - 1) / 2
    assert image.get_extent()[2] > image.get_extent()[3]  # rows go down


def maps_file(path: Path, count: int) -> bitbudget.Result:
    """Write maps of 6 x 6 tiles of several pipelines."""
    names, axes = ["reference", *(f"policy {p}" for p in range(count))], ["tiles/tile_row", "tiles/tile_column"]
    return pipelines_file(path, {"name": names, "status": ["ok"] * len(names)}, **{
        "tiles/variant": (["sp", "hp1", "hp2"], ["tiles/variant"], {}),
        **{axis: (np.arange(6.0), [axis], {}) for axis in axes},
        **{f"tiles/variant_{p}": (np.arange(36.0) % 3, axes, {}) for p in range(1, count + 1)}})


def test_lowest_maps_have_tile_columns(folder: Path) -> None:
    """Of three maps in two columns, the lowest one of each column has numbers and a label."""
    fig = draw(maps_file(folder / "three.h5", 3), "tiles")
    panels = [panel for panel in fig.axes if panel.images]
    fig.draw_without_rendering()
    numbers = [any(tick.label1.get_visible() for tick in panel.xaxis.get_major_ticks()) for panel in panels]
    assert numbers == [bool(panel.get_xlabel()) for panel in panels] == [False, True, True]
    assert [bool(panel.get_ylabel()) for panel in panels] == [True, False, True]


def test_many_maps_have_wide_panels(folder: Path) -> None:
    """Of fourteen maps, twelve are drawn, wide enough and with labels outside of the grid only."""
    result = maps_file(folder / "maps.h5", 14)
    for width in WIDTHS:
        fig = draw(result, "tiles", width)
        check_layout(fig, least_cm=2.9)
        assert sum(bool(panel.images) for panel in fig.axes) == 12
        assert "Not drawn either: policy 12, policy 13." in note(fig)


def test_latencies_are_in_their_bins(loop: bitbudget.Result) -> None:
    """Counts of each kind, the deadline at its value, the worst steps on top."""
    axes = draw(loop, "latency").axes[0]
    whole, light, dark = (patch.get_data() for patch in axes.patches)
    np.testing.assert_array_equal(whole.values[[20, 21, 30, 31]], [5, 80, 7, 9])
    np.testing.assert_array_equal(light.values[[20, 21, 30]], [5, 80, 0.5])
    np.testing.assert_array_equal(dark.values[[20, 30, 32]], [0.5, 7, 1])
    np.testing.assert_array_equal(light.edges[20:23], [20, 21, 22])
    crosses, deadline = axes.lines
    np.testing.assert_array_equal(crosses.get_xdata(), [32.7, 31.9])
    assert deadline.get_xdata()[0] == 50
    assert crosses.get_zorder() > max(patch.get_zorder() for patch in axes.patches)


def test_sixty_pipelines_are_legible(folder: Path) -> None:
    """Names of many pipelines do not overlap, the front is named, and the note tells of the others."""
    count, random = 60, np.random.default_rng(1)
    result = pipelines_file(folder / "many.h5", {
        "name": ["reference", *(f"a pipeline of a long name, number {p}" for p in range(1, count))],
        "status": ["ok"] * count, "strehl_loss": [0, *10 ** random.uniform(-7, -1, count - 1)],
        "operator_bytes": 10 ** random.uniform(5, 7, count), "compression_ratio": 10 ** random.uniform(-0.3, 1, count),
        "codec": [f"codec{p % 9} x" for p in range(count)]})
    for kind in ("pareto", "loss-against-bits"):
        for width in WIDTHS:
            fig = draw(result, kind, width)
            check_layout(fig)
            assert "40 of 60 points are named." in note(fig)
            assert len(points(fig.axes[0])) == count
            assert 5 < sum(text.startswith("a pi") for text in words(fig)) <= 40


def test_names_are_literal(ao: bitbudget.Result) -> None:
    """A hostile name is in the picture and in the SVG as it is, with the hover text of its point."""
    fig = draw(ao, "pareto")
    assert HOSTILE in words(fig)
    page = style.svg(fig)
    escaped = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert page.count(f">{escaped}</text>") == 1  # written once
    losses, sizes = ao.losses, ao["results/operator_bytes"]
    for name, loss, size in zip(ao.pipelines, losses, sizes):
        name = name.replace(HOSTILE, escaped)
        assert f"<title>{name}: Strehl loss {loss:.4g}, Operator as stored [MB] {1e-6 * size:.4g}</title>" in page
    assert len(re.findall("<title>", page)) == len(ao.pipelines)


def test_hover_texts_follow_their_marks(losses: bitbudget.Result) -> None:
    """The title of each mark is inside the element at its position."""
    fig = draw(losses, "pareto")
    page = style.svg(fig)
    marks = re.findall(r'<use [^>]*x="([-\d.]+)" y="([-\d.]+)"[^>]*>\s*<title>(\w+):', page)
    marks += re.findall(r'<path d="M ([-\d.]+) ([-\d.]+)[^>]*>\s*<title>(\w+):', page)
    x = {name: float(x) for x, _, name in marks}
    assert set(x) == {"reference", "a", "b", "c", "unsafe", "hp3"}
    assert sorted(x, key=x.get) == ["unsafe", "a", "hp3", "b", "c", "reference"]


def test_labels_have_the_unit_once() -> None:
    """Keys become labels in words."""
    labels = {("zenith_angle_deg", "deg"): "Zenith angle [deg]", ("r0_m", "m"): "r0 [m]",
              ("width", "tiles"): "Width [tiles]", ("wind_m_per_s", "m/s"): "Wind [m/s]", ("strehl", "1"): "Strehl",
              ("codec", ""): "Codec"}
    assert {pair: style.label(*pair) for pair in labels} == labels
    assert [style.power(value) for value in (1e-5, 2e-4, 1.5e7)] == ["10⁻⁵", "2·10⁻⁴", "1.5·10⁷"]
    assert style.text_cm(style.shorten("x" * 99, 2.0)) <= 2.0
    assert style.shorten("short", 2.0) == "short"


def test_ranges_leave_room() -> None:
    """A margin of an eighth of the decades, at least a factor of 1.5, around positive numbers."""
    assert style.log_range([np.nan, 0, -1, 2, 2, np.inf]) == pytest.approx((2 / 1.5, 3))
    assert style.log_range([0, -1]) == (0.1, 10)
    assert style.log_range([1, 1e8]) == pytest.approx((1e8 ** -0.12, 1e8 ** 1.12))


def test_users_axes_are_filled(losses: bitbudget.Result) -> None:
    """A picture in the user's axes leaves the others as they were, and needs a grid for several panels."""
    fig = style.figure(17, 8)
    left, right = fig.subplots(1, 2)
    right.set_title("$x^2$")
    assert losses.plot.pareto(left) is fig
    assert left.note.startswith("On the upper edge: failed, hp3 (not_spd). Not drawn: lost (size unknown).")
    assert left.get_xlabel() == "Operator as stored [MB]"
    assert right.title.get_parse_math()
    assert not left.xaxis.label.get_parse_math()
    assert not right.collections


def test_only_axes_are_drawn_into(losses: bitbudget.Result) -> None:
    """A figure or an array in the place of axes is an error of the call, not of the file."""
    fig = style.figure(17, 8)
    for place, name in ((fig, "Picture"), (fig.subplots(1, 2), "ndarray")):
        with pytest.raises(UsageError, match=f"axes: {name}, expected one Axes of matplotlib"):
            losses.plot.pareto(place)


def test_sizes_are_numbers_pairs_or_texts(losses: bitbudget.Result) -> None:
    """Width, or width and height, in cm; anything else is an error."""
    for size, expected in ((8.5, (8.5, None)), ("8.5", (8.5, None)), ("8.5x6", (8.5, 6)), ((8.5, 6), (8.5, 6)),
                           ((9, None), (9, None)), (np.array([8.5, 6]), (8.5, 6))):
        assert style.parse_size(size) == expected
        width, height = losses.plot.pareto(size=size).get_size_inches() * 2.54
        assert (width, height) == pytest.approx((expected[0], expected[1] or height))
    for size in ("wide", 2, "8.5x", (8, 8, 8), (None, 8), float("nan"), {}, [], "8x200"):
        with pytest.raises(UsageError, match="--size .*, expected WIDTHxHEIGHT or WIDTH in cm, from 4 to 100 each"):
            losses.plot.pareto(size=size)


def test_methods_describe_their_kind(losses: bitbudget.Result) -> None:
    """Signature and docstring have the options of the kind, as the API page; unknown names are no attributes."""
    for row in plot.kinds():
        method = row.method()
        assert list(inspect.signature(method).parameters) == ["axes", "size", *row.options]
        described = set(re.findall(r"\w+", " ".join(re.findall(r"^(.+) : ", method.__doc__, re.M))))
        assert {"axes", "size", *row.options} <= described, row.name
        assert f"Draw {row.shows}." in method.__doc__ and row.remedy in method.__doc__
    assert losses.plot.loss_against_bits.__name__ == "loss_against_bits"
    assert "Draw loss against bytes of the operator" in pydoc.render_doc(losses.plot.pareto)
    assert not hasattr(losses.plot, "paretto")
    with pytest.raises(UsageError, match="'pareto' has no option 'colour'; use axes, size"):
        losses.plot.pareto(colour="red")


def test_missing_numbers_are_named(losses: bitbudget.Result, folder: Path) -> None:
    """Messages name the dataset and the file that has it; other options are refused."""
    with pytest.raises(UsageError, match="no numbers in /results/draws; use a file of 'bitbudget run' of pipelines w"):
        draw(losses, "draws")
    with pytest.raises(UsageError, match="did you mean 'pareto'"):
        draw(losses, "paretto")
    with pytest.raises(UsageError, match="--value is valid only for heatmap and lines, not for 'pareto'"):
        draw(losses, "pareto", value="loss")
    path = write(folder / "empty.h5", {
        "kind": (["all"], ["kind"], {}), "latency/bin_us": ([0.0, 1.0], ["latency/bin_us"], {}),
        "latency/count": ([0.0, 0.0], ["kind", "latency/bin_us"], {})})
    with pytest.raises(UsageError, match="the histogram has no steps"):
        draw(bitbudget.open(path), "latency")
    with h5py.File(path, "a") as file:
        del file["kind"]
    with pytest.raises(UsageError, match="axes kind and bin_us"):
        draw(bitbudget.open(path), "latency")


def test_partial_results_are_marked(folder: Path) -> None:
    """The caption names why a result is partial."""
    result = pipelines_file(folder / "partial.h5", {
        "name": ["reference", "a"], "status": ["ok", "ok"], "operator_bytes": [8e6, 4e6], "strehl_loss": [0, 0.1]})
    result.attrs.update(status="partial", status_reason="6 of 12 planned points were run")
    assert "Partial result: 6 of 12 planned points were run." in note(draw(result, "pareto"))


def test_files_are_complete_or_absent(losses: bitbudget.Result, folder: Path) -> None:
    """Every ending gives its format; existing files need force; nothing else is left in the folder."""
    place = folder / "saved"
    place.mkdir()
    for ending, start in ((".pdf", b"%PDF"), (".png", b"\x89PNG"), (".svg", b"<?xml")):
        style.save(draw(losses, "pareto"), place / f"a{ending}")
        assert (place / f"a{ending}").read_bytes().startswith(start)
    with pytest.raises(FileError, match="exists; choose another name or add --force"):
        style.save(draw(losses, "pareto"), place / "a.svg")
    style.save(draw(losses, "loss-against-bits"), place / "a.svg", force=True)
    assert b"Bits per value" in (place / "a.svg").read_bytes()
    with pytest.raises(FileError, match="cannot write"):
        style.save(draw(losses, "pareto"), place / "absent" / "a.svg")
    with pytest.raises(UsageError, match="must end in .pdf, .svg, .png or .pgf"):
        style.save(draw(losses, "pareto"), place / "a.tex")
    assert sorted(path.name for path in place.iterdir()) == ["a.pdf", "a.png", "a.svg"]


def test_texts_are_literal_in_latex() -> None:
    """No character of a name is a command; powers of ten are superscripts."""
    assert style.latex(r"a\b{$x_1^2$}") == r"a\char92{}b\char123{}\char36{}x\char95{}1\char94{}2\char36{}\char125{}"
    assert style.latex("&#%~") == r"\char38{}\char35{}\char37{}\char126{}"
    assert style.latex("5·10⁻⁶") == r"5\ensuremath{\cdot}10\textsuperscript{-6}"


@pytest.mark.skipif(shutil.which("xelatex") is None, reason="no xelatex")
def test_latex_pictures_have_literal_names(ao: bitbudget.Result, folder: Path) -> None:
    """A picture with images and a hostile name compiles; its images are next to it."""
    place = folder / "latex"
    place.mkdir()
    style.save(draw(ao, "psf"), place / "psf.pgf")
    assert (place / "psf-img0.png").exists()
    (place / "page.tex").write_text("\\documentclass{article}\\usepackage{fontspec,pgf}\\begin{document}"
                                    "\\input{psf.pgf}\\end{document}")
    command = ["xelatex", "-interaction=batchmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=place, check=False, stdout=subprocess.DEVNULL)
    assert done.returncode == 0, (place / "page.log").read_text()[-2000:]
