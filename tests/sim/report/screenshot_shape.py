#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a screenshot with the shape that it had: darkness of blocks of 20 x 20 pixels, a
character each, " " none to "9".

    screenshot_shape.py SHOT.png SHAPE.txt PERCENT [--write]

Exit 1 where over PERCENT of the blocks are off by over 1 level, with both shapes beside each other.
"""
import struct
import sys
import zlib

BLOCK, LEVELS = 20, 10
OFF = 1


def read_png(path):
    """Rows of grey values, 0 to 255, of a PNG of 8 bits, RGB or RGBA, not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    place, packed = 8, b""
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and interlace == 0, (depth, colour, interlace)
        packed += body if kind == b"IDAT" else b""
        place += 12 + length
    step = 3 if colour == 2 else 4
    raw, rows, above = zlib.decompress(packed), [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        line = bytearray(raw[start + 1:start + 1 + width * step])
        undo(raw[start], line, above, step)
        rows.append([(line[i] + line[i + 1] + line[i + 2]) // 3 for i in range(0, len(line), step)])
        above = line
    return rows


def undo(filter_type, line, above, step):
    """The filters of the PNG specification, section 9."""
    for i in range(len(line)) if filter_type else ():
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        if filter_type == 1:
            guess = left
        elif filter_type == 2:
            guess = above[i]
        elif filter_type == 3:
            guess = (left + above[i]) // 2
        else:
            near = left + above[i] - corner
            guess = min((left, above[i], corner), key=lambda v: abs(near - v))
        line[i] = (line[i] + guess) & 255


def shape_of(rows):
    shape = []
    for y in range(0, len(rows) - BLOCK + 1, BLOCK):
        line = ""
        for x in range(0, len(rows[0]) - BLOCK + 1, BLOCK):
            light = sum(sum(row[x:x + BLOCK]) for row in rows[y:y + BLOCK]) / (255 * BLOCK * BLOCK)
            # The square root tells a line of text from a rim.
            level = min(LEVELS - 1, int(LEVELS * (1 - light) ** 0.5))
            line += " " if level == 0 else str(level)
        shape.append(line)
    return shape


def main():
    shape = shape_of(read_png(sys.argv[1]))
    if "--write" in sys.argv:
        with open(sys.argv[2], "w") as file:
            file.write("\n".join(line.rstrip() for line in shape) + "\n")
        return
    with open(sys.argv[2]) as file:
        expected = [line.rstrip("\n").ljust(len(shape[0])) for line in file]
    levels = [[0 if c == " " else int(c) for c in line] for line in shape]
    wanted = [[0 if c == " " else int(c) for c in line] for line in expected]
    assert len(levels) == len(wanted) and all(len(a) == len(b) for a, b in zip(levels, wanted)), \
        f"{len(shape)} x {len(shape[0])} blocks, expected {len(expected)} x {len(expected[0])}"
    off = sum(abs(a - b) > OFF for line, other in zip(levels, wanted) for a, b in zip(line, other))
    percent = 100 * off / (len(shape) * len(shape[0]))
    print(f"{sys.argv[1]}: {percent:.2f} % of the blocks are off")
    if percent > float(sys.argv[3]):
        print("\n".join(f"{a}|{b}" for a, b in zip(shape, expected)))
        sys.exit(1)


if __name__ == "__main__":
    main()
