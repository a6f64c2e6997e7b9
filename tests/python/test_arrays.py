# SPDX-License-Identifier: Apache-2.0
"""Codecs, operators, factorizations and rounding on numpy arrays: values, shapes, memory, errors."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import bitbudget as bb

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
    together, factored, solved = bb.factor_and_solve(A, b, "hp1", refine="cg", refine__tolerance=1e-13, tile=64, certify=True)
    assert (together == x).all() and factored["digest"] == factor.digest and solved["backward_error"] < 1e-12
    assert (bb.factor_and_solve(A, b[0], "sp", device=None) == bb.factor(A, "sp").solve(b[0])).all()


def test_small_matrices_are_narrowed():
    for n in (24, 100, 200):
        part = A[:n, :n] + 0.1 * np.eye(n)
        factors = [bb.factor(part, name) for name in ("sp", "bf16", "fp8")]
        assert len({factor.digest for factor in factors}) == 3, n
        assert factors[0].certificate < factors[1].certificate < factors[2].certificate
        assert factors[0].report["tile"] == (16 if n == 200 else 8)


@pytest.mark.parametrize("call", [
    lambda matrix: bb.factor(matrix), lambda matrix: bb.factor_and_solve(matrix, np.ones(300)),
    lambda matrix: bb.round_in_norm(np.ones((2, 300)), matrix, bits=5)])
def test_indefinite_matrices_are_refused(call):
    with pytest.raises(bb.NotPositiveDefiniteError, match="not_spd: tile"):
        call(A - 0.5 * np.eye(300))
    with pytest.raises(bb.UsageError, match="non_finite: row 3, column 5") as error:
        call(np.where(np.arange(300 * 300).reshape(300, 300) == 3 * 300 + 5, np.nan, A))
    assert not isinstance(error.value, bb.NotPositiveDefiniteError)


MATRIX = A[:8, :8]
FUNCTIONS = {
    "a": lambda matrix: bb.quantise(matrix, "fp16"),
    "values": lambda matrix: bb.Storage(matrix, "fp16").decode(),
    "matrix": lambda matrix: bb.Operator(matrix)(np.ones(8)),
    "x": lambda matrix: bb.Operator(np.eye(8)) @ matrix,
    "A": lambda matrix: bb.factor(matrix).lower()[0],
    "b": lambda matrix: bb.factor(MATRIX).solve(matrix),
    "R": lambda matrix: bb.round_in_norm(matrix, MATRIX, bits=8).decode(),
    "image": lambda matrix: np.ma.getdata(bb.unwrap(matrix)),
    "wrapped": lambda matrix: bb.Unwrapper((8, 8))(matrix),
    "mask": lambda matrix: bb.Unwrapper((8, 8), matrix)(MATRIX),
}


class Exported:
    """An array of another library: DLPack alone."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **settings):
        return self.values.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinds_of_arrays(name):
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    call, expected = FUNCTIONS[name], FUNCTIONS[name](MATRIX)
    for given in (MATRIX.tolist(), MATRIX.T, pandas.DataFrame(MATRIX), xarray.DataArray(MATRIX), np.ma.array(MATRIX),
                  Exported(MATRIX)):
        np.testing.assert_array_equal(call(given), expected, err_msg=type(given).__name__)
    np.testing.assert_array_equal(call(np.eye(8, dtype=int)), call(np.eye(8)))
    bad = {"complex128": MATRIX + 0j, "object": MATRIX.astype(object), "<U32": MATRIX.astype("<U32")}
    for dtype, given in bad.items():
        with pytest.raises(bb.UsageError, match=f"^{name} has dtype {dtype}, expected real numbers"):
            call(given)
    with pytest.raises(bb.UsageError, match=f"^{name} is no array: .*inhomogeneous"):
        call([[1.0], [1.0, 2.0]])
    if name != "image":
        with pytest.raises(bb.UsageError, match=f"^{name} has masked values"):
            call(np.ma.array(MATRIX, mask=np.eye(8)))


def test_series_are_vectors():
    series = pytest.importorskip("pandas").Series(np.linspace(0, 9, 8))
    assert (bb.quantise(series, "fp32") == np.float32(series)).all()
    np.testing.assert_allclose(bb.unwrap(series), np.unwrap(series))
    assert (bb.Operator(np.eye(8))(series) == series).all()


def test_losses_of_overflow_are_infinite():
    assert bb.round_in_norm([[1e6, 0.0, -1e6]], A[:3, :3], "fp16").loss_nearest == np.inf


def test_threads_are_set():
    assert bb.set_threads(2) == 2 and bb.set_threads() >= 1


def test_a_library_of_another_version_is_refused(tmp_path):
    source = tmp_path / "other.c"
    source.write_text('const char *bb_version(void) { return "0.0.9"; }')
    other = tmp_path / "libother.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", other, source], check=True)
    for path, message in ((other, f"'{other}' has version 0.0.9, this package {bb.__version__}; set BITBUDGET_LIBRARY"),
                          (tmp_path / "none", f"cannot find {tmp_path / 'none'}; build it")):
        run = subprocess.run([sys.executable, "-c", "import bitbudget; bitbudget.formats()"], capture_output=True, text=True,
                             env={**os.environ, "BITBUDGET_LIBRARY": str(path), "PYTHONPATH": os.path.dirname(bb.__path__[0])})
        assert run.returncode == 1 and message in run.stderr


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
    (lambda: bb.quantise(np.zeros((2, 2, 2)), "fp16"), "a has shape .2, 2, 2., expected .columns,. or .rows, columns."),
    (lambda: bb.quantise([1.0], "fp16", out=np.empty(2)), "out: expected a contiguous, writable array of doubles with shape .1,."),
    (lambda: bb.Operator(np.eye(3))(np.ones(4)), "x has shape .4,., expected .3,. or"),
    (lambda: bb.Operator(np.eye(3), arithmetic="multiply=fp8"), "multiply"),
    (lambda: bb.Operator(np.eye(3), device="cuda:99"), "cuda"),
    (lambda: bb.factor(np.ones((2, 3))), "A has shape .2, 3., expected .n, n."),
    (lambda: bb.factor(A, "hp9"), "hp9"),
    (lambda: bb.factor(A, tiles=3), "tiles"),
    (lambda: bb.factor(A).solve(np.ones(3)), "b has shape .3,., expected .300,."),
    (lambda: bb.quantise([1.0], np.float16), "<class 'numpy.float16'> is of type type; pass a text such as 'bfp bits=8'"),
    (lambda: bb.quantise([1.0], 16), "16 is of type int; pass a text"),
    (lambda: bb.quantise([1.0], {"codec": "fp16"}), "is of type dict; pass a text"),
    (lambda: bb.quantise([1.0], "fp16\0"), "has a NUL; pass a text"),
    (lambda: bb.quantise([1.0], "zfp mode=rate bits=8"), "set dimensions to 1 for lines of values"),
    (lambda: bb.Operator(np.eye(3), arithmetic="multiply=fp64 accumulate=fp32"), "no narrower than products"),
    (lambda: bb.round_in_norm(np.ones((1, 2)), [[1.0, 0.5], [0.4, 1.0]], bits=4), r"not symmetric: \[1\]\[0\] = 0.4, \[0\]"),
    (lambda: bb.round_in_norm(np.ones((1, 2)), np.eye(3), bits=4), "A has shape .3, 3., expected .2, 2."),
    (lambda: bb.set_threads(-1), "threads: -1"),
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
