// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_config.h"

#include "physics/ao/ao_constants.h"

#include <math.h>
#include <stddef.h>

// clang-format off
#define COUNT(type, high, text)                                                                    \
    {.name = "count", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = (high),      \
     .offset = offsetof(type, count), .meaning = (text)}
#define NUMBER(type, member, unit_text, low, high, text)                                           \
    .name = #member, .kind = BB_KEY_DOUBLE, .unit = (unit_text), .offset = offsetof(type, member), \
    .minimum = (low), .maximum = (high), .meaning = (text)
#define CENTRE(type)                                                                               \
    {NUMBER(type, centre_x_arcsec, "arcsec", -3600.0, 3600.0, "Centre, x."),                   \
     .default_text = "0.0"},                                                                       \
    {NUMBER(type, centre_y_arcsec, "arcsec", -3600.0, 3600.0, "Centre, y."),                   \
     .default_text = "0.0"}

static const bb_key ring_keys[] = {
    COUNT(bb_ring_of_directions, 1000.0, "Number of directions on the ring."),
    {NUMBER(bb_ring_of_directions, radius_arcsec, "arcsec", 0.0, 3600.0, "Radius of the ring.")},
    {NUMBER(bb_ring_of_directions, rotation_deg, "deg", -360.0, 360.0,
            "Azimuth of the first, from x towards y."),
     .default_text = "0.0"},
    CENTRE(bb_ring_of_directions),
};
const bb_schema bb_asterism_ring_schema = BB_SCHEMA("ring", bb_ring_of_directions, ring_keys);

static const bb_key grid_keys[] = {
    COUNT(bb_grid_of_directions, 50.0, "Number of directions along each side of the square."),
    {NUMBER(bb_grid_of_directions, width_arcsec, "arcsec", 0.0, 7200.0,
            "Side of the square, from the first to the last."),
     .exclusive_minimum = true},
    CENTRE(bb_grid_of_directions),
};
const bb_schema bb_asterism_grid_schema = BB_SCHEMA("grid", bb_grid_of_directions, grid_keys);
// clang-format on

// Rounds to 1e-9 arcsec; never -0.
static double rounded(double arcsec)
{
    return round(1e9 * arcsec) / 1e9 + 0.0;
}

static bb_index ring_count(const void *group)
{
    return ((const bb_ring_of_directions *)group)->count;
}

static void ring_place(const void *group, bb_index item, double out[2])
{
    const bb_ring_of_directions *ring = group;
    const double azimuth_deg = ring->rotation_deg + 360.0 * (double)item / (double)ring->count;
    const double azimuth = azimuth_deg * BB_PI / 180.0;
    out[0] = rounded(ring->centre_x_arcsec + ring->radius_arcsec * cos(azimuth));
    out[1] = rounded(ring->centre_y_arcsec + ring->radius_arcsec * sin(azimuth));
}

static bb_index grid_count(const void *group)
{
    const bb_grid_of_directions *grid = group;
    return grid->count * grid->count;
}

static double along(const bb_grid_of_directions *grid, bb_index i)
{
    return grid->count == 1 ? 0.0
                            : grid->width_arcsec * ((double)i / (double)(grid->count - 1) - 0.5);
}

static void grid_place(const void *group, bb_index item, double out[2])
{
    const bb_grid_of_directions *grid = group;
    out[0] = rounded(grid->centre_x_arcsec + along(grid, item % grid->count));
    out[1] = rounded(grid->centre_y_arcsec + along(grid, item / grid->count));
}

const bb_pattern bb_asterism_ring = {{"x_arcsec", "y_arcsec"}, ring_count, ring_place};
const bb_pattern bb_asterism_grid = {{"x_arcsec", "y_arcsec"}, grid_count, grid_place};

const char *const bb_score_names[] = {"pairs", "stationary", NULL};

