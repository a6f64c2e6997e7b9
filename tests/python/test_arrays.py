# SPDX-License-Identifier: Apache-2.0
"""Codecs, operators, factorizations and rounding on numpy arrays: values, shapes, memory, errors."""
import threading

import bitbudget as bb
import numpy as np
import pytest

RNG = np.random.default_rng(1)
A = 0.95 ** np.abs(np.subtract.outer(np.arange(300), np.arange(300)))


def test_plain_formats_round_as_numpy():
    values = RNG.normal(size=(5, 33)) * 10.0 ** RNG.integers(-6, 5, size=(5, 33))
    assert (bb.quantise(values, "fp16") == values.astype(np.float16)).all()
    assert (bb.quantise(values[0], "fp32") == values[0].astype(np.float32)).all()
    assert (bb.quantise(values.T, "fp32") == values.T.astype(np.float32)).all(), "a transposed view"
    assert bb.quantise(np.arange(4), "fp64").tolist() == [0, 1, 2, 3]


def test_quantise_reports_and_writes_in_place():
    values = RNG.normal(size=(8, 64))
    rounded, report = bb.quantise(values, "bfp bits=8", report=True)
    error = np.abs(rounded - values)
    assert report["max_error"] == error.max() and report["rms_error"] == pytest.approx(np.sqrt((error**2).mean()))
    assert report["bytes"] == bb.Storage(values, "bfp bits=8").nbytes >= 8 * (64 + 2)
    assert (error <= bb.bound("bfp bits=8", np.abs(values).max())).all()
    kept = values.copy()
    assert bb.quantise(values, "fp16", out=values) is values and (values == kept.astype(np.float16)).all()
    assert bb.describe("zfp mode=rate bits=8 dimensions=1") == ("zfp rate 8, 1-D", 8.0)


def test_names_are_those_of_the_configuration():
    assert bb.formats()[:2] == ["fp64", "fp32"] and {"mx", "zfp", "integer", "low_rank"} <= set(bb.formats())
    words, meaning = bb.keys()["element"]
    assert "e4m3" in words.split() and meaning


def test_storage_decodes():
    values = RNG.normal(size=(6, 40))
    storage = bb.Storage(values, "integer bits=8")
    assert storage.shape == (6, 40) and (storage.decode() == bb.quantise(values, "integer bits=8")).all()
    assert (np.asarray(storage) == storage.decode()).all()


