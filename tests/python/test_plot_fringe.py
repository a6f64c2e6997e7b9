# SPDX-License-Identifier: Apache-2.0
"""Pictures of an interferometer: maps of the file on common scales, titles apart, categories for parts."""
from __future__ import annotations

import numpy as np
import pytest
from conftest import HOSTILE
from conftest_q import replace
from layout import check_kind, check_layout, draw
from matplotlib.colors import ListedColormap, LogNorm, to_hex

from bitbudget import UsageError

pytest_plugins = ["conftest_q"]
KINDS = ["interferogram", "wrapped", "unwrapped", "phase-error", "parts"]


def maps(fig):
    return [axes for axes in fig.axes if axes.images and not hasattr(axes, "_colorbar")]


def values_of(axes, image=0):
    return np.ma.filled(np.ma.asarray(axes.images[image].get_array(), float), np.nan)


def note_of(fig):
    return fig._supxlabel.get_text().replace("\n", " ").strip()


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_legible(fringe, kind):
    for fig in check_kind(fringe, kind):
        for axes in maps(fig):
            cm = axes.get_window_extent().width / fig.dpi * 2.54
            assert cm >= 3.0, f"{kind}: a panel is {cm:.2g} cm wide"


def rows_go_down(axes, result):
    row, column = result["maps/row"], result["maps/column"]
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    assert (left, right, bottom, top) == pytest.approx((column[0] - 0.5, column[-1] + 0.5, row[-1] + 0.5, row[0] - 0.5))
    assert axes.images[0].get_extent() == pytest.approx((left, right, top, bottom))
    assert axes.images[0].origin == "lower"


@pytest.mark.parametrize("kind, low, high", [("interferogram", 0, 1), ("wrapped", -np.pi, np.pi)])
def test_one_map_is_that_of_the_file(fringe, kind, low, high):
    fig = draw(fringe, kind)
    axes, = maps(fig)
    np.testing.assert_array_equal(values_of(axes), fringe[f"maps/{kind}"])
    assert axes.images[0].get_clim() == (low, high)
    rows_go_down(axes, fringe)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Column [px]", "Row [px]")
    assert fig.axes[1].get_ylabel().endswith("[rad]" if kind == "wrapped" else "[fraction of full scale]")


def test_scales_of_flat_frames_are_inside(fringe, changed):
    def crop(file):
        replace(file, "maps/interferogram", file["maps/interferogram"][:20])
        replace(file, "maps/row", file["maps/row"][:20])

    check_layout(draw(changed(fringe, crop), "interferogram", size=8.5))


def test_unwrapped_has_one_scale_for_all_pipelines(fringe):
    fig = draw(fringe, "unwrapped")
    phases = fringe["maps/unwrapped"]
    assert len(maps(fig)) == 5
    for axes, phase in zip(maps(fig), phases):
        np.testing.assert_array_equal(values_of(axes), phase)
        assert axes.images[0].get_clim() == (np.nanmin(phases), np.nanmax(phases))
        rows_go_down(axes, fringe)
    titles = [axes.get_title() for axes in maps(fig)]
    assert titles[0] == "reference" and titles[2] == HOSTILE and "…" in titles[1]
    assert "Not drawn" not in note_of(fig) and "without a phase" not in note_of(fig)


def test_errors_are_magnitudes_down_four_decades(fringe):
    fig = draw(fringe, "phase-error")
    errors = fringe["maps/error"]
    high = min(np.nanmax(np.abs(errors)), 2 * np.pi)
    assert high == 2 * np.pi, "the study has wrong cycles"
    for axes, error in zip(maps(fig), errors):
        expected = np.maximum(np.abs(error), high * 1e-4)
        np.testing.assert_array_equal(values_of(axes), expected)
        assert isinstance(axes.images[0].norm, LogNorm) and axes.images[0].norm.clip
        assert axes.images[0].get_clim() == pytest.approx((high * 1e-4, high))
    assert np.nanmin(errors) < -0.1
    assert note_of(fig).startswith("Brightest: a cycle or more.")


def test_small_errors_end_at_the_largest(fringe, changed):
    small = changed(fringe, lambda file: file["maps/error"].__setitem__(..., 1e-3 * file["maps/error"][()]))
    exact = changed(fringe, lambda file: file["maps/error"].__setitem__(..., 0 * file["maps/error"][()]))
    fig = draw(small, "phase-error")
    assert maps(fig)[0].images[0].get_clim()[1] == np.nanmax(np.abs(small["maps/error"]))
    assert "Brightest" not in note_of(fig)
    assert maps(draw(exact, "phase-error"))[0].images[0].get_clim() == (1e-4, 1.0)


