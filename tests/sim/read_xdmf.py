#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks an XDMF file: every reference names a dataset of doubles with the stated extent, every grid has
a topology and a geometry, every array as many values as the grid has points or cells."""
import os
import sys
import xml.etree.ElementTree as tree

try:
    import h5py
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

path, grids, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
root = tree.parse(path).getroot()
assert root.tag == "Xdmf" and root.get("Version") == "3.0", root.attrib
names, references = [], 0


def extent(element):
    return tuple(int(word) for word in element.get("Dimensions").split())


def size(element):
    product = 1
    for length in extent(element):
        product *= length
    return product


for grid in root.iter("Grid"):
    if grid.get("GridType") == "Collection":
        continue
    names.append(grid.get("Name"))
    topology, geometry = grid.find("Topology"), grid.find("Geometry")
    if topology.get("TopologyType") == "Polyvertex":
        points = cells = int(topology.get("NumberOfElements"))
        assert extent(topology.find("DataItem")) == (points,)
        assert extent(geometry.find("DataItem")) == (points, 3)
    else:
        layers, rows, columns = extent(topology)
        cells = (layers - 1) * (rows - 1) * (columns - 1)
        origin, sides = (item.text.split() for item in geometry.findall("DataItem"))
        assert len(origin) == len(sides) == 3 and all(float(side) > 0.0 for side in sides)
    for attribute in grid.findall("Attribute"):
        components = 3 if attribute.get("AttributeType") == "Vector" else 1
        count = cells if attribute.get("Center") == "Cell" else points
        assert size(attribute.find("DataItem")) == count * components, attribute.attrib
for item in root.iter("DataItem"):
    if item.get("Format") != "HDF":
        continue
    name, dataset = item.text.strip().rsplit(":", 1)
    assert "/" not in name, name
    with h5py.File(os.path.join(os.path.dirname(path), name), "r") as file:
        assert file[dataset].shape == extent(item), (dataset, file[dataset].shape)
        assert file[dataset].dtype == "float64" and item.get("Precision") == "8"
        if dataset == "/view/point":
            assert list(file[dataset]) == list(range(len(file[dataset])))
    references += 1
assert len(names) == grids, names
assert len(list(root.iter("Time"))) == times
print(references, "references,", grids, "grids:", ", ".join(sorted(set(names))))
