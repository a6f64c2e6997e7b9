// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_check.h"

#include "physics/ao/atmosphere.h"
#include "physics/ao/mirrors/mirror_stack.h"
#include "physics/ao/score/point_spread.h"
#include "physics/ao/subapertures.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Checks that layers are all given by strength or all by Cn2, and are rescaled at most once.
static bb_status check_strengths(const bb_atmosphere_config *atmosphere)
{
    bb_status status = BB_OK;
    const bb_layer_config *layers = atmosphere->layers.items;
    const bool seeing = atmosphere->seeing_arcsec > 0.0;
    const bool by_cn2 = atmosphere->layers.count > 0 && !isnan(layers[0].cn2_m13);
    double sum = 0.0;
    BB_REQUIRE(isnan(atmosphere->r0_m) || !seeing, BB_INVALID,
               "atmosphere.seeing_arcsec = %g: r0_m = %g is set too; set one of them",
               atmosphere->seeing_arcsec, atmosphere->r0_m);
    for (bb_index l = 0; l < atmosphere->layers.count; ++l) {
        BB_REQUIRE(isnan(layers[l].cn2_m13) == !by_cn2 && isnan(layers[l].strength) == by_cn2,
                   BB_INVALID,
                   "atmosphere.layers[%td]: expected strength in all layers, or cn2_m13 in all", l);
        sum += bb_atmosphere_layer_strength(&layers[l]);
    }
    BB_REQUIRE(atmosphere->layers.count == 0 || sum > 0.0, BB_INVALID,
               "atmosphere.layers: the strengths sum to %g, expected a positive sum", sum);
    BB_REQUIRE(!by_cn2 || !seeing, BB_INVALID,
               "atmosphere.seeing_arcsec: remove it, r0 follows from the layers' cn2_m13");
    BB_REQUIRE(!by_cn2 || isnan(atmosphere->r0_m), BB_INVALID,
               "atmosphere.r0_m: remove it, r0 follows from the layers' cn2_m13");
done:
    return status;
}

