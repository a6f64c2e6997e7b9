// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_config.h"

#include "physics/ao/atmosphere.h"
#include "physics/ao/subapertures.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// One row of a schema table: a required number, one with a default, one that may stay unset.
#define NUMBER(type, member, unit_text, low, high, text)                                           \
    .name = #member, .kind = BB_KEY_DOUBLE, .unit = (unit_text), .offset = offsetof(type, member), \
    .minimum = (low), .maximum = (high), .meaning = (text)
#define POSITIVE(type, member, unit_text, high, text)                                              \
    NUMBER(type, member, unit_text, 0.0, high, text), .exclusive_minimum = true

// The tables are laid out by hand: clang-format 14 crashes on rows of unequal length.
// clang-format off
static const bb_key pupil_keys[] = {
    {.name = "file", .kind = BB_KEY_PATH, .optional = true,
     .offset = offsetof(bb_pupil_config, file),
     .meaning = "HDF5 or FITS file (.fits, .fit, .fits.gz) with a mask of the pupil, relative to "
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
            "Diameter of the central obstruction over that of the pupil; under a mask, of the "
            "mirror alone."),
     .exclusive_maximum = true, .default_text = "0.0"},
    {NUMBER(bb_telescope_config, zenith_angle_deg, "deg", 0.0, 80.0,
            "Zenith angle: heights, altitudes and layer strengths are multiplied by its secant."),
     .default_text = "0.0"},
    {.name = "pupil", .kind = BB_KEY_GROUP, .schema = &pupil_schema, .optional = true,
     .offset = offsetof(bb_telescope_config, pupil),
     .meaning = "A mask of the pupil, with segments and spiders, in place of the annulus."},
    {.name = "subaperture_rule", .kind = BB_KEY_CHOICE, .choices = subaperture_rules,
     .offset = offsetof(bb_telescope_config, subaperture_rule), .default_text = "centre",
     .meaning = "Valid subapertures of the annulus: those whose centre lies in it, or by flux "
                "those of subaperture_threshold; under a mask always by flux."},
    {POSITIVE(bb_telescope_config, subaperture_threshold, "1", 1.0,
              "Least mean transmission of a valid subaperture, by flux."),
     .default_text = "0.5"},
};
const bb_schema bb_telescope_schema = BB_SCHEMA("telescope", bb_telescope_config, telescope_keys);

static const bb_key layer_keys[] = {
    {NUMBER(bb_layer_config, height_m, "m", 0.0, 100.0e3,
            "Height of the layer above the pupil, at zenith.")},
    {NUMBER(bb_layer_config, strength, "m^(-5/3)", 0.0, 1.0e6,
            "r0^(-5/3) of the layer at 500 nm and zenith.")},
};
static const bb_schema layer_schema = BB_SCHEMA("layers", bb_layer_config, layer_keys);

static const char *const profile_names[] = {"moao-2",     "moao-10", "eris-10", "eso-median-9",
                                            "eso-median", "eso-q1",  "eso-q4",  NULL};

static const bb_key atmosphere_keys[] = {
    {.name = "profile", .kind = BB_KEY_CHOICE, .choices = profile_names, .optional = true,
     .offset = offsetof(bb_atmosphere_config, profile),
     .meaning = "A shipped turbulence profile; this or layers."},
    {.name = "layers", .kind = BB_KEY_RECORDS, .schema = &layer_schema, .optional = true,
     .offset = offsetof(bb_atmosphere_config, layers),
     .meaning = "Turbulent layers; these or profile."},
    {NUMBER(bb_atmosphere_config, outer_scale_m, "m", 0.1, 1.0e4, "Outer scale, of every layer."),
     .default_text = "25.0"},
    {NUMBER(bb_atmosphere_config, r0_m, "m", 0.001, 100.0,
              "Fried parameter of all layers at 500 nm and zenith; given, it rescales them."),
     .optional = true},
};
const bb_schema bb_atmosphere_schema =
    BB_SCHEMA("atmosphere", bb_atmosphere_config, atmosphere_keys);

