// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/fringe_config.h"

#include "physics/fringe/surface.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define REAL(type, member, units, low, high, text, help)                                           \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_DOUBLE, .unit = (units), .offset = offsetof(type, member), \
        .minimum = (low), .maximum = (high), .default_text = (text), .meaning = (help)             \
    }
#define POSITIVE(type, member, units, high, text, help)                                            \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_DOUBLE, .unit = (units), .offset = offsetof(type, member), \
        .minimum = 0.0, .maximum = (high), .exclusive_minimum = true, .default_text = (text),      \
        .meaning = (help)                                                                          \
    }
#define UNSET(type, member, units, low, high, help)                                                \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_DOUBLE, .unit = (units), .offset = offsetof(type, member), \
        .minimum = (low), .maximum = (high), .optional = true, .meaning = (help)                   \
    }
#define COUNT(type, member, low, high, text, help)                                                 \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_INTEGER, .unit = "1", .offset = offsetof(type, member),    \
        .minimum = (low), .maximum = (high), .default_text = (text), .meaning = (help)             \
    }
#define CHOICE(type, member, words, text, help)                                                    \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_CHOICE, .offset = offsetof(type, member),                  \
        .choices = (words), .default_text = (text), .meaning = (help)                              \
    }
#define GROUP(type, member, table, help)                                                           \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_GROUP, .offset = offsetof(type, member),                   \
        .schema = &(table), .meaning = (help)                                                      \
    }
#define RECORDS(type, member, table, help)                                                         \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_RECORDS, .offset = offsetof(type, member),                 \
        .schema = &(table), .optional = true, .meaning = (help)                                    \
    }

static const bb_key size_keys[] = {
    COUNT(bb_fringe_size_config, columns, 1.0, 16384.0, "256", "Pixels along x."),
    COUNT(bb_fringe_size_config, rows, 1.0, 16384.0, "256", "Pixels along y."),
};
const bb_schema bb_fringe_size_schema = BB_SCHEMA("size", bb_fringe_size_config, size_keys);

static const bb_key zernike_keys[] = {
    COUNT(bb_zernike_term, j, 1.0, 1000.0, NULL,
          "Noll's index of the polynomial, from 1 (piston)."),
    REAL(bb_zernike_term, rms_nm, "nm", -1e9, 1e9, NULL,
         "RMS over the full disc of pupil.diameter, with the sign of the coefficient."),
};
static const bb_schema zernike_schema = BB_SCHEMA("zernike", bb_zernike_term, zernike_keys);

static const bb_key freeform_keys[] = {
    REAL(bb_freeform_config, rms_nm, "nm", 0.0, 1e9, "0.0",
         "RMS over the pupil of a smooth random surface; 0: none."),
    COUNT(bb_freeform_config, bumps, 1.0, 10000.0, "12",
          "Number of Gaussian bumps and dents in it."),
};
static const bb_schema freeform_schema = BB_SCHEMA("freeform", bb_freeform_config, freeform_keys);

static const bb_key spectrum_keys[] = {
    REAL(bb_spectrum_config, rms_nm, "nm", 0.0, 1e9, "0.0",
         "RMS over the pupil of a random surface of a given power spectrum; 0: none."),
    REAL(bb_spectrum_config, exponent, "1", 0.0, 10.0, "3.0",
         "Power per area of frequencies is proportional to the frequency to minus this."),
    POSITIVE(bb_spectrum_config, low_cycles, "1", 20000.0, "1.0",
             "Low cutoff of the spectrum, in cycles across the pupil's diameter."),
    POSITIVE(bb_spectrum_config, high_cycles, "1", 20000.0, "50.0",
             "High cutoff of the spectrum, in cycles across the pupil's diameter."),
};
static const bb_schema spectrum_schema = BB_SCHEMA("spectrum", bb_spectrum_config, spectrum_keys);

static const bb_key tilt_keys[] = {
    REAL(bb_tilt_config, x, "1", -16384.0, 16384.0, "0.0", "Fringes of tilt across the columns."),
    REAL(bb_tilt_config, y, "1", -16384.0, 16384.0, "0.0", "Fringes of tilt across the rows."),
};
static const bb_schema tilt_schema = BB_SCHEMA("tilt_fringes", bb_tilt_config, tilt_keys);

static const char *const step_kinds[] = {"edge", "shear", "mesa", NULL};

