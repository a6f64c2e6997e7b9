# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy and PyTorch on a GPU against the cpu, skipped without a GPU; checks of arrays with a stand-in for CuPy."""
import contextlib
import importlib
import sys
import types

import numpy as np
import pytest

import bitbudget as bb
from bitbudget import _gpu

RNG = np.random.default_rng(1)


def _modules():
    if not any(row["device"] == "cuda:0" for row in bb.devices()):
        return []
    found = []
    for name in ("cupy", "torch"):
        try:
            module = importlib.import_module(name)
            if name == "cupy" or module.cuda.is_available():
                found.append(module)
        except ImportError:
            pass
    return found


MODULES = _modules()


def _there(module, values):
    return module.asarray(values) if module.__name__ == "cupy" else module.from_numpy(values).cuda()


def _here(module, values):
    return module.asnumpy(values) if module.__name__ == "cupy" else values.cpu().numpy()


@pytest.mark.parametrize("module", MODULES, ids=[module.__name__ for module in MODULES])
@pytest.mark.parametrize(("storage", "multiply"), [("fp16", "fp32"), ("bfp bits=8", "fp32"), ("fp64", "fp64")])
def test_products_stay_on_the_gpu(module, storage, multiply):
    matrix, x = RNG.normal(size=(300, 512)), RNG.normal(size=512).astype(np.float32 if multiply == "fp32" else float)
    arithmetic = f"multiply={multiply} accumulate=fp64"
    there = bb.Operator(matrix, storage, arithmetic=arithmetic, device="cuda")
    expected = bb.Operator(matrix, storage, arithmetic=arithmetic)(x.astype(float))
    y = there(_there(module, x))
    assert type(y).__module__.split(".")[0] == module.__name__
    bound = there.bound(x.astype(float))[1]
    assert (np.abs(_here(module, y) - expected) <= 2 * bound + 1e-12).all()
    assert (there(x.astype(float)) == _here(module, y)).all(), "from host memory"
    with pytest.raises(bb.UsageError, match="x has type"):
        there(_there(module, x[:100].copy()))
    with pytest.raises(bb.UsageError, match="out is in host memory"):
        there.apply(_there(module, x), out=np.empty(300))


@pytest.mark.parametrize("module", MODULES, ids=[module.__name__ for module in MODULES])
def test_dlpack_alone_is_enough(module):
    class Exported:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **settings):
            return self.values.__dlpack__(**settings)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    x = np.ones(512)
    there = bb.Operator(RNG.normal(size=(300, 512)), device="cuda")
    y = there(Exported(_there(module, x)))
    assert (_here(sys.modules[type(y).__module__.split(".")[0]], y) == there(x)).all()
    with pytest.raises(bb.UsageError, match="b is on a GPU; copy it to the host first"):
        bb.factor(np.eye(512)).solve(Exported(_there(module, x)))


@pytest.mark.parametrize("module", MODULES, ids=[module.__name__ for module in MODULES])
@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_phases_are_unwrapped_from_the_gpu(module, precision):
    y, x = np.mgrid[-1:1:128j, -1:1:160j]
    truth, mask = 40 * (x**2 + y**2) + 20 * y, np.hypot(x, y) < 0.9
    wrapped = np.angle(np.exp(1j * truth)).astype(np.float32 if precision == "fp32" else float)
    plan = bb.Unwrapper(truth.shape, mask, precision=precision, device="cuda")
    found = plan(_there(module, np.where(mask, wrapped, np.nan).astype(wrapped.dtype)))
    cycles = ((found - truth) / (2 * np.pi))[mask]
    assert np.ptp(np.round(cycles)) == 0 and np.abs(cycles - np.round(cycles)).max() < 1e-5
    assert np.isnan(found[~mask]).all()
    for fault in (4.0, np.nan):
        bad = np.where(np.arange(wrapped.size).reshape(wrapped.shape) == 64 * 160 + 80, fault, wrapped)
        with pytest.raises(bb.UsageError, match="not finite or not from -pi to pi"):
            plan(_there(module, bad.astype(wrapped.dtype)))