static const bb_key ngs_keys[] = {
    {POSITIVE(bb_ngs_config, pixel_arcsec, "arcsec", 60.0, "Pixel of a natural star's sensor."),
     .default_text = "0.3"},
    {POSITIVE(bb_ngs_config, wavelength_nm, "nm", 1.0e5, "Wavelength of natural stars."),
     .default_text = "650.0"},
    {POSITIVE(bb_ngs_config, bandwidth_nm, "nm", 1.0e4, "Bandwidth of natural stars."),
     .default_text = "330.0"},
    {POSITIVE(bb_ngs_config, transmission, "1", 1.0, "Transmission of the optics."),
     .default_text = "0.425"},
};
static const bb_schema ngs_schema = BB_SCHEMA("ngs", bb_ngs_config, ngs_keys);

static const bb_key lgs_keys[] = {
    {POSITIVE(bb_lgs_config, pixel_arcsec, "arcsec", 60.0, "Pixel of a laser star's sensor."),
     .default_text = "1.0"},
    {POSITIVE(bb_lgs_config, wavelength_nm, "nm", 1.0e5, "Wavelength of laser stars."),
     .default_text = "589.0"},
    {POSITIVE(bb_lgs_config, transmission, "1", 1.0, "Transmission of the optics."),
     .default_text = "0.382"},
    {POSITIVE(bb_lgs_config, flux_ph_per_m2_s, "ph/m^2/s", 1.0e15,
              "Return flux of a laser star at the pupil."),
     .default_text = "6.0e+7"},
    {NUMBER(bb_lgs_config, spot_arcsec, "arcsec", 0.0, 60.0,
            "Width of the laser spot on the sky, added to the seeing in quadrature."),
     .default_text = "1.0"},
    {NUMBER(bb_lgs_config, depth_km, "km", 0.0, 100.0, "Depth of the sodium layer, at zenith."),
     .default_text = "5.0"},
    {NUMBER(bb_lgs_config, tilt_variance_arcsec2, "arcsec^2", 0.0, 1.0e6,
            "Variance of the unknown tilt of a laser star, each axis."),
     .default_text = "1.0"},
};
static const bb_schema lgs_schema = BB_SCHEMA("lgs", bb_lgs_config, lgs_keys);

static const char *const slope_models[] = {"point_difference", "averaged_gradient", NULL};

static const bb_key sensors_keys[] = {
    {.name = "lenslets", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1000.0,
     .offset = offsetof(bb_sensors_config, lenslets),
     .meaning = "Lenslets across the pupil's diameter; each guide star and target may override."},
    {.name = "slope_model", .kind = BB_KEY_CHOICE, .choices = slope_models,
     .offset = offsetof(bb_sensors_config, slope_model), .default_text = "point_difference",
     .meaning = "What a slope is: the difference of the phase at two edge midpoints over their "
                "distance, or of the phase averaged over the two edges."},
    {POSITIVE(bb_sensors_config, frame_ms, "ms", 1.0e4, "Exposure of a frame."),
     .default_text = "4.0"},
    {NUMBER(bb_sensors_config, read_noise_e, "e-", 0.0, 1.0e3, "Read noise of a pixel, rms."),
     .default_text = "3.0"},
    {POSITIVE(bb_sensors_config, atmosphere_transmission, "1", 1.0,
              "Transmission of the atmosphere, by which an lgs transmission is divided."),
     .default_text = "0.84"},
    {.name = "ngs", .kind = BB_KEY_GROUP, .schema = &ngs_schema,
     .offset = offsetof(bb_sensors_config, ngs), .meaning = "Defaults of natural guide stars."},
    {.name = "lgs", .kind = BB_KEY_GROUP, .schema = &lgs_schema,
     .offset = offsetof(bb_sensors_config, lgs), .meaning = "Defaults of laser guide stars."},
};
const bb_schema bb_sensors_schema = BB_SCHEMA("sensors", bb_sensors_config, sensors_keys);

static const bb_key mirror_keys[] = {
    {NUMBER(bb_mirror_config, condition, "1", 1.0, 1.0e6,
            "Largest over smallest singular value of the interaction matrix that is kept; unset: "
            "half the lenslets and at least sqrt(30), moao's."),
     .exclusive_minimum = true, .optional = true},
};
const bb_schema bb_mirror_schema = BB_SCHEMA("mirror", bb_mirror_config, mirror_keys);

static const char *const kinds[] = {"ngs", "lgs", NULL};

static const char *const launches[] = {"side", "central", NULL};