// clang-format off
static const bb_key monte_carlo_keys[] = {
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1.0e6,
     .offset = offsetof(bb_monte_carlo_config, frames), .default_text = "0",
     .meaning = "Independent frames of random phase screens that verify the score; 0: none."},
    {.name = "pixels_per_subaperture", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 8.0,
     .maximum = 256.0, .offset = offsetof(bb_monte_carlo_config, pixels_per_subaperture),
     .default_text = "32",
     .meaning = "Points of a screen across the smallest subaperture; the shortest wave has two."},
    {.name = "screen_oversize", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 1.5,
     .maximum = 100.0, .offset = offsetof(bb_monte_carlo_config, screen_oversize),
     .default_text = "4.0",
     .meaning = "Period of the screens relative to the widest layer area seen by stars and "
                "targets."},
    {.name = "subharmonics", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 12.0,
     .offset = offsetof(bb_monte_carlo_config, subharmonics), .default_text = "4",
     .meaning = "Levels of waves longer than the period, each three times longer."},
};

static const char *const loop_names[] = {"open", "closed", NULL};

static const bb_key time_domain_keys[] = {
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1.0e6,
     .offset = offsetof(bb_time_domain_config, frames), .default_text = "0",
     .meaning = "Scored frames per realisation, with screens moved by the wind and sized by "
                "monte_carlo; 0: no time series."},
    {.name = "settle_frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0,
     .maximum = 1.0e6, .offset = offsetof(bb_time_domain_config, settle_frames),
     .default_text = "10", .meaning = "Frames before the first scored one."},
    {.name = "realisations", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 2.0, .maximum = 1.0e6,
     .offset = offsetof(bb_time_domain_config, realisations), .default_text = "32",
     .meaning = "Independent realisations of the sky; the errors are computed from these, as "
                "frames of one realisation are correlated."},
    {.name = "rate_hz", .kind = BB_KEY_DOUBLE, .unit = "Hz", .minimum = 0.0, .maximum = 1.0e5,
     .exclusive_minimum = true, .offset = offsetof(bb_time_domain_config, rate_hz),
     .default_text = "500.0", .meaning = "Frames per second."},
    {.name = "gain", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .offset = offsetof(bb_time_domain_config, gain),
     .default_text = "1.0",
     .meaning = "Gain: fraction of a frame's estimate in the new command; the rest is the last "
                "command."},
    {.name = "delay_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1.0e4,
     .offset = offsetof(bb_time_domain_config, delay_ms), .optional = true,
     .meaning = "From mid-exposure to the correction; unset: error_terms.frame_delay_ms."},
    {.name = "exposure_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1.0e4,
     .offset = offsetof(bb_time_domain_config, exposure_ms), .default_text = "0.0",
     .meaning = "Exposure over which slopes are averaged; 0: instantaneous, as in the analytic "
                "score. The noise always follows sensors.frame_ms."},
    {.name = "loop", .kind = BB_KEY_CHOICE, .choices = loop_names,
     .offset = offsetof(bb_time_domain_config, loop), .default_text = "open",
     .meaning = "open: guide stars measure the turbulence; closed: they measure the residual "
                "behind the mirrors, to which the controller adds the mirrors' slopes."},
    {.name = "wind_direction_deg", .kind = BB_KEY_DOUBLES, .unit = "deg", .minimum = -360.0,
     .maximum = 360.0, .optional = true,
     .offset = offsetof(bb_time_domain_config, wind_direction_deg),
     .meaning = "Direction in which each layer's wind blows, from x to y; unset: layer l at "
                "137.508 l."},
};

static const char *const combination_names[] = {"exact", "independent", NULL};

