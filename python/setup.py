# SPDX-License-Identifier: Apache-2.0
"""Adds the built C library and its header to the package, so that it works without a build tree."""
import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

SOURCE = Path(__file__).resolve().parents[1]


class BuildWithLibrary(build_py):
    """Copies libbitbudget.so.0 and bitbudget.h into bitbudget/_lib."""

    def run(self) -> None:
        """Build the package and copy the files."""
        super().run()
        library = Path(os.environ.get("BITBUDGET_LIBRARY", SOURCE / "build" / "lib" / "libbitbudget.so.0"))
        header = Path(os.environ.get("BITBUDGET_HEADER", SOURCE / "lib" / "bitbudget.h"))
        if not library.exists() or not header.exists():
            raise SystemExit(f"no {library} or {header}: run ./setup python first, or set BITBUDGET_LIBRARY and "
                             "BITBUDGET_HEADER")
        folder = Path(self.build_lib) / "bitbudget" / "_lib"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(library.resolve(), folder / "libbitbudget.so.0")
        shutil.copy(header, folder / "bitbudget.h")


class Wheel(bdist_wheel):
    """A wheel for any version of Python: the library is loaded by cffi at run time."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags of any Python 3 and of the platform."""
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    """A wheel for one platform."""

    def has_ext_modules(self) -> bool:
        """Return True: the package has a library of the platform."""
        return True


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": Wheel}, distclass=BinaryDistribution)
