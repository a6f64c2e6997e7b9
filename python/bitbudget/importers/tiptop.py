# SPDX-License-Identifier: Apache-2.0
"""Instrument files of TIPTOP: INI with Python literals. Heights are at zenith and scaled by the airmass, as here."""
from __future__ import annotations

import ast
import configparser
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, UsageError
from .draft import Draft, cartesian


class _Settings:
    """Values of a file, with the line of each."""

    def __init__(self, path: Path) -> None:
        self.path, self.used = path, set[tuple[str, str]]()
        text = path.read_text(encoding="utf-8", errors="replace")
        parser = configparser.ConfigParser(inline_comment_prefixes=("#", ";"), interpolation=None, strict=False)
        parser.optionxform = str  # names keep their case
        try:
            parser.read_string(text)
        except configparser.Error as error:
            raise FileError(f"cannot read '{path}': {' '.join(str(error).split())}") from None
        self.parser, self.lines, section = parser, {}, ""
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip().startswith("["):
                section = line.strip().strip("[]")
            self.lines[section, line.partition("=")[0].strip()] = number

    def where(self, section: str, name: str) -> str:
        line = self.lines.get((section, name))
        return f"[{section}] {name}, " + (f"line {line}" if line else "default")

    def get(self, section: str, name: str, default: Any = None) -> Any:
        if not self.parser.has_option(section, name):
            return default
        self.used.add((section, name))
        text = self.parser.get(section, name)
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise FileError(f"{self.path}: {self.where(section, name)}: '{text}' is not a Python literal") from None

    def need(self, section: str, name: str) -> Any:
        value = self.get(section, name)
        if value is None:
            raise FileError(f"{self.path}: [{section}] {name} is missing")
        return value

    def list(self, section: str, name: str, default: Any = None) -> list[Any]:
        value = self.get(section, name, default)
        return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _places(file: _Settings, section: str) -> list[tuple[float, float]]:
    zenith, azimuth = file.list(section, "Zenith"), file.list(section, "Azimuth")
    if len(zenith) != len(azimuth):
        raise FileError(f"{file.path}: [{section}] has {len(zenith)} zenith and {len(azimuth)} azimuth angles")
    return [cartesian(z, a) for z, a in zip(zenith, azimuth)]


def _detector(file: _Settings, section: str, index: int, rate: float) -> dict[str, Any]:
    """Keys of a star's detector."""
    def at(name: str, default: float) -> float:
        values = file.list(section, name, default)
        return values[min(index, len(values) - 1)] if values else default

    found = {"photons_per_frame": at("NumberPhotons", 0.0), "read_noise_e": at("SigmaRON", 0.0),
             "excess_noise": at("ExcessNoiseFactor", 1.0), "pixel_arcsec": 1e-3 * at("PixelScale", 500.0)}
    background = (at("Dark", 0.0) + at("SkyBackground", 0.0)) / rate  # e- per pixel and second
    variance = at("NoiseVariance", None) if file.get(section, "NoiseVariance") else None
    if found["photons_per_frame"] <= 0:
        raise FileError(f"{file.path}: {file.where(section, 'NumberPhotons')}: expected a number above 0")
    if variance is not None:
        raise FileError(f"{file.path}: {file.where(section, 'NoiseVariance')}: a given variance is not read; use None")
    return {**found, **({"background_e": background} if background else {})}


def _check_sensor(file: _Settings, section: str, draft: Draft, sensor: str | None) -> None:
    kind = file.get(section, "WfsType", "Shack-Hartmann")
    if kind.lower() != "shack-hartmann":
        draft.substitute(f"{file.path}: {file.where(section, 'WfsType')}", f"sensor '{kind}'", sensor)


def _atmosphere(file: _Settings, draft: Draft) -> None:
    wavelength = file.get("atmosphere", "Wavelength", 500e-9)
    weights = file.list("atmosphere", "Cn2Weights", [1.0])
    heights = file.list("atmosphere", "Cn2Heights", [0.0])
    draft.layers(heights, weights, file.where("atmosphere", "Cn2Weights"))
    if file.get("atmosphere", "r0_Value"):
        draft.set("atmosphere.r0_m", file.get("atmosphere", "r0_Value") * (500e-9 / wavelength) ** 1.2,
                  file.where("atmosphere", "r0_Value"))
    else:
        draft.set("atmosphere.seeing_arcsec", file.need("atmosphere", "Seeing"), file.where("atmosphere", "Seeing"))
        draft.set("atmosphere.seeing_wavelength_nm", 1e9 * wavelength, file.where("atmosphere", "Wavelength"))
    draft.set("atmosphere.outer_scale_m", file.get("atmosphere", "L0", 25.0), file.where("atmosphere", "L0"))
    wind = file.list("atmosphere", "WindSpeed", [10.0])
    draft.set("error_terms.wind_m_per_s", wind * len(weights) if len(wind) == 1 else wind,
              file.where("atmosphere", "WindSpeed"))