static bb_status check_atmosphere(const bb_atmosphere_config *atmosphere)
{
    bb_status status = BB_OK;
    bool profile = atmosphere->profile != -1;
    bool layers = atmosphere->layers.count != 0;
    BB_TRY(bb_schema_check(&bb_atmosphere_schema, atmosphere, "atmosphere"));
    BB_REQUIRE(
        profile != layers, BB_INVALID, "atmosphere: %s, expected exactly one of profile and layers",
        profile ? "profile and layers are both given" : "neither profile nor layers is given");
    BB_REQUIRE(!profile || (atmosphere->profile >= 0 && atmosphere->profile < BB_PROFILE_COUNT),
               BB_INVALID, "atmosphere.profile = %d, expected 0..%d", atmosphere->profile,
               BB_PROFILE_COUNT - 1);
    BB_REQUIRE(!layers || (atmosphere->layers.count > 0 && atmosphere->layers.items != NULL),
               BB_INVALID, "atmosphere.layers: %td layers, expected at least one",
               atmosphere->layers.count);
    const bb_layer_config *items = atmosphere->layers.items;
    for (bb_index l = 0; layers && l < atmosphere->layers.count; ++l) {
        char path[64];
        (void)snprintf(path, sizeof path, "atmosphere.layers[%td]", l);
        BB_TRY(bb_schema_check(&bb_layer_schema, &items[l], path));
    }
    BB_TRY(check_strengths(atmosphere));
done:
    return status;
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
        goto done; // needs the mask
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

// Checks the pupil sampled on the points of a target's score (score/point_spread.h).
static bb_status check_score(const bb_ao_config *config, bb_index lenslets, const char *path)
{
    bb_status status = BB_OK;
    const bb_pupil pupil = bb_ao_config_pupil(config);
    const bb_index across = lenslets * bb_point_spread_pixels_per_lenslet(lenslets);
    const bb_index points = bb_pupil_points(across);
    if (config->telescope->pupil.file != NULL && pupil.mask == NULL) {
        goto done; // needs the mask
    }
    BB_REQUIRE(bb_pupil_transmits(&pupil, across), BB_INVALID,
               "%s: at telescope.obstruction = %.17g the pupil transmits nothing at the %td x %td "
               "points of the score; reduce the obstruction",
               path, pupil.obstruction, points, points);
done:
    return status;
}

// Checks the laser launch keys.
static bb_status check_launch(const bb_guide_star_config *star, bool launched, const char *path)
{
    bb_status status = BB_OK;
    const char *name = bb_guide_star_kind_names[star->kind];
    BB_REQUIRE(star->launch == BB_LAUNCH_SIDE || star->launch == BB_LAUNCH_CENTRAL, BB_INVALID,
               "%s.launch = %d, expected side or central", path, star->launch);
    BB_REQUIRE(launched || star->launch == BB_LAUNCH_SIDE, BB_INVALID,
               "%s.launch does not apply to a star of kind %s", path, name);
    BB_REQUIRE(launched || isnan(star->launch_x_m), BB_INVALID,
               "%s.launch_x_m does not apply to a star of kind %s", path, name);
    BB_REQUIRE(launched || isnan(star->launch_y_m), BB_INVALID,
               "%s.launch_y_m does not apply to a star of kind %s", path, name);
    BB_REQUIRE(isnan(star->launch_x_m) == isnan(star->launch_y_m), BB_INVALID,
               "%s: launch_x_m and launch_y_m must be set together", path);
    BB_REQUIRE(star->launch == BB_LAUNCH_SIDE || isnan(star->launch_x_m), BB_INVALID,
               "%s: launch: central and launch_x_m exclude each other", path);
done:
    return status;
}

// Checks the required and the inapplicable keys of a kind of star.
static bb_status check_settings(const bb_ao_config *config, const bb_guide_star_config *star,
                                const char *path)
{
    bb_status status = BB_OK;
    const bb_guide_star_kind *kind = bb_guide_star_kinds[star->kind];
    const char *name = bb_guide_star_kind_names[star->kind];
    const size_t first = offsetof(bb_guide_star_config, settings);
    for (bb_index k = 0; k < bb_guide_star_schema.key_count; ++k) {
        const bb_key *key = &bb_guide_star_schema.keys[k];
        if (key->offset < first || key->offset >= first + sizeof star->settings) {
            continue;
        }
        const double value = *(const double *)(const void *)((const char *)star + key->offset);
        BB_REQUIRE(!isnan(value) || kind->own_key == NULL || strcmp(kind->own_key, key->name) != 0,
                   BB_INVALID, "%s.%s is missing: a star of kind %s needs it", path, key->name,
                   name);
        BB_REQUIRE(isnan(value) || bb_guide_star_kind_accepts(kind, key->name), BB_INVALID,
                   "%s.%s does not apply to a star of kind %s", path, key->name, name);
    }
    const bb_star_settings *defaults = bb_sensors_config_star(config->sensors, star->kind);
    const bb_star_settings all = bb_guide_star_kind_settings(kind, defaults, &star->settings);
    BB_TRY(bb_schema_check(kind->schema, &all, path));
    if (kind->check != NULL) {
        BB_TRY(kind->check(&star->settings, &all, path));
    }
done:
    return status;
}

static bb_status check_slope_model(int model, const char *path)
{
    bb_status status = BB_OK;
    BB_REQUIRE(model == -1 || model == BB_SLOPE_POINT_DIFFERENCE ||
                   model == BB_SLOPE_AVERAGED_GRADIENT,
               BB_INVALID, "%s.slope_model = %d, expected point_difference or averaged_gradient",
               path, model);
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
        BB_REQUIRE(star->kind >= 0 && star->kind < (int)BB_GUIDE_STAR_COUNT, BB_INVALID,
                   "%s.kind = %d, expected 0..%d", path, star->kind, BB_GUIDE_STAR_COUNT - 1);
        BB_TRY(bb_schema_check(&bb_guide_star_schema, star, path));
        BB_TRY(check_slope_model(star->slope_model, path));
        BB_TRY(check_settings(config, star, path));
        BB_TRY(check_launch(star, bb_guide_star_kinds[star->kind]->launched, path));
        if (star->lenslets != BB_INTEGER_UNSET) {
            BB_TRY(check_lenslets(config, star->lenslets, path));
        }
    }
done:
    return status;
}

// Checks the error terms. Servo lag needs the wind of every layer.
static bb_status check_error_terms(const bb_ao_config *config)
{
    bb_status status = BB_OK;
    const bb_error_terms_config *terms = config->error_terms;
    const int profile = config->atmosphere->profile;
    if (terms == NULL) {
        goto done;
    }
    BB_TRY(bb_schema_check(&bb_error_terms_schema, terms, "error_terms"));
    BB_REQUIRE(!(terms->aliasing && terms->fitting), BB_INVALID,
               "error_terms.aliasing: with error_terms.fitting the slope residual already includes "
               "the guide stars' aliasing; set one of the two to false");
    const bb_index winds = terms->wind_m_per_s.count;
    const bb_index layers = bb_atmosphere_layers(config->atmosphere);
    BB_REQUIRE(winds == 0 || winds == layers, BB_INVALID,
               "error_terms.wind_m_per_s: %td speeds, expected one for each of %td layers", winds,
               layers);
    BB_REQUIRE(terms->frame_delay_ms == 0.0 || winds > 0 ||
                   bb_atmosphere_has_wind(config->atmosphere),
               BB_INVALID,
               "error_terms.wind_m_per_s is missing: error_terms.frame_delay_ms needs the wind of "
               "every layer, and %s has none",
               profile >= 0 ? bb_profile_names[profile] : "a layer of the list");
done:
    return status;
}

