// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/tomography.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/covariance/structure_function.h"
#include "physics/ao/score/error_terms.h"
#include "physics/ao/score/pair_strehl.h"
#include "physics/ao/score/tilt_variance.h"
#include "physics/ao/score/whole_residual.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

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

// The mirror's pseudo-inverse is the expensive part of a point spread: targets share it.
static bool share_spread(bb_tomography *tomography, bb_index index)
{
    bb_tomography_target *target = &tomography->targets[index];
    const bb_index lenslets = target->truth.sensors[0].lenslets;
    for (bb_index other = 0; other < index; ++other) {
        if (tomography->targets[other].truth.sensors[0].lenslets == lenslets) {
            target->corrected = tomography->targets[other].corrected;
            target->spread = tomography->targets[other].spread;
            target->terms = tomography->targets[other].terms;
            return true;
        }
    }
    return false;
}

static bb_status make_spread(const bb_ao_config *config, bb_tomography *tomography,
                             bb_tomography_target *target)
{
    bb_status status = BB_OK;
    const bb_index lenslets = target->truth.sensors[0].lenslets;
    const double condition = config->mirror != NULL ? config->mirror->condition : NAN;
    const double diameter_m = config->telescope->diameter_m;
    const double pitch_m = diameter_m / (double)lenslets;
    const bb_pupil pupil = bb_ao_config_pupil(config);
    target->owns_spread = true;
    BB_TRY(bb_point_spread_create(diameter_m, &pupil, lenslets, condition, &target->spread));
    if (config->error_terms == NULL || !bb_error_terms_wanted(config->error_terms)) {
        goto done;
    }
    if (config->error_terms->fitting) {
        BB_TRY(bb_structure_function_corrected_table(tomography->atmosphere.outer_scale_m, pitch_m,
                                                     &target->corrected));
    }
    const bb_point_spread_grid *grid = bb_point_spread_layout(target->spread);
    BB_TRY(BB_ALLOCATE(grid->pixels * grid->pixels, &target->terms));
    BB_TRY(bb_error_terms_create(config->error_terms, &tomography->atmosphere, target->corrected,
                                 pitch_m, (bb_displacement_grid){grid->pixels, grid->pixel_m},
                                 target->terms));
done:
    return status;
}

static bb_status create_target(const bb_ao_config *config, bb_tomography *tomography,
                               bb_index index)
{
    bb_status status = BB_OK;
    bb_tomography_target *target = &tomography->targets[index];
    BB_TRY(bb_sensor_array_create_truth(config, index, &tomography->atmosphere, &target->truth));
    if (!share_spread(tomography, index)) {
        BB_TRY(make_spread(config, tomography, target));
    }
    target->seen = tomography->atmosphere;
    if (target->corrected.coefficients != NULL) {
        target->seen.structure = target->corrected;
    }
    bb_slope_covariance_parts parts = {.name = "Ctm",
                                       .atmosphere = &target->seen,
                                       .rows = &target->truth,
                                       .columns = &tomography->guides};
    BB_TRY(bb_slope_covariance_create(&parts, &target->ctm_covariance));
    target->ctm = bb_slope_covariance_source(target->ctm_covariance);
    parts.name = "Ctt";
    parts.columns = &target->truth;
    BB_TRY(bb_slope_covariance_create(&parts, &target->ctt_covariance));
    target->ctt = bb_slope_covariance_source(target->ctt_covariance);
done:
    return status;
}

// Rules of mirrors that correct together, checked before anything is created.
static bb_status check_commands(const bb_ao_config *config, const bb_sensor_array *truth)
{
    bb_status status = BB_OK;
    const bb_sensor **truths = NULL; // [target_count]
    BB_TRY(BB_ALLOCATE(config->target_count, &truths));
    for (bb_index t = 0; t < config->target_count; ++t) {
        truths[t] = truth[t].sensors;
    }
    BB_TRY(bb_mirror_commands_check(config, truths));
done:
    BB_RELEASE(&truths);
    return status;
}