static const bb_key step_keys[] = {
    CHOICE(bb_surface_step, kind, step_kinds, NULL,
           "edge: higher from a column on; shear: from a row on, a ramp along x that is 0 at the "
           "first column; mesa: a raised square."),
    REAL(bb_surface_step, height_nm, "nm", -1e9, 1e9, NULL,
         "Height; for shear, that of the ramp at the last column."),
    UNSET(bb_surface_step, x, "1", 0.0, 1.0,
          "For edge and mesa: position along the columns, from 0 to 1; unset: 0.5."),
    UNSET(bb_surface_step, y, "1", 0.0, 1.0,
          "For shear and mesa: position along the rows, from 0 to 1; unset: 0.5."),
    UNSET(bb_surface_step, width, "1", 0.0, 1.0,
          "For mesa: its side over the array's shorter side; unset: 0.25."),
};
static const bb_schema step_schema = BB_SCHEMA("steps", bb_surface_step, step_keys);

static const bb_key residue_keys[] = {
    COUNT(bb_residue_config, count, 0.0, 10000.0, "0",
          "Pairs of opposite vortices of the phase, at random positions; 0: none."),
    REAL(bb_residue_config, separation_px, "1", 2.0, 16384.0, "8.0",
         "Pixels between the two vortices of a pair, in a random direction; the truth has a "
         "straight cut of one cycle between them."),
};
static const bb_schema residue_schema = BB_SCHEMA("residue_pairs", bb_residue_config, residue_keys);

static const bb_key surface_keys[] = {
    RECORDS(bb_fringe_surface_config, zernike, zernike_schema,
            "Zernike polynomials over the disc of pupil.diameter."),
    GROUP(bb_fringe_surface_config, freeform, freeform_schema, "A smooth random surface."),
    GROUP(bb_fringe_surface_config, spectrum, spectrum_schema,
          "A random surface by its power spectrum."),
    GROUP(bb_fringe_surface_config, tilt_fringes, tilt_schema, "A carrier of straight fringes."),
    RECORDS(bb_fringe_surface_config, steps, step_schema, "Steps in the surface."),
    GROUP(bb_fringe_surface_config, residue_pairs, residue_schema,
          "Vortices, around which wrapped differences of four pixels do not add up to 0."),
    REAL(bb_fringe_surface_config, noise_rad, "rad", 0.0, 100.0, "0.0",
         "Standard deviation of white noise of the phase, part of the truth, different in every "
         "draw."),
};
const bb_schema bb_fringe_surface_schema =
    BB_SCHEMA("surface", bb_fringe_surface_config, surface_keys);

static const char *const pupil_kinds[] = {"rectangle", "disc", "annulus", NULL};

static const bb_key spider_keys[] = {
    COUNT(bb_spider_config, count, 0.0, 16.0, "0",
          "Vanes from the centre outwards, at equal angles."),
    POSITIVE(bb_spider_config, width_px, "1", 16384.0, "4.0", "Pixels across a vane."),
    REAL(bb_spider_config, angle_deg, "deg", -360.0, 360.0, "0.0",
         "Angle of the first vane, from x towards y."),
};
static const bb_schema spider_schema = BB_SCHEMA("spiders", bb_spider_config, spider_keys);

static const bb_key gap_keys[] = {
    COUNT(bb_gap_config, parts, 1.0, 64.0, "1",
          "Equal parts into which bars along y split the array; 1: no bar."),
    REAL(bb_gap_config, width_px, "1", 1.0, 16384.0, "4.0", "Pixels across a bar."),
};
static const bb_schema gap_schema = BB_SCHEMA("gaps", bb_gap_config, gap_keys);

static const bb_key hole_keys[] = {
    COUNT(bb_hole_config, count, 0.0, 10000.0, "0", "Discs without data, at random positions."),
    POSITIVE(bb_hole_config, radius_px, "1", 16384.0, "5.0", "Their radius in pixels."),
};
static const bb_schema hole_schema = BB_SCHEMA("holes", bb_hole_config, hole_keys);