def _stars(file: _Settings, draft: Draft, sensor: str | None) -> None:
    for section in ("sources_HO", "sensor_HO"):
        if not file.parser.has_section(section):
            raise FileError(f"{file.path}: [{section}] is missing")
    height = file.get("sources_HO", "Height", 0.0) or 0.0
    for section, kind, sources in (("sensor_HO", "lgs" if height else "ngs", "sources_HO"),
                                   ("sensor_LO", "ngs", "sources_LO"), ("sensor_Focus", "ngs", "sources_Focus")):
        if not file.parser.has_section(section) or not file.parser.has_section(sources):
            continue
        _check_sensor(file, section, draft, sensor)
        rate = file.get("RTC", f"SensorFrameRate_{section.removeprefix('sensor_')}", 500.0)
        if not isinstance(rate, (int, float)) or rate <= 0:
            raise FileError(f"{file.path}: frame rate {rate} of {section}, expected a number above 0")
        orders = file.list(section, "NumberLenslets", [1])
        for i, (x, y) in enumerate(_places(file, sources)):
            record = {"kind": kind, "x_arcsec": x, "y_arcsec": y, "lenslets": orders[min(i, len(orders) - 1)],
                      "frame_ms": 1e3 / rate, "wavelength_nm": 1e9 * file.list(sources, "Wavelength")[0],
                      **({"altitude_km": 1e-3 * height} if kind == "lgs" else {}), **_detector(file, section, i, rate)}
            draft.guide_stars.append((record, f"[{sources}], {file.where(section, 'NumberLenslets')}"))
    draft.set("sensors.lenslets", draft.guide_stars[0][0]["lenslets"], file.where("sensor_HO", "NumberLenslets"))
    for record, _ in draft.guide_stars:
        if record["lenslets"] == draft.get("sensors.lenslets"):
            del record["lenslets"]
    if height:
        draft.set("solver.lgs_tilt", "unknown", "laser stars do not measure tilt")
        spot = np.mean(np.ravel(file.list("sensor_HO", "SpotFWHM", [0.0]))[:2])  # of both axes
        draft.set("sensors.lgs.spot_arcsec", 1e-3 * float(spot), file.where("sensor_HO", "SpotFWHM"))
        draft.assumed.append("laser stars: sodium layer 5 km deep, launched from the pupil's edge")


def _correction(file: _Settings, draft: Draft) -> None:
    heights, pitches = file.list("DM", "DmHeights", [0.0]), file.list("DM", "DmPitchs")
    if len(heights) == 1:
        if heights[0]:
            draft.raise_layers(heights[0], file.where("DM", "DmHeights"))
        spacing = draft.get("telescope.diameter_m") / draft.get("sensors.lenslets")
        if pitches and abs(pitches[0] - spacing) > 0.02 * spacing:
            draft.missing.append(f"{file.where('DM', 'DmPitchs')} = {pitches}: the mirror has an actuator a lenslet, "
                                 f"{spacing:.4g} m apart")
        many = sum(1 for record, _ in draft.guide_stars if "lenslets" not in record) > 1
        draft.set("correction", "ltao" if many else "moao", "[DM] DmHeights: one mirror")
        if len(file.list("DM", "OptimizationZenith", [0.0])) > 1:
            draft.set("correction", "glao", "[DM] OptimizationZenith: one mirror for several directions")
        return
    draft.set("correction", "mcao", "[DM] DmHeights: several mirrors")
    draft.mirrors = [({"height_m": height, "pitch_m": pitch}, file.where("DM", "DmHeights"))
                     for height, pitch in zip(heights, pitches, strict=True)]


def read(paths: list[str], sensor: str | None) -> Draft:
    """Read one file; see `bitbudget.importers.read`."""
    if len(paths) != 1:
        raise UsageError(f"TIPTOP: {len(paths)} files, expected one")
    file = _Settings(Path(paths[0]))
    draft = Draft(f"{Path(paths[0]).stem}, after TIPTOP", paths[0])
    file.need("telescope", "TelescopeDiameter")
    for key, name in (("diameter_m", "TelescopeDiameter"), ("obstruction", "ObscurationRatio"),
                      ("zenith_angle_deg", "ZenithAngle")):
        draft.set(f"telescope.{key}", file.get("telescope", name, 0.0), file.where("telescope", name))
    _atmosphere(file, draft)
    _stars(file, draft, sensor)
    draft.targets = [({"x_arcsec": x, "y_arcsec": y}, file.where("sources_science", "Zenith"))
                     for x, y in _places(file, "sources_science")]
    draft.set("wavelengths_um", [1e6 * value for value in file.list("sources_science", "Wavelength")],
              file.where("sources_science", "Wavelength"))
    _correction(file, draft)
    steps, rate = file.get("RTC", "LoopDelaySteps_HO", 2), file.get("RTC", "SensorFrameRate_HO", 500.0)
    draft.set("error_terms.frame_delay_ms", 1e3 * steps / rate, file.where("RTC", "LoopDelaySteps_HO"))
    _rest(file, draft)
    return draft


# Settings without an effect here: sizes of TIPTOP's own grids, and optional outputs.
_GRIDS = {"Resolution", "TechnicalFoV", "FieldOfView", "Modulation", "AoArea", "PixelScale"}


def _rest(file: _Settings, draft: Draft) -> None:
    """List the settings with a value that have no counterpart."""
    for section in file.parser.sections():
        for name in file.parser.options(section):
            value = file.parser.get(section, name)
            empty = value in ("None", "1" if name == "Binning" else "None", "0", "0.0", "[]", "''")
            if (section, name) not in file.used and name not in _GRIDS and not empty:
                draft.missing.append(f"{file.where(section, name)} = {value}")
