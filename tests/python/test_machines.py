# SPDX-License-Identifier: Apache-2.0
"""Tables of machines: derived rates, and problems by name."""
import numpy as np
import pytest

import bitbudget as bb

ROW = ("{name: A, kind: gpu, year: 2016, single_gflop_per_s: 100, memory_gb_per_s: 50, memory: HBM2, memory_gb: 16, power_w: 250, "
       "source: sheet, price_usd: 500, price_year: 2016, price_source: list}")


def table(tmp_path, *rows):
    path = tmp_path / "m.yaml"
    path.write_text("title: machines\nmachines:\n" + "".join(f"  - {row}\n" for row in rows))
    return path


def test_rates_follow_from_the_numbers(tmp_path):
    cheap = ROW.replace("single_gflop_per_s: 100", "single_gflop_per_s: 10").replace(
        ", price_usd: 500, price_year: 2016, price_source: list", "")
    opened = bb.open(table(tmp_path, ROW, cheap))
    # 50 GB/s at half an operation per byte, and the peak where that is lower.
    assert opened["machines/product_flops_per_s"].tolist() == [25e9, 10e9]
    assert opened["machines/product_flops_per_usd"][0] == 25e9 / 500
    assert opened["machines/product_flops_per_w"][0] == 25e9 / 250
    assert np.isnan(opened["machines/price_usd"][1])


@pytest.mark.parametrize(("change", "message"), [
    ((", price_year: 2016", ""), "machines\\[0\\] \\(A\\): set all of price_usd, price_year and price_source"),
    (("kind: gpu", "kind: tpu"), "kind = tpu, expected one of cpu, gpu, fpga"),
    (("year: 2016,", "year: 1900,"), "year = 1900, expected a number above 1950"),
    (("source: sheet", "sources: sheet"), "unknown key sources"),
    (("memory_gb: 16", "memory_gb: much"), "memory_gb = much, expected a number"),
])
def test_problems_are_named(tmp_path, change, message):
    with pytest.raises(bb.UsageError, match=message):
        bb.open(table(tmp_path, ROW.replace(*change)))
