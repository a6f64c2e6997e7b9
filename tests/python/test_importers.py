# SPDX-License-Identifier: Apache-2.0
"""Instruments of other simulators: small files of each format, their numbers by hand, and refusals."""
import numpy as np
import pytest
import yaml

import bitbudget as bb
from bitbudget import importers, program

TIPTOP = """[telescope]
TelescopeDiameter = 8.
ZenithAngle = 30.0
ObscurationRatio = 0.16
[atmosphere]
Wavelength = 500e-9
Seeing = 0.8
L0 = 22.0
Cn2Weights = [0.7, 0.3]
Cn2Heights = [30, 11000]
WindSpeed = [6.6, 17.5]
[sources_science]
Wavelength = [1.65e-06]
Zenith = [0.0, 10.0]
Azimuth = [0.0, 90.0]
[sources_HO]
Wavelength = [589e-9]
Zenith = [20.0, 20.0]
Azimuth = [0.0, 180.0]
Height = 90000
[sources_LO]
Wavelength = [750e-09]
Zenith = [5.0]
Azimuth = [30.0]
[sensor_HO]
WfsType = 'Shack-Hartmann'
PixelScale = 832
NumberPhotons = [100.0]
SigmaRON = 0.2
ExcessNoiseFactor = 2.0
NumberLenslets = [10]
[sensor_LO]
PixelScale = 417
NumberPhotons = [50.0, 60.0]
SigmaRON = 0.5
Dark = 0.5
SkyBackground = 1.5
NumberLenslets = [2]
[DM]
DmHeights = [0.0]
DmPitchs = [0.8]
[RTC]
LoopGain_HO = 0.3
SensorFrameRate_HO = 1000.0
LoopDelaySteps_HO = 3
SensorFrameRate_LO = 500.0
"""

SPECULA = """main: {class: 'SimulParams', pixel_pupil: 160, pixel_pitch: 0.05, time_step: 0.001, zenithAngleInDeg: 30.0}
seeing: {class: 'FuncGenerator', constant: 0.8}
wind_speed: {class: 'FuncGenerator', constant: [20.]}
axis: {class: 'Source', polar_coordinates: [0.0, 0.0], magnitude: 8, wavelengthInNm: 750}
star: {class: 'Source', polar_coordinates: [10.0, 90.0], magnitude: 10, wavelengthInNm: 750}
stop: {class: 'Pupilstop', obs_diam: 0.1}
atmo: {class: 'AtmoEvolution', L0: 40, heights: [119.], Cn2: [1.0], inputs: {seeing: 'seeing.output', wind_speed: 'wind_speed.output'}}
sh: {class: 'SH', subap_on_diameter: 8, sensor_pxscale: 0.15, wavelengthInNm: 750, inputs: {in_ef: 'prop.out_star_ef'}}
ccd: {class: 'CCD', dt: 0.002, bandw: 300, readout_noise: True, readout_level: 1.0, quantum_eff: 0.32, inputs: {in_i: 'sh.out_i'}}
control: {class: 'Integrator', delay: 2}
dm: {class: 'DM', height: 0}
psf: {class: 'PSF', wavelengthInNm: 1650, inputs: {in_ef: 'prop.out_axis_ef'}}
"""

MAOS = {
    "sim.conf": """aper.d = [30 3.6] # of the telescope
sim.dt = 1/800
sim.dtref = ref:sim.dt
sim.zadeg = 60
sim.htel = 4000
sim.alhi = 0
dm.dx = [0.5]
dm.ht = [0]
atm.r0z = 0.186
atm.L0 = 30
atm.ht = [0 8000]
atm.wt = [0.75 0.25]
atm.ws = [5 20];
evl.thetax = [0 1]
evl.thetay = [0 0]
evl.wt = [2/3 1/3]
evl.fov = 34
evl.wvl = [1.65e-6]
""",
    "wfs.conf": """powfs.type = [0]
powfs.dsa = [0]
powfs.hs = [90e3]
powfs.wvl = [0.589e-6]
powfs.pixtheta = [1]
powfs.siglev = [900]
powfs.rne = [3]
powfs.lo = [0]
powfs.phystep = [0]
powfs.gtype_sim = [0]
powfs.nwfs = [2]
wfs.thetax = [1 -1]*5
wfs.thetay = [0 0]
""",
    "tilt.conf": """powfs.type += [0]
powfs.dsa += [-2]
powfs.hs += [inf]
powfs.lo += [1]
powfs.lo -= [1]
powfs.lo += [1]
powfs.wvl += [2e-6]
powfs.pixtheta += [-0.5]
powfs.phystep += [-1]
powfs.neasim = [-1 7]
powfs.gtype_sim += [1]
powfs.nwfs += [1]
wfs.thetax += [20]
wfs.thetay += [\\
0]
""",
    "all.conf": "include = sim.conf\ninclude=\"wfs.conf\"\ninclude= tilt.conf\naper.d = [5]\n",
}