static const bb_key error_terms_keys[] = {
    {.name = "combination", .kind = BB_KEY_CHOICE, .choices = combination_names,
     .offset = offsetof(bb_error_terms_config, combination), .default_text = "exact",
     .meaning = "exact: the whole residual from the covariances of phase and slopes, for score "
                "pairs with fitting; independent: fitting and lag treated as independent of the "
                "slope residual, as for every other score and for correction mcao."},
    {.name = "minimum_variance", .kind = BB_KEY_BOOLEAN, .default_text = "false",
     .offset = offsetof(bb_error_terms_config, minimum_variance),
     .meaning = "With exact: also compute the Strehl ratio of the minimum-variance mirror "
                "commands; costs one more solve of the reference."},
    {.name = "fitting", .kind = BB_KEY_BOOLEAN, .default_text = "true",
     .offset = offsetof(bb_error_terms_config, fitting),
     .meaning = "Turbulence finer than the mirror's actuators; the truth sensors then do not "
                "measure it."},
    {.name = "fitting_coefficient", .kind = BB_KEY_DOUBLE, .unit = "rad^2", .minimum = 0.0,
     .maximum = 10.0, .offset = offsetof(bb_error_terms_config, fitting_coefficient),
     .default_text = "0.2740",
     .meaning = "Independent fitting error: variance over (actuator pitch / r0)^(5/3) for an "
                "infinite outer scale, 0.2740 with a circular cutoff at half the inverse pitch, "
                "0.2313 with a square one."},
    {.name = "aliasing", .kind = BB_KEY_BOOLEAN, .default_text = "false",
     .offset = offsetof(bb_error_terms_config, aliasing),
     .meaning = "Aliasing of turbulence finer than the lenslets, for one sensor; with fitting the "
                "guide stars' aliasing is part of the slope residual."},
    {.name = "frame_delay_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0,
     .maximum = 1.0e4, .offset = offsetof(bb_error_terms_config, frame_delay_ms),
     .default_text = "0.0",
     .meaning = "From mid-exposure to the correction, for the servo lag; 0: none."},
    {.name = "wind_m_per_s", .kind = BB_KEY_DOUBLES, .unit = "m/s", .minimum = 0.0,
     .maximum = 500.0, .optional = true,
     .offset = offsetof(bb_error_terms_config, wind_m_per_s),
     .meaning = "Wind speeds of the layers, averaged over directions; unset: those of the layers, "
                "or of the eso and eris profiles."},
    {.name = "shake_arcsec", .kind = BB_KEY_DOUBLE, .unit = "arcsec", .minimum = 0.0,
     .maximum = 1.0e3, .offset = offsetof(bb_error_terms_config, shake_arcsec),
     .default_text = "0.0",
     .meaning = "Rms tilt of the telescope along each axis, common to stars and targets and "
                "absent from the covariances; 0: none."},
};
// clang-format on
const bb_schema bb_error_terms_schema =
    BB_SCHEMA("error_terms", bb_error_terms_config, error_terms_keys);
const bb_schema bb_time_domain_schema =
    BB_SCHEMA("time_domain", bb_time_domain_config, time_domain_keys);
const bb_schema bb_monte_carlo_schema =
    BB_SCHEMA("monte_carlo", bb_monte_carlo_config, monte_carlo_keys);

#define POSITIVE(type, member, unit_text, high, text)                                              \
    NUMBER(type, member, unit_text, 0.0, high, text), .exclusive_minimum = true

#define MAP_FILE "HDF5 or FITS file (recognised by its content) "

// Formatted by hand: clang-format 14 crashes on rows of unequal length.
// clang-format off
static const bb_key pupil_keys[] = {
    {.name = "file", .kind = BB_KEY_PATH, .optional = true,
     .offset = offsetof(bb_pupil_config, file),
     .meaning = MAP_FILE "with a mask of the pupil, relative to "
                "the file that names it; unset: the annulus of diameter_m and obstruction."},
    {.name = "dataset", .kind = BB_KEY_TEXT, .default_text = BB_PUPIL_DATASET,
     .offset = offsetof(bb_pupil_config, dataset),
     .meaning = "Square dataset in an HDF5 file, as --dump pupil writes: amplitude transmissions 0..1 by y "
                "and x, from the most negative, over the square of the diameter."},
};
static const bb_schema pupil_schema = BB_SCHEMA("pupil", bb_pupil_config, pupil_keys);

static const char *const subaperture_rules[] = {"centre", "flux", NULL};

