# SPDX-License-Identifier: Apache-2.0
"""The page of validation: its rows are those of the studies, its sums right."""
import re
from pathlib import Path

import pytest

import bitbudget as bb
from bitbudget import validate

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "manual" / "validation.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+\.?\d*")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("mode", validate.MAOS[:2], ids=lambda mode: mode.study)
def test_rows_are_those_of_the_page(mode, tmp_path):
    """The fast modes are computed again; others have the same code."""
    line, met = validate.row(mode, bb.study(f"validation/{mode.study}").run(tmp_path / "v.h5", device="cpu"))
    shown = next(found for found in PAGE.splitlines() if found.startswith(line[:12]))
    assert met and "within 5 %" in shown
    assert [float(value) for value in NUMBER.findall(line)] == pytest.approx([float(value) for value in NUMBER.findall(shown)], rel=0.01, abs=0.2)


def test_every_mode_is_on_the_page():
    assert all(f"`{mode.study}` | `{mode.arguments}` | {mode.runs}" in PAGE for mode in validate.MAOS)
    assert f"{PAGE.count('| within 5 % |')} of {len(validate.MAOS)} modes are within 5 %." in PAGE
    assert PAGE.startswith(validate.HEAD)


def test_fields_are_weighted():
    class Stub:
        reference = 0
        values = {"results/residual_rms_by_nm": [[3.0, 4.0]], "results/residual_tilt_by_nm": [[0.0, 2.0]], "study/target_weight": [3.0, 1.0]}

        def __contains__(self, name):
            return name in self.values

        def __getitem__(self, name):
            import numpy as np

            return np.array(self.values[name])

    total, tilt = validate.residual(validate.MAOS[0], Stub())
    assert total == pytest.approx(((3 * 9 + 16) / 4) ** 0.5) and tilt == pytest.approx(1.0)
