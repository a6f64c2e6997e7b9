# SPDX-License-Identifier: Apache-2.0
"""Studies: overrides, arrays in place of files, results, sweeps that continue, and messages of the program."""
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import files
import h5py
import numpy as np
import pytest

import bitbudget as bb
from bitbudget import program
from bitbudget.studies import _kept, _plain


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


def matrices():
    """One matrix in the forms of several libraries."""
    import pandas
    import xarray

    whole = np.arange(12).reshape(3, 4)
    return {"float": whole.astype(float), "integer": whole, "list": whole.tolist(), "tuples": tuple(map(tuple, whole)),
            "frame": pandas.DataFrame(whole), "xarray": xarray.DataArray(whole), "masked": np.ma.array(whole, mask=False),
            "single": whole.astype("f4"), "transposed": np.asfortranarray(whole)}


@pytest.mark.parametrize("form", matrices())
def test_matrices_of_all_libraries_stand_for_files(form):
    stored = _plain({"matrix": matrices()[form]})["matrix"]
    assert stored == _plain({"matrix": matrices()["float"]})["matrix"]
    with h5py.File(stored["file"]) as file:
        assert file["array"].dtype == float and (file["array"][()] == matrices()["float"]).all()


def test_other_values_are_plain_or_refused():
    import pandas

    assert _plain({"a": [{"b": np.float64(1)}, pandas.Series([1, 2]), (True, None)], "zip": [["a", "b"], ["c", "d"]]}) == {
        "a": [{"b": 1.0}, [1, 2], [True, None]], "zip": [["a", "b"], ["c", "d"]]}
    for value, message in ((np.ma.array([[1.0, 2]], mask=[[0, 1]]), "1 values are masked"), (1j, "type complex"),
                           (np.ones((2, 2)) * 1j, "array of complex128"), (pandas.DataFrame([["a", "b"]]), "array of object"),
                           ({1, 2}, "type set")):
        with pytest.raises(bb.UsageError, match=rf"pipelines\[0\].matrix: .*{message}"):
            bb.study({"pipelines": [{"matrix": value}]})


def test_equal_arrays_are_written_at_once():
    matrix = np.random.default_rng(1).normal(size=(300, 300))
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: _kept("array", matrix), range(20)))
    assert len(paths) == 1 and os.listdir("outputs") == [Path(paths.pop()).name]


def test_axes_are_lists_of_values():
    study = bb.study("ao/quick")
    with pytest.raises(bb.UsageError, match="seed: expected a list of values"):
        study.sweep({"seed": 5}, folder="scalar")
    with pytest.raises(bb.UsageError, match="use './-sw'"):
        study.sweep({"seed": [1]}, folder="-sw")
    with pytest.raises(bb.UsageError, match="--jobs 0"):
        study.sweep({"seed": [1]}, folder="jobs", jobs=0)
    with pytest.raises(bb.UsageError, match="--max-loss nan"):
        study.run(max_loss=float("nan"))


def test_results_survive_a_change_of_folder(tmp_path, monkeypatch):
    files.swept("s.h5")
    with bb.open("s.h5") as result:
        monkeypatch.chdir("/")
        assert "'s.h5'" in repr(result) and len(result.table) == 5 and result.dataset().sizes["width"] == 3
    with pytest.raises(bb.FileError, match="cannot read 'results/status'"):
        result["results/status"]


def test_choices_of_a_sweep_have_losses(tmp_path):
    result = bb.open(files.swept("s.h5"))
    assert result.losses.tolist() == [0, 6e-6, 1e-3, 4e-3, 6e-3] == result.table.loss_most.tolist()
    assert result.eligible.tolist() == [True, True, False, True, True]
    assert result.front.tolist() == [True, True, False, True, False]
    with pytest.raises(bb.UsageError, match="bytes only; see .table"):
        result.answer(1e-3, by="time")


SLOW = """import sys, numpy as np, bitbudget as bb
pipelines = [{"name": name, "storage": name, "multiply": name, "accumulate": "fp64"} for name in ("fp64", "fp32")]
study = bb.study({"experiment": "product", "matrix": np.ones((200, 300)), "vectors": 200, "pipelines": pipelines})
study.sweep({"seed": range(100)}, folder="slow", jobs=1)
"""


def test_a_sweep_without_its_python_is_not_computed_twice():
    """The program goes on after its Python is killed; until its end, the folder is refused and names it."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(bb.__path__[0])}

    def points():
        return [json.loads(line)["point"] for path in Path("slow/shards").glob("*") for line in path.read_text().splitlines()[1:]]

    first = subprocess.Popen([sys.executable, "-c", SLOW], stderr=subprocess.DEVNULL, env=environment)
    while not Path("slow/shards").exists() or not points():
        assert first.poll() is None
        time.sleep(0.01)
    first.kill()
    again = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, check=False, env=environment)
    found = re.search("FileError: folder 'slow' is being computed by process ([0-9]+); wait for it or stop it", again.stderr)
    shard = subprocess.run([program.find(), "sweep", "run", "slow", "--shard", "1/1"], capture_output=True, text=True, check=False)
    os.kill(int(found[1]), signal.SIGTERM)
    while again.returncode != 0:
        again = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, check=False, env=environment)
    assert shard.returncode == 3 and "is being computed by process" in shard.stderr
    assert sorted(points()) == list(range(100))


def test_progress_is_one_line(capsys):
    reader, writer = os.pipe()
    os.write(writer, "a\r\n\r\033[K1 of 2 [#-]\r\033[K2 of 2 [##]\r\033[Kwarning: \u00e9\r\n".encode())
    os.close(writer)
    with open(reader, "rb", 0) as messages:
        assert program._read(messages, True) == "a\nwarning: \u00e9\n"
    shown = capsys.readouterr().err
    assert "\033" not in shown and shown.split("\r")[-1] == "warning: \u00e9\n" and "1 of 2 [#-]\r" in shown


def test_progress_reaches_standard_error(capsys):
    of_arrays().run("r.h5", progress=True)
    assert "2 pipeline(s)\n" in capsys.readouterr().err