static const bb_key telescope_keys[] = {
    {NUMBER(bb_telescope_config, diameter_m, "m", 0.01, 200.0, "Diameter of the pupil.")},
    {NUMBER(bb_telescope_config, obstruction, "1", 0.0, 1.0,
            "Diameter of the central obstruction over that of the pupil; with a mask, of the "
            "mirror only."),
     .exclusive_maximum = true, .default_text = "0.0"},
    {NUMBER(bb_telescope_config, zenith_angle_deg, "deg", 0.0, 80.0,
            "Zenith angle: heights, altitudes and layer strengths are multiplied by its secant."),
     .default_text = "0.0"},
    {NUMBER(bb_telescope_config, altitude_m, "m", -500.0, 10.0e3,
            "Altitude above sea level; it sets the air density of a Rayleigh star."),
     .default_text = "2400.0"},
    {.name = "pupil", .kind = BB_KEY_GROUP, .schema = &pupil_schema, .optional = true,
     .offset = offsetof(bb_telescope_config, pupil),
     .meaning = "Pupil mask, with segments and spiders, instead of the annulus."},
    {.name = "subaperture_rule", .kind = BB_KEY_CHOICE, .choices = subaperture_rules,
     .offset = offsetof(bb_telescope_config, subaperture_rule), .default_text = "centre",
     .meaning = "Rule for valid subapertures of the annulus: centre inside, or flux of "
     "at least subaperture_threshold; with a mask always flux."},
    {POSITIVE(bb_telescope_config, subaperture_threshold, "1", 1.0,
              "Smallest mean transmission of a valid subaperture, by flux."),
     .default_text = "0.5"},
};
const bb_schema bb_telescope_schema = BB_SCHEMA("telescope", bb_telescope_config, telescope_keys);

static const bb_key layer_keys[] = {
    {NUMBER(bb_layer_config, height_m, "m", 0.0, 100.0e3,
            "Height of the layer above the pupil, at zenith.")},
    {NUMBER(bb_layer_config, strength, "m^(-5/3)", 0.0, 1.0e6,
            "r0^(-5/3) of the layer at 500 nm and zenith; this or cn2_m13, in all layers."),
     .optional = true, .replaces = {"cn2_m13"}},
    {NUMBER(bb_layer_config, cn2_m13, "m^(1/3)", 0.0, 1.0e-8,
            "Integral of Cn2 over the layer, at zenith; r0 follows and must not be set."),
     .optional = true, .replaces = {"strength"}},
    {NUMBER(bb_layer_config, wind_m_per_s, "m/s", 0.0, 500.0,
            "Wind speed of the layer, averaged over directions; error_terms.wind_m_per_s replaces it."),
     .optional = true},
};
const bb_schema bb_layer_schema = BB_SCHEMA("layers", bb_layer_config, layer_keys);

const char *const bb_profile_names[] = {"moao-2",     "moao-10", "eris-10", "eso-median-9",
                                            "eso-median", "eso-q1",  "eso-q4",  NULL};

static const bb_key atmosphere_keys[] = {
    {.name = "profile", .kind = BB_KEY_CHOICE, .choices = bb_profile_names, .optional = true,
     .offset = offsetof(bb_atmosphere_config, profile), .replaces = {"layers"},
     .meaning = "A built-in turbulence profile; this or layers."},
    {.name = "layers", .kind = BB_KEY_RECORDS, .schema = &bb_layer_schema, .tabular = true,
     .optional = true, .offset = offsetof(bb_atmosphere_config, layers), .replaces = {"profile"},
     .meaning = "Turbulent layers, as a list or as a CSV file with these columns; these or profile."},
    {NUMBER(bb_atmosphere_config, outer_scale_m, "m", 0.1, 1.0e4, "Outer scale of every layer."),
     .default_text = "25.0"},
    {NUMBER(bb_atmosphere_config, r0_m, "m", 0.001, 100.0,
              "Fried parameter of all layers at 500 nm and zenith; rescales them."),
     .optional = true, .replaces = {"seeing_arcsec"}},
    {NUMBER(bb_atmosphere_config, seeing_arcsec, "arcsec", 0.001, 100.0,
            "Instead of r0_m: seeing at zenith, 0.98 lambda/r0, without outer scale; rescales the "
            "layers."),
     .optional = true, .replaces = {"r0_m"}},
    {NUMBER(bb_atmosphere_config, seeing_wavelength_nm, "nm", 100.0, 30.0e3,
            "Wavelength of seeing_arcsec."),
     .default_text = "500.0"},
};
const bb_schema bb_atmosphere_schema =
    BB_SCHEMA("atmosphere", bb_atmosphere_config, atmosphere_keys);

static const char *const slope_models[] = {"point_difference", "averaged_gradient", NULL};

#define GROUP_OF(number, kind_name, plural)                                                       \
    {.name = #kind_name, .kind = BB_KEY_GROUP, .schema = &bb_##kind_name##_star_schema,            \
     .offset = offsetof(bb_sensors_config, kind_name), .meaning = "Defaults of " plural "."},