// clang-format off
static const bb_key pupil_keys[] = {
    CHOICE(bb_fringe_pupil_config, kind, pupil_kinds, "disc",
           "The whole array (rectangle), a disc, or a disc with a hole (annulus)."),
    {.name = "diameter", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_fringe_pupil_config, diameter), .minimum = 0.0, .maximum = 2.0,
     .exclusive_minimum = true, .default_text = "1.0",
     .meaning = "Diameter of the disc, also for Zernike polynomials, over the array's shorter "
                "side."},
    {.name = "obstruction", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_fringe_pupil_config, obstruction), .minimum = 0.0, .maximum = 1.0,
     .exclusive_maximum = true, .default_text = "0.0",
     .meaning = "Central obstruction of an annulus over its diameter."},
    GROUP(bb_fringe_pupil_config, spiders, spider_schema, "Vanes that support the central obstruction."),
    GROUP(bb_fringe_pupil_config, gaps, gap_schema, "Bars that separate parts of the pupil."),
    GROUP(bb_fringe_pupil_config, holes, hole_schema, "Discs without data."),
    {.name = "dead_share", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_fringe_pupil_config, dead_share), .minimum = 0.0, .maximum = 1.0,
     .exclusive_maximum = true, .default_text = "0.0",
     .meaning = "Probability that a pixel has no data."},
};
// clang-format on
const bb_schema bb_fringe_pupil_schema = BB_SCHEMA("pupil", bb_fringe_pupil_config, pupil_keys);

// clang-format off
static const bb_key camera_keys[] = {
    {.name = "bits", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_fringe_camera_config, bits), .minimum = 1.0, .maximum = 16.0,
     .optional = true, .meaning = "Bits of a pixel; unset: not quantised."},
    REAL(bb_fringe_camera_config, noise, "1", 0.0, 1.0, "0.0",
         "Standard deviation of a pixel's noise relative to full scale, different in every frame "
         "and draw."),
    POSITIVE(bb_fringe_camera_config, contrast, "1", 1.0, "0.9", "Visibility of the fringes."),
    POSITIVE(bb_fringe_camera_config, mean, "1", 10.0, "0.5",
             "Mean intensity relative to full scale; larger intensities saturate."),
    REAL(bb_fringe_camera_config, vibration_rad, "rad", 0.0, 100.0, "0.0",
         "Standard deviation of a phase error common to a frame's pixels, different in every "
         "frame."),
};

static const char *const algorithms[] = {"steps", "carre", "none", "carrier", NULL};

static const bb_key carrier_keys[] = {
    REAL(bb_fringe_carrier_config, x, "1/px", -0.5, 0.5, "0.25", "Cycles per pixel along x."),
    REAL(bb_fringe_carrier_config, y, "1/px", -0.5, 0.5, "0.0", "Cycles per pixel along y."),
    COUNT(bb_fringe_carrier_config, window_px, 3.0, 63.0, "7",
          "Width of the window around the carrier in the spectrum, along both axes, in pixels; odd."),
};
static const bb_schema carrier_schema =
    BB_SCHEMA("carrier", bb_fringe_carrier_config, carrier_keys);

static const bb_key detection_keys[] = {
    CHOICE(bb_fringe_detection_config, algorithm, algorithms, "steps",
           "Least squares over known steps, Carre's formula for four equal steps of any size, one "
           "frame with a carrier, or none: the truth is wrapped, without frames."),
    COUNT(bb_fringe_detection_config, steps, 3.0, 16.0, "4",
          "Frames; 4 for carre, unused for carrier."),
    UNSET(bb_fringe_detection_config, step_rad, "rad", 0.01, 3.0,
          "Phase from one frame to the next; unset: 2 pi / steps, for carre pi / 2."),
    {.name = "step_error", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_fringe_detection_config, step_error), .minimum = -0.5, .maximum = 0.5,
     .default_text = "0.0",
     .meaning = "Relative error of the phase shifter, unknown to the detection."},
    REAL(bb_fringe_detection_config, least_modulation, "1", 0.0, 1.0, "0.01",
         "Fringe amplitude relative to full scale below which a pixel has no phase."),
    GROUP(bb_fringe_detection_config, carrier, carrier_schema,
          "Fringes of a tilt that algorithm carrier demodulates."),
};
// clang-format on
const bb_schema bb_fringe_camera_schema = BB_SCHEMA("camera", bb_fringe_camera_config, camera_keys);
const bb_schema bb_fringe_detection_schema =
    BB_SCHEMA("detection", bb_fringe_detection_config, detection_keys);

