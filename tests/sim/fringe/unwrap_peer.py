#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unwraps the same maps by this program and by scikit-image and compares the whole turns.

    unwrap_peer.py PROGRAM FOLDER

The maps are such as both get right; piston of a part aside, every point has to be on the same turn,
and on that of the truth. Exit 77 where h5py or scikit-image is not installed.
"""
import pathlib
import subprocess
import sys

try:
    import h5py
    import numpy as np
    from skimage import __version__ as peer_version
    from skimage.restoration import unwrap_phase
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

TURN = 2 * np.pi
STUDY = """experiment: fringe
device: cpu
input: {file: map.h5, mask: /mask}
zernike_terms: 0
pipelines:
  - {name: reference, arithmetic: fp64}
  - {name: fp32, arithmetic: fp32}
"""


def grid(columns, rows):
    return np.meshgrid(np.linspace(-1, 1, columns), np.linspace(-1, 1, rows))


def zernikes(columns, rows):
    x, y = grid(columns, rows)
    r2 = x**2 + y**2
    phase = 8 * (2 * r2 - 1) + 3 * (6 * r2**2 - 6 * r2 + 1) + 4 * (3 * r2 - 2) * x + 5 * y
    return phase, (r2 < 0.96) & (r2 > 0.09)


def noisy(columns, rows, sigma):
    x, y = grid(columns, rows)
    noise = np.random.default_rng(3).normal(scale=sigma, size=x.shape)
    return 18 * np.exp(-3 * (x - 0.2)**2 - 2 * y**2) + 9 * x * y + 12 * x + noise, np.ones(x.shape, bool)


def holed(columns, rows):
    phase, mask = noisy(columns, rows, 0.1)
    x, y = grid(columns, rows)
    for u, v, radius in ((0.3, 0.2, 0.1), (-0.5, 0.4, 0.2), (-0.2, -0.6, 0.15)):
        mask &= np.hypot(x - u, y - v) > radius
    mask[:, columns // 3] = False  # two parts
    return phase, mask


def unwrapped_here(program, folder, wrapped, mask):
    """Phases of both pipelines, and the part of each point."""
    with h5py.File(folder / "map.h5", "w") as file:
        file["wrapped"] = wrapped
        file["mask"] = mask
    subprocess.run([program, "run", "study.yaml", "-q", "--force", "-o", "out.h5", "--dump", "phase,maps"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with h5py.File(folder / "out.h5") as file:
        operators = file["operators"]
        return operators["phase_reference"][:], operators["phase_fp32"][:], operators["parts"][:]


def turned(phase, other, parts):
    """Points that are off by whole turns, of each part those that most points are off by aside."""
    count = 0
    for part in np.unique(parts[np.isfinite(parts)]):
        turns = np.rint((phase - other)[parts == part] / TURN)
        count += int(np.sum(turns != np.median(turns)))
    return count


def main(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.yaml").write_text(STUDY)
    maps = {"Zernikes on a ring": zernikes(161, 160), "noise of 0.3 rad": noisy(128, 97, 0.3),
            "noise of 0.5 rad": noisy(150, 150, 0.5), "holes and two parts": holed(131, 120)}
    failures = 0
    for name, (phase, mask) in maps.items():
        wrapped = np.angle(np.exp(1j * phase))
        peer = unwrap_phase(np.ma.array(wrapped, mask=~mask)).filled(np.nan)
        reference, single, parts = unwrapped_here(program, folder, wrapped, mask)
        assert np.array_equal(np.isfinite(parts), mask), name
        counts = [turned(reference, peer, parts), turned(single, peer, parts), turned(reference, phase, parts)]
        print(f"{name}: {counts[0]} points on other turns than scikit-image {peer_version} has, fp32 "
              f"{counts[1]}, than the truth {counts[2]}")
        failures += any(counts)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve()))
