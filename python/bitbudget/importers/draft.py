# SPDX-License-Identifier: Apache-2.0
"""Draft of a study of ao: values with their origins, assumptions, and untranslated settings."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..errors import UsageError

# Pipelines of every imported study: the reference and common choices to start from.
PIPELINES = ({"name": "reference", "arithmetic": "dp"}, {"name": "sp", "arithmetic": "sp"},
             {"name": "hp1", "arithmetic": "hp1"},
             {"name": "fp16", "arithmetic": "dp", "storage": {"codec": "fp16"}},
             {"name": "int8", "arithmetic": "dp", "storage": {"codec": "integer", "bits": 8, "rounding": "sweep"}})


def cartesian(radius: float, angle_deg: float) -> tuple[float, float]:
    """Return x and y of a direction."""
    return radius * math.cos(math.radians(angle_deg)), radius * math.sin(math.radians(angle_deg))


_RECORDS = ("guide_stars", "targets", "mirrors")


def number(value: float) -> float:
    """Round to 9 digits, so that 0.1 + 0.2 is written 0.3."""
    return value if not isinstance(value, float) or not math.isfinite(value) else float(f"{value:.9g}")


def _flow(value: Any) -> str:
    def plain(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: plain(part) for key, part in item.items()}
        return [plain(part) for part in item] if isinstance(item, (list, tuple)) else number(item)

    text = yaml.safe_dump(plain(value), default_flow_style=True, width=math.inf, sort_keys=False)
    return text.removesuffix("...\n").strip()


@dataclass
class Draft:
    """Values by key, each with the place that it came from.

    Records of guide stars, targets and mirrors are lists of (record, origin).
    """

    title: str
    source: str
    values: dict[str, tuple[Any, str]] = field(default_factory=dict)
    guide_stars: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    targets: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    mirrors: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    inputs: set[Path] = field(default_factory=set)

    def set(self, key: str, value: Any, origin: str) -> None:
        """Set a key."""
        self.values[key] = (value, origin)

    def get(self, key: str) -> Any:
        """Return a value that was set."""
        return self.values[key][0]

    def layers(self, heights: list[float], weights: list[float], origin: str) -> None:
        """Set the turbulent layers, in order of height."""
        self.set("atmosphere.layers", [{"height_m": height, "strength": weight}
                                       for height, weight in zip(heights, weights, strict=True)], origin)

    def substitute(self, origin: str, kind: str, sensor: str | None) -> None:
        """Replace a sensor that is not simulated, if the user asked for it."""
        if sensor is None:
            raise UsageError(f"{origin}: {kind} is not simulated; --sensor shack-hartmann substitutes a sensor")
        self.assumed.append(f"{origin}: {kind} replaced by a Shack-Hartmann sensor; the result is not comparable with "
                            "that of the instrument")

    def raise_layers(self, height_m: float, origin: str) -> None:
        """Give a single mirror's conjugate, m along the line of sight, by layers that are lower by it."""
        shift = height_m * math.cos(math.radians(self.get("telescope.zenith_angle_deg")))
        layers, source = self.values["atmosphere.layers"]
        moved = [{**layer, "height_m": layer["height_m"] - shift} for layer in layers]
        if min(layer["height_m"] for layer in moved) < 0:
            self.missing.append(f"{origin}: a mirror at {height_m:g} m, above some layers; here it is at the pupil")
            return
        self.set("atmosphere.layers", moved, source)
        self.assumed.append(f"{origin}: mirror at {height_m:g} m along the line of sight as layers {-height_m:g} m "
                            "higher")

    def reduce(self, lenslets: int) -> None:
        """Reduce the order: fewer lenslets and actuators, light per lenslet as before per area."""
        before = self.get("sensors.lenslets")
        if not 0 < lenslets < before:
            raise UsageError(f"lenslets {lenslets}: expected fewer than the {before} of the instrument")
        ratio = before / lenslets
        self.set("sensors.lenslets", lenslets, f"reduced from {before}")
        for record, _ in self.guide_stars:
            own = record.get("lenslets", before)
            if own <= lenslets:
                continue
            if "photons_per_frame" in record:
                record["photons_per_frame"] *= (own / lenslets) ** 2
            if own != before:
                record["lenslets"] = lenslets
        for record, _ in self.mirrors:
            if "pitch_m" in record:
                record["pitch_m"] *= ratio
        self.title += f", reduced to {lenslets} lenslets"
        self.assumed.append(f"reduced order: {lenslets} lenslets for {before}, light and actuator pitch scaled with "
                            "them; the result is not that of the instrument")

    def notes(self) -> list[str]:
        """Return what was assumed and what is missing, each once."""
        return [f"{name}: {note}" for name, notes in (("assumed", self.assumed), ("not translated", self.missing))
                for note in dict.fromkeys(notes)]

    def text(self) -> str:
        """Return the study as YAML, each value with its origin as a comment."""
        lines = [f"# {self.title}", f"# from {self.source}"]
        for name, notes in (("Assumed", self.assumed), ("Not translated", self.missing)):
            lines += [f"# {name}:", *(f"#   - {note}" for note in dict.fromkeys(notes))] if notes else []
        lines += ["experiment: ao", f"title: {_flow(self.title)}"]
        group = ""
        for key in sorted(self.values, key=lambda key: ("." in key, key.rsplit(".", 1)[0])):
            value, origin = self.values[key]
            head, _, name = key.rpartition(".")
            if head != group:
                lines += self._heads(group, head)
                group = head
            indent = "  " * (head.count(".") + 1) if head else ""
            if isinstance(value, list) and value and isinstance(value[0], dict):
                lines += [f"{indent}{name}: # {origin}", *(f"{indent}  - {_flow(record)}" for record in value)]
            else:
                lines.append(f"{indent}{name}: {_flow(value)} # {origin}")
        for name in _RECORDS:
            records = getattr(self, name)
            lines += [f"{name}:", *(f"  - {_flow(record)} # {origin}" for record, origin in records)] if records else []
        lines += ["pipelines:", *(f"  - {_flow(pipeline)}" for pipeline in PIPELINES)]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _heads(before: str, after: str) -> list[str]:
        """Lines that open the groups of a key after another group."""
        old, new = before.split("."), after.split(".")
        shared = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
        return [f"{'  ' * i}{name}:" for i, name in enumerate(new) if i >= shared]