static const bb_key guide_star_keys[] = {
    {.name = "kind", .kind = BB_KEY_CHOICE, .choices = kinds,
     .offset = offsetof(bb_guide_star_config, kind), .meaning = "Natural or laser guide star."},
    {NUMBER(bb_guide_star_config, x_arcsec, "arcsec", -3600.0, 3600.0, "Direction, x.")},
    {NUMBER(bb_guide_star_config, y_arcsec, "arcsec", -3600.0, 3600.0, "Direction, y.")},
    {POSITIVE(bb_guide_star_config, altitude_km, "km", 1.0e6,
              "Altitude of an lgs above the pupil, at zenith."),
     .optional = true},
    {NUMBER(bb_guide_star_config, magnitude, "mag", -30.0, 40.0, "R magnitude of an ngs."),
     .optional = true},
    {.name = "lenslets", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1000.0,
     .offset = offsetof(bb_guide_star_config, lenslets), .optional = true,
     .meaning = "Overrides sensors.lenslets."},
    {NUMBER(bb_guide_star_config, shift_x_m, "m", -200.0, 200.0,
            "Shift of the lenslet grid against the pupil, x."),
     .default_text = "0.0"},
    {NUMBER(bb_guide_star_config, shift_y_m, "m", -200.0, 200.0,
            "Shift of the lenslet grid against the pupil, y."),
     .default_text = "0.0"},
    {NUMBER(bb_guide_star_config, rotation_deg, "deg", -360.0, 360.0,
            "Angle from the pupil's x axis to that of the lenslet grid, towards y; slopes are "
            "measured along the grid."),
     .default_text = "0.0"},
    {POSITIVE(bb_guide_star_config, magnification, "1", 10.0,
              "Of the lenslet grid against the pupil: its pitch in the pupil is this times the "
              "diameter over the lenslets."),
     .default_text = "1.0"},
    {POSITIVE(bb_guide_star_config, frame_ms, "ms", 1.0e4, "Overrides sensors.frame_ms."),
     .optional = true},
    {NUMBER(bb_guide_star_config, read_noise_e, "e-", 0.0, 1.0e3,
            "Overrides sensors.read_noise_e."),
     .optional = true},
    {POSITIVE(bb_guide_star_config, pixel_arcsec, "arcsec", 60.0,
              "Overrides that of the star's kind."),
     .optional = true},
    {POSITIVE(bb_guide_star_config, wavelength_nm, "nm", 1.0e5,
              "Overrides that of the star's kind."),
     .optional = true},
    {POSITIVE(bb_guide_star_config, transmission, "1", 1.0, "Overrides that of the star's kind."),
     .optional = true},
    {POSITIVE(bb_guide_star_config, bandwidth_nm, "nm", 1.0e4,
              "Overrides sensors.ngs.bandwidth_nm."),
     .optional = true},
    {POSITIVE(bb_guide_star_config, flux_ph_per_m2_s, "ph/m^2/s", 1.0e15,
              "Overrides sensors.lgs.flux_ph_per_m2_s."),
     .optional = true},
    {NUMBER(bb_guide_star_config, spot_arcsec, "arcsec", 0.0, 60.0,
            "Overrides sensors.lgs.spot_arcsec."),
     .optional = true},
    {NUMBER(bb_guide_star_config, depth_km, "km", 0.0, 100.0, "Overrides sensors.lgs.depth_km."),
     .optional = true},
    {NUMBER(bb_guide_star_config, tilt_variance_arcsec2, "arcsec^2", 0.0, 1.0e6,
            "Overrides sensors.lgs.tilt_variance_arcsec2."),
     .optional = true},
    {.name = "launch", .kind = BB_KEY_CHOICE, .choices = launches,
     .offset = offsetof(bb_guide_star_config, launch), .default_text = "side",
     .meaning = "Launch telescope of an lgs: side, the pupil's edge at the star's azimuth (for a "
                "star on the axis the edge at +x), or central."},
    {NUMBER(bb_guide_star_config, launch_x_m, "m", -200.0, 200.0,
            "Launch telescope of an lgs, x; in place of launch."),
     .optional = true},
    {NUMBER(bb_guide_star_config, launch_y_m, "m", -200.0, 200.0,
            "Launch telescope of an lgs, y; goes with launch_x_m."),
     .optional = true},
};
const bb_schema bb_guide_star_schema =
    BB_SCHEMA("guide_stars", bb_guide_star_config, guide_star_keys);

