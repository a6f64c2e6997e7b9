// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/tomography.h"

#include "core/memory.h"
#include "physics/ao/pair_strehl.h"

#include <math.h>

static bb_status create_guides(const bb_ao_config *config, bb_lgs_tilt tilt, bb_tomography *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_atmosphere_create(config->atmosphere, config->telescope->zenith_angle_deg,
                                &out->atmosphere));
    BB_TRY(bb_sensor_array_create_guides(config, &out->atmosphere, &out->guides));
    BB_TRY(bb_measurement_noise_create(&out->guides, &out->atmosphere, &out->noise));
    bb_slope_covariance_parts parts = {.name = "Cmm",
                                       .atmosphere = &out->atmosphere,
                                       .rows = &out->guides,
                                       .columns = &out->guides,
                                       .noise = &out->noise,
                                       .tilt_blocks = tilt != BB_LGS_TILT_UNKNOWN};
    BB_TRY(bb_slope_covariance_create(&parts, &out->whole_covariance));
    out->cmm = out->cmm_core = bb_slope_covariance_source(out->whole_covariance);
    if (tilt == BB_LGS_TILT_UPDATE) {
        parts.name = "Cmm without tilts";
        parts.tilt_blocks = false;
        BB_TRY(bb_slope_covariance_create(&parts, &out->core_covariance));
        out->cmm_core = bb_slope_covariance_source(out->core_covariance);
    }
    if (tilt != BB_LGS_TILT_CONSTANT_BLOCK) {
        BB_TRY(bb_tilt_vectors_create(&out->guides, tilt == BB_LGS_TILT_UNKNOWN, &out->tilts));
    }
done:
    return status;
}

// The mirror's pseudo-inverse is the dear part of a point spread: targets share it.
static bb_status find_spread(const bb_ao_config *config, bb_tomography *tomography, bb_index index)
{
    bb_tomography_target *target = &tomography->targets[index];
    bb_index lenslets = target->truth.sensors[0].lenslets;
    for (bb_index other = 0; other < index; ++other) {
        if (tomography->targets[other].truth.sensors[0].lenslets == lenslets) {
            target->spread = tomography->targets[other].spread;
            target->terms = tomography->targets[other].terms;
            return BB_OK;
        }
    }
    target->owns_spread = true;
    const double condition = config->mirror != NULL ? config->mirror->condition : NAN;
    const double diameter_m = config->telescope->diameter_m;
    const bb_pupil pupil = bb_ao_config_pupil(config);
    BB_RETURN_IF_FAILED(
        bb_point_spread_create(diameter_m, &pupil, lenslets, condition, &target->spread));
    if (!bb_error_terms_wanted(config->error_terms)) {
        return BB_OK;
    }
    const bb_point_spread_grid *grid = bb_point_spread_layout(target->spread);
    BB_RETURN_IF_FAILED(BB_ALLOCATE(grid->pixels * grid->pixels, &target->terms));
    return bb_error_terms_create(
        config->error_terms, &tomography->atmosphere, diameter_m / (double)lenslets,
        (bb_displacement_grid){grid->pixels, grid->pixel_m}, target->terms);
}

static bb_status create_target(const bb_ao_config *config, bb_tomography *tomography,
                               bb_index index)
{
    bb_status status = BB_OK;
    bb_tomography_target *target = &tomography->targets[index];
    BB_TRY(bb_sensor_array_create_truth(config, index, &tomography->atmosphere, &target->truth));
    bb_slope_covariance_parts parts = {.name = "Ctm",
                                       .atmosphere = &tomography->atmosphere,
                                       .rows = &target->truth,
                                       .columns = &tomography->guides};
    BB_TRY(bb_slope_covariance_create(&parts, &target->ctm_covariance));
    target->ctm = bb_slope_covariance_source(target->ctm_covariance);
    parts.name = "Ctt";
    parts.columns = &target->truth;
    BB_TRY(bb_slope_covariance_create(&parts, &target->ctt_covariance));
    target->ctt = bb_slope_covariance_source(target->ctt_covariance);
    BB_TRY(find_spread(config, tomography, index));
done:
    return status;
}

bb_status bb_tomography_create(const bb_ao_config *config, bb_lgs_tilt tilt, bb_tomography **out)
{
    bb_status status = BB_OK;
    bb_tomography *tomography = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &tomography));
    BB_TRY(create_guides(config, tilt, tomography));
    BB_TRY(BB_ZEROED(config->target_count, &tomography->targets));
    tomography->target_count = config->target_count;
    for (bb_index t = 0; t < config->target_count; ++t) {
        BB_TRY(create_target(config, tomography, t));
    }
    *out = tomography;
    tomography = NULL;
done:
    bb_tomography_destroy(&tomography);
    return status;
}

