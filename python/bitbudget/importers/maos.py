# SPDX-License-Identifier: Apache-2.0
"""Configurations of MAOS: `key = value`, arrays in brackets, includes.

MAOS gives heights at zenith and scales them, as here, by the secant of the zenith angle; it also
scales the wind and the light of laser stars by the cosine, which is done here on reading. The
conjugates of mirrors are not scaled.
"""
from __future__ import annotations

import ast
import math
import operator
import re
from pathlib import Path
from typing import Any

from ..errors import FileError, UsageError
from .draft import Draft

# A subaperture of MAOS's low-order sensors measures Zernike tilt: as a grid narrower by this factor, measured here.
_TILT_MAGNIFICATION = 0.8

_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
               ast.Pow: operator.pow, ast.USub: operator.neg, ast.UAdd: operator.pos}
_CODE = re.compile(r"""(?:[^#"']|"[^"]*"|'[^']*')*""")  # a line without its comment
_TOKEN = re.compile(r'"[^"]*"|\'[^\']*\'|[^\s,;\[\]]+')


def _number(word: str) -> float | str:
    """Value of an expression such as 1/600 or -1.5e-3; other words as they are."""
    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and node.id == "inf":
            return math.inf
        if isinstance(node, ast.BinOp):
            return _OPERATIONS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp):
            return _OPERATIONS[type(node.op)](value(node.operand))
        raise KeyError

    try:
        return value(ast.parse(word, mode="eval").body)
    except (SyntaxError, KeyError, ZeroDivisionError, ValueError):
        return word.strip("\"'")