static bb_status create_commands(const bb_ao_config *config, bb_tomography *tomography)
{
    bb_status status = BB_OK;
    const bb_sensor **truths = NULL; // [target_count]
    BB_TRY(BB_ALLOCATE(config->target_count, &truths));
    for (bb_index t = 0; t < config->target_count; ++t) {
        truths[t] = tomography->targets[t].truth.sensors;
    }
    BB_TRY(bb_mirror_commands_create(config, truths, &tomography->commands));
done:
    BB_RELEASE(&truths);
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
    tomography->shake_arcsec =
        config->error_terms != NULL ? config->error_terms->shake_arcsec : 0.0;
    for (bb_index t = 0; t < config->target_count; ++t) {
        BB_TRY(create_target(config, tomography, t));
    }
    if (config->mirror_count > 0) {
        BB_TRY(create_commands(config, tomography));
    }
    *out = tomography;
    tomography = NULL;
done:
    bb_tomography_destroy(&tomography);
    return status;
}

static bb_need array_need(const bb_sensor_array *array)
{
    bb_need need = {0};
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        need = bb_need_together(
            need, bb_sensor_array_need(sensor->lenslets, sensor->count, array->layer_count));
    }
    return need;
}

// The sensors, their noise, and the covariance, twice if one is without tilts.
static bb_need guides_need(const bb_sensor_array *guides, bb_lgs_tilt tilt, double threads)
{
    const double n = (double)guides->measurement_count;
    const bb_need covariance = bb_slope_covariance_need(guides, guides, threads);
    const double columns = tilt == BB_LGS_TILT_CONSTANT_BLOCK ? 0.0 : 2.0;
    const bb_need tilts = {.host_bytes =
                               columns * (double)guides->sensor_count * n * sizeof(double)};
    bb_need need = bb_need_together(array_need(guides),
                                    bb_measurement_noise_need(guides->measurement_count / 2));
    need = bb_need_together(need, bb_structure_table_need());
    need = bb_need_together(need, tilts);
    return bb_need_together(need,
                            bb_need_copies(covariance, tilt == BB_LGS_TILT_UPDATE ? 2.0 : 1.0));
}

// Memory and time of a target's point spread while it is made, and afterwards.
static void spread_need(const bb_ao_config *config, bb_index lenslets, bb_need *making,
                        bb_need *held)
{
    const bb_pupil pupil = bb_ao_config_pupil(config);
    const double pitch_m = config->telescope->diameter_m / (double)lenslets;
    const bb_displacement_grid grid = {bb_point_spread_pixels(lenslets),
                                       pitch_m /
                                           (double)bb_point_spread_pixels_per_lenslet(lenslets)};
    *making = bb_point_spread_need(&pupil, lenslets);
    *held = bb_point_spread_resident(&pupil, lenslets);
    if (bb_error_terms_wanted(config->error_terms)) {
        const bb_need table =
            config->error_terms->fitting ? bb_structure_function_corrected_need() : (bb_need){0};
        const bb_need terms = bb_error_terms_need(config->error_terms, pitch_m, grid);
        *making = bb_need_in_turn(*making, bb_need_together(*held, bb_need_together(table, terms)));
        held->host_bytes += table.host_bytes + (double)(grid.pixels * grid.pixels) * sizeof(double);
    }
}