def test_operators_multiply_what_is_stored():
    values, x = RNG.normal(size=(30, 70)), RNG.normal(size=(4, 70))
    operation = bb.Operator(values, "fp16")
    stored = values.astype(np.float16).astype(float)
    assert operation.shape == (30, 70)
    np.testing.assert_allclose(operation(x[0]), stored @ x[0], rtol=1e-13)
    np.testing.assert_allclose(operation(x), x @ stored.T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(operation @ x.T, stored @ x.T, rtol=1e-12, atol=1e-13)
    out = np.empty(30)
    assert operation.apply(x[0], out=out) is out and (out == operation(x[0])).all()
    assert (bb.Operator(bb.Storage(values, "fp16"))(x[1]) == operation(x[1])).all()
    coding, rounding = operation.bound(x[0])
    assert (np.abs(operation(x[0]) - values @ x[0]) <= coding + rounding).all() and (coding > 0).all()


def test_sparse_matrices_multiply():
    sparse = pytest.importorskip("scipy.sparse").random(40, 50, 0.2, "coo", random_state=1)
    x = RNG.normal(size=50)
    np.testing.assert_allclose(bb.Operator(sparse)(x), sparse @ x, rtol=1e-13, atol=1e-15)
    with pytest.raises(bb.UsageError, match="sparse matrix is multiplied in fp64 on the cpu"):
        bb.Operator(sparse, "fp16")


def test_factors_solve_and_certify():
    b = RNG.normal(size=(3, 300))
    kept = b.copy()
    factor = bb.factor(A, "hp1", refine="cg", refine__tolerance=1e-13, tile=64)
    x, report = factor.solve(b, certify=True)
    assert (b == kept).all(), "the right-hand sides were overwritten"
    np.testing.assert_allclose(x @ A, b, atol=1e-10)
    assert report["backward_error"] < 1e-12 and report["iterations_most"] > 0
    assert 0 < factor.certificate < 1e-2 and len(factor.digest) == 16
    assert bb.factor(A, "hp1", tile=64).digest == factor.digest != bb.factor(A, "sp", tile=64).digest
    lower, scale = bb.factor(A, "dp").lower()
    np.testing.assert_allclose(lower, np.linalg.cholesky(A * np.outer(scale, scale)), rtol=1e-12, atol=1e-14)
    with pytest.raises(bb.UsageError, match="A: not_spd: "):
        bb.factor(A - 0.5 * np.eye(300))


def test_policies_take_keys():
    banded = bb.factor(A, "hp2", policy="band", policy__width=2, tile=64)
    assert banded.report["bytes"] > bb.factor(A, "hp2", tile=64).report["bytes"]


def test_rounding_in_a_norm():
    R = RNG.normal(size=(10, 300)) @ A
    Q = bb.round_in_norm(R, A, bits=5)
    error = Q.decode() - R
    assert Q.loss == pytest.approx(np.trace(error @ A @ error.T), rel=1e-9)
    nearest = bb.quantise(R, "integer bits=5") - R
    assert Q.loss_nearest == pytest.approx(np.trace(nearest @ A @ nearest.T), rel=1e-9)
    assert Q.loss < 0.5 * Q.loss_nearest
    with pytest.raises(bb.UsageError, match="either storage or bits"):
        bb.round_in_norm(R, A)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: bb.quantise([1.0], "mx element=e9"), "element = 'e9': expected one of e4m3"),
    (lambda: bb.quantise([1.0], "fp17"), "fp17"),
    (lambda: bb.quantise([1j], "fp16"), "a has dtype complex128, expected real numbers"),
    (lambda: bb.quantise(np.zeros((2, 2, 2)), "fp16"), "a has shape .2, 2, 2., expected 2 dimensions"),
    (lambda: bb.quantise([1.0], "fp16", out=np.empty(2)), "out: expected a contiguous, writable array of doubles with shape .1,."),
    (lambda: bb.Operator(np.eye(3))(np.ones(4)), "x has shape .4,., expected .3,. or"),
    (lambda: bb.Operator(np.eye(3), arithmetic="multiply=fp8"), "multiply"),
    (lambda: bb.Operator(np.eye(3), device="cuda:99"), "cuda"),
    (lambda: bb.factor(np.ones((2, 3))), "A has shape .2, 3., expected a square matrix"),
    (lambda: bb.factor(A, "hp9"), "hp9"),
    (lambda: bb.factor(A, tiles=3), "tiles"),
    (lambda: bb.factor(A).solve(np.ones(3)), "b has shape .3,., expected .300,."),
    (lambda: bb.quantise(np.ma.array([1.0]), "fp16"), "a is a masked array"),
])
def test_bad_input_is_named(call, message):
    with pytest.raises((bb.UsageError, bb.DeviceError), match=message):
        call()


def test_handles_may_be_shared_by_threads():
    from concurrent.futures import ThreadPoolExecutor

    operation = bb.Operator(RNG.normal(size=(200, 300)), "fp16")
    vectors = RNG.normal(size=(200, 300))
    expected = operation(vectors)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(operation, vectors))
    assert (np.array(found) == expected).all()


def test_results_never_overwrite_inputs_or_read_only_memory():
    x = np.ones(8)
    with pytest.raises(bb.UsageError, match="out overlaps the input"):
        bb.Operator(np.eye(8)).apply(x, out=x)
    with pytest.raises(bb.UsageError, match="out: expected a contiguous, writable array"):
        bb.quantise(np.ones(4), "fp16", out=np.frombuffer(bytes(32)))
    nan = A.copy()
    nan[3, 5] = np.nan
    with pytest.raises(bb.UsageError, match="non_finite: row 3, column 5"):
        bb.factor(nan)


def test_threads_have_messages_of_their_own():
    matrix, x = RNG.normal(size=(400, 400)), RNG.normal(size=400)
    expected, faults = bb.Operator(matrix)(x), []

    def work(number):
        operation = bb.Operator(matrix)
        for _ in range(20):
            if not (operation(x) == expected).all():
                faults.append("another product")
            try:
                bb.quantise([1.0], f"fp{number}00")
            except bb.UsageError as error:
                if f"fp{number}00" not in str(error):
                    faults.append(str(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