@pytest.fixture
def instruments(tmp_path):
    (tmp_path / "t.ini").write_text(TIPTOP)
    (tmp_path / "s.yml").write_text(SPECULA)
    for name, text in MAOS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def study(path, *more, **options):
    return yaml.safe_load(importers.read(path, *more, **options).text())


def written(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["t.ini", "s.yml", "all.conf"])
def test_the_program_accepts_every_study(instruments, name):
    (instruments / "study.yaml").write_text(importers.read(instruments / name).text())
    program.run(["check", str(instruments / "study.yaml")])


def test_tiptop(instruments):
    found = study(instruments / "t.ini")
    assert found["telescope"] == {"diameter_m": 8.0, "obstruction": 0.16, "zenith_angle_deg": 30.0}
    assert found["atmosphere"]["seeing_arcsec"] == 0.8 and found["atmosphere"]["layers"][1] == {"height_m": 11000, "strength": 0.3}
    high, other, low = found["guide_stars"]
    assert high == {"kind": "lgs", "x_arcsec": 20.0, "y_arcsec": 0.0, "frame_ms": 1.0, "wavelength_nm": 589.0, "altitude_km": 90.0,
                    "photons_per_frame": 100.0, "read_noise_e": 0.2, "excess_noise": 2.0, "pixel_arcsec": 0.832}
    assert other["x_arcsec"] == -20.0
    assert (low["lenslets"], low["photons_per_frame"], low["background_e"], low["frame_ms"]) == (2, 50.0, 0.004, 2.0)
    text = importers.read(instruments / "t.ini").text()
    assert found["sensors"]["lgs"]["spot_arcsec"] == 0.0 and "NumberActuators" not in text and "DmPitchs" not in text
    (instruments / "high.ini").write_text(TIPTOP.replace("[0.0]\nDmPitchs", "[20.0]\nDmPitchs"))
    assert study(instruments / "high.ini")["atmosphere"]["layers"][0]["height_m"] == pytest.approx(30 - 20 * 3**0.5 / 2)
    (instruments / "high.ini").write_text(TIPTOP.replace("[0.0]\nDmPitchs", "[600.0]\nDmPitchs"))
    assert "a mirror at 600 m, above some layers" in importers.read(instruments / "high.ini").text()
    (instruments / "pitch.ini").write_text(TIPTOP.replace("[0.8]", "[0.4]"))
    assert "[DM] DmPitchs, line 41 = [0.4]: the mirror has an actuator a lenslet, 0.8 m apart" in importers.read(instruments / "pitch.ini").text()
    assert low["x_arcsec"] == pytest.approx(5 * 3**0.5 / 2) and low["y_arcsec"] == pytest.approx(2.5)
    assert found["targets"][1]["y_arcsec"] == 10.0 and found["correction"] == "ltao"
    assert found["error_terms"]["frame_delay_ms"] == 3.0
    assert "LoopGain_HO, line" in importers.read(instruments / "t.ini").text()