bb_status bb_tomography_need(const bb_ao_config *config, bb_lgs_tilt tilt, double threads,
                             bb_need *making, bb_need *held)
{
    bb_status status = BB_OK;
    bb_atmosphere atmosphere = {0};
    bb_sensor_array guides = {0};
    bb_sensor_array *truth = NULL; // [target_count]
    double slopes = 0.0;           // truth slopes of all targets
    double corrected = 0.0;        // of those with a weight
    BB_TRY(BB_ZEROED(config->target_count, &truth));
    BB_TRY(
        bb_atmosphere_create(config->atmosphere, config->telescope->zenith_angle_deg, &atmosphere));
    BB_TRY(bb_sensor_array_create_guides(config, &atmosphere, &guides));
    *making = guides_need(&guides, tilt, threads);
    *held = bb_need_resident(*making);
    for (bb_index t = 0; t < config->target_count; ++t) {
        bb_index same = 0; // first target with the same lenslets, whose point spread is shared
        BB_TRY(bb_sensor_array_create_truth(config, t, &atmosphere, &truth[t]));
        const bb_index lenslets = truth[t].sensors[0].lenslets;
        while (truth[same].sensors[0].lenslets != lenslets) {
            ++same;
        }
        if (same == t) {
            bb_need spread, spread_held;
            spread_need(config, lenslets, &spread, &spread_held);
            *making = bb_need_in_turn(*making, bb_need_together(*held, spread));
            *held = bb_need_together(*held, spread_held);
        }
        bb_need tables = bb_need_together(array_need(&truth[t]),
                                          bb_slope_covariance_need(&truth[t], &guides, threads));
        tables = bb_need_together(tables, bb_slope_covariance_need(&truth[t], &truth[t], threads));
        *making = bb_need_in_turn(*making, bb_need_together(*held, tables));
        *held = bb_need_together(*held, bb_need_resident(tables));
        slopes += (double)truth[t].measurement_count;
        corrected += config->targets[t].weight > 0.0 ? (double)truth[t].measurement_count : 0.0;
    }
    if (config->mirror_count > 0) {
        BB_TRY(check_commands(config, truth));
        *making = bb_need_in_turn(
            *making, bb_need_together(*held, bb_mirror_commands_need(config, slopes, corrected)));
        *held = bb_need_together(*held, bb_mirror_commands_resident(config, slopes, corrected));
    }
done:
    for (bb_index t = 0; truth != NULL && t < config->target_count; ++t) {
        bb_sensor_array_release(&truth[t]);
    }
    BB_RELEASE(&truth);
    bb_sensor_array_release(&guides);
    bb_atmosphere_release(&atmosphere);
    return status;
}

void bb_tomography_destroy(bb_tomography **tomography)
{
    bb_tomography *problem = *tomography;
    if (problem == NULL) {
        return;
    }
    for (bb_index t = 0; t < problem->target_count; ++t) {
        bb_tomography_target *target = &problem->targets[t];
        bb_slope_covariance_destroy(&target->ctm_covariance);
        bb_slope_covariance_destroy(&target->ctt_covariance);
        if (target->owns_spread) {
            bb_point_spread_destroy(&target->spread);
            BB_RELEASE(&target->terms);
            bb_structure_table_release(&target->corrected);
        }
        bb_sensor_array_release(&target->truth);
    }
    BB_RELEASE(&problem->targets);
    bb_mirror_commands_destroy(&problem->commands);
    bb_slope_covariance_destroy(&problem->core_covariance);
    bb_slope_covariance_destroy(&problem->whole_covariance);
    bb_tilt_vectors_release(&problem->tilts);
    bb_measurement_noise_release(&problem->noise);
    bb_sensor_array_release(&problem->guides);
    bb_atmosphere_release(&problem->atmosphere);
    BB_RELEASE(tomography);
}

// Rejects a residual so far from stationary that its mean over pairs is not a covariance: the
// Strehl ratio of a negative structure function is unbounded.
static void reject_excess(const bb_point_spread *spread, bb_index wavelength_count,
                          const double *wavelengths_m, double *correlation, double *rms_m,
                          bb_outcome *outcome)
{
    static const double maximum = 0.01; // relative to a Strehl ratio of 1
    const bb_index pixels = bb_point_spread_layout(spread)->pixels;
    for (bb_index w = 0; w < wavelength_count && !isnan(*rms_m); ++w) {
        const double excess = bb_point_spread_excess(spread, correlation, wavelengths_m[w]);
        if (excess > maximum) {
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

// One residual being scored, one wavelength at a time.
typedef struct rating {
    const bb_tomography *tomography;
    const bb_tomography_target *aim;
    double *correlation;  // [N][N] for the current wavelength, with the error terms
    double *alone;        // [N][N] without them
    bb_pair_strehl pairs; // for a score by pairs
    bb_pair_strehl whole; // the whole residual, for a score by pairs, without the error terms
    bool valid;
} rating;

static bb_index pixels_of(const rating *work)
{
    const bb_index edge = bb_point_spread_layout(work->aim->spread)->pixels;
    return edge * edge;
}

static void subtract_terms(rating *work)
{
    const double *terms = work->aim->terms;
    for (bb_index k = 0; terms != NULL && k < pixels_of(work); ++k) {
        work->correlation[k] -= terms[k];
    }
}

static void add_terms(rating *work)
{
    memcpy(work->correlation, work->alone, (size_t)pixels_of(work) * sizeof *work->alone);
    subtract_terms(work);
}

// Returns the square root of a variance; NaN if it is not finite or negative.
static double root_of(double variance, bb_outcome *outcome)
{
    if (!isfinite(variance)) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "the residual wavefront is not finite");
    } else if (variance < 0.0) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD,
                       "the residual wavefront has a negative variance over the pupil, %g m^2",
                       variance);
    }
    return isfinite(variance) && variance >= 0.0 ? sqrt(variance) : NAN;
}

