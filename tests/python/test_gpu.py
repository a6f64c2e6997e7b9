# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy and PyTorch on a GPU against the cpu. Skipped without a GPU of the library and one of these modules."""
import importlib

import bitbudget as bb
import numpy as np
import pytest

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
pytestmark = pytest.mark.skipif(not MODULES, reason="no GPU of the library with CuPy or PyTorch")


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


def test_devices_agree():
    matrix = RNG.normal(size=(40, 300))
    covariance = 0.95 ** np.abs(np.subtract.outer(np.arange(300), np.arange(300)))
    there, here = (bb.round_in_norm(matrix, covariance, bits=5, device=name) for name in ("cuda", "cpu"))
    assert there.loss == pytest.approx(here.loss, rel=1e-3) and (there.decode() != here.decode()).mean() < 1e-3