def test_failures_are_shown(fringe, changed):
    def fail(file):
        for name in ("maps/unwrapped", "maps/error"):
            phases = file[name][()]
            phases[3] = np.nan
            phases[4, 30:36, 20:30] = np.nan
            file[name][...] = phases

    for kind in ("unwrapped", "phase-error"):
        fig = draw(changed(fringe, fail), kind)
        assert [axes.get_title() for axes in maps(fig)][-1] == "e5m2-u" and len(maps(fig)) == 4
        assert "Not drawn: camera-3." in note_of(fig) and "Vermilion: points without a phase." in note_of(fig)
        assert [len(axes.images) for axes in maps(fig)] == [1, 1, 1, 2]
        missing = np.isfinite(values_of(maps(fig)[-1], 1))
        reference = np.isfinite(fringe["maps/unwrapped"][0])
        assert missing.sum() == reference[30:36, 20:30].sum() > 10 and missing[30:36, 20:30].any()
        assert to_hex(maps(fig)[-1].images[1].cmap(0.0)) == "#d55e00"


def test_sixty_pipelines_give_twelve_maps(fringe, changed):
    def repeat(file):
        for name in ("maps/unwrapped", "maps/error"):
            replace(file, name, np.concatenate([file[name][()]] * 12))
        replace(file, "pipeline", [f"pipeline number {i}" for i in range(60)])

    many = changed(fringe, repeat)
    for width in (8.5, 17.0):
        fig = draw(many, "unwrapped", size=width)
        assert len(maps(fig)) == 12
        assert "Not drawn: pipeline number 12, " in note_of(fig) and " and 42 more." in note_of(fig)
        check_layout(fig)


def test_parts_are_categories(fringe):
    fig = draw(fringe, "parts")
    quality, parts = maps(fig)
    np.testing.assert_array_equal(values_of(quality), fringe["maps/quality"])
    assert quality.images[0].get_clim() == (0, 1)
    np.testing.assert_array_equal(values_of(parts), fringe["maps/parts"])
    legend, = (axes.get_legend() for axes in fig.axes if axes.get_legend() is not None)
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1"]
    image = parts.images[0]
    assert isinstance(image.cmap, ListedColormap)
    for part, patch in enumerate(legend.get_patches()):
        assert to_hex(image.cmap(image.norm(part))) == to_hex(patch.get_facecolor())
    assert len({to_hex(patch.get_facecolor()) for patch in legend.get_patches()}) == 2


def test_many_parts_repeat_their_colours(fringe, changed):
    def divide(file):
        parts = file["maps/parts"][()]
        file["maps/parts"][...] = np.where(np.isfinite(parts), np.arange(parts.shape[1]) // 5, np.nan)

    fig = draw(changed(fringe, divide), "parts", size=8.5)
    check_layout(fig)
    legend, = (axes.get_legend() for axes in fig.axes if axes.get_legend() is not None)
    assert len(legend.get_texts()) == 6
    assert "The pupil has 15 parts; colours repeat." in note_of(fig)
    image = maps(fig)[1].images[0]
    np.testing.assert_array_equal(np.unique(image.get_array().compressed()), range(6))
    for text, patch in zip(legend.get_texts(), legend.get_patches()):
        assert to_hex(image.cmap(image.norm(int(text.get_text()) % 6))) == to_hex(patch.get_facecolor())


def test_downsampled_maps_say_so(fringe, changed):
    assert "Downsampled" not in note_of(draw(fringe, "wrapped"))
    coarse = changed(fringe, lambda file: file["maps/stride"].__setitem__((), 4.0))
    for kind in KINDS:
        assert "Downsampled to one row and column of 4" in note_of(draw(coarse, kind))


@pytest.mark.parametrize("kind, name", [("wrapped", "wrapped"), ("unwrapped", "unwrapped"), ("parts", "parts")])
def test_damaged_maps_are_refused(fringe, changed, kind, name):
    damaged = changed(fringe, lambda file: replace(file, f"maps/{name}", np.ones((3, 4))))
    with pytest.raises(UsageError, match=f"maps/{name} does not match"):
        draw(damaged, kind)