@pytest.mark.skipif(not any(row["device"] == "cuda:0" for row in bb.devices()), reason="no GPU of the library")
def test_devices_agree():
    matrix = RNG.normal(size=(40, 300))
    covariance = 0.95 ** np.abs(np.subtract.outer(np.arange(300), np.arange(300)))
    there, here = (bb.round_in_norm(matrix, covariance, bits=5, device=name) for name in ("cuda", "cpu"))
    assert there.loss == pytest.approx(here.loss, rel=1e-3) and (there.decode() != here.decode()).mean() < 1e-3
    b = RNG.normal(size=(3, 300))
    x, factored, solved = bb.factor_and_solve(covariance, b, "hp1", device="cuda", certify=True)
    assert factored["tile"] == 128 and 0 < solved["backward_error"] < 1e-3
    np.testing.assert_allclose(bb.factor_and_solve(covariance, b, device="cuda") @ covariance, b, atol=1e-10)
    with pytest.raises(bb.NotPositiveDefiniteError, match="A: not_spd"):
        bb.factor_and_solve(-covariance, b, device="cuda")


class HostArray(np.ndarray):
    """An array of the host that looks like one of CuPy on GPU 0."""

    __module__ = "cupy"
    device = types.SimpleNamespace(id=0)
    __cuda_array_interface__ = property(lambda self: self.__array_interface__)


@pytest.fixture()
def cupy(monkeypatch):
    """Stand in for CuPy on the host."""
    def asarray(values):
        about = getattr(values, "__cuda_array_interface__", None)
        holder = values if about is None else types.SimpleNamespace(__array_interface__=about)
        return np.asarray(holder).view(HostArray)

    cuda = types.SimpleNamespace(Device=lambda ordinal: contextlib.nullcontext())
    module = types.SimpleNamespace(__name__="cupy", cuda=cuda, asarray=asarray, where=np.where, zeros_like=np.zeros_like)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_phases_of_a_gpu_are_checked(cupy):
    y, x = np.mgrid[-1:1:64j, -1:1:80j]
    truth, mask = 20 * (x**2 + y**2), np.hypot(x, y) < 0.9
    wrapped = np.angle(np.exp(1j * truth))
    plan = bb.Unwrapper(truth.shape, mask, precision="fp64")
    with pytest.raises(bb.UsageError, match="wrapped is on a GPU; copy it to the host first, or set device='cuda'"):
        plan(cupy.asarray(wrapped))
    plan._gpu = 0  # the field of a plan on the cpu is in host memory
    found = plan(cupy.asarray(np.where(mask, wrapped, np.nan)))
    assert (found[mask] == plan(wrapped)[mask]).all() and np.isnan(found[~mask]).all()
    for fault in (4.0, -np.inf, np.nan):
        with pytest.raises(bb.UsageError, match="not finite or not from -pi to pi; mask them, or wrap"):
            plan(cupy.asarray(np.where((x == x[0, 40]) & (y == y[32, 0]), fault, wrapped)))
    with pytest.raises(bb.UsageError, match="wrapped has shape .64, 79., expected .64, 80."):
        plan(cupy.asarray(wrapped[:, 1:]))


def test_places_of_gpu_arrays_are_checked(cupy):
    x = cupy.asarray(np.zeros(65, np.float32))
    with pytest.raises(bb.UsageError, match="x is on GPU 0, expected 1; copy it there, or set device='cuda:0'"):
        _gpu.placed(x, "x", 1)
    with pytest.raises(bb.UsageError, match="x is at an address that is no multiple of 16 bytes; pass a copy"):
        [_gpu._address(x[start:start + 64], "x", "<f4", (64,), 16) for start in (0, 1)]
    with pytest.raises(bb.UsageError, match="out has type <f4 and shape .65,., expected contiguous <f8"):
        _gpu._address(x, "out", "<f8", (65,), 8)
    for call in (lambda: bb.quantise(x, "fp16"), lambda: bb.Operator(np.eye(65)).bound(x)):
        with pytest.raises(bb.UsageError, match="is on a GPU; copy it to the host first"):
            call()
    with pytest.raises(bb.UsageError, match="x is on a GPU; copy it to the host first, or set device='cuda'"):
        bb.Operator(np.eye(65))(x)
