# SPDX-License-Identifier: Apache-2.0
"""Arrays in files of other programs: each format written by its own library or by hand."""
import gzip
import struct

import h5py
import numpy as np
import pytest
import scipy.io as scipy_io
import scipy.sparse as sparse

import bitbudget as bb
from bitbudget import files, trial

A = np.array([[1.5, 0.0, -2.0], [0.25, 4.0, 1e-3]])


def fits(path, values):
    from astropy.io import fits

    fits.writeto(path, values)


def mat73(path, values):
    """MATLAB's header in front of HDF5, columns first."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["A"] = values.T
        file["A"].attrs["MATLAB_class"] = np.bytes_("double")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(512))


WRITERS = {
    "a.npy": np.save,
    "a.npz": lambda path, values: np.savez(path, A=values),
    "sparse.npz": lambda path, values: sparse.save_npz(path, sparse.csr_matrix(values)),
    "a.mtx": scipy_io.mmwrite,
    "coordinate.mtx": lambda path, values: scipy_io.mmwrite(path, sparse.coo_matrix(values)),
    "a.f64": lambda path, values: values.tofile(path),
    "a.f32": lambda path, values: values.astype("<f4").tofile(path),
    "a.mat": lambda path, values: scipy_io.savemat(path, {"A": values}),
    "b.mat": mat73,
    "a.h5": lambda path, values: h5py.File(path, "w").create_dataset("A", data=values),
    "a.fits": fits,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_array(name, tmp_path):
    WRITERS[name](tmp_path / name, A)
    found = bb.read(tmp_path / name, shape=A.shape if name[-4:] in (".f32", ".f64") else None).values
    assert found.shape == A.shape
    assert found.tolist() == (A.astype("f4") if name == "a.f32" else A).tolist()
    assert found.dtype == (np.float32 if name == "a.f32" else np.float64)


def test_an_array_stands_for_its_values(tmp_path):
    np.save(tmp_path / "a.npy", A)
    assert bb.quantise(bb.read(tmp_path / "a.npy"), "fp16").tolist() == bb.quantise(A, "fp16").tolist()


def test_symmetric_and_packed_market(tmp_path):
    text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3.0\n2 1 -1.0\n"
    with gzip.open(tmp_path / "s.mtx.gz", "wt") as file:
        file.write(text)
    assert bb.read(tmp_path / "s.mtx.gz").values.tolist() == [[3.0, -1.0], [-1.0, 0.0]]


def zygo(path, counts, resolution=1):
    """Header of MetroPro by hand: 2 x 1 intensities, then the phase."""
    header = bytearray(834)
    struct.pack_into(">IHI", header, 0, 0x881B036F, 1, 834)
    struct.pack_into(">3H", header, 52, 2, 1, 1)
    struct.pack_into(">2H", header, 68, counts.shape[1], counts.shape[0])
    struct.pack_into(">6f", header, 164, 0.5, 632.8e-9, 0.0, 1.0, 0.0, 1e-4)
    struct.pack_into(">H", header, 218, resolution)
    path.write_bytes(bytes(header) + b"\1\2\3\4" + counts.astype(">i4").tobytes())


def test_zygo_counts_are_fringes_of_half_a_wave(tmp_path):
    zygo(tmp_path / "z.dat", np.array([[32768, 0, -16384], [2147483640, 1, 2]]))
    found = bb.read(tmp_path / "z.dat")
    assert found.attrs["fringe_m"] == pytest.approx(316.4e-9, rel=1e-7)
    assert found.values[0] / 316.4e-9 == pytest.approx([1.0, 0.0, -0.5], rel=1e-6)
    assert np.isnan(found.values[1, 0]) and np.isfinite(found.values[1, 1:]).all()
    names = files.store(found, tmp_path / "z.h5")
    assert names == ["/height", "/phase", "/wrapped"]
    with h5py.File(tmp_path / "z.h5") as file:
        assert file["phase"][0] == pytest.approx([2 * np.pi, 0.0, -np.pi], rel=1e-6)
        assert np.cos(file["wrapped"][0]) == pytest.approx([1.0, 1.0, -1.0]) and file["wrapped"].attrs["units"] == "rad"


def test_datx_and_4d_give_heights(tmp_path):
    with h5py.File(tmp_path / "a.datx", "w") as file:
        surface = file.create_dataset("Data/Surface/1", data=np.array([[1.0, 1e30]]))
        surface.attrs.update({"No Data": [1e20], "Wavelength": [600e-9], "Unit": np.array([b"Fringes"]),
                              "Interferometric Scale Factor": [0.5], "Obliquity Factor": [1.0]})
    found = bb.read(tmp_path / "a.datx").values
    assert found[0, 0] == pytest.approx(300e-9) and np.isnan(found[0, 1])
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["measurement0/genraw/data"] = np.array([[0.5, 3.4e38]], "f4")
        file["measurement0/genraw"].attrs["wavelength"] = "632.8 nm"
    found = bb.read(tmp_path / "b.h5").values
    assert found[0, 0] == pytest.approx(316.4e-9) and np.isnan(found[0, 1])


def test_refusals_name_the_file_and_what_to_do(tmp_path):
    np.arange(6.0).tofile(tmp_path / "r.f64")
    np.savez(tmp_path / "two.npz", A=A, B=A[:1])
    np.save(tmp_path / "c.npy", A * 1j)
    np.save(tmp_path / "o.npy", np.array([{}], object))
    (tmp_path / "t.txt").write_text("1 2\n")
    (tmp_path / "d.npz").write_bytes((tmp_path / "two.npz").read_bytes()[:100])
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["measurement0/genraw/data"] = A
        file["measurement0/genraw"].attrs["wavelength"] = "632.8"
    zygo(tmp_path / "z.dat", np.zeros((2, 3), int))
    (tmp_path / "z.dat").write_bytes((tmp_path / "z.dat").read_bytes()[:-1])
    sparse.save_npz(tmp_path / "large.npz", sparse.coo_matrix(([1.0], ([0], [0])), (10**6, 10**6)))
    for name, message in (("r.f64", "6 numbers of 8 bytes and no shape"), ("two.npz", r"A \[2, 3\], B \[1, 3\]"),
                          ("c.npy", "complex128"), ("o.npy", "Python objects"), ("t.txt", "neither NumPy"),
                          ("z.dat", "2 x 3 points"), ("w.h5", "no wavelength"), ("d.npz", "zip"), ("large.npz", "8000.0 GB"), ("none.npy", "No such file")):
        with pytest.raises((bb.FileError, bb.UsageError), match=message) as error:
            bb.read(tmp_path / name)
        assert name in str(error.value)
    with pytest.raises(bb.UsageError, match="shape 2x4"):
        bb.read(tmp_path / "r.f64", shape=(2, 4))
    assert bb.read(tmp_path / "two.npz", "B").values.tolist() == A[:1].tolist()


def test_meshes_of_arrays():
    assert trial.layout((7,)) == ((1, 7), {})
    assert trial.layout((2, 3)) == ((2, 3), {})
    assert trial.layout((2, 3, 4)) == ((2, 12), {"mesh_columns": 4})
    assert trial.layout((2, 3, 4, 5)) == ((6, 20), {"mesh_columns": 5, "row_columns": 3})
    with pytest.raises(bb.UsageError, match="1 to 4 axes"):
        trial.layout((1, 1, 1, 1, 1))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_trial_answers_with_the_fewest_bytes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = np.meshgrid(np.linspace(0, 6, 96), np.linspace(0, 5, 64))
    np.save("smooth.npy", np.sin(x * y))
    result = bb.try_formats("smooth.npy", 1e-3)
    table = result.table
    within = table[(table["loss"] <= 1e-3) & (table["status"] == "ok")]
    assert f": {within['operator_bytes'].idxmin()} (" in result.answer(1e-3).replace("\n", " ")
    assert {"fp32", "bf16", "mx int8", "bfp 8", "integer 8"} <= set(table.index)
    assert any(name.startswith("zfp") for name in table.index) and not any(name.startswith("low_rank") for name in table.index)
    with pytest.raises(bb.UsageError, match="1 of 4 values are not finite"):
        bb.try_formats([[1.0, np.nan], [0.0, 1.0]])
    with pytest.raises(bb.UsageError, match="max_loss is 2"):
        bb.try_formats(A, 2.0)
