# SPDX-License-Identifier: Apache-2.0
"""Notebooks of examples/: every cell runs in a new folder, and its last value can be shown."""
import ast
import json
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"]):
        assert not cell.get("outputs"), f"cell {number} is stored with its output"
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        tree = ast.parse(source, f"{path.name}, cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
        exec(compile(tree, f"{path.name}, cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"{path.name}, cell {number}", "eval"), names)
            if hasattr(value, "_repr_html_") and not hasattr(value, "_repr_png_"):
                assert value._repr_html_(), f"cell {number}: {type(value)} shows nothing"
            assert "plot." not in source or value._repr_png_().startswith(b"\x89PNG"), f"cell {number} shows no picture"
    assert os.listdir(tmp_path) or path.stem in ("numerics", "metrology"), "nothing was written"