// Checks a mirror's own influence functions, except those not yet loaded.
static bb_status check_influence(const bb_ao_config *config, bb_index k, const char *path)
{
    bb_status status = BB_OK;
    const bb_conjugate_config *mirror = &config->mirrors[k];
    const bb_influence_config *influence = &mirror->influence;
    if (influence->file == NULL) {
        BB_REQUIRE(influence->dataset == NULL && isnan(influence->spacing_m), BB_INVALID,
                   "%s.influence.file is missing: %s has no effect without it", path,
                   influence->dataset != NULL ? "dataset" : "spacing_m");
        goto done;
    }
    BB_REQUIRE(isnan(mirror->pitch_m), BB_INVALID,
               "%s.pitch_m = %g: influence is set too; set one of them", path, mirror->pitch_m);
    BB_REQUIRE(isnan(mirror->coupling), BB_INVALID,
               "%s.coupling = %g: influence is set too; set one of them", path, mirror->coupling);
    if (config->influences != NULL) {
        char name[80];
        (void)snprintf(name, sizeof name, "%s.influence", path);
        BB_TRY(bb_influence_cube_check(&config->influences[k], name));
    }
done:
    return status;
}

// Checks mirrors that correct together.
static bb_status check_mirrors(const bb_ao_config *config)
{
    bb_status status = BB_OK;
    double weights = 0.0;
    for (bb_index k = 0; k < config->mirror_count; ++k) {
        const bb_conjugate_config *mirror = &config->mirrors[k];
        char path[64];
        (void)snprintf(path, sizeof path, "mirrors[%td]", k);
        BB_TRY(bb_schema_check(&bb_conjugate_schema, mirror, path));
        BB_TRY(check_influence(config, k, path));
        BB_REQUIRE(
            !isnan(mirror->pitch_m) || mirror->height_m == 0.0 || mirror->influence.file != NULL,
            BB_INVALID,
            "%s.pitch_m is missing: only a mirror at 0 m can use the truth sensors' lenslets",
            path);
    }
    for (bb_index t = 0; t < config->target_count; ++t) {
        weights += config->targets[t].weight;
    }
    BB_REQUIRE(config->mirror_count == 0 || weights > 0.0, BB_INVALID,
               "targets: the weights sum to %g, expected at least one positive weight", weights);
    const double actuators = config->mirror_count == 0 ? 0.0 : bb_mirror_stack_actuators(config);
    BB_REQUIRE(actuators <= BB_MIRROR_STACK_MOST, BB_INVALID,
               "mirrors: %.4g actuators, expected at most %d", actuators, BB_MIRROR_STACK_MOST);
done:
    return status;
}

bb_status bb_ao_check(const bb_ao_config *config)
{
    bb_status status = BB_OK;
    BB_TRY(bb_schema_check(&bb_telescope_schema, config->telescope, "telescope"));
    BB_REQUIRE(config->telescope->subaperture_rule == BB_SUBAPERTURE_CENTRE ||
                   config->telescope->subaperture_rule == BB_SUBAPERTURE_FLUX,
               BB_INVALID, "telescope.subaperture_rule = %d, expected centre or flux",
               config->telescope->subaperture_rule);
    BB_TRY(check_mask(config));
    BB_TRY(check_atmosphere(config->atmosphere));
    BB_TRY(bb_schema_check(&bb_sensors_schema, config->sensors, "sensors"));
    BB_TRY(check_slope_model(config->sensors->slope_model, "sensors"));
    BB_TRY(check_lenslets(config, config->sensors->lenslets, "sensors"));
    if (config->mirror != NULL) {
        BB_TRY(bb_schema_check(&bb_mirror_schema, config->mirror, "mirror"));
    }
    BB_TRY(check_error_terms(config));
    BB_TRY(check_guide_stars(config));
    BB_REQUIRE(config->target_count > 0, BB_INVALID, "targets: %td, expected at least one",
               config->target_count);
    for (bb_index t = 0; t < config->target_count; ++t) {
        char path[64];
        (void)snprintf(path, sizeof path, "targets[%td]", t);
        BB_TRY(bb_schema_check(&bb_target_schema, &config->targets[t], path));
        const bb_index own = config->targets[t].lenslets;
        if (own != BB_INTEGER_UNSET) {
            BB_TRY(check_lenslets(config, own, path));
        }
        BB_TRY(
            check_score(config, own == BB_INTEGER_UNSET ? config->sensors->lenslets : own, path));
    }
    BB_TRY(check_mirrors(config));
done:
    return status;
}
