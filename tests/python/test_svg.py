# SPDX-License-Identifier: Apache-2.0
"""SVG pictures of every kind: well-formed, equal when drawn again, with the texts of their marks."""
from xml.dom import minidom

import files
import pytest

import bitbudget as bb
from bitbudget import plot
from bitbudget.plot import style

FIXTURES = ("ao", "night", "wafer", "phase", "swept")


@pytest.fixture(scope="module")
def opened(request, folder):
    if request.param == "swept":
        return bb.open(files.swept(folder / "svg.h5"))
    if request.param == "phase":
        return bb.study("fringe/quick", {"size.columns": 96, "size.rows": 90}).run(folder / "phase.h5")
    return request.getfixturevalue(request.param)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("opened", FIXTURES, indirect=True)
def test_pictures_are_well_formed(opened):
    kinds = plot.available(opened)
    assert len(kinds) >= 3
    for row in kinds:
        figure = plot.draw(opened, row.name, size=(8.5, None))
        text = style.svg(figure)
        titles = {node.firstChild.data for node in minidom.parseString(text).getElementsByTagName("title")}
        for words in getattr(figure, "_hovers", {}).values():
            assert (words if isinstance(words, str) else words[0]) in titles, row.name
        assert text == style.svg(plot.draw(opened, row.name, size=(8.5, None))), row.name
