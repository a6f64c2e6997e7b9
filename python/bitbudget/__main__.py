# SPDX-License-Identifier: Apache-2.0
"""Commands of the program that are implemented in Python: plot, report, import and try.

The program starts them with its own command line, after it has checked the options, the output
against the inputs, and the files that it can read.
"""
from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import time
from pathlib import Path

from .errors import Error, UsageError

_MODULES = {"plot": ("numpy", "h5py", "matplotlib"), "report": ("numpy", "h5py", "matplotlib", "jinja2"),
            "import": ("numpy", "h5py", "yaml"), "try": ("numpy", "h5py", "yaml")}
_VALUES = ("output", "kind", "size", "pipeline", "x", "y", "value", "exposure", "step", "max-loss", "tex",
           "device", "dataset", "shape", "lenslets", "sensor")
_SYSTEM_PYTHON = "/usr/bin/python3"


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Parse a command line whose options the program has checked."""
    parser = argparse.ArgumentParser("bitbudget", add_help=False)
    parser.add_argument("command", choices=_MODULES)
    parser.add_argument("files", nargs="+")
    options = {f"--{name}": {"step": int, "lenslets": int, "max-loss": float}.get(name, str) for name in _VALUES}
    for name, kind in options.items():
        parser.add_argument(name, type=kind)
    parser.add_argument("-o", dest="output")
    for names in (("--list",), ("--force",), ("-q", "--quiet"), ("-v", "--verbose")):
        parser.add_argument(*names, action="store_true")
    words, rest = [], iter(arguments)
    for word in rest:  # values may start with "-"
        word = "--output" if word == "-o" else word
        words.append(f"{word}={next(rest, '')}" if word in options else word)
    return parser.parse_intermixed_args(words)


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text, file=sys.stderr)


def _plot(options: argparse.Namespace) -> None:
    from . import plot, result

    if options.list:
        if len(options.files) != 1:
            raise UsageError(f"--list accepts one file, got {len(options.files)}")
        sys.stdout.write(plot.listing(result.open(options.files[0])))
        return
    if options.kind is None or options.output is None:
        raise UsageError("plot needs --kind KIND and -o FILE; 'bitbudget plot --list FILE' lists the kinds")
    from .plot import style

    plot.find(options.kind)
    style.check_output(options.output)
    size = style.parse_size(options.size) if options.size else None
    opened, *more = [result.open(file) for file in options.files]
    figure = plot.draw(opened, options.kind, size=size, x=options.x, y=options.y, pipeline=options.pipeline,
                       value=options.value, exposure=options.exposure, step=options.step, more=more or None)
    style.save(figure, options.output, options.force)
    _say(options, f"picture: {options.output}")


def _report(options: argparse.Namespace) -> None:
    from . import report, result

    if options.output is None and options.tex is None:
        raise UsageError("report needs -o REPORT.html, --tex DIR or both")
    source = options.files[0]
    opened = result.open(source)
    if options.output is not None:
        report.write(opened, options.output, options.max_loss, source)
        _say(options, f"report: {options.output}")
    if options.tex is not None:
        report.write_tex(opened, options.tex, options.force)
        _say(options, f"LaTeX: include {options.tex}/all.tex")


def _import(options: argparse.Namespace) -> None:
    from . import files, importers, output

    first = options.files[0]
    if Path(first).suffix in importers.KINDS:
        draft = importers.read(*options.files, lenslets=options.lenslets, sensor=options.sensor)
        if options.output is not None and Path(options.output).resolve() in draft.inputs:
            raise UsageError(f"output '{options.output}' is a file that is read")
        for note in draft.notes():
            _say(options, note)
        if options.output is None:
            sys.stdout.write(draft.text())
            return
        output.write(options.output, draft.text())
        _say(options, f"study: {options.output}")
        return
    if len(options.files) != 1 or Path(options.output or "").suffix not in (".h5", ".hdf5"):
        raise UsageError("import of an array needs one file and -o FILE.h5")
    names = files.store(files.read(first, options.dataset, files.parse_shape(options.shape)), options.output)
    _say(options, f"array: {options.output}, {', '.join(names)}")


def _try(options: argparse.Namespace) -> None:
    from . import files, program, trial

    loss = 1e-3 if options.max_loss is None else options.max_loss
    tried = trial.try_formats(options.files[0], loss, name=options.dataset, shape=files.parse_shape(options.shape),
                              output=options.output, device=options.device or "auto")
    sys.stdout.write(program.run(["show", str(tried.path), "--max-loss", repr(loss)]))
    _say(options, f"results: {tried.path}")


_COMMANDS = {"plot": _plot, "report": _report, "import": _import, "try": _try}


def _require(command: str) -> None:
    """Continue with the distribution's Python if this one lacks packages that ./setup installs there."""
    missing = [name for name in _MODULES[command] if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if os.path.realpath(sys.executable) != os.path.realpath(_SYSTEM_PYTHON) and os.access(_SYSTEM_PYTHON, os.X_OK):
        os.execv(_SYSTEM_PYTHON, [_SYSTEM_PYTHON, "-m", "bitbudget", *sys.argv[1:]])
    raise UsageError(f"'{command}' needs the Python packages {', '.join(missing)}; install them: "
                     f"apt-get install python3-{' python3-'.join(missing)}")


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit code of the program."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the reader of a list may end
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda found, _: sys.exit(128 + found))
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    try:
        _require(options.command)
        _COMMANDS[options.command](options)
        sys.stdout.flush()
    except Error as error:
        print(f"bitbudget: {error}", file=sys.stderr)
        return error.exit_code
    except MemoryError:
        print(f"bitbudget: out of memory in '{options.command}' of '{Path(options.files[0])}'", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