static const bb_key fringe_keys[] = {
    GROUP(bb_fringe_config, size, bb_fringe_size_schema, "Pixels of the camera."),
    POSITIVE(bb_fringe_config, wavelength_nm, "nm", 1e6, "632.8", "Wavelength of the light."),
    POSITIVE(bb_fringe_config, waves_per_fringe, "1", 1000.0, "0.5",
             "Waves of height per fringe, 2 pi of phase: 0.5 in reflection, 1 in transmission."),
    GROUP(bb_fringe_config, surface, bb_fringe_surface_schema,
          "The measured surface or wavefront."),
    GROUP(bb_fringe_config, pupil, bb_fringe_pupil_schema, "Pixels inside the pupil."),
    GROUP(bb_fringe_config, camera, bb_fringe_camera_schema,
          "Camera frames: quantisation, noise and fringe visibility."),
    GROUP(bb_fringe_config, detection, bb_fringe_detection_schema, "Phase detection from frames."),
};
const bb_schema bb_fringe_schema = BB_SCHEMA("fringe", bb_fringe_config, fringe_keys);

double bb_fringe_config_rad_per_nm(const bb_fringe_config *config)
{
    return 2.0 * M_PI / (config->wavelength_nm * config->waves_per_fringe);
}

double bb_fringe_config_radius_px(const bb_fringe_config *config)
{
    const bb_index columns = config->size.columns;
    const bb_index rows = config->size.rows;
    return 0.5 * config->pupil.diameter * (double)(columns < rows ? columns : rows);
}

double bb_fringe_config_step_rad(const bb_fringe_detection_config *detection)
{
    if (!isnan(detection->step_rad)) {
        return detection->step_rad;
    }
    return detection->algorithm == BB_DETECTION_CARRE ? 0.5 * M_PI
                                                      : 2.0 * M_PI / (double)detection->steps;
}

bb_index bb_fringe_config_frames(const bb_fringe_detection_config *detection)
{
    return detection->algorithm == BB_DETECTION_CARRIER ? 1 : detection->steps;
}

static const bb_key *find_key(const bb_schema *schema, const char *name)
{
    const bb_key *key = schema->keys;
    while (strcmp(key->name, name) != 0) {
        ++key;
    }
    return key;
}

static bb_status check_choice(const bb_schema *schema, const char *name, int value,
                              const char *path)
{
    bb_status status = BB_OK;
    const char *const *choices = find_key(schema, name)->choices;
    int count = 0;
    while (choices[count] != NULL) {
        ++count;
    }
    BB_REQUIRE(value >= 0 && value < count, BB_INVALID, "%s.%s = %d, expected 0..%d", path, name,
               value, count - 1);
done:
    return status;
}

static bb_status check_step(const bb_surface_step *step, const char *path)
{
    bb_status status = BB_OK;
    const bb_schema *schema = find_key(&bb_fringe_surface_schema, "steps")->schema;
    BB_TRY(check_choice(schema, "kind", step->kind, path));
    const char *kind = find_key(schema, "kind")->choices[step->kind];
    BB_TRY(bb_schema_check(schema, step, path));
    BB_REQUIRE(step->kind != BB_SURFACE_STEP_SHEAR || isnan(step->x), BB_INVALID,
               "%s.x does not apply to a step of kind %s", path, kind);
    BB_REQUIRE(step->kind != BB_SURFACE_STEP_EDGE || isnan(step->y), BB_INVALID,
               "%s.y does not apply to a step of kind %s", path, kind);
    BB_REQUIRE(step->kind == BB_SURFACE_STEP_MESA || isnan(step->width), BB_INVALID,
               "%s.width does not apply to a step of kind %s", path, kind);
done:
    return status;
}

static bb_status check_lists(const bb_fringe_surface_config *surface)
{
    bb_status status = BB_OK;
    const bb_zernike_term *terms = surface->zernike.items;
    const bb_surface_step *steps = surface->steps.items;
    char path[64];
    BB_REQUIRE(surface->zernike.count >= 0 && surface->steps.count >= 0, BB_INVALID,
               "surface: %td polynomials and %td steps, expected 0 or more", surface->zernike.count,
               surface->steps.count);
    for (bb_index t = 0; t < surface->zernike.count; ++t) {
        (void)snprintf(path, sizeof path, "surface.zernike[%td]", t);
        BB_TRY(bb_schema_check(find_key(&bb_fringe_surface_schema, "zernike")->schema, &terms[t],
                               path));
        for (bb_index s = 0; s < t; ++s) {
            BB_REQUIRE(
                terms[s].j != terms[t].j, BB_INVALID,
                "%s.j = %td is already used by surface.zernike[%td], expected each polynomial once",
                path, terms[t].j, s);
        }
    }
    for (bb_index s = 0; s < surface->steps.count; ++s) {
        (void)snprintf(path, sizeof path, "surface.steps[%td]", s);
        BB_TRY(check_step(&steps[s], path));
    }
done:
    return status;
}

