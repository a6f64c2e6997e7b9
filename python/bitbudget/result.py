# SPDX-License-Identifier: Apache-2.0
"""Result files of runs, sweeps and benchmarks."""
from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from . import program
from .errors import FileError, UsageError

# Datasets of /results whose largest is the loss, its name, and its name in a label.
LOSSES = {
    "ao": (("strehl_loss",), "Strehl loss"),
    "wafer": (("overlay_error_x_nm", "overlay_error_y_nm", "overlay_residual_nm"), "Overlay error [nm]"),
    "fringe": (("wrong_cycles_reference",), "Wrong cycles"),
    "product": (("qoi_relative_error",), "Relative error"),
    "reconstructor": (("variance_loss",), "Variance loss"),
}

# Answers with this relative error are invalid, however few their bytes.
_LOST = 0.999


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


class Result:
    """A result file of one run, one sweep or one benchmark.

    Datasets are read when they are used: ``result["results/strehl"]`` is an array,
    ``result.dataset("results")`` a group with its coordinates.

    Parameters
    ----------
    path : path-like
        HDF5 file.
    """

    def __init__(self, path: str | os.PathLike[str], file: h5py.File | None = None) -> None:
        self._given, self.path = os.fspath(path), Path(path).absolute()
        self._folder: tempfile.TemporaryDirectory[str] | None = None  # of a collection, removed with the result
        os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
        try:
            self._file = h5py.File(self.path, "r") if file is None else file
        except OSError as error:
            raise FileError(f"cannot read '{path}': {error}; expected a result file of bitbudget") from None
        self.attrs = {name: _text(value) for name, value in self._file.attrs.items()}
        if "source" not in self.attrs:
            raise FileError(f"cannot read '{path}': not a result file of bitbudget")
        self._cache: dict[str, np.ndarray] = {}
        self._shown: dict[tuple[str, ...], dict[str, Any]] = {}

    def close(self) -> None:
        """Close the file; a ``with`` statement does so at its end."""
        self._file.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def experiment(self) -> str:
        """Name of the experiment: "ao", "wafer", ..., or "" for a benchmark."""
        return self.attrs.get("experiment", "")

    @property
    def is_sweep(self) -> bool:
        """True for a collected sweep."""
        return "sweep_plan" in self.attrs

    def __contains__(self, path: str) -> bool:
        return path in self._file

    def __getitem__(self, path: str) -> np.ndarray:
        """Dataset as an array of numbers or of texts, scalars with shape ()."""
        if path not in self._cache:
            try:
                dataset = self._file[path]
                values = dataset.asstr(errors="replace")[()] if h5py.check_string_dtype(dataset.dtype) else dataset[()]
            except KeyError:
                raise UsageError(f"{self._given}: no dataset '{path}'") from None
            except (OSError, ValueError) as error:  # ValueError: the file is closed
                raise FileError(f"cannot read '{path}' of '{self._given}': {error}") from None
            self._cache[path] = np.asarray(values)
        return self._cache[path]

    def has_values(self, path: str) -> bool:
        """Whether a dataset exists with a text or a number that is not NaN."""
        if path not in self._file or not isinstance(self._file[path], h5py.Dataset):
            return False
        values = self[path]
        return values.size > 0 and (values.dtype.kind not in "fc" or not np.isnan(values).all())

    def single(self, path: str) -> float:
        """Return the number of a dataset with one value; NaN if it is absent."""
        values = self[path] if path in self._file else np.empty(0)
        return float(values.reshape(-1)[0]) if values.size == 1 and values.dtype.kind in "fiu" else np.nan

    def axes(self, path: str) -> list[str]:
        """Return the names of the axes of a dataset."""
        dataset = self._file[path]
        if h5py.h5ds.is_scale(dataset.id):
            return [path.rsplit("/", 1)[-1]] * dataset.ndim
        return [axis[0].name.rsplit("/", 1)[-1] if len(axis) else "" for axis in dataset.dims]

    def attribute(self, path: str, name: str, default: str = "") -> str:
        """Return a text attribute of a dataset or group ("": the file)."""
        return str(_text(self._file[path or "/"].attrs.get(name, default))) if (path or "/") in self._file else default

    def attributes(self, path: str) -> dict[str, Any]:
        """Return all attributes of a dataset or group."""
        return {name: _text(value) for name, value in self._file[path].attrs.items()} if path in self._file else {}

    def members(self, group: str) -> list[str]:
        """Return the names of the datasets of a group."""
        found = self._file.get(group)
        return [] if found is None else [name for name, item in found.items() if isinstance(item, h5py.Dataset)]

    def dataset(self, group: str = "/") -> Any:
        """Return a group as an xarray Dataset, the results by default.

        Parameters
        ----------
        group : str
            "/" for the table of results with its coordinates, else "results", "study", "system", ...
        """
        import xarray

        return xarray.open_dataset(self.path, group=None if group == "/" else group, engine="h5netcdf")

    @property
    def pipelines(self) -> list[str]:
        """Names of the pipelines in the order of the study."""
        return [str(name) for name in self["pipeline"]] if "pipeline" in self else []

    def column(self, name: str) -> np.ndarray | None:
        """Return a dataset of /results over the pipelines only, or None."""
        path = f"results/{name}"
        if path not in self or self.axes(path) != ["pipeline"]:
            return None
        return self[path]

    @property
    def loss_label(self) -> str:
        """Name of the loss with its unit."""
        return LOSSES.get(self.experiment, ((), "Loss"))[1]

    def _rows(self, name: str) -> list[Any]:
        """Return a value of each row of the program's table, None if it is absent."""
        return [row.get(name) for row in self.shown()["pipelines"]]

    @property
    def losses(self) -> np.ndarray:
        """Largest loss of every pipeline, with draws that of the worst draw; NaN if unknown.

        Of a sweep: the worst loss of every choice over the conditions where it succeeded. Choices have
        the order of `table`.
        """
        return np.array(self._rows("loss_most" if self.is_sweep else "loss"), float)

    def largest_loss(self, column: Callable[[str], np.ndarray | None]) -> np.ndarray:
        """Return the largest loss of columns of /results, with draws that of the worst draw; NaN: unknown."""
        names = LOSSES.get(self.experiment, ((), ""))[0]
        columns = [values for values in map(column, names) if values is not None]
        plain = np.max(columns, axis=0) if columns else np.full(len(self.pipelines), np.nan)
        draws, worst = column("draws"), column("loss_worst")
        return plain if draws is None or worst is None else np.where(draws > 1, worst, plain)

    @property
    def eligible(self) -> np.ndarray:
        """Whether each pipeline, or choice at every condition, finished with a known loss and a valid answer."""
        done = np.isfinite(self.losses)
        if self.is_sweep:
            counts = (f"statistics/points_{name}" for name in ("failed", "without_loss"))
            return done & ~np.any([self[path] > 0 for path in counts if path in self], axis=0)
        status, error = self.column("status"), self.column("qoi_relative_error")
        done &= True if status is None else status == "ok"
        return done & ~(False if error is None else error >= _LOST)

    @property
    def front(self) -> np.ndarray:
        """Whether each pipeline, or choice of a sweep, is on the Pareto front of loss and bytes of the operator."""
        return np.array(self._rows("on_front"), bool)

    @property
    def reference(self) -> int:
        """Index of the reference: the pipeline with that name, else the first."""
        return self.pipelines.index("reference") if "reference" in self.pipelines else 0

    def shown(self, *options: str) -> dict[str, Any]:
        """Return what the program shows, with further options of ``bitbudget show``."""
        if options not in self._shown:
            self._shown[options] = json.loads(program.run(["show", str(self.path), "--format", "json", *options]))
        return self._shown[options]

    def answer(self, max_loss: float | None = None, by: str = "bytes") -> str:
        """Return the answer of the program in words.

        Parameters
        ----------
        max_loss : float, optional
            Largest loss that is acceptable, in the unit of the experiment.
        by : {"bytes", "time", "joules", "cost"}
            Quantity to minimise; needs `max_loss`. Choices of a sweep have bytes only.
        """
        if by != "bytes" and self.is_sweep:
            raise UsageError(f"by = '{by}': choices of a sweep have bytes only; see .table")
        options = [] if max_loss is None else ["--max-loss", repr(float(max_loss))]
        options += [] if by == "bytes" else ["--by", by]
        return self.shown(*options)["files"][0]["answer"]

    @property
    def table(self) -> Any:
        """The table of the program as a pandas DataFrame, one row for each pipeline or choice."""
        import pandas

        shown = self.shown()
        table = pandas.DataFrame(shown["pipelines"]).set_index("pipeline")
        table.attrs = {field["key"]: f"{field['long_name']} [{field['unit']}]" for field in shown["fields"]}
        return table

    @property
    def plot(self) -> Any:
        """Pictures: ``result.plot.psf()``; ``dir(result.plot)`` lists those of this file."""
        from .plot import Plots

        return Plots(self)

    def report(self, path: str | os.PathLike[str], max_loss: float | None = None) -> Path:
        """Write a self-contained HTML page.

        Parameters
        ----------
        path : path-like
            File that ends in .html.
        max_loss : float, optional
            As in `answer`.
        """
        from .report import write

        return write(self, path, max_loss)

    def __repr__(self) -> str:
        return f"<bitbudget {'sweep' if self.is_sweep else 'result'} '{self._given}': {self.attrs.get('title', '')}>"

    def _repr_html_(self) -> str:
        from html import escape

        if not self.experiment:
            return escape(repr(self))
        return f"<p>{escape(self.answer())}</p>{self.table.to_html()}"


def _of_machines(path: str | os.PathLike[str]) -> Result:
    from . import machines

    title, columns = machines.read(path)
    file = h5py.File(str(path), "w", driver="core", backing_store=False)
    file.attrs.update(title=title, experiment="machines", source="bitbudget")
    for name, values in columns.items():
        text = h5py.string_dtype() if values.dtype == object else None
        file.create_dataset(f"machines/{name}", data=values, dtype=text)
    return Result(path, file)


def open(path: str | os.PathLike[str]) -> Result:  # noqa: A001
    """Open a result file, or the folder of a sweep.

    Parameters
    ----------
    path : path-like
        HDF5 file of a run, a sweep or a benchmark; a folder of a sweep, whose finished points are
        collected; or a table of machines in YAML, for its picture.
    """
    if Path(path).suffix in (".yaml", ".yml"):
        return _of_machines(path)
    if not Path(path).is_dir():
        return Result(path)
    folder = tempfile.TemporaryDirectory(prefix="bitbudget-")
    collected = Path(folder.name) / "sweep.h5"
    program.run(["sweep", "collect", str(path), "-o", str(collected), "--partial", "-q"])
    result = Result(collected)
    result._folder = folder
    return result