static const bb_key target_keys[] = {
    {NUMBER(bb_target_config, x_arcsec, "arcsec", -3600.0, 3600.0, "Direction, x.")},
    {NUMBER(bb_target_config, y_arcsec, "arcsec", -3600.0, 3600.0, "Direction, y.")},
    {.name = "lenslets", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1000.0,
     .offset = offsetof(bb_target_config, lenslets), .optional = true,
     .meaning = "Lenslets of the truth sensor and its mirror; overrides sensors.lenslets."},
};
const bb_schema bb_target_schema = BB_SCHEMA("targets", bb_target_config, target_keys);
// clang-format on

static bool in_range(const bb_key *key, double value)
{
    if (!isfinite(value)) {
        return false;
    }
    if (key->minimum == 0.0 && key->maximum == 0.0) {
        return true;
    }
    bool above = key->exclusive_minimum ? value > key->minimum : value >= key->minimum;
    bool below = key->exclusive_maximum ? value < key->maximum : value <= key->maximum;
    return above && below;
}

// Ranges of the numbers of one struct, its groups included; `path` stands before the key's name.
static bb_status check_ranges(const bb_schema *schema, const void *object, const char *path)
{
    bb_status status = BB_OK;
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        const char *member = (const char *)object + key->offset;
        if (key->kind == BB_KEY_DOUBLE) {
            double value = *(const double *)(const void *)member;
            bool plain = strcmp(key->unit, "1") == 0;
            BB_REQUIRE((key->optional && isnan(value)) || in_range(key, value), BB_INVALID,
                       "%s.%s = %g%s%s, expected a finite number %s %g and %s %g", path, key->name,
                       value, plain ? "" : " ", plain ? "" : key->unit,
                       key->exclusive_minimum ? ">" : ">=", key->minimum,
                       key->exclusive_maximum ? "<" : "<=", key->maximum);
        } else if (key->kind == BB_KEY_INTEGER) {
            bb_index value = *(const bb_index *)(const void *)member;
            BB_REQUIRE((key->optional && value == BB_INTEGER_UNSET) || in_range(key, (double)value),
                       BB_INVALID, "%s.%s = %td, expected %g..%g", path, key->name, value,
                       key->minimum, key->maximum);
        } else if (key->kind == BB_KEY_GROUP) {
            char inner[64];
            (void)snprintf(inner, sizeof inner, "%s.%s", path, key->name);
            BB_TRY(check_ranges(key->schema, member, inner));
        }
    }
done:
    return status;
}

static bb_status check_atmosphere(const bb_atmosphere_config *atmosphere)
{
    bb_status status = BB_OK;
    bool profile = atmosphere->profile != -1;
    bool layers = atmosphere->layers.count != 0;
    BB_TRY(check_ranges(&bb_atmosphere_schema, atmosphere, "atmosphere"));
    BB_REQUIRE(
        profile != layers, BB_INVALID, "atmosphere: %s, expected exactly one of profile and layers",
        profile ? "profile and layers are both given" : "neither profile nor layers is given");
    BB_REQUIRE(!profile || (atmosphere->profile >= 0 && atmosphere->profile < BB_PROFILE_COUNT),
               BB_INVALID, "atmosphere.profile = %d, expected 0..%d", atmosphere->profile,
               BB_PROFILE_COUNT - 1);
    BB_REQUIRE(!layers || (atmosphere->layers.count > 0 && atmosphere->layers.items != NULL),
               BB_INVALID, "atmosphere.layers: %td layers, expected at least one",
               atmosphere->layers.count);
    double sum = 0.0;
    const bb_layer_config *items = atmosphere->layers.items;
    for (bb_index l = 0; layers && l < atmosphere->layers.count; ++l) {
        char path[64];
        (void)snprintf(path, sizeof path, "atmosphere.layers[%td]", l);
        BB_TRY(check_ranges(&layer_schema, &items[l], path));
        sum += items[l].strength;
    }
    BB_REQUIRE(profile || sum > 0.0, BB_INVALID,
               "atmosphere.layers: the strengths sum to %g, expected a positive sum", sum);
done:
    return status;
}

bb_pupil bb_ao_config_pupil(const bb_ao_config *config)
{
    return (bb_pupil){.obstruction = config->telescope->obstruction,
                      .mask = config->pupil_mask,
                      .edge = config->pupil_edge,
                      .by_flux = config->telescope->subaperture_rule == BB_SUBAPERTURE_FLUX,
                      .threshold = config->telescope->subaperture_threshold};
}