static const bb_key sensors_keys[] = {
    {.name = "lenslets", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1000.0,
     .offset = offsetof(bb_sensors_config, lenslets),
     .meaning = "Lenslets across the pupil's diameter; each guide star and target may override."},
    {.name = "slope_model", .kind = BB_KEY_CHOICE, .choices = slope_models,
     .offset = offsetof(bb_sensors_config, slope_model), .optional = true,
     .meaning = "Definition of a slope: phase difference of two edge midpoints over their "
                "distance, or of the phase averaged over the edges. Unset: averaged_gradient for "
                "lenslets larger than 1 m or at most 4 across, else point_difference."},
    {POSITIVE(bb_sensors_config, frame_ms, "ms", 1.0e4, "Exposure of a frame."),
     .default_text = "4.0"},
    {NUMBER(bb_sensors_config, read_noise_e, "e-", 0.0, 1.0e3, "Read noise of a pixel, rms."),
     .default_text = "3.0"},
    {POSITIVE(bb_sensors_config, atmosphere_transmission, "1", 1.0,
              "Transmission of the atmosphere: a laser star's optical transmission is divided by "
              "it, and a Rayleigh star's light passes through it twice."),
     .default_text = "0.84"},
    BB_GUIDE_STAR_KINDS(GROUP_OF)
};
const bb_schema bb_sensors_schema = BB_SCHEMA("sensors", bb_sensors_config, sensors_keys);

static const bb_key mirror_keys[] = {
    {NUMBER(bb_mirror_config, condition, "1", 1.0, 1.0e6,
            "Ratio of the largest to the smallest singular value kept of the interaction matrix; "
            "unset: half the lenslets and at least sqrt(30), as in moao."),
     .exclusive_minimum = true, .optional = true},
};
const bb_schema bb_mirror_schema = BB_SCHEMA("mirror", bb_mirror_config, mirror_keys);

static const bb_key influence_keys[] = {
    {.name = "file", .kind = BB_KEY_PATH, .optional = true,
     .offset = offsetof(bb_influence_config, file),
     .meaning = MAP_FILE "of influence functions [actuator][rows]"
                "[columns], m of wavefront per volt (twice the surface), columns along x."},
    {.name = "dataset", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_influence_config, dataset),
     .meaning = "Dataset in an HDF5 file, unset: " BB_INFLUENCE_DATASET "; image in a FITS file by "
                "name or number, unset: the first of three axes."},
    {POSITIVE(bb_influence_config, spacing_m, "m", 100.0,
              "Spacing of samples on the conjugate, centred on the axis. Unset: the dataset's "
              "attribute spacing_m, which must agree if both are given."),
     .optional = true},
};
static const bb_schema influence_schema =
    BB_SCHEMA("influence", bb_influence_config, influence_keys);

static const bb_key conjugate_keys[] = {
    {NUMBER(bb_conjugate_config, height_m, "m", 0.0, 100.0e3,
            "Height of the mirror's conjugate above the pupil, along the line of sight.")},
    {POSITIVE(bb_conjugate_config, pitch_m, "m", 100.0,
              "Spacing of actuators on the conjugate; unset, at 0 m only: actuators at the "
              "corners of the truth sensors' lenslets."),
     .optional = true, .replaces = {"influence"}},
    {POSITIVE(bb_conjugate_config, coupling, "1", 0.9,
              "Influence of an actuator at its neighbour relative to its own position; unset: "
              "0.2."),
     .optional = true, .replaces = {"influence"}},
    {.name = "influence", .kind = BB_KEY_GROUP, .schema = &influence_schema, .optional = true,
     .offset = offsetof(bb_conjugate_config, influence), .replaces = {"pitch_m", "coupling"},
     .meaning = "Influence functions from a file, instead of Gaussian ones with pitch_m and "
                "coupling."},
};
const bb_schema bb_conjugate_schema = BB_SCHEMA("mirrors", bb_conjugate_config, conjugate_keys);

static const char *const launches[] = {"side", "central", NULL};

