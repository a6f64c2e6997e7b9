# SPDX-License-Identifier: Apache-2.0
"""Pictures of a wafer: vectors, temperatures and probes of the file, in readable panels."""
from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import HOSTILE
from conftest_q import replace
from files import write
from layout import check_kind, check_layout, draw
from matplotlib.patches import Circle, Rectangle
from matplotlib.quiver import Quiver

import bitbudget
from bitbudget import UsageError

pytest_plugins = ["conftest_q"]


def quivers(axes):
    """Vectors and reference arrow of a panel."""
    return [artist for artist in axes.collections if isinstance(artist, Quiver)]


def panels(fig):
    return {axes.get_title(loc="left"): axes for axes in fig.axes}


def vectors_are(axes, result, expected, points=None):
    """Assert that each drawn vector is the expected one [points][2] of its point."""
    places = result["view/point_mm"][:, :2]
    vectors, arrow = quivers(axes)
    drawn = vectors.get_offsets()
    assert len(drawn) > 4
    for x, y, u, v in zip(*drawn.T, vectors.U, vectors.V):
        i = np.argmin(np.hypot(*(places - (x, y)).T))
        assert np.hypot(*(places[i] - (x, y))) < 1e-9
        np.testing.assert_allclose((u, v), expected[i], rtol=1e-12, atol=1e-15)
    inside = slice(None) if points is None else points
    peak = np.hypot(*expected[inside].T).max()
    assert peak / vectors.scale * 2.54 == pytest.approx(0.55)  # the longest one, cm
    assert arrow.scale == vectors.scale
    assert axes.texts[0].get_text() == f"{arrow.U[0]:g} nm"
    assert 0.4 * peak < arrow.U[0] <= peak


@pytest.mark.parametrize("kind", ["overlay", "field", "heat", "probes"])
def test_pictures_are_legible(exposed, kind):
    for fig in check_kind(exposed, kind):
        for axes in fig.axes:
            cm = axes.get_window_extent().width / fig.dpi * 2.54
            assert cm >= 3.0 or hasattr(axes, "_colorbar"), f"a panel is {cm:.2g} cm wide"


def test_overlay_has_the_vectors_of_the_reference_and_the_error(exposed):
    fig = draw(exposed, "overlay")
    raw = exposed["view/raw_nm"][:, :2]
    vectors_are(panels(fig)["Displacement"], exposed, raw)
    vectors_are(panels(fig)["Error"], exposed, exposed["view/model_2_nm"][:, :2] - raw)
    assert f"numerical error of {HOSTILE}, the safe" in fig._supxlabel.get_text().replace("\n", " ")


def test_overlay_is_cropped_to_the_scored_fields(exposed):
    axes = panels(draw(exposed, "overlay"))["Displacement"]
    x, y = exposed["results/field_x_mm"], exposed["results/field_y_mm"]
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    assert np.all(low < [x.min() - 13, y.min() - 16.5]) and np.all(high > [x.max() + 13, y.max() + 16.5])
    assert np.all(high - low < [np.ptp(x) + 1.5 * 26 + 30, np.ptp(y) + 1.5 * 33 + 30])
    fields = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert {(f.get_x(), f.get_y(), f.get_width(), f.get_height()) for f in fields} == {
        (a - 13, b - 16.5, 26, 33) for a, b in zip(x, y)}
    assert [patch.radius for patch in axes.patches if isinstance(patch, Circle)] == [150.0]
    whole = axes.child_axes or panels(draw(exposed, "overlay"))["Error"].child_axes
    assert whole[0].get_xlim()[0] < -150 and whole[0].get_ylim()[1] > 150


def test_late_corrections_show_their_residual(late):
    for kind in ("overlay", "field"):
        fig = draw(late, kind)
        residual = late["view/residual_1_nm"][:, :2]
        assert np.hypot(*residual[0]) > 0.1
        inside = late["results/point_field"] == (1 if kind == "field" else late["results/point_field"])
        vectors_are(panels(fig)["Error"], late, residual, inside)
        assert "residual after late or missed corrections of late" in fig._supxlabel.get_text().replace("\n", " ")


