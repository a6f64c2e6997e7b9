# SPDX-License-Identifier: Apache-2.0
"""Errors with the exit codes of the program."""


class Error(Exception):
    """A failure, with a message for the user.

    Attributes
    ----------
    exit_code : int
        Exit code of the program for this kind of failure: 2 usage, 3 files, 4 memory, 5 device, 6
        internal.
    """

    exit_code = 6


class UsageError(Error, ValueError):
    """An invalid argument, configuration or number."""

    exit_code = 2


class NotPositiveDefiniteError(UsageError):
    """The matrix is not positive definite in the arithmetic of the factorization."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""

    exit_code = 3


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted."""

    exit_code = 4


class DeviceError(Error, RuntimeError):
    """A device is absent or failed."""

    exit_code = 5


class InternalError(Error, RuntimeError):
    """A defect of bitbudget or of a library."""


def of_exit_code(code: int, message: str) -> Error:
    """Return the error of an exit code of the program."""
    kinds = {kind.exit_code: kind for kind in (UsageError, FileError, OutOfMemoryError, DeviceError)}
    return kinds.get(code, InternalError)(message)
