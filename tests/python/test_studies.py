# SPDX-License-Identifier: Apache-2.0
"""Studies: overrides, arrays in place of files, results, sweeps that continue, and messages of the program."""
from pathlib import Path

import bitbudget as bb
import numpy as np
import pytest



@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def of_arrays():
    covariance = 0.9 ** np.abs(np.subtract.outer(np.arange(64), np.arange(64)))
    return bb.study({"experiment": "reconstructor", "covariance": covariance, "cross_covariance": covariance[:8],
                     "solver": {"tile": 16}, "pipelines": [{"name": "reference", "arithmetic": "dp"}, {"name": "bf16", "arithmetic": "bf16"}]})


def test_arrays_stand_for_files():
    result = of_arrays().run("r.h5")
    assert result.pipelines == ["reference", "bf16"]
    assert result.losses[0] == 0 and 0 < result.losses[1] < 1e-2
    # The answer is that of the program, and the table its rows.
    assert "bf16 (variance loss" in result.answer(1e-2)
    assert result.answer(1e-30).startswith("Reference:") and "reference" in result.answer(1e-30)
    assert result.table.loc["bf16", "loss"] == result.losses[1]
    assert "<table" in result._repr_html_()
    # Equal arrays give equal files, so that a result can be repeated.
    assert of_arrays()._file == of_arrays()._file


def test_overrides_and_messages():
    plan = bb.study("ao/quick", {"sensors.lenslets": 8, "wavelengths_um": (1.65,)}).check()
    assert "measurements                 816" in plan
    assert 'ao: run # 2: "a"' in bb.study("ao/quick", {"title": 'run # 2: "a"'}).check()
    with pytest.raises(bb.UsageError, match="sensors.lenslet: unknown key .did you mean lenslets"):
        bb.study("ao/quick", {"sensors.lenslet": 8}).check()
    with pytest.raises(bb.FileError, match="no such file or shipped study"):
        bb.study("ao/quik").check()


def test_sweeps_continue():
    study = of_arrays()
    sweep = study.sweep({"pipelines.bf16.arithmetic": ["bf16", "hp1"]}, folder="points", jobs=1)
    assert sweep.is_sweep and sweep.dataset().variance_loss.shape == (2, 2)
    lines = sorted(Path("points").glob("shards/*"))
    before = [path.read_bytes() for path in lines]
    assert study.sweep({"pipelines.bf16.arithmetic": ["bf16", "hp1"]}, folder="points").is_sweep
    assert [path.read_bytes() for path in lines] == before, "finished points were computed again"
    assert bb.open("points").attrs["sweep_plan"] == sweep.attrs["sweep_plan"]
    with pytest.raises(bb.FileError, match="has the points of another plan"):
        study.sweep({"pipelines.bf16.arithmetic": ["bf16", "sp"]}, folder="points")
    Path("mine.yaml").write_text("title: mine")
    with pytest.raises(bb.FileError, match="a file of that name exists"):
        study.sweep({"pipelines.bf16.arithmetic": ["sp"]}, folder="mine")


def test_damaged_files_are_refused(tmp_path):
    for content in (b"", b"text", b"\x89HDF\r\n\x1a\n" + bytes(100)):
        Path("bad.h5").write_bytes(content)
        with pytest.raises(bb.FileError, match="cannot read 'bad.h5'"):
            bb.open("bad.h5")
    with pytest.raises(bb.FileError, match="cannot read 'none.h5'"):
        bb.open("none.h5")
