# SPDX-License-Identifier: Apache-2.0
"""Commands of the program that are implemented in Python: plot and report.

The program starts them with its own command line, after it has checked the options, the output
against the inputs, and the files that it can read.
"""
from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import signal
import sys
import time
from pathlib import Path

from .errors import Error, UsageError

_MODULES = {"plot": ("numpy", "h5py", "matplotlib"), "report": ("numpy", "h5py", "matplotlib", "jinja2")}
_SYSTEM_PYTHON = "/usr/bin/python3"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bitbudget", add_help=False, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    plot = commands.add_parser("plot", allow_abbrev=False)
    plot.add_argument("files", nargs="+")
    plot.add_argument("--list", action="store_true")
    for name in ("kind", "size", "pipeline", "x", "y", "value", "exposure"):
        plot.add_argument(f"--{name}")
    plot.add_argument("--step", type=int)
    report = commands.add_parser("report", allow_abbrev=False)
    report.add_argument("files", nargs=1)
    report.add_argument("--max-loss", type=float)
    report.add_argument("--tex")
    for command in (plot, report):
        command.add_argument("-o", "--output")
        command.add_argument("--force", action="store_true")
        command.add_argument("-q", "--quiet", action="store_true")
        command.add_argument("-v", "--verbose", action="store_true")
    return parser


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
    if options.output is not None:
        report.check_name(options.output)
    opened = result.open(source)
    if options.output is not None:
        report.write(opened, options.output, options.max_loss, source)
        _say(options, f"report: {options.output}")
    if options.tex is not None:
        report.write_tex(opened, options.tex, options.force)
        _say(options, f"LaTeX: include {options.tex}/all.tex")


def _require(command: str) -> None:
    """Continue with the distribution's Python if this one lacks packages that ./setup installs there."""
    missing = [name for name in _MODULES[command] if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if os.path.realpath(sys.executable) != os.path.realpath(_SYSTEM_PYTHON) and os.access(_SYSTEM_PYTHON, os.X_OK):
        os.execv(_SYSTEM_PYTHON, [_SYSTEM_PYTHON, "-m", "bitbudget", *sys.argv[1:]])
    packages = " ".join(f"python3-{name}" for name in missing)
    raise UsageError(f"'{command}' needs the Python packages {', '.join(missing)}; install them: "
                     f"apt-get install {packages}")


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit code of the program."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = _parser().parse_args(arguments)
    try:
        _require(options.command)
        {"plot": _plot, "report": _report}[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a list ended
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Error as error:
        print(f"bitbudget: {error}", file=sys.stderr)
        return error.exit_code
    except MemoryError:
        print(f"bitbudget: out of memory in '{options.command}' of '{Path(options.files[0])}'", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
