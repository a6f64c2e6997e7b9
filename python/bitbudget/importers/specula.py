# SPDX-License-Identifier: Apache-2.0
"""Simulations of SPECULA: YAML objects with a class, connected by their inputs and outputs."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from ..errors import FileError
from .draft import Draft, cartesian

# Brightness of magnitude 0, J/s/m^2/um, by band and its wavelength in nm (Lena 1996; Na: SPECULA's own).
_BANDS = {"U": (360, 4.35e-8), "B": (440, 7.2e-8), "V": (550, 3.92e-8), "R": (700, 1.76e-8), "I": (900, 8.3e-9),
          "J": (1250, 3.4e-9), "H": (1650, 7e-10), "K": (2200, 3.9e-10), "L": (3400, 8.1e-11), "M": (5000, 2.2e-11),
          "Na": (589, 3.92e-8)}


class _Loader(yaml.SafeLoader):
    """YAML with the tags of SPECULA as plain values, and the line of each object."""


def _untagged(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, True)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("!", _untagged)


class _Objects:
    """Objects of all files by name; a later file overrides members."""

    def __init__(self, paths: list[str]) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, str] = {}
        for path in map(Path, paths):
            text = path.read_text(encoding="utf-8", errors="replace")
            try:
                node = yaml.compose(text, _Loader)
                found = yaml.load(text, _Loader)
            except yaml.YAMLError as error:
                raise FileError(f"cannot read '{path}': {' '.join(str(error).split())}") from None
            if not isinstance(found, dict):
                raise FileError(f"cannot read '{path}': not a simulation of SPECULA")
            for (key, _), (name, members) in zip(node.value, found.items()):
                if isinstance(members, dict):
                    self.objects.setdefault(name, {}).update(members)
                    self.lines[name] = f"{path.name}:{key.start_mark.line + 1}"

    def of(self, *classes: str) -> list[str]:
        """Return the names of objects of some classes."""
        return [name for name, members in self.objects.items() if members.get("class") in classes]

    def one(self, kind: str) -> dict[str, Any]:
        """Return the only object of a class."""
        names = self.of(kind)
        if not names:
            raise FileError(f"no object of class {kind}; expected a complete simulation of SPECULA")
        return self.objects[names[0]]

    def where(self, name: str, member: str) -> str:
        """Return object, member and place, for a comment."""
        return f"{name}.{member}, {self.lines[name]}"

    def constant(self, reference: str) -> Any:
        """Return the value of the generator that an input names."""
        return self.objects.get(str(reference).split(".")[0], {}).get("constant")

    def behind(self, output: str, member: str) -> str | None:
        """Return the name of the object with an output among its inputs."""
        for name, members in self.objects.items():
            if str((members.get("inputs") or {}).get(member, "")).split(".")[0] == output:
                return name
        return None

    def source(self, name: str) -> str:
        """Return the source that a sensor or an image looks at."""
        port = str((self.objects[name].get("inputs") or {}).get("in_ef", "")).split(".")[-1]
        found = port.removeprefix("out_").removesuffix("_ef")
        if found not in self.objects:
            raise FileError(f"{self.where(name, 'inputs')}: in_ef names no source ('{port}')")
        return found


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _direction(objects: _Objects, source: str) -> tuple[float, float]:
    radius, angle = objects.objects[source].get("polar_coordinates", [0.0, 0.0])
    return cartesian(radius, angle)


def _stars(objects: _Objects, draft: Draft, sensor: str | None, diameter: float) -> None:
    for name in objects.of("SH", "ModulatedPyramid", "PyrWFS"):
        about = objects.objects[name]
        if about["class"] != "SH":
            draft.substitute(objects.where(name, "class"), about["class"], sensor)
        source = objects.source(name)
        star = objects.objects[source]
        x, y = _direction(objects, source)
        order = int(about.get("subap_on_diameter") or about.get("pup_diam") or 0)
        if order == 0:
            raise FileError(f"{objects.where(name, 'subap_on_diameter')}: missing")
        record: dict[str, Any] = {"kind": "ngs", "x_arcsec": x, "y_arcsec": y, "lenslets": order,
                                  "wavelength_nm": float(about.get("wavelengthInNm", 750)),
                                  "pixel_arcsec": float(about.get("sensor_pxscale", 0.5))}
        height = float(star.get("height", math.inf))
        laser = math.isfinite(height)
        if laser:
            record |= {"kind": "lgs", "altitude_km": 1e-3 * height}
        record |= _detector(objects, draft, name, star, (diameter / order) ** 2)
        draft.guide_stars.append((record, f"{objects.where(name, 'class')}; {source}"))
        if laser:
            draft.set("solver.lgs_tilt", "unknown", "laser stars do not measure tilt")
            launch = objects.objects.get(str(about.get("laser_launch_tel_ref")), {})
            draft.set("sensors.lgs.spot_arcsec", float(launch.get("spot_size", 1.0)),
                      f"{about.get('laser_launch_tel_ref')}.spot_size")


def _detector(objects: _Objects, draft: Draft, sensor: str, star: dict[str, Any], area: float) -> dict[str, Any]:
    camera = objects.behind(sensor, "in_i")
    if camera is None:
        raise FileError(f"{objects.where(sensor, 'class')}: no detector reads it")
    about = objects.objects[camera]
    frame = float(about.get("dt", objects.one("SimulParams")["time_step"]))
    band, efficiency = float(about.get("bandw", 300)), float(about.get("quantum_eff", 1.0))
    wavelength = float(star.get("wavelengthInNm", 750))
    sodium = abs(wavelength - 589) < 0.1
    near = min((name for name in _BANDS if sodium or name != "Na"), key=lambda name: abs(_BANDS[name][0] - wavelength))
    zero = float(star.get("zeroPoint") or _BANDS[star.get("band") or near][1])
    energy = 6.626e-34 * 3e8 / (1e-9 * wavelength)  # of a photon, J
    light = 10 ** (-0.4 * float(star.get("magnitude", 0))) * zero / energy
    photons = light * 1e-3 * band * frame * area * efficiency
    noise = float(about.get("readout_level", 0.0)) if about.get("readout_noise") else 0.0
    found = {"photons_per_frame": photons, "frame_ms": 1e3 * frame, "read_noise_e": noise}
    if about.get("excess_noise"):
        found["excess_noise"] = 2.0
    background = sum(float(about.get(f"{key}_level") or 0.0) for key in ("darkcurrent", "background")
                     if about.get(f"{key}_noise"))
    draft.missing += [f"{objects.where(camera, key)} = {about[key]}" for key, value in
                      (("binning", 1), ("photon_noise", True), ("cic_noise", False)) if about.get(key, value) != value]
    return {**found, **({"background_e": background} if background else {})}


def _atmosphere(objects: _Objects, draft: Draft) -> None:
    name = objects.of("AtmoEvolution", "AtmoInfiniteEvolution")
    if not name:
        raise FileError("no object of class AtmoEvolution; expected a complete simulation of SPECULA")
    about = objects.objects[name[0]]
    inputs = about.get("inputs", {})
    heights, weights = map(_list, (about["heights"], about.get("Cn2", about.get("cn2"))))
    draft.layers(list(map(float, heights)), list(map(float, weights)), objects.where(name[0], "Cn2"))
    seeing = objects.constant(inputs.get("seeing", ""))
    if seeing is None:
        raise FileError(f"{objects.where(name[0], 'inputs')}: seeing has no constant value")
    draft.set("atmosphere.seeing_arcsec", float(_list(seeing)[0]), "constant of the generator of seeing")
    scales = [float(value) for value in _list(about["L0"])]
    draft.set("atmosphere.outer_scale_m", sum(scales) / len(scales), objects.where(name[0], "L0"))
    if len(set(scales)) > 1:
        draft.missing.append(f"{objects.where(name[0], 'L0')}: outer scales by layer; their mean is used")
    wind = objects.constant(inputs.get("wind_speed", ""))
    if wind is not None:
        winds = [float(value) for value in _list(wind)]
        draft.set("error_terms.wind_m_per_s", winds * len(weights) if len(winds) == 1 else winds,
                  "constant of wind_speed")


def read(paths: list[str], sensor: str | None) -> Draft:
    """Read files, later ones overriding; see `bitbudget.importers.read`."""
    objects = _Objects(paths)
    try:
        return _draft(objects, paths, sensor)
    except FileError as error:
        raise FileError(f"{paths[0]}: {error}") from None
    except KeyError as error:
        raise FileError(f"{paths[0]}: member {error} is missing") from None


def _draft(objects: _Objects, paths: list[str], sensor: str | None) -> Draft:
    draft = Draft(f"{Path(paths[0]).stem}, after SPECULA", " ".join(paths))
    main = objects.of("SimulParams")
    about = objects.one("SimulParams")
    diameter = about["pixel_pupil"] * about["pixel_pitch"]
    draft.set("telescope.diameter_m", diameter, objects.where(main[0], "pixel_pupil") + " times pixel_pitch")
    draft.set("telescope.zenith_angle_deg", float(about.get("zenithAngleInDeg") or 0.0),
              objects.where(main[0], "zenithAngleInDeg"))
    stop = objects.of("Pupilstop")
    if stop and objects.objects[stop[0]].get("tag"):
        draft.missing.append(f"{objects.where(stop[0], 'tag')}: pupil mask in a file; a full disc is used")
    draft.set("telescope.obstruction", float(objects.objects[stop[0]].get("obs_diam") or 0.0) if stop else 0.0,
              objects.where(stop[0], "obs_diam") if stop and "obs_diam" in objects.objects[stop[0]] else "default")
    _atmosphere(objects, draft)
    _stars(objects, draft, sensor, diameter)
    order = max((record["lenslets"] for record, _ in draft.guide_stars), default=0)
    if order == 0:
        raise FileError("no sensor; expected a complete simulation of SPECULA")
    draft.set("sensors.lenslets", order, "largest subap_on_diameter")
    for record, _ in draft.guide_stars:
        if record["lenslets"] == order:
            del record["lenslets"]
    _images(objects, draft)
    _mirrors(objects, draft, diameter / order)
    step = float(about["time_step"])
    loop = objects.of("Integrator", "IirFilter")
    delay = float(objects.objects[loop[0]].get("delay", 1)) if loop else 1.0
    for name in loop:
        gains = [key for key in ("int_gain", "int_gain_data", "gain") if key in objects.objects[name]]
        draft.missing += [f"{objects.where(name, key)}: loop gain" for key in gains]
    draft.set("error_terms.frame_delay_ms", 1e3 * step * delay,
              objects.where(loop[0], "delay") if loop else "assumed: one step")
    return draft


def _images(objects: _Objects, draft: Draft) -> None:
    wavelengths: list[float] = []
    for name in objects.of("PSF", "ExtendedSource"):
        x, y = _direction(objects, objects.source(name))
        draft.targets.append(({"x_arcsec": x, "y_arcsec": y}, objects.where(name, "inputs")))
        wavelengths.append(1e-3 * objects.objects[name]["wavelengthInNm"])
    if not draft.targets:
        raise FileError("no object of class PSF; expected a direction to score")
    draft.set("wavelengths_um", list(dict.fromkeys(wavelengths)), "wavelengthInNm of the images")


def _mirrors(objects: _Objects, draft: Draft, pitch: float) -> None:
    names = objects.of("DM")
    heights = [float(objects.objects[name].get("height", 0.0)) for name in names]
    many = sum(1 for record, _ in draft.guide_stars if "lenslets" not in record) > 1
    for name in names:
        modes = objects.objects[name].get("nmodes", "all")
        draft.assumed.append(f"{objects.where(name, 'nmodes')} = {modes}: actuators at the spacing of the lenslets in "
                             "place of the modes")
    if len(set(heights)) <= 1:
        draft.set("correction", "ltao" if many else "moao", "one mirror")
        return
    draft.set("correction", "mcao", f"{len(heights)} mirrors")
    for name, height in zip(names, heights):
        record = {"height_m": height} if height == 0 else {"height_m": height, "pitch_m": pitch}
        draft.mirrors.append((record, objects.where(name, "height")))
