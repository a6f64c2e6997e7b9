# SPDX-License-Identifier: Apache-2.0
"""Studies: configurations that the program checks, runs and sweeps."""
from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from . import output as outputs
from . import program
from .errors import FileError, UsageError
from .result import Result
from .result import open as open_result

_MARK = "# Plan of bitbudget.Study.sweep\n"


class Plan(str):
    """Text of a checked plan, shown as it is in notebooks."""

    def __repr__(self) -> str:
        return str(self)


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False)


def _kept(name: str, content: str | np.ndarray) -> str:
    """Write a text or an array to a file named by its content, so that results can be repeated later."""
    text = isinstance(content, str)
    digest = hashlib.sha256(b"" if text else f"{content.dtype} {content.shape}".encode())
    digest.update(content.encode() if text else np.ascontiguousarray(content))
    path = Path(f"outputs/{name}-{digest.hexdigest()[:12]}.{'yaml' if text else 'h5'}").absolute()
    path.parent.mkdir(exist_ok=True)
    if not path.exists() and text:
        outputs.write(path, content)
    elif not path.exists():
        with outputs.made(path) as part, h5py.File(part, "w") as file:  # closed before it gets its name
            file["array"] = content
    return str(path)


def _plain(value: Any, key: str = "") -> Any:
    """Values of a configuration as those of Python; matrices are written to files, named with their dataset."""
    if isinstance(value, Mapping):
        plain = {str(name): _plain(item, f"{key}.{name}".lstrip(".")) for name, item in value.items()}
        if isinstance(plain.get("file"), str) and os.path.exists(plain["file"]):
            plain["file"] = os.path.abspath(plain["file"])  # the study is stored in another folder
        return plain
    if isinstance(value, (list, tuple, range)):
        nested = np.array(value, object) if value and isinstance(value[0], (list, tuple)) else np.empty(0)
        if nested.ndim < 2 or not all(isinstance(item, Real) for item in nested.flat):
            return [_plain(item, f"{key}[{i}]") for i, item in enumerate(value)]
        value = nested.astype(float)
    if hasattr(value, "__array__"):
        if np.ma.is_masked(value):
            raise UsageError(f"{key}: {np.ma.count_masked(value)} values are masked; fill them first")
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise UsageError(f"{key}: {error}") from None
        if array.ndim < 2:
            return _plain(array.tolist(), key)
        if array.dtype.kind not in "biuf":
            raise UsageError(f"{key}: an array of {array.dtype}; expected real numbers")
        return {"file": _kept("array", array.astype(float, copy=False)), "dataset": "/array"}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise UsageError(f"{key}: a value of type {type(value).__name__}; use numbers, texts, lists, records or arrays")


