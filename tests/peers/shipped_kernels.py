#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every shipped kernel against numpy: shipped_kernels.py PROGRAM [--device opencl] [NAME ...].

Independent implementations of configs/kernels/, written from the comments and names of each
description alone. They work on whole arrays and where possible by another method (two-colour grids
as whole grids, carriers by complex numbers, narrow formats by numpy). `bitbudget kernel run`
computes the same from the same datasets: odd and tiny sizes, NaN, Inf, subnormals and both zeros,
each type and mixtures of types. Integers, counts, copies and maxima must be equal; all else must
agree within OPERATIONS rounding errors of the narrowest type involved. A file without a case is an
error.

--device compares the bits of another device with those of the CPU, in one choice of types for each
kernel. NAMEs are files without extension; the default is all files. Exit 77: numpy, h5py or the
device is missing.
"""
import argparse
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import types

try:
    import h5py
    import numpy as np
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import nightly

KERNELS = ROOT / "configs" / "kernels"
TURN = 2 * np.pi
BEYOND_ALL = 1e20  # lower bound of thresholds and samples that stand for "none"
UNWRITTEN = 7  # initial value of elements that no point writes
NUMPY = {"SP": np.float32, "DP": np.float64, "SP2": np.complex64, "DP2": np.complex128,
         "INT32": np.int32, "B": np.uint8}
WIDE = {"f": np.longdouble, "c": np.clongdouble, "i": np.int64, "u": np.int64}
PARTS = ("SP2", "DP2")  # types with a last axis for real and imaginary parts
ROUNDING = {"SP": 2.0**-24, "SP2": 2.0**-24, "DP": 2.0**-53, "DP2": 2.0**-53}
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40)
# Columns and rows of a grid, and whether its numbers include SPECIALS. The first set has more
# elements than a chunk of a sum.
SETS = {"odd": (137, 91, False), "tiny": (1, 1, False), "flat": (5, 2, False), "special": (29, 31, True)}


class Maker:
    """Generates the numbers of one set; `dots` is the number of grid points."""

    def __init__(self, name):
        self.columns, self.rows, self.special = SETS[name]
        self.dots = self.columns * self.rows
        self.random = np.random.default_rng(list(name.encode()))

    def field(self, *shape, scale=1.0):
        a = scale * self.random.uniform(-1, 1, shape)
        if self.special:
            place = self.random.random(shape) < 0.04
            a[place] = self.random.choice(SPECIALS, place.sum())
        return a

    def grid(self, scale=1.0):
        return self.field(self.rows, self.columns, scale=scale)

    def plain(self, *shape, scale=1.0):
        return scale * self.random.uniform(-1, 1, shape)

    def mask(self, share=0.8):
        return (self.random.random((self.rows, self.columns)) < share).astype(int)

    def edges(self, values=(0, 1)):
        """Weights of the edges to the right and downwards; none leaves the grid."""
        wx, wy = self.random.choice(values, (2, self.rows, self.columns)).astype(float)
        wx[:, -1] = wy[-1] = 0
        return wx, wy

    def runs(self, count, dots):
        """Start of each of `count` runs, followed by the end of the last one."""
        return np.sort(np.concatenate(([0, dots], self.random.integers(0, dots + 1, count - 1))))


def unwritten(*shape):
    return np.full(shape, float(UNWRITTEN))


# Grids


def shifted(a, right, down, edge="constant"):
    """Neighbour at (`right`, `down`) of each element; outside the grid 0, or the edge value if
    edge="edge"."""
    rows, columns = a.shape
    wide = np.pad(a, max(abs(right), abs(down)), edge)
    reach = max(abs(right), abs(down))
    return wide[reach + down:reach + down + rows, reach + right:reach + right + columns]


def halved(extent):
    return (extent + 1) // 2


def extended(a, columns, rows):
    return np.pad(a, ((0, max(0, rows - a.shape[0])), (0, max(0, columns - a.shape[1]))))[:rows, :columns]


def packed(grid, colour, margin=0):
    """Points of one colour in a packed array; red (0) has even column + row."""
    rows, columns = grid.shape
    half = halved(columns)
    whole = extended(grid, 2 * half, rows)
    out = np.full((rows + 3, half + 3), margin, grid.dtype)
    for y in range(rows):
        out[y + 1, 1:half + 1] = whole[y, (y + colour) % 2::2]
    return out


def unpacked(red, black):
    """The grid of the points `red` and `black`, with an even number of columns."""
    rows, half = red.shape[0] - 3, red.shape[1] - 3
    grid = np.zeros((rows, 2 * half), red.dtype)
    for y in range(rows):
        grid[y, y % 2::2] = red[y + 1, 1:half + 1]
        grid[y, 1 - y % 2::2] = black[y + 1, 1:half + 1]
    return grid


def by_colour(own, other, colour):
    return unpacked(*((own, other) if colour == 0 else (other, own)))


def pull_and_weight(u, wx, wy):
    left, above = shifted(wx, -1, 0), shifted(wy, 0, -1)
    pull = wx * shifted(u, 1, 0) + left * shifted(u, -1, 0) + wy * shifted(u, 0, 1) + above * shifted(u, 0, -1)
    return pull, wx + left + wy + above


def residual(u, f, wx, wy):
    left, above = shifted(wx, -1, 0), shifted(wy, 0, -1)
    return (f - wx * (shifted(u, 1, 0) - u) - left * (shifted(u, -1, 0) - u)
            - wy * (shifted(u, 0, 1) - u) - above * (shifted(u, 0, -1) - u))


def swept(u, f, wx, wy, colour, otherwise):
    """`u` after solving for the points of one colour; points without edges get `otherwise`."""
    pull, weight = pull_and_weight(u, wx, wy)
    y, x = np.indices(u.shape)
    solved = np.where(weight > 0, (pull - f) / weight, otherwise)
    return np.where((x + y) % 2 == colour, solved, u)


def added_children(fine, columns, rows):
    """Sums over 2 x 2 fine points, on a coarse grid of the given size; 0 outside the fine grid."""
    fine = extended(fine, 2 * columns, 2 * rows)
    return fine[::2, ::2] + fine[::2, 1::2] + fine[1::2, ::2] + fine[1::2, 1::2]


def interpolated(coarse, columns, rows):
    """Bilinear interpolation between centres of 2 x 2 cells; constant beyond the outer centres."""
    def places(count, cells):
        at = (np.arange(count) + 0.5) / 2 - 0.5
        first = np.floor(at).astype(int)
        return np.clip(first, 0, cells - 1), np.clip(first + 1, 0, cells - 1), at - first

    left, right, u = places(columns, coarse.shape[1])
    above, below, v = places(rows, coarse.shape[0])
    along = coarse[:, left] * (1 - u) + coarse[:, right] * u
    return along[above] * (1 - v)[:, None] + along[below] * v[:, None]


def wrap(angle):
    return angle - TURN * np.rint(angle / TURN)


def row_sums(a):
    return sum(shifted(a, k, 0) for k in range(-4, 5))


def window_rows(sums, rows):
    return sum(sums[k:k + rows] for k in range(9))


# Expected results of each kernel: a function for its data, by object and parameter, and one for
# results.


def vectors(make, *names, **more):
    return {name: make.field(make.dots) for name in names} | more


def grids(make, *names, **more):
    return {name: make.grid() for name in names} | more


def matrix_times_vector(make):
    return {"A": make.grid(), "b": make.field(make.columns), "c": unwritten(make.rows)}


def coarse_shape(make):
    return halved(make.rows), halved(make.columns)


def four_steps(make):
    frames = make.random.integers(0, 4096, (4, make.dots))
    frames[:, 0] = 5  # a point without fringes
    return {"frames": frames, "cosines": np.array([1, 0, -1, 0.0]), "sines": np.array([0, -1, 0, 1.0]),
            "wrapped": unwritten(make.dots)}


def four_step_phase(d):
    c = d.cosines @ d.frames
    s = d.sines @ d.frames
    return {"wrapped": np.arctan2(s, c)}


def carrier_data(make):
    reach = 4
    y = np.arange(make.rows)
    return {"across": make.plain(make.rows, make.columns), "along": make.plain(make.rows, make.columns),
            "window": np.hanning(2 * reach + 3)[1:-1], "cosine": np.cos(0.7 * y), "sine": np.sin(0.7 * y),
            "wrapped": unwritten(make.rows, make.columns), "reach": reach}


def carrier_phase(d):
    z = (d.across + 1j * d.along) * (d.cosine - 1j * d.sine)[:, None]
    z = sum(w * shifted(z, 0, k - d.reach) for k, w in enumerate(d.window))
    return {"wrapped": np.arctan2(z.imag, z.real)}


def carrier_rows_data(make):
    reach = 5
    x = np.arange(make.columns)
    return {"frame": make.random.integers(0, 256, (make.rows, make.columns)), "inside": make.mask(),
            "mean": np.array([127.3]), "window": np.hanning(2 * reach + 3)[1:-1], "cosine": np.cos(0.9 * x),
            "sine": np.sin(0.9 * x), "across": unwritten(make.rows, make.columns),
            "along": unwritten(make.rows, make.columns), "reach": reach}


def carrier_rows(d):
    z = d.inside * (d.frame - d.mean[0]) * (d.cosine - 1j * d.sine)
    z = sum(w * shifted(z, k - d.reach, 0) for k, w in enumerate(d.window))
    return {"across": z.real, "along": z.imag}


def frame_mean_data(make):
    inside = make.mask()
    inside[0, 0] = 1
    return {"frame": make.random.integers(0, 65536, inside.shape), "inside": inside, "mean": unwritten(1),
            "points": int(inside.sum())}


def pixel_data(make):
    pairs = make.random.integers(-2**31, 2**31, make.dots)
    pairs[:5] = (-2**31, 2**31 - 1, -1, 65536, -65536)[:len(pairs)]
    return {"pairs": pairs, "frames": unwritten(2 * make.dots)}


def pixels(d):
    return {"frames": d.pairs.astype("<i4").view("<u2").astype(np.int64)}


def mixed_data(make):
    return {"A": make.field(make.rows + 3, make.columns), "b": make.field(make.columns),
            "c": unwritten(make.rows), "first": 2}


def mixed_product(d):
    """Products in FACTOR, each rounded if SUM is wider, so that the bound is that of rounding the
    sums."""
    factor = NUMPY[d.types["FACTOR"]]
    rows = d.A[d.first:d.first + d.c.size]
    if d.types["SUM"] != d.types["FACTOR"]:
        return {"c": (rows.astype(factor) * d.b.astype(factor)).astype(np.longdouble).sum(axis=1)}
    return {"c": rows.astype(factor).astype(np.longdouble) @ d.b}


def row_gradient(d):
    difference = shifted(d.wrapped, 1, 0, "edge") - d.wrapped
    w = difference - TURN * np.floor((difference + np.pi) / TURN)
    near = np.abs(w) < d.limit
    return {"gx": np.where(near, w, 0), "wx": np.where(near, d.wx, 0)}


def laplace9(d):
    edges = sum(shifted(d.u, x, y) for x, y in ((-1, 0), (1, 0), (0, -1), (0, 1)))
    corners = sum(shifted(d.u, x, y) for x in (-1, 1) for y in (-1, 1))
    return {"v": (4 * edges + corners - 20 * d.u) / 6}


def restriction_data(make):
    wx, wy = (np.abs(a) for a in (make.grid(), make.grid()))
    return {"u": make.grid(), "f": make.grid(), "wx": wx, "wy": wy, "coarse": unwritten(*coarse_shape(make))}


def restriction(d):
    rows, columns = d.coarse.shape
    return {"coarse": added_children(residual(d.u, d.f, d.wx, d.wy), columns, rows)}


def sparse_data(make):
    entries = 4 * make.rows
    return {"row_start": make.runs(make.rows, entries), "column": make.random.integers(0, make.columns, entries),
            "value": make.field(entries), "x": make.field(make.columns), "y": unwritten(make.rows)}


def sparse_product(d):
    starts = d.row_start
    return {"y": np.array([np.sum(d.value[a:b] * d.x[d.column[a:b]]) for a, b in zip(starts, starts[1:])])}


def sweep_data(make, colour):
    wx, wy = make.edges((0, 0, 0.3, 1))
    return {"u": make.grid(), "f": make.grid(), "wx": wx, "wy": wy, "colour": colour}


def angle_data(make):
    runs, parts = 2 * make.rows, make.rows
    return {"cosines": make.plain(runs), "sines": make.plain(runs), "starts": make.runs(parts, runs),
            "pistons": unwritten(parts)}


def triangle(turns):
    """Triangle wave with the period and extrema of the cosine."""
    return 1 - 4 * np.abs(turns - np.rint(turns))


def triangle_angles(d):
    """Angle of (c, s) for triangle waves: the angle whose waves have the same ratio and signs."""
    c = np.array([np.sum(d.cosines[a:b]) for a, b in zip(d.starts, d.starts[1:])])
    s = np.array([np.sum(d.sines[a:b]) for a, b in zip(d.starts, d.starts[1:])])
    size = np.abs(c) + np.abs(s)
    from_axis = np.where(size > 0, np.abs(s) / np.where(size > 0, size, 1), 0) * (np.pi / 2)
    return {"pistons": np.where(s < 0, -1, 1) * np.where(c < 0, np.pi - from_axis, from_axis)}


def bracket_data(make, share, first=0):
    thresholds = np.append(np.linspace(0.125, 3.0, 15), 1e35)
    totals = np.sort(make.random.integers(first, 1000, 15))
    return {"thresholds": thresholds, "totals": np.append(totals, int(totals[-1] / share)).astype(float),
            "narrower": unwritten(16)}


def narrower_bracket(d):
    """Bracket of the median: from the last threshold below half of the total to the first at or
    above it."""
    below = np.sum(2 * d.totals[:15] < d.totals[15])
    low, high = d.thresholds[max(below - 1, 0)], d.thresholds[min(below, 14)]
    return {"narrower": np.append(low + (high - low) * np.arange(15) / 14, d.thresholds[15])}


def change_data(make):
    turns = make.random.integers(-2, 3, (make.rows, make.columns))
    before = make.plain(make.rows, make.columns, scale=20)
    return {"phase": before + TURN * turns, "before": before, "inside": make.mask(), "count": unwritten(1)}


def changes(d):
    moved = np.rint((d.phase - d.before) / TURN) != 0
    return {"count": np.array([np.sum(moved & (d.inside > 0))])}


def weights_of_colours(wx, wy):
    return {"red_wx": packed(wx, 0), "black_wx": packed(wx, 1), "red_wy": packed(wy, 0), "black_wy": packed(wy, 1)}


def coarse_of_a_colour(make):
    rows, columns = coarse_shape(make)
    return unwritten(rows + 3, halved(columns) + 3)


def coarsen_data(make, colour):
    wx, wy = make.edges((0, 0.2, 0.7, 1))
    return weights_of_colours(wx, wy) | {"cx": coarse_of_a_colour(make), "cy": coarse_of_a_colour(make),
                                         "colour": colour}


def coarse_weights(d):
    rows, columns = d.cx.shape[0] - 3, 2 * (d.cx.shape[1] - 3)
    wx = extended(unpacked(d.red_wx, d.black_wx), 2 * columns, 2 * rows)
    wy = extended(unpacked(d.red_wy, d.black_wy), 2 * columns, 2 * rows)
    right = (wx[::2, 1::2] + wx[1::2, 1::2]) / 2
    below = (wy[1::2, ::2] + wy[1::2, 1::2]) / 2
    return {"cx": packed(right, d.colour, UNWRITTEN), "cy": packed(below, d.colour, UNWRITTEN)}


def congruent_data(make):
    parts = 5
    return {"wrapped": make.grid(scale=np.pi), "u": make.grid(scale=30), "pistons": make.plain(parts, scale=3),
            "part": make.random.integers(0, parts, (make.rows, make.columns)),
            "phase": unwritten(make.rows, make.columns)}


def congruent_phase(d):
    near = d.u + d.pistons[d.part]
    return {"phase": d.wrapped + TURN * np.rint((near - d.wrapped) / TURN)}


def run_data(make, **more):
    runs = 2 * make.rows + 1
    return {"wrapped": make.plain(make.dots, scale=np.pi), "u": make.plain(make.dots, scale=20),
            "order": make.random.permutation(make.dots), "starts": make.runs(runs, make.dots)} | {
                name: size(make, runs) for name, size in more.items()}


def directions(d):
    cosines, sines = [], []
    for first, end in zip(d.starts, d.starts[1:]):
        points = d.order[first:first + -(-(end - first) // 4)]
        turns = (d.wrapped[points] - d.u[points]) / TURN
        cosines.append(np.sum(triangle(turns)))
        sines.append(np.sum(triangle(turns - 0.25)))
    return {"cosines": np.array(cosines), "sines": np.array(sines)}


def offsets(d):
    sums = []
    for run, (first, end) in enumerate(zip(d.starts, d.starts[1:])):
        points = d.order[first:end]
        sums.append(np.sum(wrap(d.wrapped[points] - d.u[points] - d.pistons[d.parts[run]])))
    return {"sums": np.array(sums)}


def apply_data(make):
    wx, wy = make.edges((0, 0.25, 1))
    return {"p": make.plain(make.rows, make.columns), "wx": wx, "wy": wy, "q": unwritten(make.rows, make.columns)}


def bases_data(make):
    return {"g": make.plain(make.rows, make.columns), "m": make.plain(make.rows, make.columns),
            "edges": make.edges()[0], "limits": np.array([2.0, 0.375, 0.1]), "b": unwritten(make.rows, make.columns)}


def bases(d):
    return {"b": d.edges / (1 + ((d.g - d.m) / d.limits[1]) ** 2)}


def direction_data(make):
    return {"z": make.plain(make.rows, make.columns), "top": np.array([0.75]), "bottom": np.array([-0.5]),
            "p": make.plain(make.rows, make.columns)}


def next_direction(d):
    return {"p": d.z + 1.5 * d.p}


def move_data(make, bottom):
    return {"a": make.plain(make.rows, make.columns), "top": np.array([0.75]), "bottom": np.array([bottom]),
            "b": make.plain(make.rows, make.columns), "sign": -1}


def moved(d):
    return {"b": d.b - 1.5 * d.a if d.bottom[0] else d.b}


def inject_data(make):
    return {"coarse": make.plain(*coarse_shape(make)), "u": packed(make.plain(make.rows, make.columns), 0)}


def injected(d):
    cells = np.repeat(d.coarse, 2, axis=0)[:d.u.shape[0] - 3]
    return {"u": d.u + np.pad(cells, ((1, 2), (1, 2)))}


def jump_data(make, axis):
    g = make.plain(make.rows, make.columns, scale=np.pi)
    return {"phase": TURN * make.random.integers(-2, 3, (make.rows, make.columns)) + 0.25, "g": 0.5 * g,
            "b": make.edges((0, 0.25, 1))[axis], "counts": unwritten(2 * make.rows), "right": 1 - axis, "down": axis,
            "first": axis * make.rows}


def jumps(d):
    step = shifted(d.phase, d.right, d.down, "edge") - d.phase
    counts = np.full(d.counts.shape, UNWRITTEN, np.longdouble)
    counts[d.first:d.first + len(d.g)] = np.sum(d.b * np.abs(np.rint((step - d.g) / TURN)), axis=1)
    return {"counts": counts}


def select_data(make, jumps):
    return {"phase": make.grid(), "jumps": np.array([jumps]), "least": np.array([3.0]), "kept": make.grid()}


def selected(d):
    return {"kept": d.phase if d.jumps[0] < d.least[0] else d.kept}


def divergence_data(make):
    wx, wy = make.edges((0, 0.25, 1))
    return {"gx": make.grid(), "gy": make.grid(), "wx": wx, "wy": wy, "f": unwritten(make.rows, make.columns)}


def divergence(d):
    px, py = d.wx * d.gx, d.wy * d.gy
    return {"f": px - shifted(px, -1, 0) + py - shifted(py, 0, -1)}


def mask_edges(d):
    return {"ex": d.inside * shifted(d.inside, 1, 0), "ey": d.inside * shifted(d.inside, 0, 1)}


def own_and_other(make, colour, names):
    wx, wy = make.edges((0, 0, 0.3, 1))
    u, f = make.grid(), make.grid()
    data = {"u": packed(u, colour), "other": packed(u, 1 - colour), "f": packed(f, colour),
            "wx": packed(wx, colour), "other_wx": packed(wx, 1 - colour),
            "wy": packed(wy, colour), "other_wy": packed(wy, 1 - colour), "colour": colour}
    return {name: data[name] for name in names}


WEIGHTS = ("wx", "other_wx", "wy", "other_wy")


def colour_sweep_data(make, colour):
    return own_and_other(make, colour, ("u", "other", "f", "colour", *WEIGHTS))


def first_red_data(make):
    data = own_and_other(make, 0, ("u", "f", *WEIGHTS))
    return data | {"u": unwritten(*data["u"].shape)}


def first_black_data(make):
    data = own_and_other(make, 1, ("u", "other", "f", *WEIGHTS))
    return data | {"u": unwritten(*data["u"].shape)}


def colour_sweep(d, colour, own, other, margin, otherwise=None):
    u = by_colour(own, other, colour)
    f = by_colour(d.f, np.zeros_like(d.f), colour)
    wx, wy = by_colour(d.wx, d.other_wx, colour), by_colour(d.wy, d.other_wy, colour)
    return {"u": packed(swept(u, f, wx, wy, colour, u if otherwise is None else otherwise), colour, margin)}


def gradient_data(make, right, down):
    edges = make.edges()[0 if right else 1]
    return {"wrapped": make.plain(make.rows, make.columns, scale=np.pi), "edges": edges,
            "g": unwritten(make.rows, make.columns), "right": right, "down": down}


def edge_gradient(d):
    return {"g": d.edges * wrap(shifted(d.wrapped, d.right, d.down) - d.wrapped)}


def group_data(make):
    return {"sums": make.field(make.dots), "starts": make.runs(make.rows, make.dots), "groups": unwritten(make.rows)}


def groups(d):
    return {"groups": np.array([np.sum(d.sums[a:b]) for a, b in zip(d.starts, d.starts[1:])])}


def held_data(make):
    wx, wy = make.edges((0, 0.01, 0.01, 1))
    shape = (make.rows, make.columns)
    return {"inside": make.mask(), "wx": wx, "wy": wy, "held": unwritten(*shape), "width": unwritten(*shape)}


def held(d):
    kept = sum((w >= 1).astype(int) for w in (d.wx, shifted(d.wx, -1, 0), d.wy, shifted(d.wy, 0, -1))) > 0
    inside = d.inside > 0
    return {"held": (inside & kept).astype(int), "width": 5 * (inside & ~kept)}


def limit_data(make, fixed, scale):
    return {"thresholds": np.append(scale * np.linspace(0.9, 1.2, 15), 1e35), "limits": unwritten(3),
            "fixed": fixed, "least": 0.5, "most": 2.0, "smooth": 0.25}


def limits(d):
    scale = 1.4826 * (d.thresholds[0] + d.thresholds[14]) / 2
    limit = d.fixed if d.fixed > 0 else min(max(3 * scale, d.least), d.most)
    return {"limits": np.array([limit, max(scale, d.smooth), scale])}


def mean_data(make):
    edges = make.edges()[0]
    sums = np.pad(row_sums(edges * make.grid() if not make.special else make.grid()), ((4, 4), (0, 0)))
    return {"sums": sums, "shares": edges * make.random.random(edges.shape),
            "m": unwritten(make.rows, make.columns)}


def share_data(make):
    edges = make.edges()[0]
    return {"edges": edges, "sums": np.pad(row_sums(edges), ((4, 4), (0, 0))),
            "shares": unwritten(make.rows, make.columns)}


def edge_shares(d):
    number = window_rows(d.sums, len(d.edges))
    return {"shares": np.where(d.edges > 0, 1 / np.where(number > 0, number, 1), 0)}


def pack_data(make):
    shape = (make.rows + 3, halved(make.columns) + 3)
    return {"a": make.grid(), "red": unwritten(*shape), "black": unwritten(*shape)}


def piston_data(make):
    runs, parts = 2 * make.rows + 1, make.rows
    return {"sums": make.field(runs), "starts": make.runs(parts, runs),
            "sizes": make.random.integers(1, 100, parts), "pistons": make.field(parts)}


def pistons(d):
    sums = np.array([np.sum(d.sums[a:b]) for a, b in zip(d.starts, d.starts[1:])])
    return {"pistons": d.pistons + sums / d.sizes}


def colour_prolong_data(make, colour):
    coarse = make.plain(*coarse_shape(make))
    return {"framed": np.pad(coarse, 1, "edge"), "u": packed(make.grid(), colour), "colour": colour}


def colour_prolong(d):
    rows, columns = d.u.shape[0] - 3, 2 * (d.u.shape[1] - 3)
    u = by_colour(d.u, np.zeros_like(d.u), d.colour)
    return {"u": packed(u + interpolated(d.framed[1:-1, 1:-1], columns, rows), d.colour)}


def reject_data(make):
    edges = make.edges()[0]
    g, m = (np.where(edges > 0, make.grid(), 0) for _ in "gm")
    return {"m": m, "edges": edges, "limits": np.array([0.4, 0.5, 0.1]), "g": g,
            "w": unwritten(make.rows, make.columns), "weak": 0.0078125}


def rejected_edges(d):
    far = np.abs(d.g - d.m) > d.limits[0]
    return {"m": np.where(far, d.m, d.g), "w": np.where(far, d.weak, d.edges)}


def colour_restrict_data(make, colour, black_residuals):
    wx, wy = make.edges((0, 0.3, 1))
    connected = pull_and_weight(wx, wx, wy)[1] > 0
    u = make.plain(make.rows, make.columns)
    f = np.where(connected, make.plain(make.rows, make.columns), 0)
    if not black_residuals:
        with np.errstate(all="ignore"):
            u = swept(u, f, wx, wy, 1, u)
    data = {"red": packed(u, 0), "black": packed(u, 1), "f": packed(f, 0), "colour": colour,
            "coarse": coarse_of_a_colour(make)} | weights_of_colours(wx, wy)
    if black_residuals:
        data["black_f"] = packed(f, 1)
    return data


def colour_restrict(d):
    """Sums over all four children, even where the kernel skips those without a residual."""
    u = unpacked(d.red, d.black)
    wx, wy = unpacked(d.red_wx, d.black_wx), unpacked(d.red_wy, d.black_wy)
    if "black_f" in vars(d):
        r = residual(u, unpacked(d.f, d.black_f), wx, wy)
    else:
        y, x = np.indices(u.shape)
        r = np.where((x + y) % 2 == 0, residual(u, unpacked(d.f, np.zeros_like(d.f)), wx, wy), 0)
    rows, columns = d.coarse.shape[0] - 3, 2 * (d.coarse.shape[1] - 3)
    return {"coarse": packed(added_children(r, columns, rows), d.colour, UNWRITTEN)}


def reweight_data(make):
    bx, by = make.edges((0, 0.5, 1))
    shape = (make.rows, make.columns)
    return {"u": make.grid(), "gx": make.grid(), "gy": make.grid(), "bx": bx, "by": by, "wx": unwritten(*shape),
            "wy": unwritten(*shape), "d": 0.125}


def reweighted(d):
    rx, ry = shifted(d.u, 1, 0) - d.u - d.gx, shifted(d.u, 0, 1) - d.u - d.gy
    return {"wx": np.where(d.bx > 0, d.bx * d.d / (d.d + np.abs(rx)), 0),
            "wy": np.where(d.by > 0, d.by * d.d / (d.d + np.abs(ry)), 0)}


# steps per binade, smallest and largest magnitude, and overflow value; numpy's own type where it
# exists
FORMATS = {"fp16": (1024, 2.0**-24, 65504, "inf"), "bf16": (128, 2.0**-133, (2 - 2.0**-7) * 2.0**127, "inf"),
           "e5m2": (4, 2.0**-16, 57344, "inf"), "e4m3": (8, 2.0**-9, 448, "448")}


def round_data(make, form):
    steps, least, most, beyond = FORMATS[form]
    a = make.grid() * 2.0**make.random.integers(-40, 40, (make.rows, make.columns))
    ties = np.array([1 + 0.5 / steps, 1 + 1.5 / steps, -1.5 * least, 0.5 * least, most, -most * (1 + 0.24 / steps)])
    a.flat[:min(a.size, len(ties))] = ties[:a.size]
    return {"a": a, "steps": steps, "least": least, "most": most, "beyond": beyond}


def narrow(d):
    """The nearest number of the format, ties to even."""
    if d.steps == 1024:
        return {"a": d.a.astype(np.float64).astype(np.float16).astype(np.longdouble)}
    a = d.a.astype(np.float64)
    _, exponent = np.frexp(np.where(np.isfinite(a), a, 1))
    step = np.maximum(2.0**(exponent - 1) / d.steps, d.least)
    near = step * np.rint(a / step)
    return {"a": np.where(np.abs(near) > d.most, np.copysign(float(d.beyond), a), near)}


def row_sum_data(make):
    return {"a": make.grid(), "sums": unwritten(make.rows + 8, make.columns)}


def sample_data(make):
    ex, ey = make.edges()
    quarter = (make.columns + 3) // 4, (make.rows + 3) // 4
    return grids(make, "gx", "gy", "mx", "my") | {"ex": ex, "ey": ey, "samples": unwritten(2 * quarter[1], quarter[0])}


def samples(d):
    every = np.s_[::4, ::4]
    right = np.where(d.ex > 0, np.abs(d.gx - d.mx), 1e30)[every]
    below = np.where(d.ey > 0, np.abs(d.gy - d.my), 1e30)[every]
    return {"samples": np.concatenate((right, below))}


def settle_data(make):
    inside = make.mask()
    points = inside * make.mask(0.6)
    return {"u": make.plain(make.rows, make.columns), "width": 5 * inside * (1 - points), "held": points,
            "settled": unwritten(make.rows, make.columns)}


def settled(d):
    total, pairs = np.zeros_like(d.u), np.zeros_like(d.u)
    for x, y in itertools.product(range(-2, 3), repeat=2):
        both = shifted(d.held, x, y) * shifted(d.held, -x, -y)
        total += both * (shifted(d.u, x, y) + shifted(d.u, -x, -y)) / 2
        pairs += both
    return {"settled": np.where((d.width > 0) & (pairs > 0), total / np.maximum(pairs, 1), d.u)}


def rejected_data(make):
    wx, wy = make.edges((0, 0.01, 1))
    return {"wx": wx, "wy": wy, "rejected": unwritten(make.rows)}


def rejected(d):
    return {"rejected": sum(np.sum((w > 0) & (w < 1), axis=1) for w in (d.wx, d.wy))}


def tally_data(make):
    return {"samples": np.abs(make.grid()), "thresholds": np.append(np.linspace(0, 1, 15), 1e35),
            "counts": unwritten(16, make.rows)}


def tally(d):
    return {"counts": np.array([np.sum(d.samples < t, axis=1) for t in d.thresholds])}


def unpack_data(make):
    u = make.grid()
    return {"red": packed(u, 0), "black": packed(u, 1), "u": unwritten(*u.shape)}


COLOURS = ({"colour": 0}, {"colour": 1})
COMPLEX = ("SP", "DP", "SP2", "DP2")
NUMBERS = ("SP", "DP", "SP2", "DP2", "INT32")


def case(data, results, operations, names="T", kinds=("SP", "DP"), variants=({},), refused=lambda types: False,
         within=0.0):
    """A row of the table. `operations` is the number of rounding errors allowed, 0 for equality;
    `names` are type placeholders, each set to one of `kinds`; `variants` are arguments of `data`;
    `within` is an error bound stated in the description."""
    return types.SimpleNamespace(data=data, results=results, operations=operations, names=names.split(), kinds=kinds,
                                 variants=variants, refused=refused, within=within)


CASES = {
    "add": case(lambda m: grids(m, "A", "B", C=unwritten(m.rows, m.columns)), lambda d: {"C": d.A + d.B}, 1,
                kinds=NUMBERS),
    "coarsen_x": case(lambda m: {"wx": m.grid(), "coarse": unwritten(*coarse_shape(m))},
                      lambda d: {"coarse": added_children(np.where(np.arange(d.wx.shape[1]) % 2, d.wx, 0),
                                                          d.coarse.shape[1], d.coarse.shape[0]) / 2}, 2),
    "coarsen_y": case(lambda m: {"wy": m.grid(), "coarse": unwritten(*coarse_shape(m))},
                      lambda d: {"coarse": added_children(np.where(np.arange(d.wy.shape[0])[:, None] % 2, d.wy, 0),
                                                          d.coarse.shape[1], d.coarse.shape[0]) / 2}, 2),
    "congruent": case(lambda m: {"wrapped": m.grid(scale=np.pi), "phi": m.grid(scale=30)},
                      lambda d: {"phi": d.wrapped + TURN * np.rint((d.phi - d.wrapped) / TURN)}, 4),
    "copy": case(lambda m: vectors(m, "a", b=unwritten(m.dots)), lambda d: {"b": d.a}, 0,
                 kinds=("SP", "DP", "SP2", "DP2", "INT32", "B")),
    "fill": case(lambda m: {"a": unwritten(m.dots), "value": -3}, lambda d: {"a": np.full_like(d.a, d.value)}, 0,
                 kinds=("SP", "DP", "INT32")),
    "fringe_carrier": case(carrier_data, carrier_phase, 400, "WORK I", within=8e-12),
    "fringe_carrier_rows": case(carrier_rows_data, carrier_rows, 40, "WORK"),
    "fringe_four_step": case(four_steps, four_step_phase, 16, "WORK I", within=8e-12),
    "fringe_mean": case(frame_mean_data, lambda d: {"mean": np.array([np.sum(d.frame * d.inside) / d.points])}, 2, ""),
    "fringe_pixels": case(pixel_data, pixels, 0, ""),
    "gemm": case(lambda m: {"A": m.field(m.rows, 33), "B": m.field(33, m.columns), "C": unwritten(m.rows, m.columns)},
                 lambda d: {"C": (d.A[:, :, None] * d.B[None]).sum(axis=1)}, 40, kinds=NUMBERS),
    "gemv": case(matrix_times_vector, lambda d: {"c": (d.A * d.b).sum(axis=1)}, 140, kinds=NUMBERS),
    "gemv_mixed": case(mixed_data, mixed_product, 140, "STORED FACTOR SUM",
                       refused=lambda types: types["FACTOR"] == "DP" and types["SUM"] == "SP"),
    "gemv_transposed": case(lambda m: {"A": m.grid(), "b": m.field(m.rows), "c": unwritten(m.columns)},
                            lambda d: {"c": (d.A * d.b[:, None]).sum(axis=0)}, 140, kinds=NUMBERS),
    "gradient": case(lambda m: {"wrapped": m.grid(scale=np.pi), "wx": m.grid(), "limit": 2.5,
                                "gx": unwritten(m.rows, m.columns)}, row_gradient, 4),
    "l2norm": case(lambda m: vectors(m, "a", norm=unwritten(1)),
                   lambda d: {"norm": np.sqrt(np.sum(d.a * d.a, keepdims=True))}, 150),
    "laplace5": case(lambda m: grids(m, "u", v=unwritten(m.rows, m.columns)),
                     lambda d: {"v": sum(shifted(d.u, x, y) for x, y in ((-1, 0), (1, 0), (0, -1), (0, 1))) - 4 * d.u},
                     6, kinds=NUMBERS),
    "laplace9": case(lambda m: grids(m, "u", v=unwritten(m.rows, m.columns)), laplace9, 12, kinds=COMPLEX),
    "listing2": case(matrix_times_vector, lambda d: {"c": (d.A * d.b).sum(axis=1)}, 140, "USED_FLOAT"),
    "max": case(lambda m: vectors(m, "a", largest=unwritten(1)), lambda d: {"largest": np.max(d.a, keepdims=True)}, 0,
                kinds=("SP", "DP", "INT32")),
    "prolong": case(lambda m: {"coarse": m.plain(*coarse_shape(m)), "u": m.grid()},
                    lambda d: {"u": d.u + interpolated(d.coarse, *d.u.shape[::-1])}, 8),
    "restrict": case(restriction_data, restriction, 40),
    "scale": case(lambda m: vectors(m, "a", b=unwritten(m.dots), factor=-0.3), lambda d: {"b": d.factor * d.a}, 2),
    "spmv": case(sparse_data, sparse_product, 40, kinds=NUMBERS),
    "sweep": case(sweep_data, lambda d: {"u": swept(d.u, d.f, d.wx, d.wy, d.colour, d.u)}, 40, variants=COLOURS),
    "unwrap_angles": case(angle_data, triangle_angles, 40, ""),
    "unwrap_apply": case(apply_data, lambda d: {"q": residual(d.p, 0, -d.wx, -d.wy)}, 20, "WORK U W"),
    "unwrap_bases": case(bases_data, bases, 12, "WORK G"),
    "unwrap_bracket": case(bracket_data, narrower_bracket, 4, "",
                           variants=({"share": 0.9}, {"share": 0.45}, {"share": 0.99, "first": 800})),
    "unwrap_changes": case(change_data, changes, 0, "P"),
    "unwrap_coarsen": case(coarsen_data, coarse_weights, 2, "WORK W C", variants=COLOURS),
    "unwrap_congruent": case(congruent_data, congruent_phase, 6, "WORK I U P"),
    "unwrap_direction": case(direction_data, next_direction, 8, "WORK U"),
    "unwrap_directions": case(lambda m: run_data(m, cosines=lambda m, n: unwritten(n), sines=lambda m, n: unwritten(n)),
                              directions, 200, "I U"),
    "unwrap_divergence": case(divergence_data, divergence, 8, "WORK G"),
    "unwrap_dot": case(lambda m: {"a": m.plain(m.rows, m.columns), "b": m.plain(m.rows, m.columns),
                                  "products": unwritten(m.rows)},
                       lambda d: {"products": (d.a * d.b).sum(axis=1)}, 2000, "A B"),
    "unwrap_edges": case(lambda m: {"inside": m.mask(), "ex": unwritten(m.rows, m.columns),
                                    "ey": unwritten(m.rows, m.columns)}, mask_edges, 0, "G"),
    "unwrap_first_black": case(first_black_data, lambda d: colour_sweep(d, 1, np.zeros_like(d.u), d.other, UNWRITTEN,
                                                                        np.longdouble(0)), 40, "WORK U W F"),
    "unwrap_first_red": case(first_red_data, lambda d: colour_sweep(d, 0, np.zeros_like(d.u), np.zeros_like(d.u),
                                                                    UNWRITTEN), 40, "WORK U W F"),
    "unwrap_frame": case(lambda m: {"u": m.grid(), "framed": unwritten(m.rows + 2, m.columns + 2)},
                         lambda d: {"framed": np.pad(d.u, 1, "edge")}, 0, "U"),
    "unwrap_gradient": case(gradient_data, edge_gradient, 4, "WORK I G",
                            variants=({"right": 1, "down": 0}, {"right": 0, "down": 1})),
    "unwrap_groups": case(group_data, groups, 200, ""),
    "unwrap_held": case(held_data, held, 0, "G"),
    "unwrap_inject": case(inject_data, injected, 1, "U"),
    "unwrap_jumps": case(jump_data, jumps, 40, "P G", variants=({"axis": 0}, {"axis": 1})),
    "unwrap_largest": case(lambda m: {"u": m.grid() - 1, "size": unwritten(1)},
                           lambda d: {"size": np.array([np.max(np.abs(d.u))])}, 0, "U"),
    "unwrap_least": case(lambda m: {"jumps": m.plain(m.dots), "least": m.plain(m.dots)},
                         lambda d: {"least": np.minimum(d.jumps, d.least)}, 0, ""),
    "unwrap_limit": case(limit_data, limits, 4, "",
                         variants=[{"fixed": f, "scale": s} for f, s in ((0, 0.1), (0, 0.4), (0, 3), (1.25, 0.4))]),
    "unwrap_means": case(mean_data, lambda d: {"m": window_rows(d.sums, len(d.m)) * d.shares}, 20, "WORK G"),
    "unwrap_move": case(move_data, moved, 8, "WORK A B", variants=({"bottom": 0.5}, {"bottom": 0})),
    "unwrap_offsets": case(lambda m: run_data(m, parts=lambda m, n: m.random.integers(0, 3, n),
                                              pistons=lambda m, n: m.plain(3), sums=lambda m, n: unwritten(n)),
                           offsets, 400, "I U"),
    "unwrap_pack": case(pack_data, lambda d: {"red": packed(d.a, 0, UNWRITTEN), "black": packed(d.a, 1, UNWRITTEN)}, 1,
                        "P A"),
    "unwrap_pistons": case(piston_data, pistons, 100, ""),
    "unwrap_prolong": case(colour_prolong_data, colour_prolong, 8, "WORK U", variants=COLOURS),
    "unwrap_reject": case(reject_data, rejected_edges, 0, "WORK G"),
    "unwrap_restrict": case(lambda m, colour: colour_restrict_data(m, colour, False), colour_restrict, 60,
                            "WORK U W F R", variants=COLOURS),
    "unwrap_restrict_all": case(lambda m, colour: colour_restrict_data(m, colour, True), colour_restrict, 60,
                                "WORK U W F R", variants=COLOURS),
    "unwrap_reweight": case(reweight_data, reweighted, 8, "WORK U G"),
    "unwrap_round": case(round_data, narrow, 0, variants=[{"form": form} for form in FORMATS]),
    "unwrap_row_sums": case(row_sum_data, lambda d: {"sums": np.pad(row_sums(d.a), ((4, 4), (0, 0)),
                                                                    constant_values=UNWRITTEN)}, 10, "WORK G"),
    "unwrap_samples": case(sample_data, samples, 1, "G"),
    "unwrap_select": case(select_data, selected, 0, "P", variants=({"jumps": 2}, {"jumps": 3}, {"jumps": 4})),
    "unwrap_settle": case(settle_data, settled, 40, "WORK U",
                          refused=lambda types: types["WORK"] == "SP" and types["U"] == "DP"),
    "unwrap_share": case(rejected_data, rejected, 0, "G"),
    "unwrap_shares": case(share_data, edge_shares, 2, "WORK G"),
    "unwrap_sweep": case(colour_sweep_data, lambda d: colour_sweep(d, d.colour, d.u, d.other, 0), 40, "WORK U W F",
                         variants=COLOURS),
    "unwrap_tally": case(tally_data, tally, 0, "G"),
    "unwrap_total": case(lambda m: {"parts": m.plain(m.dots), "whole": unwritten(1)},
                         lambda d: {"whole": np.array([d.parts.sum()])}, 2000, ""),
    "unwrap_totals": case(lambda m: {"counts": m.random.integers(0, 99, (16, m.dots)), "totals": unwritten(16)},
                          lambda d: {"totals": d.counts.sum(axis=1)}, 0, ""),
    "unwrap_unpack": case(unpack_data, lambda d: {"u": unpacked(d.red, d.black)[:, :d.u.shape[1]]}, 0, "U"),
}


# Running


class Failure(Exception):
    pass


def choices(row):
    """Each type alone and, with several type placeholders, mixtures of SP and DP with one wide or
    one narrow placeholder."""
    for kind in row.kinds if row.names else ("",):
        yield dict.fromkeys(row.names, kind)
    if len(row.names) > 1:
        seen = []
        for one, kind in itertools.product(row.names, ("DP", "SP")):
            mixture = dict.fromkeys(row.names, "SP" if kind == "DP" else "DP") | {one: kind}
            if mixture not in seen:
                seen.append(mixture)
                yield mixture


def ask(program, *words):
    environment = dict(os.environ, BITBUDGET_SHARE=str(ROOT))
    return subprocess.run([program, "kernel", *map(str, words)], capture_output=True, text=True, env=environment)


def objects(program, file, type_words):
    """Types of the objects by name, as printed by `kernel check`."""
    answer = ask(program, "check", file, *type_words)
    if answer.returncode != 0:
        raise Failure(answer.stderr.strip())
    lines = answer.stdout.split("objects:\n")[1].split("\n")
    rows = itertools.takewhile(lambda line: line.startswith("  "), lines)
    return {line.split()[0]: line.split()[3] for line in rows}


def converted(values, kind):
    a = np.asarray(values)
    if kind in PARTS and a.dtype.kind != "c":
        real, a = a, np.zeros(a.shape, complex)
        a.real = real
        a.imag = np.where(np.isfinite(real) & (real != UNWRITTEN), real + 0.25, 0)
    if kind in ("INT32", "B") and a.dtype.kind == "f":
        finite = np.where(np.isfinite(a), a, 0)
        a = finite > 0 if kind == "B" else np.rint(100 * finite) if np.any(finite != UNWRITTEN) else finite
    with np.errstate(all="ignore"):
        return a.astype(NUMPY[kind])


def stored(a, kind):
    return np.stack((a.real, a.imag), axis=-1) if kind in PARTS else a


def run(program, file, type_words, kinds, data, folder, device):
    given, result = folder / "in.h5", folder / "out.h5"
    with h5py.File(given, "w") as store:
        for name, kind in kinds.items():
            store[name] = stored(data[name], kind)
    parameters = [word for name, value in data.items() if name not in kinds for word in ("-p", f"{name}={value}")]
    answer = ask(program, "run", file, *type_words, "--in", given, "-o", result, "--force", "--quiet",
                 "--deterministic", "--device", device, *parameters)
    if answer.returncode != 0:
        raise Failure(answer.stderr.strip())
    with h5py.File(result) as store:
        return {name: store[name][...] for name in store if isinstance(store[name], h5py.Dataset)}


def joined(a, kind):
    return np.ascontiguousarray(a).view(NUMPY[kind])[..., 0] if kind in PARTS else a


def difference(mine, expected, bound):
    """None if both agree within `bound`, otherwise a sentence with the first difference."""
    if mine.shape != expected.shape:
        return f"has shape {mine.shape}, expected {expected.shape}"
    if mine.dtype.kind == "c":
        return difference(mine.real, expected.real, bound) or difference(mine.imag, expected.imag, bound)
    mine = mine.astype(WIDE[mine.dtype.kind])
    with np.errstate(all="ignore"):
        same = (mine == expected) | (np.isnan(mine) & np.isnan(expected)) | (np.abs(mine - expected) <= bound)
    if np.all(same):
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{np.sum(~same)} of {same.size} differ, at {list(at)} {mine[at]:.17g}, expected {expected[at]:.17g}"


def bound_of(row, kinds, chosen, expected):
    if row.operations == 0 or not np.iscomplexobj(expected) and expected.dtype.kind not in "f":
        return 0
    floats = [kind for kind in [*kinds.values(), *chosen.values()] if kind in ROUNDING]
    rounding = max(ROUNDING[kind] for kind in floats)
    if "SUM" in chosen:  # expected products are rounded like the kernel's
        rounding = ROUNDING[chosen["SUM"]]
    with np.errstate(all="ignore"):
        size = np.array(np.abs(expected))
        size[~np.isfinite(size)] = 0
        common = size[(size != UNWRITTEN) & (size < BEYOND_ALL)].max(initial=1)
    return row.operations * rounding * np.maximum(size, common) + row.within


def data_of(row, set_name, variant, kinds):
    data = row.data(Maker(set_name), **variant)
    return {name: converted(value, kinds[name]) if name in kinds else value for name, value in data.items()}


def expected_of(row, data, kinds, chosen):
    wide = {name: data[name].astype(WIDE[data[name].dtype.kind]) for name in kinds}
    scene = types.SimpleNamespace(**{**data, **wide}, types=chosen)
    with np.errstate(all="ignore"):
        return row.results(scene)


def compared(program, file, row, folder):
    """Compares all runs of one description; raises Failure at the first difference."""
    runs = 0
    for chosen in choices(row):
        words = [f"{name}={kind}" for name, kind in chosen.items()]
        try:
            kinds = objects(program, file, words)
        except Failure as told:
            if row.refused(chosen):
                continue
            raise Failure(f"{' '.join(words)}: {told}") from told
        if row.refused(chosen):
            raise Failure(f"{' '.join(words)}: is taken, though it narrows")
        for set_name, variant in itertools.product(SETS, row.variants):
            label = " ".join([*words, set_name, *(f"{k}={v}" for k, v in variant.items())])
            try:
                data = data_of(row, set_name, variant, kinds)
                results = run(program, file, words, kinds, data, folder, "cpu")
            except Failure as told:
                raise Failure(f"{label}: {told}") from told
            expected = expected_of(row, data, kinds, chosen)
            if set(results) != set(expected):
                raise Failure(f"{label}: writes {sorted(results)}, expected {sorted(expected)}")
            for name, values in expected.items():
                values = np.asarray(values)
                if kinds[name] == "INT32":
                    values = values.astype(np.int64).astype(np.int32).astype(np.int64)
                if row.operations == 0 and values.dtype.kind == "f":
                    values = values.astype(NUMPY[kinds[name]]).astype(np.longdouble)
                told = difference(joined(results[name], kinds[name]), values, bound_of(row, kinds, chosen, values))
                if told:
                    raise Failure(f"{label}: {name} {told}")
            runs += 1
    return f"{runs} runs"


def same_bits(program, file, row, folder, device):
    """Compares `device` with the CPU in one choice of types: all narrow, or one placeholder
    wide."""
    chosen = dict.fromkeys(row.names, "SP")
    if len(row.names) > 1:
        chosen[row.names[-1 if "SUM" in row.names else 0]] = "DP"
    words = [f"{name}={kind}" for name, kind in chosen.items()]
    kinds = objects(program, file, words)
    runs = 0
    for set_name, variant in itertools.product(("odd", "special"), row.variants):
        data = data_of(row, set_name, variant, kinds)
        here = run(program, file, words, kinds, data, folder, "cpu")
        there = run(program, file, words, kinds, data, folder, device)
        for name in here:
            a, b = here[name], there[name]
            equal = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype.kind == "f" else a == b
            equal |= np.isnan(a) & np.isnan(b) if a.dtype.kind == "f" else False
            if not np.all(equal):
                at = tuple(int(i) for i in np.argwhere(~equal)[0])
                raise Failure(f"{' '.join(words)} {set_name} {variant or ''}: {name} {np.sum(~equal)} of {equal.size} "
                              f"have other bits, at {list(at)} {b[at]:.17g}, on the cpu {a[at]:.17g}")
        runs += 1
    return f"{runs} runs, bits of the cpu"


def missing(program, device, folder):
    """Reason why nothing runs on `device`, or None."""
    try:
        run(program, KERNELS / "fill.kernel", ["T=SP"], {"a": "SP"}, {"a": np.zeros(3, np.float32), "value": 1}, folder,
            device)
    except Failure as told:
        return str(told)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--device", help="hold this device to the bits of the cpu instead")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    files = {path.stem: path for path in sorted(KERNELS.iterdir())}
    unknown = sorted(set(arguments.names) - set(files)) + sorted(set(CASES) - set(files))
    failures = [f"{name}: no such file" for name in unknown]
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        absent = arguments.device and missing(program, arguments.device, pathlib.Path(folder))
        if absent:
            print(f"skipped: {absent}")
            return 77
        for name, file in files.items() if arguments.names else nightly.part_of(files.items()):
            if arguments.names and name not in arguments.names:
                continue
            tried += 1
            try:
                if name not in CASES:
                    raise Failure("has no case")
                if arguments.device:
                    told = same_bits(program, file, CASES[name], pathlib.Path(folder), arguments.device)
                else:
                    told = compared(program, file, CASES[name], pathlib.Path(folder))
                print(f"{name:20} right  {told}", flush=True)
            except Failure as problem:
                failures.append(f"{name}: {problem}")
                print(f"{name:20} WRONG  {problem}", flush=True)
    print("\n".join(failures), file=sys.stderr)
    print(f"{tried} descriptions, {len(failures)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
