# SPDX-License-Identifier: Apache-2.0
"""Unwrapping: the behaviour that scikit-image promises, masks, precisions, streams, and what is refused."""
import numpy as np
import pytest

import bitbudget as bb

TURN = 2 * np.pi
Y, X = np.mgrid[-1:1:96j, -1:1:128j]
SURFACE = 40 * (X**2 + Y**2) + 8 * X * (X**2 - 3 * Y**2) + 25 * Y
WRAPPED = np.angle(np.exp(1j * SURFACE))
DISC = np.hypot(X, Y) < 0.9


def assert_congruent(found, truth):
    """One multiple of 2 pi everywhere."""
    cycles = (np.asarray(found) - truth) / TURN
    assert np.ptp(cycles) < 1e-9 and abs(cycles.flat[0] - round(cycles.flat[0])) < 1e-9


@pytest.mark.parametrize("precision", ["fp64", "fp32", "fp32 storage=fp16"])
def test_surfaces_come_back(precision):
    assert_congruent(bb.unwrap(WRAPPED, precision=precision), SURFACE)
    assert_congruent(bb.unwrap(WRAPPED.astype(np.float32).astype(float), precision=precision),
                     SURFACE + (WRAPPED.astype(np.float32) - WRAPPED))


def test_other_layouts_and_types():
    assert_congruent(bb.unwrap(WRAPPED.T), SURFACE.T)
    assert_congruent(bb.unwrap(WRAPPED[::-1, ::-1]), SURFACE[::-1, ::-1])
    assert bb.unwrap(np.zeros((4, 5), int)).dtype == float


def test_masked_arrays_give_masked_arrays():
    found = bb.unwrap(np.ma.array(WRAPPED, mask=~DISC))
    assert isinstance(found, np.ma.MaskedArray) and (found.mask == ~DISC).all()
    assert_congruent(found.compressed(), SURFACE[DISC])
    whole = bb.unwrap(np.ma.array(WRAPPED))  # a mask that masks nothing
    assert isinstance(whole, np.ma.MaskedArray) and not np.ma.getmaskarray(whole).any()
    nothing = bb.unwrap(np.ma.array(WRAPPED, mask=True))
    assert nothing.mask.all() and (nothing.data == 0).all()


def test_masks_are_true_where_a_point_is_valid():
    damaged = np.where(DISC, WRAPPED, np.nan)
    found = bb.unwrap(damaged, mask=DISC)
    assert (np.isnan(found) == ~DISC).all()
    assert_congruent(found[DISC], SURFACE[DISC])
    assert (found[DISC] == bb.unwrap(damaged, weights=DISC.astype(float))[DISC]).all()
    both = bb.unwrap(np.ma.array(WRAPPED, mask=X < 0), mask=DISC)
    assert (both.mask == ~(DISC & (X >= 0))).all()
    assert np.isnan(bb.unwrap(WRAPPED, mask=np.zeros_like(DISC))).all()


def test_parts_are_congruent_each():
    halves = np.abs(X) > 0.1
    plan = bb.Unwrapper(WRAPPED.shape, halves)
    count, labels = plan.parts()
    assert count == 2 and (labels[~halves] == -1).all()
    found = plan(WRAPPED)
    for part in range(2):
        assert_congruent(found[labels == part], SURFACE[labels == part])


def test_lines_are_exact():
    line = 30 * np.linspace(0, 1, 60) ** 2
    np.testing.assert_allclose(bb.unwrap(np.angle(np.exp(1j * line))), line, atol=1e-12)
    assert_congruent(bb.unwrap(np.angle(np.exp(1j * line))[:, None]), line[:, None])
    gaps = np.ma.array(np.angle(np.exp(1j * line)), mask=np.arange(60) == 30)
    assert bb.unwrap(gaps).mask.sum() == 1


def test_single_points_and_equal_bits():
    assert bb.unwrap(np.array([[0.5]])).tolist() == [[0.5]]
    noisy = np.angle(np.exp(1j * (SURFACE + np.random.default_rng(3).normal(scale=0.8, size=SURFACE.shape))))
    assert (bb.unwrap(noisy) == bb.unwrap(noisy)).all()
    assert abs((bb.unwrap(noisy) - noisy) / TURN - np.round((bb.unwrap(noisy) - noisy) / TURN)).max() < 1e-9


def test_plans_serve_streams():
    plan = bb.Unwrapper(WRAPPED.shape, DISC, precision="fp64")
    out = np.empty(WRAPPED.shape)
    assert plan(WRAPPED, out=out) is out
    assert_congruent(out[DISC], SURFACE[DISC])
    assert plan.report["outcome"]["kind"] == "ok" and plan.report["jumps"] == 0 and plan.report["cycles"] > 0
    quality = plan.quality()
    assert (np.isnan(quality) == ~DISC).all() and 0 <= np.nanmin(quality) <= np.nanmax(quality) <= 1


def test_a_hopeless_phase_warns_at_the_line_of_the_call():
    noise = np.random.default_rng(1).uniform(-np.pi, np.pi, (64, 64))
    plan = bb.Unwrapper(noise.shape, precision="fp32 cycles=1 reweight=0")
    for call in (lambda: plan(noise), lambda: bb.unwrap(noise, precision="fp32 cycles=1 reweight=0")):
        with pytest.warns(bb.NotConverged, match="not_converged: ") as found:
            call()
        assert [warning.filename for warning in found] == [__file__]


@pytest.mark.parametrize(("call", "message"), [
    (lambda: bb.unwrap([]), "image has shape .0,."),
    (lambda: bb.unwrap(np.zeros((2, 2, 2))), "image has shape .2, 2, 2., expected .columns,. or .rows, columns."),
    (lambda: bb.unwrap(WRAPPED, True), "wrap_around is not offered"),
    (lambda: bb.unwrap(WRAPPED, [False, True]), "wrap_around is not offered"),
    (lambda: bb.unwrap(WRAPPED, "False"), "wrap_around = 'False': expected a bool"),
    (lambda: bb.unwrap(WRAPPED, [False] * 3), "wrap_around = .False, False, False.: expected a bool, or one for each axis of 2"),
    (lambda: bb.unwrap(np.where(DISC, WRAPPED, np.nan)), "finite"),
    (lambda: bb.unwrap(WRAPPED, weights=np.where(DISC, 1.0, 0.5)), "weights: expected 0 for invalid points"),
    (lambda: bb.unwrap(WRAPPED, precision="fp31"), "fp31"),
    (lambda: bb.Unwrapper((4, 4), np.ones((3, 4))), "mask has shape .3, 4., expected .4, 4."),
    (lambda: bb.Unwrapper((4, 4))(np.zeros((4, 5))), "wrapped has shape .4, 5., expected .4, 4."),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(bb.UsageError, match=message):
        call()


def test_plans_may_be_shared_by_threads():
    from concurrent.futures import ThreadPoolExecutor

    plan = bb.Unwrapper(WRAPPED.shape)
    maps = [np.angle(np.exp(1j * SURFACE * share)) for share in (0.2, 0.5, 0.8, 1.0)] * 4
    expected = [plan(phase) for phase in maps]
    with ThreadPoolExecutor(4) as pool:
        assert all((one == other).all() for one, other in zip(pool.map(plan, maps), expected))
    with pytest.raises(bb.UsageError, match="out overlaps the input"):
        plan(maps[0], out=maps[0])


def test_a_false_sequence_is_allowed():
    assert_congruent(bb.unwrap(WRAPPED, (False, False)), SURFACE)