void bb_tomography_destroy(bb_tomography **tomography)
{
    bb_tomography *whole = *tomography;
    if (whole == NULL) {
        return;
    }
    for (bb_index t = 0; t < whole->target_count; ++t) {
        bb_tomography_target *target = &whole->targets[t];
        bb_slope_covariance_destroy(&target->ctm_covariance);
        bb_slope_covariance_destroy(&target->ctt_covariance);
        if (target->owns_spread) {
            bb_point_spread_destroy(&target->spread);
            BB_RELEASE(&target->terms);
        }
        bb_sensor_array_release(&target->truth);
    }
    BB_RELEASE(&whole->targets);
    bb_slope_covariance_destroy(&whole->core_covariance);
    bb_slope_covariance_destroy(&whole->whole_covariance);
    bb_tilt_vectors_release(&whole->tilts);
    bb_measurement_noise_release(&whole->noise);
    bb_sensor_array_release(&whole->guides);
    bb_atmosphere_release(&whole->atmosphere);
    BB_RELEASE(tomography);
}

// Points of a pupil on which pairs are summed, across a lenslet: some thousands in all.
static bb_index pair_points(const bb_point_spread_grid *grid)
{
    const double across = 90.0 * (double)grid->pixels_per_lenslet / (double)grid->pupil_points;
    return across > 2.0 ? (bb_index)across : 2;
}

static bb_status rate_pairs(const bb_tomography_target *target, const double *cee,
                            bb_index wavelength_count, const double *wavelengths_m,
                            bb_tomography_score *score)
{
    bb_status status = BB_OK;
    const bb_point_spread_grid *grid = bb_point_spread_layout(target->spread);
    double *voltages = NULL;
    if (score->pairs == NULL && score->pairs_whole == NULL) {
        goto done;
    }
    for (bb_index w = 0; w < wavelength_count && isnan(score->residual_rms); ++w) {
        if (score->pairs != NULL) {
            score->pairs[w] = NAN;
        }
        if (score->pairs_whole != NULL) {
            score->pairs_whole[w] = NAN;
        }
    }
    if (isnan(score->residual_rms)) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(grid->actuator_count * grid->actuator_count, &voltages));
    BB_TRY(bb_point_spread_voltages(target->spread, cee, voltages));
    if (score->pairs != NULL) {
        BB_TRY(bb_pair_strehl(target->spread, voltages, NULL, pair_points(grid), wavelength_count,
                              wavelengths_m, score->pairs));
    }
    if (score->pairs_whole != NULL) {
        BB_TRY(bb_pair_strehl(target->spread, voltages, target->terms, pair_points(grid),
                              wavelength_count, wavelengths_m, score->pairs_whole));
    }
done:
    BB_RELEASE(&voltages);
    return status;
}

// A residual that is so far from stationary that its mean over pairs is no covariance has no
// Strehl ratio: that of its negative structure function has no bound.
static void refuse_excess(const bb_point_spread *spread, bb_index wavelength_count,
                          const double *wavelengths_m, double *correlation, double *rms_m,
                          bb_outcome *outcome)
{
    static const double most = 0.01; // of a Strehl ratio of 1
    const bb_index pixels = bb_point_spread_layout(spread)->pixels;
    for (bb_index w = 0; w < wavelength_count && !isnan(*rms_m); ++w) {
        const double excess = bb_point_spread_excess(spread, correlation, wavelengths_m[w]);
        if (excess > most) {
            bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD,
                           "the residual is too far from stationary: a negative structure function "
                           "adds %.2g to the Strehl ratio at %g um",
                           excess, 1e6 * wavelengths_m[w]);
            *rms_m = NAN;
            for (bb_index k = 0; k < pixels * pixels; ++k) {
                correlation[k] = NAN;
            }
        }
    }
}

bb_status bb_tomography_rate(const bb_tomography *tomography, bb_index target, const double *cee,
                             bb_index wavelength_count, const double *wavelengths_m,
                             bb_tomography_score *score, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    double *correlation = NULL;
    const bb_tomography_target *aim = &tomography->targets[target];
    const bb_index pixels = bb_point_spread_layout(aim->spread)->pixels;
    BB_TRY(BB_ALLOCATE(pixels * pixels, &correlation));
    BB_TRY(bb_point_spread_residual(aim->spread, cee, correlation, &score->residual_rms, outcome));
    for (bb_index k = 0; aim->terms != NULL && k < pixels * pixels; ++k) {
        correlation[k] -= aim->terms[k];
    }
    refuse_excess(aim->spread, wavelength_count, wavelengths_m, correlation, &score->residual_rms,
                  outcome);
    for (bb_index w = 0; w < wavelength_count; ++w) {
        score->strehl[w] = bb_point_spread_strehl(aim->spread, correlation, wavelengths_m[w]);
        for (bb_index b = 0; b < score->box_count; ++b) {
            score->ensquared[w * score->box_count + b] = bb_point_spread_ensquared(
                aim->spread, correlation, wavelengths_m[w], score->boxes_rad[b]);
        }
    }
    if (score->psf != NULL) {
        BB_TRY(bb_point_spread_image(aim->spread, correlation, wavelengths_m[0], score->psf));
    }
    BB_TRY(rate_pairs(aim, cee, wavelength_count, wavelengths_m, score));
done:
    BB_RELEASE(&correlation);
    return status;
}