static bb_status check_surface(const bb_fringe_config *config)
{
    bb_status status = BB_OK;
    const bb_fringe_surface_config *surface = &config->surface;
    const bb_spectrum_config *spectrum = &surface->spectrum;
    const bb_residue_config *pairs = &surface->residue_pairs;
    const bb_index shorter =
        config->size.columns < config->size.rows ? config->size.columns : config->size.rows;
    BB_TRY(check_lists(surface));
    BB_REQUIRE(spectrum->low_cycles < spectrum->high_cycles, BB_INVALID,
               "surface.spectrum.high_cycles = %g, expected more than low_cycles = %g",
               spectrum->high_cycles, spectrum->low_cycles);
    BB_REQUIRE(spectrum->rms_nm == 0.0 || bb_surface_has_waves(config), BB_INVALID,
               "surface.spectrum: no wave of %td x %td pixels lies between low_cycles = %g and "
               "high_cycles = %g",
               config->size.columns, config->size.rows, spectrum->low_cycles,
               spectrum->high_cycles);
    BB_REQUIRE(pairs->count == 0 || pairs->separation_px <= (double)(shorter - 2), BB_INVALID,
               "surface.residue_pairs.separation_px = %g, expected at most %td: two less than the "
               "shorter side of %td x %td pixels",
               pairs->separation_px, shorter - 2, config->size.columns, config->size.rows);
done:
    return status;
}

static bb_status check_pupil(const bb_fringe_pupil_config *pupil)
{
    bb_status status = BB_OK;
    BB_TRY(check_choice(&bb_fringe_pupil_schema, "kind", pupil->kind, "pupil"));
    BB_REQUIRE(pupil->kind != BB_FRINGE_PUPIL_ANNULUS || pupil->obstruction > 0.0, BB_INVALID,
               "pupil.obstruction is missing: required for an annulus");
    BB_REQUIRE(pupil->kind == BB_FRINGE_PUPIL_ANNULUS || pupil->obstruction == 0.0, BB_INVALID,
               "pupil.obstruction = %g does not apply to a pupil of kind %s", pupil->obstruction,
               find_key(&bb_fringe_pupil_schema, "kind")->choices[pupil->kind]);
done:
    return status;
}

// Beyond 2 / (window + 1) cycles a pixel the window rejects everything: the mean of the frame,
// which demodulation moves to the carrier, and the fringes' mirror image at twice the carrier.
static bb_status check_carrier(const bb_fringe_carrier_config *carrier)
{
    bb_status status = BB_OK;
    const double edge = 2.0 / (double)(carrier->window_px + 1);
    const double mean = fmax(fabs(carrier->x), fabs(carrier->y));
    const double image = fmax(fabs(2.0 * carrier->x - rint(2.0 * carrier->x)),
                              fabs(2.0 * carrier->y - rint(2.0 * carrier->y)));
    BB_REQUIRE(carrier->window_px % 2 == 1, BB_INVALID,
               "detection.carrier.window_px = %td, expected an odd number", carrier->window_px);
    BB_REQUIRE(
        fmin(mean, image) >= edge - 1e-12, BB_INVALID,
        "detection.carrier.x = %g and y = %g 1/px, expected |x| or |y| of at least %g, 2 over "
        "window_px + 1, and twice x or y at least as far from an integer",
        carrier->x, carrier->y, edge);
done:
    return status;
}

bb_status bb_fringe_config_check(const bb_fringe_config *config)
{
    bb_status status = BB_OK;
    const bb_fringe_detection_config *detection = &config->detection;
    BB_TRY(bb_schema_check(&bb_fringe_schema, config, ""));
    BB_TRY(check_pupil(&config->pupil));
    BB_TRY(check_surface(config));
    BB_TRY(
        check_choice(&bb_fringe_detection_schema, "algorithm", detection->algorithm, "detection"));
    BB_REQUIRE(detection->algorithm != BB_DETECTION_CARRE || detection->steps == 4, BB_INVALID,
               "detection.steps = %td, expected 4: Carre's formula needs four frames",
               detection->steps);
    if (detection->algorithm == BB_DETECTION_CARRIER) {
        BB_TRY(check_carrier(&detection->carrier));
    }
done:
    return status;
}
