# SPDX-License-Identifier: Apache-2.0
"""Arrays in the files of other programs: NumPy, Matrix Market, raw numbers, MATLAB, Zygo, 4D, HDF5, FITS."""
from __future__ import annotations

import gzip
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from . import output
from .errors import FileError, UsageError

_HDF5 = b"\x89HDF\r\n\x1a\n"
_MATLAB_73 = b"MATLAB 7.3"  # an HDF5 file after 512 bytes of text
_LARGEST = 4e9  # bytes of a sparse matrix made dense

# Endings of raw little-endian numbers and their types; SDRBench uses these.
_RAW = {".f32": "<f4", ".f64": "<f8", ".d64": "<f8", ".i8": "<i1", ".u8": "<u1", ".i16": "<i2", ".u16": "<u2",
        ".i32": "<i4", ".i64": "<i8"}

# Counts per fringe of Zygo's phase resolutions 0, 1 and 2, and its marks of points without data.
_ZYGO_COUNTS = (4096, 32768, 131072)
_ZYGO_NO_DATA = 2147483640

# 4D marks points without data with numbers beyond this.
_4D_NO_DATA = 1e10


class Array:
    """Numbers of a file with their units and scales.

    Attributes
    ----------
    values : ndarray of float64, or of float32 where the file has 32 bits or less
        NaN where the file marks points without data.
    attrs : dict
        "units", "wavelength_m", "spacing_m", "fringe_m" (height of one fringe), as far as known.
    """

    def __init__(self, values: np.ndarray, **attrs: Any) -> None:
        self.values, self.attrs = values, attrs

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the values, so that an `Array` may stand for them."""
        return np.array(self.values, dtype, copy=bool(copy) or dtype is not None)


def _one(found: dict[str, tuple[int, ...]], name: str | None) -> str:
    """Return the name of the chosen array, or of the only one, of those of a file by their shapes."""
    if name is not None and name.strip("/") in found:
        return name.strip("/")
    if name is None and len(found) == 1:
        return next(iter(found))
    listed = ", ".join(f"{key} {list(shape)}" for key, shape in found.items()) or "none"
    wanted = "one, choose it by name" if name is None else f"'{name}'"
    raise UsageError(f"arrays of the file: {listed}; expected {wanted}")


def _npy(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    return Array(np.load(path, mmap_mode="r", allow_pickle=False))


def _npz(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    with np.load(path, allow_pickle=False) as file:
        if {"format", "shape", "data"} <= set(file.files):  # of scipy.sparse
            import scipy.sparse

            return Array(_dense(scipy.sparse.load_npz(path)))
        return Array(file[_one({key: file[key].shape for key in file.files}, name)])


def _dense(matrix: Any) -> np.ndarray:
    size = 8.0 * matrix.shape[0] * matrix.shape[1]
    if size > _LARGEST:
        raise UsageError(f"the sparse matrix of {matrix.shape[0]} x {matrix.shape[1]} is {size / 1e9:.1f} GB as a "
                         f"dense one, expected at most {_LARGEST / 1e9:g} GB")
    return matrix.toarray()


def _market(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    import scipy.io

    found = scipy.io.mmread(path)
    return Array(_dense(found) if hasattr(found, "toarray") else found)


def _raw(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    kind = np.dtype(_RAW[path.suffix.lower()])
    count = path.stat().st_size / kind.itemsize
    if shape is None or np.prod(shape, dtype=float) != count:
        given = "no shape" if shape is None else f"shape {'x'.join(map(str, shape))}"
        raise UsageError(f"the file has {count:g} numbers of {kind.itemsize} bytes and {given}; give its shape, "
                         "slowest axis first")
    return Array(np.memmap(path, kind, "r", shape=tuple(shape)))


def _matlab(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    import scipy.io

    found = {key: shape for key, shape, kind in scipy.io.whosmat(path) if kind not in ("char", "cell", "struct")}
    name = _one(found, name)
    value = scipy.io.loadmat(path, variable_names=[name])[name]
    return Array(_dense(value) if hasattr(value, "toarray") else value)


def _numbers(file: h5py.Group) -> dict[str, tuple[int, ...]]:
    found = {}

    def visit(key: str, item: Any) -> None:
        numeric = isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" and item.ndim > 0
        if numeric and not key.startswith("#refs#"):
            found[key] = item.shape

    file.visititems(visit)
    return found


def _hdf5(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    with h5py.File(path, "r") as file:
        if name is None and "measurement0/genraw/data" in file:
            return _of_4d(file["measurement0/genraw"])
        if name is None and "Data/Surface" in file:
            return _datx(file)
        dataset = file[_one(_numbers(file), name)]
        # MATLAB stores columns first.
        return Array(dataset[()].T if "MATLAB_class" in dataset.attrs else dataset[()],
                     **{key: _word(dataset.attrs[key]) for key in ("units", "spacing_m") if key in dataset.attrs})


def _word(value: Any) -> Any:
    first = np.asarray(value).reshape(-1)[0]
    return first.decode() if isinstance(first, bytes) else first.item() if isinstance(first, np.generic) else first


def _length(text: Any) -> float:
    """Length in m of a number in m or a text such as "632.8 nm"."""
    found = re.fullmatch(r"\s*([-+.\deE]+)\s*(nm|um|mm|m|)\s*", str(text))
    if found is None:
        raise FileError(f"'{text}' is not a length in m, mm, um or nm")
    length = float(found[1]) * {"nm": 1e-9, "um": 1e-6, "mm": 1e-3}.get(found[2], 1.0)
    if not 1e-7 < length < 2e-5:
        raise FileError(f"'{text}' is no wavelength, expected 0.1 to 20 um")
    return length


def _of_4d(group: h5py.Group) -> Array:
    """Surface of 4D's 4Sight: waves of the test wavelength, which is an attribute."""
    values = group["data"][()].astype("f8")
    values[~np.isfinite(values) | (np.abs(values) > _4D_NO_DATA)] = np.nan
    if "wavelength" not in group.attrs:
        raise FileError("measurement0/genraw has no attribute 'wavelength'")
    wavelength = _length(_word(group.attrs["wavelength"]))
    return Array(values * wavelength, units="m", wavelength_m=wavelength, fringe_m=wavelength)


