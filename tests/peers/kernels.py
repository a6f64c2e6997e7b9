#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark kernels in Triton, tuned on the GPU here, and in PyTorch: kernels.py [--csv FILE].

Peers of `bitbudget-bench kernel-*-cuda`: the same kernels on the same data in the same sizes (the
sets of solvers/kernels/kernel_manager.c; gemm at the published size 1024, others large). Bytes are
counted the same way: every element once per direction. Each kernel follows Triton's tutorials and
is tried in every configuration of its list; a configuration whose result differs from PyTorch's in
double precision is excluded. The best configuration, PyTorch's own operation and a copy are then
measured in turn with device events. The best of all rounds is printed in GB/s (gemm: GFLOP/s) and
relative to the copy.

PyTorch includes Triton on a GPU host. --check uses small sizes and measures nothing; with
TRITON_INTERPRET=1 it runs without a GPU.
"""
import argparse
import csv
import itertools
import math
import os
import sys

import torch
import triton
import triton.language as tl

ROUNDS = 12
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
TYPES = {"SP": torch.float32, "DP": torch.float64}
TOLERANCES = {"SP": 1e-4, "DP": 1e-10}
BAND = 32


# The kernels


@triton.jit
def add_kernel(a, b, c, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(c + at, tl.load(a + at, inside) + tl.load(b + at, inside), inside)


@triton.jit
def copy_kernel(a, c, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(c + at, tl.load(a + at, inside), inside)


@triton.jit
def laplace5_kernel(u, v, columns, rows, BLOCK_X: tl.constexpr, BLOCK_Y: tl.constexpr):
    x = tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    y = tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    inside = (x < columns) & (y < rows)
    at = y.to(tl.int64) * columns + x
    middle = tl.load(u + at, inside, 0.0)
    left = tl.load(u + at - 1, inside & (x > 0), 0.0)
    right = tl.load(u + at + 1, inside & (x + 1 < columns), 0.0)
    above = tl.load(u + at - columns, inside & (y > 0), 0.0)
    below = tl.load(u + at + columns, inside & (y + 1 < rows), 0.0)
    tl.store(v + at, left + right + above + below - 4 * middle, inside)


@triton.jit
def squares_kernel(a, partial, count, steps, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), a.dtype.element_ty)
    for step in range(steps):
        block = tl.program_id(0).to(tl.int64) + step * tl.num_programs(0)
        at = block * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(a + at, at < count, 0.0)
        total += value * value
    tl.store(partial + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def root_kernel(partial, out, parts, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.sqrt(tl.sum(tl.load(partial + at, at < parts, 0.0), 0)))


@triton.jit
def largest_kernel(a, partial, count, steps, BLOCK: tl.constexpr):
    total = tl.full((BLOCK,), -float("inf"), a.dtype.element_ty)
    for step in range(steps):
        block = tl.program_id(0).to(tl.int64) + step * tl.num_programs(0)
        at = block * BLOCK + tl.arange(0, BLOCK)
        total = tl.maximum(total, tl.load(a + at, at < count, -float("inf")))
    tl.store(partial + tl.program_id(0), tl.max(total, 0))


@triton.jit
def largest_part_kernel(partial, out, parts, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.max(tl.load(partial + at, at < parts, -float("inf")), 0))


@triton.jit
def gemv_kernel(a, b, c, columns, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLUMNS), a.dtype.element_ty)
    for begin in range(0, columns, COLUMNS):
        column = begin + tl.arange(0, COLUMNS)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        at = row.to(tl.int64)[:, None] * columns + column[None, :]
        total += tl.load(a + at, inside, 0.0) * tl.load(b + column, column < columns, 0.0)[None, :]
    tl.store(c + row, tl.sum(total, 1), row < rows)


@triton.jit
def transposed_kernel(a, b, partial, columns, rows, part_rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    total = tl.zeros((ROWS, COLUMNS), a.dtype.element_ty)
    for begin in range(0, part_rows, ROWS):
        row = part * part_rows + begin + tl.arange(0, ROWS)
        held = (row < rows) & (row < (part + 1) * part_rows)
        inside = held[:, None] & (column < columns)[None, :]
        at = row.to(tl.int64)[:, None] * columns + column[None, :]
        total += tl.load(a + at, inside, 0.0) * tl.load(b + row, held, 0.0)[:, None]
    tl.store(partial + part * columns + column, tl.sum(total, 0), column < columns)


@triton.jit
def join_kernel(partial, c, columns, parts, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), partial.dtype.element_ty)
    for part in range(parts):
        total += tl.load(partial + part * columns + column, column < columns, 0.0)
    tl.store(c + column, total, column < columns)


@triton.jit
def spmv_kernel(row_start, column, value, x, y, rows, ROWS: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    begin = tl.load(row_start + row, row < rows, 0)
    end = tl.load(row_start + row + 1, row < rows, 0)
    total = tl.zeros((ROWS, LANES), value.dtype.element_ty)
    for first in range(0, tl.max(end - begin, 0), LANES):
        at = begin[:, None] + first + tl.arange(0, LANES)[None, :]
        inside = at < end[:, None]
        index = tl.load(column + at, inside, 0)
        total += tl.load(value + at, inside, 0.0) * tl.load(x + index, inside, 0.0)
    tl.store(y + row, tl.sum(total, 1), row < rows)


@triton.jit
def gemm_kernel(
    a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, DOT: tl.constexpr
):
    # Programs of a group of tile rows run one after another, so that tiles of b stay in the cache.
    program = tl.program_id(0)
    across = tl.cdiv(n, N)
    first = program // (GROUP * across) * GROUP
    height = min(tl.cdiv(m, M) - first, GROUP)
    row = (first + program % (GROUP * across) % height) * M + tl.arange(0, M)
    column = program % (GROUP * across) // height * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), a.dtype.element_ty)
    for begin in range(0, k, K):
        at = begin + depth
        left = tl.load(a + row[:, None] * k + at[None, :], (row < m)[:, None] & (at < k)[None, :], 0.0)
        right = tl.load(b + at[:, None] * n + column[None, :], (at < k)[:, None] & (column < n)[None, :], 0.0)
        if DOT:
            total = tl.dot(left, right, total, input_precision="ieee", out_dtype=a.dtype.element_ty)
        else:  # for Triton versions without fp64 dot, such as 3.2
            total += tl.sum(left[:, :, None] * right[None, :, :], 1)
    tl.store(c + row[:, None] * n + column[None, :], total, (row < m)[:, None] & (column < n)[None, :])


# Data and configurations


def numbers(count, kind):
    """Numbers in [-1, 1) derived from the index, like the program's benchmark data."""
    parts = []
    for begin in range(0, count, 1 << 24):
        index = torch.arange(begin, min(begin + (1 << 24), count), dtype=torch.int64, device=DEVICE)
        parts.append((((index * 2654435761) & 0xFFFFFFFF) >> 8).to(torch.float64).mul_(2.0**-23).sub_(1.0).to(kind))
    return torch.cat(parts)


