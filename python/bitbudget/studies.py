# SPDX-License-Identifier: Apache-2.0
"""Studies: configurations that the program checks, runs and sweeps."""
from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from . import program
from .errors import FileError
from .result import Result
from .result import open as open_result

_MARK = "# Plan of bitbudget.Study.sweep\n"


class Plan(str):
    """Text of a checked plan, shown as it is in notebooks."""

    def __repr__(self) -> str:
        return str(self)


def _plain(value: Any) -> Any:
    """Numpy numbers and tuples as those of Python."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False)


def _kept(name: str, ending: str, content: str | np.ndarray) -> Path:
    """Write a text or an array to a file named by its content, so that results can be repeated later."""
    data = content.encode() if isinstance(content, str) else np.ascontiguousarray(content).tobytes()
    about = "" if isinstance(content, str) else f"{content.dtype} {content.shape}"
    digest = hashlib.sha256(about.encode() + data).hexdigest()[:12]
    path = Path("outputs") / f"{name}-{digest}.{ending}"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        part = path.with_suffix(".part")
        if isinstance(content, str):
            part.write_text(content, encoding="utf-8")
        else:
            with h5py.File(part, "w") as file:
                file["array"] = content
        part.replace(path)
    return path.resolve()


def _stored(value: Any) -> Any:
    """Values of a configuration: matrices are written to files, named with their dataset."""
    if isinstance(value, Mapping):
        stored = {str(key): _stored(item) for key, item in value.items()}
        if isinstance(stored.get("file"), str) and os.path.exists(stored["file"]):
            stored["file"] = os.path.abspath(stored["file"])  # the study is stored in another folder
        return stored
    if isinstance(value, np.ndarray) and value.ndim >= 2:
        return {"file": str(_kept("array", "h5", value)), "dataset": "/array"}
    return [_stored(item) for item in value] if isinstance(value, list) else _plain(value)


class Study:
    """A configuration with overrides; see `study`."""

    def __init__(self, base: str | os.PathLike[str] | Mapping[str, Any],
                 overrides: Mapping[str, Any] | None = None) -> None:
        self._whole = _stored(base) if isinstance(base, Mapping) else None
        self._file = os.fspath(base) if self._whole is None else str(_kept("study", "yaml", _yaml(self._whole)))
        self.overrides = {key: _stored(value) for key, value in (overrides or {}).items()}

    def _arguments(self) -> list[str]:
        found = []
        for key, value in self.overrides.items():
            if isinstance(value, dict):
                found += [f"{key}.{name}={_word(item)}" for name, item in value.items()]
            else:
                found.append(f"{key}={_word(value)}")
        return [self._file, *found]

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
        name = Path(self._file).stem if os.path.exists(self._file) else self._file.replace("/", "-")
        folder = Path(folder or f"outputs/sweep-{name}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        base = os.path.abspath(self._file) if os.path.exists(self._file) else self._file
        whole = {"base": base} if self._whole is None else self._whole
        plan = folder.with_name(f"{folder.name}.yaml")
        if plan.exists() and not plan.read_text(encoding="utf-8").startswith(_MARK):
            raise FileError(f"cannot write the plan '{plan}': a file of that name exists; choose another folder")
        text = _MARK + _yaml({**whole, "sweep": {"axes": _plain(axes), **_plain(settings)}})
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
        program.run(["sweep", *words, *(["--jobs", str(jobs)] if jobs else [])], progress)
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
        self.folder = Path(folder)
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
    value = _plain(value)
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