def test_specula(instruments):
    found = study(instruments / "s.yml")
    assert found["telescope"]["diameter_m"] == 8.0 and found["sensors"]["lenslets"] == 8 and found["correction"] == "moao"
    star, = found["guide_stars"]
    # By hand, R: 1.76e-8 J/s/m^2/um is 6.640e10 photons of 750 nm; magnitude 10, 0.3 um, 2 ms, 1 m^2, 0.32.
    assert star["photons_per_frame"] == pytest.approx(6.640e10 * 1e-4 * 0.3 * 2e-3 * 0.32, rel=1e-3)
    (instruments / "h.yml").write_text(SPECULA.replace("magnitude: 10, wavelengthInNm: 750", "magnitude: 10, wavelengthInNm: 1650").replace(
        "quantum_eff: 0.32", "quantum_eff: 0.32, darkcurrent_noise: True, darkcurrent_level: 5, background_level: 3, binning: 2"))
    infrared = importers.read(instruments / "h.yml")
    record = infrared.guide_stars[0][0]
    assert record["photons_per_frame"] == pytest.approx(7e-10 * 8.3006e18 * 1e-4 * 0.3 * 2e-3 * 0.32, rel=1e-3) and record["background_e"] == 5
    assert any("binning, h.yml:9 = 2" in note for note in infrared.missing)
    assert star["y_arcsec"] == pytest.approx(10.0) and star["frame_ms"] == 2.0
    assert found["error_terms"] == {"wind_m_per_s": [20.0], "frame_delay_ms": 2.0}


def test_maos(instruments):
    found = study(instruments / "all.conf")
    assert found["telescope"] == {"diameter_m": 5, "obstruction": 0.0, "zenith_angle_deg": 60, "altitude_m": 4000}
    assert found["sensors"]["lenslets"] == 10
    laser, _, tilt = found["guide_stars"]
    assert laser["altitude_km"] == 86.0 and laser["x_arcsec"] == 5.0
    assert laser["photons_per_frame"] == pytest.approx(900 * 0.5)  # times cos z
    assert found["error_terms"]["wind_m_per_s"] == [2.5, 10.0]  # times cos z
    assert found["error_terms"]["frame_delay_ms"] == 2.5
    assert (tilt["kind"], tilt["lenslets"], tilt["noise_mas"], tilt["x_arcsec"]) == ("ngs", 2, 7, 20)
    assert tilt["pixel_arcsec"] == pytest.approx(0.5 * 2e-6 / 2.5 * 206264.806)
    assert found["targets"] == [{"x_arcsec": 0, "y_arcsec": 0}, {"x_arcsec": 34, "y_arcsec": 0}]
    two = study(instruments / "all.conf", "dm.ht=[0 8000]", "dm.dx=[0.5 0.5]")
    assert [target["weight"] for target in two["targets"]] == pytest.approx([2 / 3, 1 / 3])
    assert two["mirrors"][1] == {"height_m": 8000, "pitch_m": 0.5, "coupling": 0.223}
    assert study(instruments / "all.conf", "wfs.siglev=[450]")["guide_stars"][0]["photons_per_frame"] == pytest.approx(225)
    assert "dm.hz, command line = [0.0]" not in importers.read(instruments / "all.conf", "dm.hz=[0]").text()
    assert "dm.hz, command line = [0, 8000]" in importers.read(instruments / "all.conf", "dm.hz=[0 8000]").text()
    assert study(instruments / "all.conf", "wfs.thetay=[1 2 3]*-1e-1")["guide_stars"][2]["y_arcsec"] == pytest.approx(-0.3)
    assert "sim.htel, last.conf:4" in importers.read(written(instruments / "last.conf", "include=all.conf\naper.misreg=[0\\\n0]\nsim.htel=1\n")).text()
    other = study(instruments / "all.conf", "aper.d=[10]", "dm.ht=[-280]")
    assert other["sensors"]["lenslets"] == 20 and other["atmosphere"]["layers"][0]["height_m"] == pytest.approx(140)