def test_field_is_the_worst_with_its_mean_subtracted(exposed):
    fig = draw(exposed, "field")
    raw, field = exposed["view/raw_nm"][:, :2], exposed["results/point_field"]
    worst = field[np.argmax(np.hypot(*raw.T))]
    inside = field == worst
    mean = raw[inside].mean(0)
    vectors_are(panels(fig)["Displacement"], exposed, raw, inside)
    vectors_are(panels(fig)["Minus its mean"], exposed, raw - mean, inside)
    vectors_are(panels(fig)["Error"], exposed, exposed["view/model_2_nm"][:, :2] - raw, inside)
    note = fig._supxlabel.get_text().replace("\n", " ")
    assert f"Exposure {worst:.0f}, the field with the largest" in note
    assert f"{mean[0]:.4g} nm in x, {mean[1]:.4g} nm in y" in note
    centre = panels(fig)["Displacement"].get_xlim()
    assert np.mean(centre) == pytest.approx(exposed["results/field_x_mm"][exposed["results/field"] == worst][0])


@pytest.mark.parametrize("worst", [0, 2])
def test_field_follows_the_largest_displacement(exposed, changed, worst):
    def shrink(file):
        file["view/raw_nm"][...] *= np.where(file["results/point_field"][()] == worst, 1, 1e-3)[:, None]

    assert f"Exposure {worst}, the field" in draw(changed(exposed, shrink), "field")._supxlabel.get_text()


def test_an_exact_front_has_no_error(exposed, changed):
    def perfect(file):
        for name in ("overlay_error_x_nm", "overlay_error_y_nm"):
            file[f"results/{name}"][3] = 0.0
        file["results/operator_bytes"][3] = 1.0

    fig = draw(changed(exposed, perfect), "overlay")
    assert list(panels(fig)) == ["Displacement"]
    assert "No safe pipeline has an error." in fig._supxlabel.get_text()


def test_points_of_a_lot_are_drawn_once(exposed, changed):
    def repeat(file):
        for name in ("point_mm", "raw_nm", "model_2_nm"):
            replace(file, f"view/{name}", np.concatenate([file[f"view/{name}"][()]] * 2))
        replace(file, "results/point_field", np.concatenate([file["results/point_field"][()]] * 2))

    count = [len(quivers(panels(draw(result, "overlay"))["Displacement"])[0].get_offsets())
             for result in (exposed, changed(exposed, repeat))]
    assert count[0] == count[1]


def test_dense_points_are_thinned(exposed, changed):
    columns, rows = np.meshgrid(np.arange(60) / 60 * 26, np.arange(80) / 80 * 33)

    def refine(file):
        x, y = file["results/field_x_mm"][0] - 12.9, file["results/field_y_mm"][0] - 16.4
        places = np.stack([x + columns.ravel(), y + rows.ravel(), 0 * columns.ravel()], 1)
        for name in ("raw_nm", "model_2_nm"):
            replace(file, f"view/{name}", np.ones_like(places))
        replace(file, "view/point_mm", places)
        replace(file, "results/point_field", np.full(len(places), file["results/field"][0]))

    axes = panels(draw(changed(exposed, refine), "field"))["Displacement"]
    places = quivers(axes)[0].get_offsets()
    axes.figure.draw_without_rendering()
    inches = axes.transData.transform(places) / axes.figure.dpi
    nearest = [np.sort(np.hypot(*(inches - place).T))[1] for place in inches]
    assert len(places) > 60 and 0.18 < min(nearest) * 2.54 < 0.4