def band_rows(rows, columns):
    """Compressed sparse rows with BAND entries around the diagonal."""
    row = torch.arange(rows, dtype=torch.int64, device=DEVICE)
    first = (row - BAND // 2).clamp(0, columns - BAND)
    column = (first[:, None] + torch.arange(BAND, device=DEVICE)[None, :]).reshape(-1).to(torch.int32)
    row_start = (torch.arange(rows + 1, dtype=torch.int64, device=DEVICE) * BAND).to(torch.int32)
    return row_start, column


def choices(**values):
    """All combinations of the named values."""
    return [dict(zip(values, row)) for row in itertools.product(*values.values())]


BLOCKS = choices(BLOCK=[512, 1024, 2048, 4096, 8192], num_warps=[4, 8])
PARTS = choices(BLOCK=[1024, 2048, 4096, 8192], num_warps=[4, 8, 16], parts=[264, 528, 1056, 2112])


class Peer:
    """A kernel: result array, configurations, launch, PyTorch operation, and its number of bytes or
    operations."""

    def __init__(self, name, configs, launch, result, peer, peer_name, floor, is_operations=False):
        self.name, self.configs, self.launch, self.result = name, configs, launch, result
        self.peer, self.peer_name = peer, peer_name
        self.floor, self.is_operations = floor, is_operations


def flat_peers(kind, small):
    """Peers of add and copy."""
    columns, rows = (65, 17) if small else (16384, 8192)
    count, size = columns * rows, torch.finfo(kind).bits // 8
    a = numbers(count, kind)
    c = torch.empty_like(a)

    def copy(BLOCK, num_warps):
        copy_kernel[(triton.cdiv(count, BLOCK),)](a, c, count, BLOCK=BLOCK, num_warps=num_warps)

    yield Peer("copy", BLOCKS, copy, c, lambda: c.copy_(a), "copy_", 2 * count * size)
    b = a.flip(0).contiguous()

    def add(BLOCK, num_warps):
        add_kernel[(triton.cdiv(count, BLOCK),)](a, b, c, count, BLOCK=BLOCK, num_warps=num_warps)

    yield Peer("add", BLOCKS, add, c, lambda: torch.add(a, b, out=c), "add", 3 * count * size)


def stencil_peers(kind, small):
    """Peer of laplace5, for which PyTorch has no single operation."""
    columns, rows = (65, 17) if small else (16384, 16384)
    count, size = columns * rows, torch.finfo(kind).bits // 8
    u = numbers(count, kind)
    v = torch.empty_like(u)
    def laplace(BLOCK_X, BLOCK_Y, num_warps):
        places = (triton.cdiv(columns, BLOCK_X), triton.cdiv(rows, BLOCK_Y))
        laplace5_kernel[places](u, v, columns, rows, BLOCK_X=BLOCK_X, BLOCK_Y=BLOCK_Y, num_warps=num_warps)

    grid, sums = u.view(rows, columns), v.view(rows, columns)

    def add_slices():
        torch.mul(grid, -4, out=sums)
        sums[:, 1:] += grid[:, :-1]
        sums[:, :-1] += grid[:, 1:]
        sums[1:] += grid[:-1]
        sums[:-1] += grid[1:]

    yield Peer("laplace5", choices(BLOCK_X=[128, 256, 512, 1024], BLOCK_Y=[1, 2, 4], num_warps=[4, 8]), laplace, v,
               add_slices, "five passes over slices", 2 * count * size)


def sum_peers(kind, small):
    """Peers of l2norm and max, with two launches each."""
    count, size = (1009, 4) if small else (268435456, torch.finfo(kind).bits // 8)
    a = numbers(count, kind)
    out = torch.empty(1, dtype=kind, device=DEVICE)
    partial = torch.empty(4096, dtype=kind, device=DEVICE)

    def reduce(first, last):
        def launch(BLOCK, num_warps, parts):
            steps = triton.cdiv(count, BLOCK * parts)
            first[(parts,)](a, partial, count, steps, BLOCK=BLOCK, num_warps=num_warps)
            last[(1,)](partial, out, parts, BLOCK=triton.next_power_of_2(parts))

        return launch

    yield Peer("l2norm", PARTS, reduce(squares_kernel, root_kernel), out,
               lambda: torch.linalg.vector_norm(a, out=out[0]), "vector_norm", count * size)
    yield Peer("max", PARTS, reduce(largest_kernel, largest_part_kernel), out,
               lambda: torch.amax(a, 0, out=out[0]), "amax", count * size)


def vector_peers(kind, small):
    """Peers of gemv and gemv-transposed."""
    columns, rows = (301, 17) if small else (16384, 16384)
    size = torch.finfo(kind).bits // 8
    a = numbers(columns * rows, kind).view(rows, columns)
    across, down = numbers(columns, kind), numbers(rows, kind)
    of_rows, of_columns = torch.empty(rows, dtype=kind, device=DEVICE), torch.empty(columns, dtype=kind, device=DEVICE)
    partial = torch.empty(64, columns, dtype=kind, device=DEVICE)
    floor = (columns * rows + columns + rows) * size

    def multiply(ROWS, COLUMNS, num_warps):
        gemv_kernel[(triton.cdiv(rows, ROWS),)](a, across, of_rows, columns, rows, ROWS=ROWS, COLUMNS=COLUMNS,
                                                num_warps=num_warps)

    def transpose(ROWS, COLUMNS, num_warps, parts):
        part_rows = triton.cdiv(triton.cdiv(rows, parts), ROWS) * ROWS
        places = (triton.cdiv(columns, COLUMNS), parts)
        transposed_kernel[places](a, down, partial, columns, rows, part_rows, ROWS=ROWS, COLUMNS=COLUMNS,
                                  num_warps=num_warps)
        join_kernel[(triton.cdiv(columns, 128),)](partial, of_columns, columns, parts, COLUMNS=128)

    yield Peer("gemv", choices(ROWS=[1, 2, 4], COLUMNS=[512, 1024, 2048], num_warps=[4, 8]), multiply, of_rows,
               lambda: torch.mv(a, across, out=of_rows), "mv", floor)
    yield Peer("gemv-transposed",
               choices(ROWS=[8, 16, 32], COLUMNS=[64, 128, 256], num_warps=[4, 8], parts=[8, 16, 32, 64]), transpose,
               of_columns, lambda: torch.mv(a.t(), down, out=of_columns), "mv of t()", floor)


def sparse_peers(kind, small):
    """Peer of spmv on a band matrix."""
    rows = 64 if small else 2097152
    size = torch.finfo(kind).bits // 8
    row_start, column = band_rows(rows, rows)
    value, x = numbers(rows * BAND, kind), numbers(rows, kind)
    y = torch.empty(rows, dtype=kind, device=DEVICE)
    matrix = torch.sparse_csr_tensor(row_start, column, value, (rows, rows))

    def multiply(ROWS, LANES, num_warps):
        spmv_kernel[(triton.cdiv(rows, ROWS),)](row_start, column, value, x, y, rows, ROWS=ROWS, LANES=LANES,
                                                num_warps=num_warps)

    yield Peer("spmv", choices(ROWS=[1, 8, 32], LANES=[16, 32], num_warps=[1, 4]), multiply, y,
               lambda: y.copy_(torch.mv(matrix, x)), "mv of CSR and copy_",
               4 * (rows + 1) + (4 + size) * rows * BAND + 2 * rows * size)


def product_peers(kind, small):
    """Peer of gemm; PyTorch without TF32."""
    m, n, k = (21, 45, 33) if small else (1024, 1024, 1024)
    a, b = numbers(m * k, kind).view(m, k), numbers(k * n, kind).view(k, n)
    c = torch.empty(m, n, dtype=kind, device=DEVICE)

    def multiply(M, N, K, DOT, num_warps, num_stages=2):
        gemm_kernel[(triton.cdiv(m, M) * triton.cdiv(n, N),)](a, b, c, m, n, k, M=M, N=N, K=K, GROUP=8, DOT=DOT,
                                                              num_warps=num_warps, num_stages=num_stages)

    configs = choices(M=[32, 64, 128], N=[32, 64, 128], K=[16, 32], DOT=[True], num_warps=[4, 8], num_stages=[2, 3])
    if kind == torch.float64:
        configs += choices(M=[32, 64], N=[32, 64], K=[2, 4], DOT=[False], num_warps=[4, 8])
    yield Peer("gemm", configs, multiply, c, lambda: torch.mm(a, b, out=c), "mm", 2 * m * n * k, True)


FAMILIES = [flat_peers, stencil_peers, sum_peers, vector_peers, sparse_peers, product_peers]


# Measurement


def seconds_of(work):
    """Duration of a call in seconds, by device events."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    work()
    end.record()
    end.synchronize()
    return 1e-3 * begin.elapsed_time(end)


def is_right(peer, config, expected, tolerance):
    """Whether a configuration agrees with PyTorch; prints the reason to stderr if not."""
    try:
        peer.result.fill_(float("nan"))
        peer.launch(**config)
        apart = ((peer.result.double() - expected).abs().max() / expected.abs().max()).item()
    except Exception as error:  # a configuration that does not compile or launch is excluded
        words = str(error).strip().splitlines() or [type(error).__name__]
        print(f"{peer.name} {config}: {words[-1]}", file=sys.stderr)
        return False
    if not apart <= tolerance:
        print(f"{peer.name} {config}: differs by {apart:.1e}", file=sys.stderr)
    return apart <= tolerance


def tune(peer, right):
    """The configuration with the shortest of three calls."""
    times = {}
    for number, config in enumerate(right):
        times[number] = min(seconds_of(lambda: peer.launch(**config)) for _ in range(3))
    return right[min(times, key=times.get)]


def measure(peer, kind_name, copy):
    """A table row: best times of the tuned kernel, of PyTorch and of a copy, measured in turn."""
    peer.peer()
    expected = peer.result.double().clone()
    right = [config for config in peer.configs if is_right(peer, config, expected, TOLERANCES[kind_name])]
    row = {"kernel": peer.name, "type": kind_name, "configurations": len(peer.configs), "right": len(right),
           "unit": "GFLOP/s" if peer.is_operations else "GB/s", "torch_call": peer.peer_name}
    best = tune(peer, right) if right else None
    works = {"torch": peer.peer, "copy": copy[0]} | ({"triton": lambda: peer.launch(**best)} if right else {})
    least = dict.fromkeys(works, math.inf)
    for _ in range(ROUNDS):
        for name, work in works.items():
            least[name] = min(least[name], seconds_of(work))
    copy_rate = copy[1] / least["copy"]
    for name in ("triton", "torch"):
        rate = peer.floor / least[name] if name in least else math.nan
        row[name + "_s"] = least.get(name, math.nan)
        row[name] = 1e-9 * rate
        row[name + "_of_copy"] = math.nan if peer.is_operations else rate / copy_rate
    row["copy"] = 1e-9 * copy_rate
    row["choice"] = " ".join(f"{key}={value}" for key, value in best.items()) if best else "none is right"
    return row


def check():
    """Checks configurations of every kernel at small size; returns the number of kernels without a
    correct one."""
    wrong = 0
    for (kind_name, kind), family in itertools.product(TYPES.items(), FAMILIES):
        for peer in family(kind, True):
            peer.peer()
            expected = peer.result.double().clone()
            configs = peer.configs[:: max(1, len(peer.configs) // 6)] if INTERPRETED else peer.configs
            right = sum(is_right(peer, config, expected, TOLERANCES[kind_name]) for config in configs)
            wrong += right == 0
            print(f"{peer.name} {kind_name}: {right} of {len(configs)} configurations are right")
    return wrong


LINE = "{kernel:16} {type:4} {triton:9.1f} {triton_of_copy:6.2f} {torch:9.1f} {torch_of_copy:6.2f}  {unit:8} {choice}"


def main():
    """Prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", default="triton-kernels.csv", help="table, replaced")
    parser.add_argument("--only", nargs="*", default=[], help="names of kernels")
    parser.add_argument("--check", action="store_true", help="small sizes, results alone")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    if arguments.check:
        sys.exit(1 if check() else 0)
    if not torch.cuda.is_available():
        sys.exit("kernels.py: PyTorch finds no GPU")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton {triton.__version__}")
    print(f"{'kernel':16} {'type':4} {'Triton':>9} {'copy':>6} {'PyTorch':>9} {'copy':>6}")
    rows = []
    source = torch.empty(1 << 30, dtype=torch.uint8, device=DEVICE)
    target = torch.empty_like(source)
    copy = (lambda: target.copy_(source), 2.0 * source.numel())
    for (kind_name, kind), family in itertools.product(TYPES.items(), FAMILIES):
        for peer in family(kind, False):
            if not arguments.only or peer.name in arguments.only:
                rows.append(measure(peer, kind_name, copy))
                print(LINE.format(**rows[-1]), flush=True)
                with open(arguments.csv, "w", newline="", encoding="utf-8") as file:  # rows so far
                    table = csv.DictWriter(file, rows[0].keys())
                    table.writeheader()
                    table.writerows(rows)


if __name__ == "__main__":
    main()