static double terms_variance(const rating *work)
{
    return work->aim->terms != NULL ? bb_point_spread_variance(work->aim->spread, work->aim->terms)
                                    : 0.0;
}

static bb_index step_of(const rating *work)
{
    const bb_point_spread *spread = work->aim->spread;
    return bb_pair_strehl_step(bb_point_spread_mirror(spread)->lenslets,
                               bb_point_spread_layout(spread)->pixels_per_lenslet);
}

// Sums the pairs of the whole residual, without the terms added by subtract_terms.
static bb_status survey_whole(rating *work, const double *voltages, bb_index wavelength_count,
                              const double *wavelengths_m, bb_tomography_score *score,
                              bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_whole_residual *whole = score->estimate->whole;
    bb_pair_field field = {0};
    double *memory = NULL;
    BB_TRY(bb_whole_residual_field(score->estimate, voltages, &memory, &field));
    BB_TRY(bb_pair_strehl_create_field(work->aim->spread, &field, wavelength_count, wavelengths_m,
                                       &work->whole));
    double tilt = NAN;
    BB_TRY(bb_tilt_variance(&field, &tilt));
    score->tilt_rms = isnan(tilt) ? NAN : sqrt(fmax(0.0, tilt));
    score->correctable_rms = root_of(bb_whole_residual_variance(whole, voltages), outcome);
    score->residual_rms = root_of(work->whole.variance_m2 + terms_variance(work), outcome);
done:
    BB_RELEASE(&memory);
    return status;
}

// A residual of the mirror's shapes only as a field, S = F Cvv F^T, whose pairs are summed on the
// device of the tomography's large products.
static bb_status survey_on_device(rating *work, const double *voltages, bb_index wavelength_count,
                                  const double *wavelengths_m)
{
    bb_status status = BB_OK;
    const bb_projection *projection = work->tomography->projection;
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(work->aim->spread);
    bb_pair_comb comb = {0};
    bb_mirror_shape shape = {0};
    double *influence = NULL;  // [points][actuators]
    double *stationary = NULL; // [edge][edge]: none
    BB_TRY(bb_pair_comb_create(work->aim->spread, step_of(work), &comb));
    BB_TRY(bb_mirror_shape_create(mirror, comb.edge, comb.position_m, &shape));
    BB_TRY(bb_pair_comb_influence(&comb, &shape, &influence));
    BB_TRY(BB_ZEROED(comb.edge * comb.edge, &stationary));
    const bb_pair_field field = {.comb = &comb,
                                 .actuators = mirror->actuator_count,
                                 .influence = influence,
                                 .shape = &shape,
                                 .known = voltages,
                                 .stationary = stationary,
                                 .sum = projection->sum_pairs,
                                 .context = projection->context};
    BB_TRY(bb_pair_strehl_create_field(work->aim->spread, &field, wavelength_count, wavelengths_m,
                                       &work->pairs));
done:
    bb_pair_comb_release(&comb);
    bb_mirror_shape_release(&shape);
    BB_RELEASE(&influence);
    BB_RELEASE(&stationary);
    return status;
}

// Sums the pairs of the correctable residual.
static bb_status survey_pairs(rating *work, const double *voltages, bb_index wavelength_count,
                              const double *wavelengths_m)
{
    return work->tomography->projection != NULL
               ? survey_on_device(work, voltages, wavelength_count, wavelengths_m)
               : bb_pair_strehl_create(work->aim->spread, voltages, step_of(work), wavelength_count,
                                       wavelengths_m, &work->pairs);
}