class Study:
    """A configuration with overrides; see `study`."""

    def __init__(self, base: str | os.PathLike[str] | Mapping[str, Any],
                 overrides: Mapping[str, Any] | None = None) -> None:
        self._whole = _plain(base) if isinstance(base, Mapping) else None
        self._file = os.fspath(base) if self._whole is None else _kept("study", _yaml(self._whole))
        if os.path.isfile(self._file):
            self._file = os.path.abspath(self._file)
        self.overrides = _plain(overrides or {})

    def _arguments(self) -> list[str]:
        pairs = [(f"{key}.{name}".rstrip("."), item) for key, value in self.overrides.items()
                 for name, item in (value if isinstance(value, dict) else {"": value}).items()]
        return [self._file, *(f"{key}={_word(item)}" for key, item in pairs)]

    def check(self, device: str = "auto") -> Plan:
        """Return the plan: sizes, memory, time and output. Nothing is computed.

        Raises
        ------
        UsageError
            With all problems of the configuration.
        """
        return Plan(program.run(["check", *self._arguments(), "--device", device]))

    def run(self, output: str | os.PathLike[str] | None = None, *, device: str = "auto", threads: int | None = None,
            max_loss: float | None = None, dump: Sequence[str] = (), progress: bool = False) -> Result:
        """Run the study and open its result.

        Parameters
        ----------
        output : path-like, optional
            Result file, replaced if it exists; the default is ``outputs/<experiment>-<name>.h5``.
        device : str
            "auto", "cpu", "cuda" or "opencl".
        threads : int, optional
            Number of threads; the default is all processors.
        max_loss : float, optional
            Limit of the loss in the answer.
        dump : sequence of str
            Operators to add to the file, such as "R".
        progress : bool
            Show messages and progress.
        """
        words = ["run", *self._arguments(), "--device", device, "--force"]
        given = {"-o": output, "--threads": threads, "--max-loss": max_loss, "--dump": ",".join(dump)}
        for name, value in given.items():
            words += [] if value in (None, "") else [name, str(value)]
        text = program.run(words, progress)
        found = re.search(r"^results: (.*)$", text, re.M)
        return Result(found.group(1) if found else os.fspath(output))

    def sweep(self, axes: Mapping[str, Any], *, folder: str | os.PathLike[str] | None = None, jobs: int | None = None,
              device: str = "auto", submit: Sequence[str] | bool = False, progress: bool = False,
              **settings: Any) -> Any:
        """Run the study over values of its keys; a call with the same folder continues it.

        Parameters
        ----------
        axes : mapping
            For each key its values: a sequence, or a record such as ``{"from": 0, "to": 45, "step": 5}``.
        folder : path-like, optional
            Folder of the points; the collected file has its name and ends in .h5. The default is
            ``outputs/sweep-<name>``.
        jobs : int, optional
            Number of points computed at once.
        device : str
            "auto", "cpu", "cuda" or "opencl".
        submit : bool or sequence of str
            Submit an array job to Slurm, with further options of ``sbatch``.
        progress : bool
            Show messages and progress.
        **settings
            Further keys of ``sweep:``: zip, lhs, sobol, seeds, exclude, shards, keep, ...

        Returns
        -------
        Result or Submitted
            The collected sweep, or the submitted one.
        """
        name = Path(self._file).stem if os.path.isabs(self._file) else self._file.replace("/", "-")
        folder = Path(folder or f"outputs/sweep-{name}")
        if str(folder).startswith("-"):
            raise UsageError(f"folder = '{folder}': the program reads this as an option; use './{folder}'")
        folder.parent.mkdir(parents=True, exist_ok=True)
        whole = {"base": self._file} if self._whole is None else self._whole
        plan = folder.with_name(f"{folder.name}.yaml")
        if plan.exists() and not plan.read_text(encoding="utf-8").startswith(_MARK):
            raise FileError(f"cannot write the plan '{plan}': a file of that name exists; choose another folder")
        # The items of an axis are values of its key, also if they are lists.
        values = {key: _plain(items, key) if isinstance(items, (Mapping, str)) or not np.iterable(items)
                  else [_plain(item, key) for item in items] for key, items in axes.items()}
        text = _MARK + _yaml({**whole, "sweep": {"axes": values, **_plain(settings)}})
        if plan.exists() and folder.exists() and plan.read_text(encoding="utf-8") != text:
            raise FileError(f"folder '{folder}' has the points of another plan, see '{plan}'; choose another folder")
        plan.write_text(text, encoding="utf-8")
        words = [str(plan), *self._arguments()[1:]]
        if submit:
            if not (folder / "plan.json").exists():
                program.run(["sweep", "plan", words[0], str(folder), *words[1:], "--device", device])
            options = ["--", *submit] if not isinstance(submit, bool) else []
            program.run(["sweep", "submit", str(folder), "--slurm", *options], progress)
            return Submitted(folder)
        output = folder.with_name(f"{folder.name}.h5")
        words += ["-o", str(output), "--device", device, "--force"]
        program.run(["sweep", *words, *([] if jobs is None else ["--jobs", str(jobs)])], progress)
        return Result(output)

    def __repr__(self) -> str:
        return f"<bitbudget study '{self._file}' {self.overrides}>"


class Submitted:
    """A sweep that a cluster computes.

    Parameters
    ----------
    folder : path-like
        Folder of the sweep.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()
        if not self.folder.is_dir():
            raise FileError(f"cannot read '{folder}': no such folder of a sweep")

    def status(self) -> Plan:
        """Return the numbers of finished, failed and open points."""
        return Plan(program.run(["sweep", "status", str(self.folder)]))

    def open(self) -> Result:
        """Return the points that are finished so far."""
        return open_result(self.folder)


def _word(value: Any) -> str:
    """Return a value as the command line takes it."""
    # A word is passed as it is; other texts are quoted, so that ": " and " #" stay in them.
    return value if isinstance(value, str) and re.fullmatch(r"[\w./+-]+", value) else json.dumps(value)


def study(base: str | os.PathLike[str] | Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> Study:
    """Return a study.

    Parameters
    ----------
    base : str, path-like or mapping
        Name of a shipped study ("ao/quick"), a YAML file, or a whole configuration. Arrays with two or
        more axes may stand where the configuration names a file with a matrix, a map or frames.
    overrides : mapping, optional
        Values by key: ``{"sensors.lenslets": 10}``.

    Examples
    --------
    >>> import bitbudget
    >>> plan = bitbudget.study("ao/quick", {"sensors.lenslets": 10}).check()
    >>> "Strehl ratio" in plan
    True
    """
    return Study(base, overrides)