static bb_status check_mask(const bb_ao_config *config)
{
    bb_status status = BB_OK;
    const double *mask = config->pupil_mask;
    const bb_index edge = config->pupil_edge;
    bool transmits = false;
    for (bb_index k = 0; mask != NULL && k < edge * edge; ++k) {
        BB_REQUIRE(
            mask[k] >= 0.0 && mask[k] <= 1.0, BB_INVALID,
            "telescope.pupil: row %td, column %td is %.17g, expected a transmission in [0, 1]",
            k / edge, k % edge, mask[k]);
        transmits = transmits || mask[k] > 0.0;
    }
    BB_REQUIRE(mask == NULL || transmits, BB_INVALID,
               "telescope.pupil: all %td x %td pixels are 0, expected some that transmit", edge,
               edge);
done:
    return status;
}

static bb_status check_lenslets(const bb_ao_config *config, bb_index lenslets, const char *path)
{
    bb_status status = BB_OK;
    const bb_pupil pupil = bb_ao_config_pupil(config);
    if (config->telescope->pupil.file != NULL && pupil.mask == NULL) {
        goto done; // only the mask can tell
    }
    BB_REQUIRE(
        pupil.mask == NULL || pupil.edge >= 2 * lenslets, BB_INVALID,
        "telescope.pupil: %td x %td pixels, expected at least 2 a lenslet: %s.lenslets = %td",
        pupil.edge, pupil.edge, path, lenslets);
    bb_index count = bb_subapertures_count(lenslets, &pupil);
    BB_REQUIRE(count > 0 || (pupil.mask == NULL && !pupil.by_flux), BB_INVALID,
               "%s.lenslets = %td leaves no valid subaperture: none has a mean transmission of "
               "telescope.subaperture_threshold = %g",
               path, lenslets, pupil.threshold);
    BB_REQUIRE(count > 0, BB_INVALID,
               "%s.lenslets = %td leaves no valid subaperture at telescope.obstruction = %g", path,
               lenslets, pupil.obstruction);
done:
    return status;
}

static bb_status refuse_key(double value, const char *path, const char *name, const char *kind)
{
    bb_status status = BB_OK;
    BB_REQUIRE(isnan(value), BB_INVALID, "%s.%s does not apply to a star of kind %s", path, name,
               kind);
done:
    return status;
}

// Keys that must be there, and those that must not, by the kind of star.
static bb_status check_kind(const bb_guide_star_config *star, const char *path)
{
    bb_status status = BB_OK;
    if (star->kind == BB_GUIDE_STAR_LGS) {
        BB_REQUIRE(!isnan(star->altitude_km), BB_INVALID,
                   "%s.altitude_km is missing: an lgs needs its altitude", path);
        BB_REQUIRE(isnan(star->launch_x_m) == isnan(star->launch_y_m), BB_INVALID,
                   "%s: launch_x_m and launch_y_m go together, one is missing", path);
        BB_REQUIRE(star->launch == BB_LAUNCH_SIDE || isnan(star->launch_x_m), BB_INVALID,
                   "%s: launch: central and launch_x_m exclude each other", path);
        BB_TRY(refuse_key(star->magnitude, path, "magnitude", "lgs"));
        BB_TRY(refuse_key(star->bandwidth_nm, path, "bandwidth_nm", "lgs"));
    } else {
        BB_REQUIRE(!isnan(star->magnitude), BB_INVALID,
                   "%s.magnitude is missing: an ngs needs its magnitude", path);
        BB_TRY(refuse_key(star->altitude_km, path, "altitude_km", "ngs"));
        BB_TRY(refuse_key(star->flux_ph_per_m2_s, path, "flux_ph_per_m2_s", "ngs"));
        BB_TRY(refuse_key(star->spot_arcsec, path, "spot_arcsec", "ngs"));
        BB_TRY(refuse_key(star->depth_km, path, "depth_km", "ngs"));
        BB_TRY(refuse_key(star->tilt_variance_arcsec2, path, "tilt_variance_arcsec2", "ngs"));
        BB_REQUIRE(star->launch == BB_LAUNCH_SIDE, BB_INVALID,
                   "%s.launch does not apply to a star of kind ngs", path);
        BB_TRY(refuse_key(star->launch_x_m, path, "launch_x_m", "ngs"));
        BB_TRY(refuse_key(star->launch_y_m, path, "launch_y_m", "ngs"));
    }
done:
    return status;
}