// Quantities common to all wavelengths: the variances, and of a stationary residual the covariance.
static bb_status survey(rating *work, const double *voltages, bb_index wavelength_count,
                        const double *wavelengths_m, bb_tomography_score *score,
                        bb_outcome *outcome)
{
    bb_status status = BB_OK;
    double *rms_m = &score->correctable_rms;
    if (score->estimate != NULL) {
        BB_TRY(survey_whole(work, voltages, wavelength_count, wavelengths_m, score, outcome));
    }
    if (score->kind == BB_SCORE_PAIRS && (score->estimate == NULL || score->correctable != NULL)) {
        BB_TRY(survey_pairs(work, voltages, wavelength_count, wavelengths_m));
    }
    if (score->estimate == NULL) {
        if (score->kind == BB_SCORE_PAIRS) {
            *rms_m = root_of(work->pairs.variance_m2, outcome);
        } else {
            BB_TRY(
                bb_point_spread_residual(work->aim->spread, voltages, work->alone, rms_m, outcome));
            add_terms(work);
            reject_excess(work->aim->spread, wavelength_count, wavelengths_m, work->correlation,
                          rms_m, outcome);
        }
        score->residual_rms = sqrt(*rms_m * *rms_m + terms_variance(work));
    }
    work->valid = !isnan(*rms_m) && !isnan(score->residual_rms);
done:
    return status;
}

static bb_status correlate_pairs(rating *work, bb_index w)
{
    bb_status status = BB_OK;
    if (work->pairs.attenuation != NULL) {
        BB_TRY(bb_pair_strehl_correlation(&work->pairs, w, work->alone));
        add_terms(work);
    }
    if (work->whole.attenuation != NULL) {
        BB_TRY(bb_pair_strehl_correlation(&work->whole, w, work->correlation));
        subtract_terms(work);
    }
done:
    return status;
}

// Quantities per wavelength, one task each; then the boxes.
enum { IMAGE, WIDTH, STREHL, CORRECTABLE, QUANTITIES };

typedef struct quantities {
    const rating *work;
    bb_index first; // first wavelength
    const double *wavelengths_m;
    const bb_tomography_score *score;
} quantities;

static bb_status rate_quantity(void *context, bb_index task)
{
    bb_status status = BB_OK;
    const quantities *wanted = context;
    const bb_tomography_score *score = wanted->score;
    const bb_point_spread *spread = wanted->work->aim->spread;
    const double *correlation = wanted->work->correlation;
    const bb_index index = task % (QUANTITIES + score->box_count);
    const bb_index w = wanted->first + task / (QUANTITIES + score->box_count);
    const double wavelength_m = wanted->wavelengths_m[w];
    if (index == IMAGE && w < score->psf_count) {
        BB_TRY(bb_point_spread_image(spread, correlation, wavelength_m,
                                     score->psf + w * pixels_of(wanted->work)));
    } else if (index == WIDTH && score->width_rad != NULL) {
        BB_TRY(bb_point_spread_width(spread, correlation, wavelength_m, &score->width_rad[w]));
    } else if (index == STREHL && score->strehl != NULL) {
        score->strehl[w] = bb_point_spread_strehl(spread, correlation, wavelength_m);
    } else if (index == CORRECTABLE && score->correctable != NULL) {
        score->correctable[w] = bb_point_spread_strehl(spread, wanted->work->alone, wavelength_m);
    } else if (index >= QUANTITIES) {
        const bb_index box = index - QUANTITIES;
        score->ensquared[w * score->box_count + box] =
            bb_point_spread_ensquared(spread, correlation, wavelength_m, score->boxes_rad[box]);
    }
done:
    return status;
}

// Scores `count` wavelengths from `first` on with one correlation.
static bb_status rate_wavelengths(rating *work, bb_index first, bb_index count,
                                  const double *wavelengths_m, const bb_tomography_score *score)
{
    bb_status status = BB_OK;
    quantities wanted = {work, first, wavelengths_m, score};
    if (score->kind == BB_SCORE_PAIRS && work->valid) {
        BB_TRY(correlate_pairs(work, first));
    }
    for (bb_index k = 0; !work->valid && k < pixels_of(work); ++k) {
        work->alone[k] = work->correlation[k] = NAN;
    }
    BB_TRY(bb_thread_for(count * (QUANTITIES + score->box_count), rate_quantity, &wanted));
done:
    return status;
}