// A setting by kind of guide star that a star can override.
#define SETTING(member, unit_text, low, high, text)                                                \
    .name = #member, .kind = BB_KEY_DOUBLE, .unit = (unit_text),                                   \
    .offset = offsetof(bb_guide_star_config, settings) + offsetof(bb_star_settings, member),       \
    .minimum = (low), .maximum = (high), .meaning = (text)
#define SETTING_ABOVE_0(member, unit_text, high, text)                                             \
    SETTING(member, unit_text, 0.0, high, text), .exclusive_minimum = true

static const bb_key guide_star_keys[] = {
    {.name = "kind", .kind = BB_KEY_CHOICE, .choices = bb_guide_star_kind_names,
     .offset = offsetof(bb_guide_star_config, kind),
     .meaning = "Kind of guide star; its defaults are sensors.<kind>."},
    BB_ASTERISM_KEYS(bb_guide_star_config, "stars"),
    {NUMBER(bb_guide_star_config, x_arcsec, "arcsec", -3600.0, 3600.0, "Direction, x.")},
    {NUMBER(bb_guide_star_config, y_arcsec, "arcsec", -3600.0, 3600.0, "Direction, y.")},
    {SETTING_ABOVE_0(altitude_km, "km", 1.0e6,
              "Altitude of a laser star above the pupil, at zenith."),
     .optional = true},
    {SETTING(magnitude, "mag", -30.0, 40.0,
             "R magnitude of a natural star; needed without photons_per_frame or noise_mas."),
     .optional = true, .replaces = {"photons_per_frame"}},
    {SETTING_ABOVE_0(photons_per_frame, "ph", 1.0e12, "Overrides the kind's value."),
     .optional = true, .replaces = {"magnitude", "flux_ph_per_m2_s"}},
    {SETTING_ABOVE_0(noise_mas, "mas", 1.0e6, "Overrides the kind's value."),
     .optional = true},
    {SETTING(excess_noise, "1", 1.0, 100.0, "Overrides the kind's value."),
     .optional = true},
    {SETTING(background_e, "e-", 0.0, 1.0e9, "Overrides the kind's value."),
     .optional = true},
    {.name = "lenslets", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1000.0,
     .offset = offsetof(bb_guide_star_config, lenslets), .optional = true,
     .meaning = "Overrides sensors.lenslets."},
    {.name = "slope_model", .kind = BB_KEY_CHOICE, .choices = slope_models, .optional = true,
     .offset = offsetof(bb_guide_star_config, slope_model),
     .meaning = "Overrides sensors.slope_model."},
    {NUMBER(bb_guide_star_config, shift_x_m, "m", -200.0, 200.0,
            "Shift of the lenslet grid relative to the pupil, x."),
     .default_text = "0.0"},
    {NUMBER(bb_guide_star_config, shift_y_m, "m", -200.0, 200.0,
            "Shift of the lenslet grid relative to the pupil, y."),
     .default_text = "0.0"},
    {NUMBER(bb_guide_star_config, rotation_deg, "deg", -360.0, 360.0,
            "Angle from the pupil's x axis to that of the lenslet grid, towards y; slopes are "
            "measured along the grid."),
     .default_text = "0.0"},
    {POSITIVE(bb_guide_star_config, magnification, "1", 10.0,
              "Magnification of the lenslet grid relative to the pupil: its pitch in the pupil is "
              "this times the diameter over the lenslets."),
     .default_text = "1.0"},
    {POSITIVE(bb_guide_star_config, frame_ms, "ms", 1.0e4, "Overrides sensors.frame_ms."),
     .optional = true},
    {NUMBER(bb_guide_star_config, read_noise_e, "e-", 0.0, 1.0e3,
            "Overrides sensors.read_noise_e."),
     .optional = true},
    {SETTING_ABOVE_0(pixel_arcsec, "arcsec", 60.0,
              "Overrides the kind's value."),
     .optional = true},
    {SETTING_ABOVE_0(wavelength_nm, "nm", 1.0e5,
              "Overrides the kind's value."),
     .optional = true},
    {SETTING_ABOVE_0(transmission, "1", 1.0, "Overrides the kind's value."),
     .optional = true},
    {SETTING_ABOVE_0(bandwidth_nm, "nm", 1.0e4,
              "Overrides the kind's value."),
     .optional = true},
    {SETTING_ABOVE_0(flux_ph_per_m2_s, "ph/m^2/s", 1.0e15,
              "Overrides the kind's value."),
     .optional = true, .replaces = {"power_w"}},
    {SETTING(spot_arcsec, "arcsec", 0.0, 60.0,
            "Overrides the kind's value."),
     .optional = true},
    {SETTING_ABOVE_0(power_w, "W", 1.0e6, "Overrides the kind's value."),
     .optional = true, .replaces = {"flux_ph_per_m2_s"}},
    {SETTING(depth_km, "km", 0.0, 100.0, "Overrides the kind's value."),
     .optional = true},
    {SETTING(tilt_variance_arcsec2, "arcsec^2", 0.0, 1.0e6,
            "Overrides the kind's value."),
     .optional = true},
    {.name = "launch", .kind = BB_KEY_CHOICE, .choices = launches,
     .offset = offsetof(bb_guide_star_config, launch), .default_text = "side",
     .meaning = "Launch telescope of a laser star: side, the pupil's edge at the star's azimuth (for "
                "a star on the axis the edge at +x), or central."},
    {NUMBER(bb_guide_star_config, launch_x_m, "m", -200.0, 200.0,
            "Launch telescope of a laser star, x; instead of launch."),
     .optional = true},
    {NUMBER(bb_guide_star_config, launch_y_m, "m", -200.0, 200.0,
            "Launch telescope of a laser star, y; together with launch_x_m."),
     .optional = true},
};
const bb_schema bb_guide_star_schema =
    BB_SCHEMA("guide_stars", bb_guide_star_config, guide_star_keys);

