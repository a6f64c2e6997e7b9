# SPDX-License-Identifier: Apache-2.0
"""Examples of the docstrings, and the public names."""
import doctest
import importlib
import pkgutil

import pytest

import bitbudget

MODULES = [name for _, name, _ in pkgutil.walk_packages(bitbudget.__path__, "bitbudget.") if "__main__" not in name]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), verbose=False)
    assert failed == 0


def test_public_names_are_documented():
    for name in bitbudget.__all__:
        assert getattr(bitbudget, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'quantize'"):
        bitbudget.quantize  # noqa: B018