def test_commands(instruments, monkeypatch):
    """The program continues as the package: outputs, refusals, a trial."""
    monkeypatch.chdir(instruments)
    program.run(["import", str(instruments / "all.conf"), "aper.d=[5]", "--lenslets", "5", "-o", str(instruments / "out.yaml")])
    assert "reduced to 5 lenslets" in (instruments / "out.yaml").read_text()
    with pytest.raises(bb.UsageError, match="is a file that is read"):
        program.run(["import", str(instruments / "all.conf"), "-o", str(instruments / "sim.conf"), "--force"])
    assert (instruments / "sim.conf").read_text() == MAOS["sim.conf"]
    np.arange(600.0).astype("f4").tofile(instruments / "a.f32")
    with pytest.raises(bb.UsageError, match="needs one file and -o FILE.h5"):
        program.run(["import", str(instruments / "a.f32"), "--shape", "20x30", "-o", str(instruments / "a.yaml")])
    program.run(["import", str(instruments / "a.f32"), "--shape", "20x30", "-o", str(instruments / "a.h5")])
    assert bb.read(instruments / "a.h5").values[19, 29] == 599
    text = program.run(["try", str(instruments / "a.f32"), "--shape", "20x30", "--max-loss", "0.01", "-o", str(instruments / "t.h5")])
    assert "Fewest bytes within relative error 0.01" in text and (instruments / "t.h5").exists()


def test_reduced_order_keeps_the_light(instruments):
    found = study(instruments / "all.conf", lenslets=5)
    assert found["sensors"]["lenslets"] == 5 and found["guide_stars"][0]["photons_per_frame"] == pytest.approx(4 * 450)
    assert found["title"].endswith(", reduced to 5 lenslets")
    with pytest.raises(bb.UsageError, match="expected fewer than the 10"):
        importers.read(instruments / "all.conf", lenslets=10)
    assert found["guide_stars"][2]["lenslets"] == 2 and "# reduced from 10" in importers.read(instruments / "all.conf", lenslets=5).text()


def test_refusals_name_line_and_reason(instruments):
    (instruments / "p.ini").write_text(TIPTOP.replace("'Shack-Hartmann'", "'Pyramid'"))
    (instruments / "p.yml").write_text(SPECULA.replace("class: 'SH'", "class: 'ModulatedPyramid', pup_diam: 8"))
    (instruments / "p.conf").write_text("include=all.conf\npowfs.type=[1 0]\n")
    (instruments / "loop.conf").write_text("include=loop.conf\n")
    (instruments / "lost.conf").write_text("include=none.conf\n")
    (instruments / "part.conf").write_text("aper.d=[5]\n")
    (instruments / "w.conf").write_text("include=all.conf\npowfs.lo -= [3]\n")
    (instruments / "ref.conf").write_text("include=all.conf\nsim.dt=ref:sim.dtref\n")
    (instruments / "n.ini").write_text(TIPTOP.replace("[100.0]", "[None]"))
    (instruments / "o.ini").write_text(TIPTOP.replace("[sensor_HO]", "[sensor_XX]"))
    (instruments / "k.yml").write_text(SPECULA.replace("[10.0, 90.0]", "[10.0]"))
    (instruments / "e.ini").write_text("[telescope]\nTelescopeDiameter = eight\n")
    (instruments / "e.yml").write_text("main: {class: 'SimulParams'}\n")
    for name, message in (("p.ini", "WfsType, line 26: sensor 'Pyramid'"), ("p.yml", "sh.class, p.yml:8: ModulatedPyramid"),
                          ("p.conf", "powfs.type, p.conf:2"), ("loop.conf", "includes itself"), ("lost.conf", "cannot find 'none.conf'"),
                          ("part.conf", "missing"), ("w.conf", "w.conf:2: powfs.lo ends in"), ("e.ini", "line 2: 'eight'"),
                          ("e.yml", "missing"), ("ref.conf", "refers to itself"), ("n.ini", "another kind"), ("o.ini", "sensor_HO"), ("k.yml", "another kind"), ("none.ini", "No such file"), ("t.txt", "expected a file of TIPTOP")):
        with pytest.raises(bb.Error, match=message):
            importers.read(instruments / name)
    for name in ("p.ini", "p.yml", "p.conf"):
        assert "not comparable" in importers.read(instruments / name, sensor="shack-hartmann").text()
    with pytest.raises(bb.UsageError, match="expected shack-hartmann"):
        importers.read(instruments / "p.ini", sensor="pyramid")