static const bb_key target_keys[] = {
    BB_ASTERISM_KEYS(bb_target_config, "targets"),
    {NUMBER(bb_target_config, x_arcsec, "arcsec", -3600.0, 3600.0, "Direction, x.")},
    {NUMBER(bb_target_config, y_arcsec, "arcsec", -3600.0, 3600.0, "Direction, y.")},
    {.name = "lenslets", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1000.0,
     .offset = offsetof(bb_target_config, lenslets), .optional = true,
     .meaning = "Lenslets of the truth sensor and its mirror; overrides sensors.lenslets."},
    {NUMBER(bb_target_config, weight, "1", 0.0, 1.0e6,
            "With correction mcao: weight of the direction in the mirrors' least-squares fit; 0: scored only."),
     .default_text = "1.0"},
};
const bb_schema bb_target_schema = BB_SCHEMA("targets", bb_target_config, target_keys);
// clang-format on

bool bb_ao_config_coarse(const bb_ao_config *config, bb_index lenslets,
                         const bb_guide_star_config *guide)
{
    static const double largest_m = 1.0; // several r0, even in the near infrared
    static const bb_index fewest = 5;
    const double magnification = guide != NULL ? guide->magnification : 1.0;
    const double size_m = config->telescope->diameter_m / (double)lenslets * magnification;
    return size_m > largest_m || lenslets < fewest;
}

bool bb_ao_config_averages(const bb_ao_config *config, bb_index lenslets,
                           const bb_guide_star_config *guide)
{
    const int own = guide != NULL ? guide->slope_model : -1;
    const int model = own != -1 ? own : config->sensors->slope_model;
    return model == -1 ? bb_ao_config_coarse(config, lenslets, guide)
                       : model == (int)BB_SLOPE_AVERAGED_GRADIENT;
}

bb_pupil bb_ao_config_pupil(const bb_ao_config *config)
{
    return (bb_pupil){.obstruction = config->telescope->obstruction,
                      .mask = config->pupil_mask,
                      .edge = config->pupil_edge,
                      .by_flux = config->telescope->subaperture_rule == BB_SUBAPERTURE_FLUX,
                      .threshold = config->telescope->subaperture_threshold};
}

const bb_star_settings *bb_sensors_config_star(const bb_sensors_config *sensors, int kind)
{
#define PLACE_OF(number, name, plural) [BB_GUIDE_STAR_##number] = offsetof(bb_sensors_config, name),
    static const size_t places[] = {BB_GUIDE_STAR_KINDS(PLACE_OF)};
    return (const bb_star_settings *)(const void *)((const char *)sensors + places[kind]);
}