bb_status bb_tomography_shake(const bb_tomography *tomography, bb_index target,
                              bb_residual_kind kind, double rms_arcsec, const double *estimated,
                              double *cee)
{
    const bb_tomography_target *aim = &tomography->targets[target];
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(aim->spread);
    return bb_error_terms_add_shake(&aim->truth, kind == BB_RESIDUAL_COMMANDS ? mirror : NULL,
                                    rms_arcsec, estimated, cee);
}

bb_status bb_tomography_project(const bb_tomography *tomography, bb_index target, const double *cee,
                                double *voltages)
{
    const bb_projection *projection = tomography->projection;
    const bb_point_spread *spread = tomography->targets[target].spread;
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(spread);
    if (projection == NULL) {
        return bb_point_spread_voltages(spread, cee, voltages);
    }
    return projection->congruence(projection->context, mirror->actuator_count,
                                  mirror->measurement_count, mirror->projector, cee, voltages);
}

bb_status bb_tomography_multiply(const bb_tomography *tomography, bb_index rows,
                                 const bb_row_product *product, const void *resident)
{
    enum { ROWS = 32 }; // per task; fixed, so that sums do not depend on the threads
    const bb_projection *projection = tomography->projection;
    return projection != NULL ? projection->multiply(projection->context, rows, product, resident)
                              : bb_row_product_run(product, rows, ROWS);
}

bb_status bb_tomography_rate(const bb_tomography *tomography, bb_index target, const double *cee,
                             bb_index wavelength_count, const double *wavelengths_m,
                             bb_tomography_score *score, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    double *projected = NULL;
    const double *voltages = cee;
    rating work = {.tomography = tomography, .aim = &tomography->targets[target]};
    const bb_index actuators = bb_point_spread_layout(work.aim->spread)->actuator_count;
    BB_TRY(BB_ALLOCATE(pixels_of(&work), &work.correlation));
    BB_TRY(BB_ALLOCATE(pixels_of(&work), &work.alone));
    if (score->residual == BB_RESIDUAL_SLOPES) {
        BB_TRY(BB_ALLOCATE(actuators * actuators, &projected));
        BB_TRY(bb_tomography_project(tomography, target, cee, projected));
        voltages = projected;
    }
    BB_TRY(survey(&work, voltages, wavelength_count, wavelengths_m, score, outcome));
    const bb_index alike = score->kind == BB_SCORE_PAIRS ? 1 : wavelength_count;
    for (bb_index w = 0; w < wavelength_count; w += alike) {
        BB_TRY(rate_wavelengths(&work, w, alike, wavelengths_m, score));
    }
done:
    bb_pair_strehl_release(&work.pairs);
    bb_pair_strehl_release(&work.whole);
    BB_RELEASE(&work.correlation);
    BB_RELEASE(&work.alone);
    BB_RELEASE(&projected);
    return status;
}

bb_need bb_tomography_rate_need(const bb_pupil *pupil, bb_index lenslets, bb_score kind,
                                bb_index wavelength_count, double threads)
{
    const double pixels = (double)bb_point_spread_pixels(lenslets);
    const bb_need planes = {.host_bytes = 2.0 * pixels * pixels * sizeof(double)};
    const double edge = 2.0 * (double)lenslets + 1.0; // displacements of actuators
    // A spectrum, and the sums and counts of the mean over pairs.
    const bb_need spectrum = {.host_bytes =
                                  (pixels * (pixels + 2.0) + 2.0 * edge * edge) * sizeof(double)};
    const bb_need voltages = bb_point_spread_voltages_need(pupil, lenslets, threads);
    const double actuators = (double)bb_deformable_mirror_actuators(pupil, lenslets);
    const bb_need kept = {.host_bytes = actuators * actuators * sizeof(double)};
    const bb_need pairs = kind == BB_SCORE_PAIRS
                              ? bb_pair_strehl_need(lenslets, wavelength_count, threads)
                              : (bb_need){0};
    const bb_need scoring = bb_need_together(kept, bb_need_in_turn(pairs, spectrum));
    return bb_need_together(planes, bb_need_in_turn(voltages, scoring));
}