static bb_status check_guide_stars(const bb_ao_config *config)
{
    bb_status status = BB_OK;
    BB_REQUIRE(config->guide_star_count > 0, BB_INVALID,
               "guide_stars: %td stars, expected at least one", config->guide_star_count);
    for (bb_index s = 0; s < config->guide_star_count; ++s) {
        const bb_guide_star_config *star = &config->guide_stars[s];
        char path[64];
        (void)snprintf(path, sizeof path, "guide_stars[%td]", s);
        BB_REQUIRE(star->kind == BB_GUIDE_STAR_NGS || star->kind == BB_GUIDE_STAR_LGS, BB_INVALID,
                   "%s.kind = %d, expected ngs or lgs", path, star->kind);
        BB_REQUIRE(star->launch == BB_LAUNCH_SIDE || star->launch == BB_LAUNCH_CENTRAL, BB_INVALID,
                   "%s.launch = %d, expected side or central", path, star->launch);
        BB_TRY(check_ranges(&bb_guide_star_schema, star, path));
        BB_TRY(check_kind(star, path));
        if (star->lenslets != BB_INTEGER_UNSET) {
            BB_TRY(check_lenslets(config, star->lenslets, path));
        }
    }
done:
    return status;
}

// The lag needs the wind of every layer.
static bb_status check_error_terms(const bb_ao_config *config)
{
    bb_status status = BB_OK;
    const bb_error_terms_config *terms = config->error_terms;
    const int profile = config->atmosphere->profile;
    if (terms == NULL) {
        goto done;
    }
    BB_TRY(check_ranges(&bb_error_terms_schema, terms, "error_terms"));
    BB_REQUIRE(
        !(terms->aliasing && terms->fitting), BB_INVALID,
        "error_terms.aliasing: with error_terms.fitting the residual of slopes has the guide "
        "stars' aliasing already; expected one of the two to be false");
    const bb_index winds = terms->wind_m_per_s.count;
    const bb_index layers = bb_atmosphere_layers(config->atmosphere);
    BB_REQUIRE(winds == 0 || winds == layers, BB_INVALID,
               "error_terms.wind_m_per_s: %td speeds, expected one for each of %td layers", winds,
               layers);
    BB_REQUIRE(terms->frame_delay_ms == 0.0 || winds > 0 ||
                   (profile >= 0 && bb_profile_has_wind((bb_profile)profile)),
               BB_INVALID,
               "error_terms.wind_m_per_s is missing: error_terms.frame_delay_ms needs the wind of "
               "every layer, which %s does not have",
               profile >= 0 ? profile_names[profile] : "a list of layers");
done:
    return status;
}

bb_status bb_ao_config_check(const bb_ao_config *config)
{
    bb_status status = BB_OK;
    BB_TRY(check_ranges(&bb_telescope_schema, config->telescope, "telescope"));
    BB_REQUIRE(config->telescope->subaperture_rule == BB_SUBAPERTURE_CENTRE ||
                   config->telescope->subaperture_rule == BB_SUBAPERTURE_FLUX,
               BB_INVALID, "telescope.subaperture_rule = %d, expected centre or flux",
               config->telescope->subaperture_rule);
    BB_TRY(check_mask(config));
    BB_TRY(check_atmosphere(config->atmosphere));
    BB_TRY(check_ranges(&bb_sensors_schema, config->sensors, "sensors"));
    BB_REQUIRE(config->sensors->slope_model == BB_SLOPE_POINT_DIFFERENCE ||
                   config->sensors->slope_model == BB_SLOPE_AVERAGED_GRADIENT,
               BB_INVALID,
               "sensors.slope_model = %d, expected point_difference or averaged_gradient",
               config->sensors->slope_model);
    BB_TRY(check_lenslets(config, config->sensors->lenslets, "sensors"));
    if (config->mirror != NULL) {
        BB_TRY(check_ranges(&bb_mirror_schema, config->mirror, "mirror"));
    }
    BB_TRY(check_error_terms(config));
    BB_TRY(check_guide_stars(config));
    BB_REQUIRE(config->target_count > 0, BB_INVALID, "targets: %td, expected at least one",
               config->target_count);
    for (bb_index t = 0; t < config->target_count; ++t) {
        char path[64];
        (void)snprintf(path, sizeof path, "targets[%td]", t);
        BB_TRY(check_ranges(&bb_target_schema, &config->targets[t], path));
        if (config->targets[t].lenslets != BB_INTEGER_UNSET) {
            BB_TRY(check_lenslets(config, config->targets[t].lenslets, path));
        }
    }
done:
    return status;
}