class _Settings:
    """Values of all files, the last assignment of each key with its place."""

    def __init__(self, root: Path) -> None:
        self.values: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.read: set[str] = set()
        self.paths: set[Path] = set()
        base = next((folder for folder in (root, *root.parents[:2]) if (folder / "sim.conf").exists()), root)
        self.known = {path.name: path for path in sorted(base.rglob("*.conf"), reverse=True)}

    def load(self, path: Path, stack: tuple[Path, ...] = ()) -> None:
        """Read a file and those it includes, in place."""
        if path in stack:
            raise FileError(f"{path}: includes itself: {' -> '.join(item.name for item in (*stack, path))}")
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number in range(len(lines) - 1, 0, -1):  # continued lines are joined where they begin
            if lines[number - 1].endswith("\\"):
                lines[number - 1], lines[number] = lines[number - 1][:-1] + " " + lines[number], ""
        self.paths.add(path.resolve())
        for number, line in enumerate(lines, 1):
            line = _CODE.match(line)[0]
            found = re.match(r"\s*([\w.]+)\s*([-+]?=)(.*)", line)
            if found is None:
                if line.strip():
                    raise FileError(f"{path}:{number}: '{line.strip()}' is not an assignment")
                continue
            key, assign, text = found[1], found[2], found[3].strip().rstrip(";").strip()
            if key in ("include", "__include"):
                if text.strip("\"'"):
                    self.load(self.find(text.strip("\"'"), f"{path}:{number}"), (*stack, path))
            else:
                self.assign(key, assign, text, f"{path.name}:{number}")

    def find(self, name: str, where: str) -> Path:
        """Return the path of a file by its name."""
        if Path(name).exists():
            return Path(name)
        if Path(name).name not in self.known:
            raise FileError(f"{where}: cannot find '{name}'; place MAOS's configuration folder beside the file")
        return self.known[Path(name).name]

    def assign(self, key: str, assign: str, text: str, place: str) -> None:
        """Set, append to, or remove from the end of a value."""
        value = self.parse(text, place)
        old = self.values.get(key, [])
        if assign == "+=":
            value = [*old, *value]
        elif assign == "-=":
            if old[len(old) - len(value):] != value:
                raise FileError(f"{place}: {key} ends in {old[-len(value):]}, not in {value}")
            value = old[:len(old) - len(value)]
        self.values[key], self.places[key] = value, place

    @staticmethod
    def parse(text: str, place: str) -> Any:
        """Value of a text: a list for brackets, with operations on all of its numbers."""
        found = re.fullmatch(r"\[(.*)\]((?:\s*[-+*/]\s*-?\d[\d.]*(?:[eE][-+]?\d+)?)*)", text.strip(), re.S)
        if found is None:
            return _number(text)
        values = [_number(word) for word in _TOKEN.findall(found[1])]
        for sign, factor in re.findall(r"([-+*/])\s*(-?\d[\d.]*(?:[eE][-+]?\d+)?)", found[2]):
            act = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign]
            try:
                values = [act(value, float(factor)) for value in values]
            except TypeError:
                raise FileError(f"{place}: '{text}' is not a list of numbers") from None
        return values

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, through `ref:`."""
        self.read.add(key)
        value = self.values.get(key, default)
        seen = {key}
        while isinstance(value, str) and value.startswith("ref:"):
            if value[4:] in seen:
                raise FileError(f"{self.where(key)}: {key} refers to itself")
            seen.add(value[4:])
            value = self.values.get(value[4:], default)
        if value is None:
            raise FileError(f"{key} is missing; expected a complete configuration of MAOS, such as scao_ngs.conf")
        return value

    def one(self, key: str, default: Any = None) -> Any:
        """Return a number, or the first of a list."""
        value = self.get(key, default)
        return value[0] if isinstance(value, list) else value

    def list(self, key: str, default: Any = None) -> list[Any]:
        """Return a list."""
        value = self.get(key, default)
        return value if isinstance(value, list) else [value]

    def of(self, key: str, index: int, default: Any = None) -> Any:
        """Return the value of a sensor type: its own, or that of all."""
        values = self.list(key, default)
        if len(values) > 1 and index >= len(values):
            raise FileError(f"{self.where(key)}: {key} has {len(values)} values, expected one for each type of sensor")
        return values[index if len(values) > 1 else 0] if values else default

    def where(self, key: str) -> str:
        """Return key and place, for a comment."""
        return f"{key}, {self.places.get(key, 'default')}"


def _order(size: float, diameter: float) -> float:
    """Return a spacing in m: itself, or a number of spacings across the pupil if negative."""
    return size if size > 0 else diameter / -size


def _photons(file: _Settings, draft: Draft, powfs: int, laser: bool, size: float, zenith: float) -> float:
    """Return photons of a lit subaperture in a frame."""
    ratio = file.one("sim.dt") * file.of("powfs.dtrat", powfs, 1) / file.one("sim.dtref")
    magnitude = file.of("powfs.mag", powfs, 0) or 0
    light = math.cos(zenith) if laser else 1.0
    if not magnitude > 0:
        return file.of("powfs.siglev", powfs, 960) * ratio * light
    wavelength = 1e6 * file.list("powfs.wvl")[min(powfs, len(file.list("powfs.wvl")) - 1)]
    table = file.list("sim.bzero")
    zero = dict(zip(table[::2], table[1::2]))[min(table[::2], key=lambda key: abs(key - wavelength))]
    air = file.of("powfs.atmthruput", powfs, 0.84) ** (1 / math.cos(zenith))
    through = file.of("powfs.telthruput", powfs, 0.307) * air
    draft.assumed.append(f"{file.where('powfs.mag')}: light of one wavelength, {wavelength:.3g} um")
    return zero * 10 ** (-0.4 * magnitude) * size**2 * file.one("sim.dtref") * through * ratio * light


def _atmosphere(file: _Settings, draft: Draft, zenith: float) -> None:
    heights, weights = file.list("atm.ht"), file.list("atm.wt")
    draft.layers(heights, weights, file.where("atm.wt"))
    draft.set("atmosphere.r0_m", file.one("atm.r0z"), file.where("atm.r0z"))
    scales = file.list("atm.L0")
    draft.set("atmosphere.outer_scale_m", sum(scales) / len(scales), file.where("atm.L0"))
    if len(set(scales)) > 1:
        draft.missing.append(f"{file.where('atm.L0')}: outer scales by layer; their mean is used")
    wind = file.list("atm.ws")
    draft.set("error_terms.wind_m_per_s", [math.cos(zenith) * speed for speed in wind],
              f"{file.where('atm.ws')}, times cos z as in MAOS")


def _stars(file: _Settings, draft: Draft, sensor: str | None, zenith: float) -> None:
    diameter = file.list("aper.d")[0]
    pitch = _order(file.list("dm.dx")[0], diameter)
    x, y = file.list("wfs.thetax"), file.list("wfs.thetay")
    first = 0
    for p, count in enumerate(map(int, file.list("powfs.nwfs"))):
        stars, first = range(first, first + count), first + count
        if len(x) < first or len(y) < first:
            raise FileError(f"{file.where('wfs.thetax')}: {len(x)} stars, expected {first} for powfs.nwfs")
        skip = file.of("powfs.skip", p, 0)
        if skip:
            draft.missing.append(f"{file.where('powfs.skip')}: truth or unused sensor {p} omitted")
            continue
        record = _sensor(file, draft, p, sensor, pitch, zenith)
        scale = file.of("powfs.astscale", p, 1) or 1
        for s in stars:
            own = file.list("wfs.siglev", [])
            if "photons_per_frame" in record and own:
                light = own[s if len(own) > 1 else 0] / file.of("powfs.siglev", p, 960)
                record = {**record, "photons_per_frame": record["photons_per_frame"] * light}
            draft.guide_stars.append(({**record, "x_arcsec": scale * x[s], "y_arcsec": scale * y[s]},
                                      f"powfs {p}; {file.where('wfs.thetax')}"))
    if not draft.guide_stars:
        raise FileError("no sensor; expected a complete configuration of MAOS")


def _sensor(file: _Settings, draft: Draft, p: int, sensor: str | None, pitch: float, zenith: float) -> dict[str, Any]:
    """Record of the stars of a type of sensor, without direction."""
    diameter = file.list("aper.d")[0]
    if file.of("powfs.type", p, 0) == 1:
        draft.substitute(file.where("powfs.type"), f"sensor type {p}, a pyramid,", sensor)
    given = file.of("powfs.dsa", p, 0)
    size = pitch if given == 0 else _order(given, diameter)
    laser = math.isfinite(file.of("powfs.hs", p, math.inf))
    wavelengths = file.list("powfs.wvl")
    start = int(sum(file.of("powfs.nwvl", q, 1) for q in range(p)))
    pixel = file.of("powfs.pixtheta", p, 1)
    wavelength = max(wavelengths[start:start + int(file.of("powfs.nwvl", p, 1))] or wavelengths[-1:])
    record: dict[str, Any] = {"kind": "lgs" if laser else "ngs"}
    if laser:
        record |= {"altitude_km": 1e-3 * (file.of("powfs.hs", p) - file.one("sim.htel", 0)), "launch": "central"}
        draft.set("solver.lgs_tilt", "unknown", file.where("powfs.trs"))
        draft.assumed.append("laser stars: sodium layer of 8.5 km (sigma 3.6 km, MAOS's mean profile), central launch")
        if file.of("powfs.frs", p, 0) and not math.isfinite(file.one("sim.fcfocus", 0)):
            draft.missing.append(f"{file.where('powfs.frs')}: focus of laser stars is measured here, removed by MAOS")
    record |= {"wavelength_nm": 1e9 * wavelength,
               "pixel_arcsec": pixel if pixel > 0 else -pixel * wavelength / size * 206264.806}
    if round(diameter / size) != round(diameter / pitch):
        record["lenslets"] = max(1, round(diameter / size))
    if file.of("powfs.phystep", p, 0) == -1:
        nea = file.of("powfs.neasim", p, -1)
        record["noise_mas"] = nea if nea > 0 else file.of("powfs.nearecon", p, 20)
    else:
        record |= {"photons_per_frame": _photons(file, draft, p, laser, size, zenith),
                   "read_noise_e": file.of("powfs.rne", p, 0), "background_e": file.of("powfs.bkgrnd", p, 0)}
    if file.of("powfs.gtype_sim", p, 0) == 1 and file.of("powfs.lo", p, 0) == 1:
        record["magnification"] = _TILT_MAGNIFICATION
        draft.assumed.append(f"{file.where('powfs.gtype_sim')}: Zernike tilt as the mean gradient over "
                             f"{_TILT_MAGNIFICATION} of the subaperture")
    record["frame_ms"] = 1e3 * file.one("sim.dt") * file.of("powfs.dtrat", p, 1)
    return record


def _targets(file: _Settings, draft: Draft) -> None:
    width = file.one("evl.fov", 1)
    x, y = file.list("evl.thetax"), file.list("evl.thetay")
    weights = file.list("evl.wt", [1])
    draft.targets = [({"x_arcsec": width * a, "y_arcsec": width * b, "weight": weights[i if len(weights) > 1 else 0]},
                      file.where("evl.thetax")) for i, (a, b) in enumerate(zip(x, y, strict=True))]
    draft.set("wavelengths_um", [1e6 * value for value in file.list("evl.wvl")], file.where("evl.wvl"))
    fit = (file.list("fit.thetax", x), file.list("fit.thetay", y), file.one("fit.fov", width))
    if len(file.list("dm.ht")) > 1 and fit != (x, y, width):
        draft.missing.append(f"{file.where('fit.thetax')}: directions of the fit; those that are scored are used")


def _correction(file: _Settings, draft: Draft) -> None:
    heights = file.list("dm.ht")
    high = [record for record, _ in draft.guide_stars if "lenslets" not in record]
    if len(heights) == 1:
        if heights[0] != 0:
            draft.raise_layers(heights[0], file.where("dm.ht"))
        own = len(high) == 1 or file.one("evl.moao", -1) >= 0
        kind = "moao" if own else "glao" if file.one("recon.glao", 0) else "ltao"
        draft.set("correction", kind, f"{file.where('dm.ht')}: one mirror")
        if kind == "glao":
            draft.missing.append(f"{file.where('recon.glao')}: slopes averaged over the stars; here the "
                                 "minimum-variance mean")
        return
    draft.set("correction", "moao" if file.one("evl.moao", -1) >= 0 else "mcao",
              f"{file.where('dm.ht')}: {len(heights)} mirrors")
    if draft.get("correction") == "moao":
        return
    diameter = file.list("aper.d")[0]
    for i, height in enumerate(heights):
        pitch = {} if height == 0 else {"pitch_m": _order(file.of("dm.dx", i), diameter)}
        coupling = file.of("dm.iac", i, 0.223)
        draft.mirrors.append(({"height_m": height, **pitch, "coupling": coupling}, file.where("dm.ht")))
        if file.of("dm.offset", i, 0):
            draft.missing.append(f"{file.where('dm.offset')}: actuators shifted by a part of their pitch")


def read(paths: list[str], sensor: str | None) -> Draft:
    """Read files and settings in order; see `bitbudget.importers.read`."""
    file = _Settings(Path(paths[0]).resolve().parent)
    for word in paths:
        key, equals, value = word.partition("=")
        if equals and not key.rstrip("+-"):
            raise UsageError(f"'{word}': expected a key before '='")
        if equals and not word.endswith(".conf"):
            file.assign(key.rstrip("+-"), key[-1] + "=" if key[-1] in "+-" else "=", value, "command line")
        else:
            file.load(file.find(word, "command line"))
    try:
        return _draft(file, paths, sensor)
    except FileError as error:
        raise FileError(f"{paths[0]}: {error}") from None


def _draft(file: _Settings, paths: list[str], sensor: str | None) -> Draft:
    draft = Draft(f"{Path(paths[0]).stem}, after MAOS", " ".join(paths), inputs=file.paths)
    diameters = [*file.list("aper.d"), 0.0]
    angle = file.one("sim.zadeg", 0)
    zenith = math.radians(angle)
    draft.set("telescope.diameter_m", diameters[0], file.where("aper.d"))
    draft.set("telescope.obstruction", diameters[1] / diameters[0], file.where("aper.d"))
    draft.set("telescope.zenith_angle_deg", angle, file.where("sim.zadeg"))
    draft.set("telescope.altitude_m", file.one("sim.htel", 0), file.where("sim.htel"))
    _atmosphere(file, draft, zenith)
    pitch = _order(file.list("dm.dx")[0], diameters[0])
    draft.set("sensors.lenslets", round(diameters[0] / pitch), file.where("dm.dx"))
    draft.set("sensors.slope_model", "averaged_gradient", file.where("powfs.gtype_sim"))
    draft.set("sensors.lgs.spot_arcsec", 0.5, "assumed: laser spot without the seeing")
    draft.set("sensors.lgs.depth_km", 8.5, "assumed: sodium layer")
    _stars(file, draft, sensor, zenith)
    if not any(record["kind"] == "lgs" for record, _ in draft.guide_stars):
        del draft.values["sensors.lgs.spot_arcsec"], draft.values["sensors.lgs.depth_km"]
    _targets(file, draft)
    _correction(file, draft)
    delay = file.one("sim.dt") * (file.of("powfs.dtrat", 0, 1) + 1 + file.one("sim.alhi", 0))
    draft.set("error_terms.frame_delay_ms", 1e3 * delay, f"{file.where('sim.dt')}: (dtrat + 1 + alhi) dt")
    if draft.get("correction") != "mcao":
        one = draft.get("correction") == "moao" or len(draft.targets) == 1
        draft.set("error_terms.minimum_variance", one, "MAOS fits the mirror to the phase" if one else "default")
        for record, _ in draft.targets:  # weights are of the fit of several mirrors
            del record["weight"]
    given = {key for key, place in file.places.items() if place == "command line" and key not in file.read}
    named = ("sim.wspsd", "ncpa.surf", "aper.fnamp", "aper.misreg", "powfs.misregx", "powfs.misregy")
    for key in (*named, *sorted(given)):
        value = file.values.get(key)
        if any(value) if isinstance(value, list) else value:
            draft.missing.append(f"{file.where(key)} = {file.values[key]}")
    return draft