def _datx(file: h5py.File) -> Array:
    """Surface of Zygo's Mx: fringes or lengths, with the scales as attributes."""
    surface = next(iter(file["Data/Surface"].values()))
    about = {key: _word(value) for key, value in surface.attrs.items() if np.size(value) and h5py.check_ref_dtype(
        np.asarray(value).dtype) is None and np.asarray(value).dtype.kind in "fiuSUO"}
    values = surface[()].astype("f8")
    values[values >= about.get("No Data", np.inf)] = np.nan
    wavelength = float(about["Wavelength"])
    fringe = wavelength * float(about["Interferometric Scale Factor"]) * float(about.get("Obliquity Factor", 1.0))
    scale = {"Fringes": fringe, "NanoMeters": 1e-9, "Meters": 1.0}.get(about.get("Unit"))
    if scale is None:
        raise FileError(f"unit '{about.get('Unit')}' of the surface, expected Fringes, NanoMeters or Meters")
    return Array(values * scale, units="m", wavelength_m=wavelength, fringe_m=fringe)


def _zygo(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    """Phase of Zygo's MetroPro (header formats 1 to 3, of big-endian numbers)."""
    content = path.read_bytes()
    if len(content) < 834:
        raise FileError(f"{len(content)} bytes, expected a MetroPro header of 834")
    header, = struct.unpack_from(">I", content, 6)
    width, height, buckets = struct.unpack_from(">3H", content, 52)
    columns, rows = struct.unpack_from(">2H", content, 68)
    scale, wavelength, _, obliquity, _, spacing = struct.unpack_from(">6f", content, 164)
    resolution, = struct.unpack_from(">H", content, 218)
    start = header + 2 * width * height * max(buckets, 1 if width else 0)
    known = header in (834, 4096) and rows * columns > 0 and wavelength > 0
    if not known or resolution >= len(_ZYGO_COUNTS) or len(content) < start + 4 * rows * columns:
        raise FileError(f"phase of {rows} x {columns} points with resolution {resolution} in {len(content)} bytes: no "
                        "phase, damaged, or of an unknown version")
    counts = np.frombuffer(content, ">i4", rows * columns, start).reshape(rows, columns)
    fringe = wavelength * scale * obliquity
    values = np.where(counts >= _ZYGO_NO_DATA, np.nan, counts * (fringe / _ZYGO_COUNTS[resolution]))
    more = {"spacing_m": spacing} if spacing > 0 else {}
    return Array(values, units="m", wavelength_m=wavelength, fringe_m=fringe, **more)


def _fits(path: Path, name: str | None, shape: Sequence[int] | None) -> Array:
    from astropy.io import fits

    with fits.open(path) as file:
        images = {(str(number), hdu.name): hdu for number, hdu in enumerate(file) if hdu.is_image and hdu.size}
        named = [key for key in images if name is None or name.upper() in key]
        if len(named) != 1:
            _one({" ".join(key): images[key].shape for key in images}, name)
        hdu = images[named[0]]
        return Array(hdu.data, **({"units": hdu.header["BUNIT"]} if "BUNIT" in hdu.header else {}))


Reader = Callable[[Path, "str | None", "Sequence[int] | None"], Array]


def _reader(path: Path) -> Reader:
    """Choose by the first bytes; raw numbers by their ending."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        start = file.read(520)
    kinds: Iterable[tuple[bool, Reader]] = (
        (start.startswith(b"\x93NUMPY"), _npy), (start.startswith(b"PK\x03\x04"), _npz),
        (start.startswith(b"%%MatrixMarket"), _market), (start.startswith(b"SIMPLE  ="), _fits),
        (start.startswith(_HDF5) or start.startswith(_MATLAB_73), _hdf5), (start.startswith(b"MATLAB 5"), _matlab),
        (start[:3] == b"\x88\x1b\x03" and start[3:4] in b"\x6f\x70\x71", _zygo), (path.suffix.lower() in _RAW, _raw))
    for found, reader in kinds:
        if found:
            return reader
    raise FileError("neither NumPy, Matrix Market, MATLAB, HDF5, FITS nor Zygo; raw numbers end in "
                    f"{', '.join(_RAW)}")


def read(path: str | os.PathLike[str], name: str | None = None, shape: Sequence[int] | None = None) -> Array:
    """Read an array from a file of another program.

    Parameters
    ----------
    path : path-like
        NumPy .npy and .npz (also a sparse matrix of SciPy), Matrix Market (dense, coordinate and
        symmetric; also packed by gzip), raw little-endian numbers (.f32, .f64, ...), MATLAB .mat,
        Zygo .dat and .datx, HDF5 of 4D's interferometers, any other HDF5, FITS. The first bytes decide.
    name : str, optional
        Name of the array in a file with several.
    shape : sequence of int, optional
        Shape of raw numbers, slowest axis first.

    Returns
    -------
    Array
        Rows are those of the file; heights of interferometers are in m, NaN where there is no data.

    Examples
    --------
    >>> import bitbudget, numpy, tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".f32") as file:
    ...     numpy.arange(6.0, dtype="f4").tofile(file.name)
    ...     bitbudget.read(file.name, shape=(2, 3)).values.shape
    (2, 3)
    """
    path = Path(path)
    try:
        found = _reader(path)(path, name, shape)
    except ModuleNotFoundError as error:
        raise UsageError(f"{path}: its format needs the Python package {error.name}; install it: apt-get install "
                         f"python3-{error.name.split('.')[0]}") from None
    except (UsageError, FileError) as error:
        raise type(error)(f"cannot read '{path}': {error}") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, struct.error, EOFError,
            StopIteration, zipfile.BadZipFile) as error:
        raise FileError(f"cannot read '{path}': {error}") from None
    if found.values.dtype.kind not in "fiub":
        raise FileError(f"cannot read '{path}': numbers of type {found.values.dtype}, expected real ones")
    kind = "f4" if found.values.dtype.itemsize * 8 <= 32 and found.values.dtype.kind == "f" else "f8"
    found.values = np.ascontiguousarray(found.values, kind)
    return found


def parse_shape(text: str | None) -> list[int] | None:
    """Return the sizes of a text such as "100x500x500"."""
    if text is None:
        return None
    sizes = text.split("x")
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise UsageError(f"shape {text}: expected sizes of at least 1, such as 100x500x500")
    return [int(size) for size in sizes]


def store(found: Array, path: str | os.PathLike[str]) -> list[str]:
    """Write an array as HDF5 that studies read.

    Parameters
    ----------
    found : Array
        Arrays of more than two axes become matrices: the last two axes are a mesh of columns.
    path : path-like
        File, replaced if it exists.

    Returns
    -------
    list of str
        Datasets: ``/array``, or of an interferogram ``/height`` [m], ``/phase`` and ``/wrapped``
        [rad], NaN without data.
    """
    values, attrs = found.values, dict(found.attrs)
    fringe = attrs.pop("fringe_m", None)
    if fringe is None:
        shape = values.shape if values.ndim <= 2 else (-1, values.shape[-2] * values.shape[-1])
        datasets = {"array": (values.reshape(shape) if values.ndim > 1 else values.reshape(1, -1), attrs)}
    else:
        phase = 2 * np.pi / fringe * values
        rad = {**attrs, "units": "rad"}
        datasets = {"height": (values, attrs), "phase": (phase, rad), "wrapped": (np.angle(np.exp(1j * phase)), rad)}
    with output.made(path) as part, h5py.File(part, "w") as file:
        for name, (content, about) in datasets.items():
            file[name] = content
            file[name].attrs.update(about)
    return [f"/{name}" for name in datasets]