def test_damaged_files_are_refused(exposed, changed):
    shorter = changed(exposed, lambda file: replace(file, "results/point_field", [0.0]))
    with pytest.raises(UsageError, match="points and fields do not match"):
        draw(shorter, "overlay", size=(17.0, 8.0))
    fieldless = changed(exposed, lambda file: file["results"].pop("field_x_mm"))
    with pytest.raises(UsageError, match="no scored fields"):
        draw(fieldless, "field")
    errorless = changed(exposed, lambda file: file["view"].pop("model_2_nm"))
    fig = draw(errorless, "overlay")
    assert [axes.get_title(loc="left") for axes in fig.axes] == ["Displacement"]
    assert "no vectors of the numerical error" in fig._supxlabel.get_text()


def test_heat_is_the_temperature_of_the_cells(exposed):
    x, y = exposed["temperature/x"], exposed["temperature/y"]
    outside = np.hypot(x, y[:, None]) > 150
    last = exposed["temperature/exposure_2"][0]
    inputs = exposed["operators/S_0"]
    first = exposed["temperature/exposure_0"].reshape(-1) + inputs[0, :last.size] - inputs[-1, :last.size]
    cases = [({}, last, "last light step of exposure 2"),
             ({"exposure": "0", "step": 1}, first.reshape(last.shape), f"light step 1 of {len(inputs)} of exposure 0"),
             ({"exposure": "0", "step": len(inputs)}, exposed["temperature/exposure_0"][0], "of exposure 0")]
    for options, expected, note in cases:
        fig = draw(exposed, "heat", **options)
        image = fig.axes[0].images[0]
        values = image.get_array()
        np.testing.assert_allclose(values[~outside], expected[~outside], rtol=1e-12)
        assert np.all(np.isnan(np.ma.filled(values, np.nan)[outside]))
        assert note in fig._supxlabel.get_text()
    assert np.ptp(last[~outside]) > 1e-3
    left, right, bottom, top = image.get_extent()
    assert (left + right, bottom + top) == (pytest.approx(0, abs=1e-9),) * 2
    assert right - left == pytest.approx(len(x) * (x[1] - x[0]))
    assert top - bottom == pytest.approx(len(y) * (y[1] - y[0]))
    assert image.origin == "lower" and y[1] > y[0]
    assert fig.axes[1].get_ylabel() == "Temperature rise [K]"


@pytest.mark.parametrize("options, message", [
    ({"exposure": "9"}, "--exposure 9: the file has no temperatures of this exposure, expected one of 0, 2"),
    ({"step": 18}, "--step 18, expected 1 to 17"), ({"step": 0}, "--step 0, expected 1 to 17"),
    ({"pipeline": "fp32"}, "--pipeline is valid only for")])
def test_heat_refuses_wrong_options(exposed, options, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        draw(exposed, "heat", **options)


def test_heat_needs_the_inputs_for_a_step(exposed, changed):
    with pytest.raises(UsageError, match="does not have the temperatures of all light steps"):
        draw(changed(exposed, lambda file: file.pop("operators")), "heat", step=1)


def test_probes_are_lines_over_time(exposed):
    axes = draw(exposed, "probes").axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert sorted(lines) == ["a_b", "edge"]
    for name, line in lines.items():
        np.testing.assert_array_equal(line.get_xdata(), exposed["probes/time_s"])
        np.testing.assert_array_equal(line.get_ydata(), exposed[f"probes/{name}_k"])
    assert sorted(text.get_text() for text in axes.get_legend().get_texts()) == ["a_b", "edge"]
    assert len({line.get_color() for line in lines.values()}) == len({line.is_dashed() for line in lines.values()}) == 2


def test_many_probes_and_steps_are_limited(tmp_path):
    time = np.arange(10000) * 1e-3
    names = [f"p{i}_k" for i in range(9)]
    columns = {name: (time, ["probes/time_s"], {"units": unit}) for name, unit in
               [("probes/time_s", "s"), *((f"probes/{name}", "K") for name in names)]}
    result = bitbudget.open(write(tmp_path / "probes.h5", columns))
    fig = draw(result, "probes", size=8.5)
    assert len(fig.axes[0].lines) == 7
    assert len(fig.axes[0].lines[0].get_xdata()) == 3334
    assert "The file has 2 more probes." in fig._supxlabel.get_text()
    check_layout(fig)
