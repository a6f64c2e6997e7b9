// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/timeline/late_scores.h"

#include "core/memory.h"
#include "sim/ao/timeline/ao_timeline_config.h"

#include <math.h>

// Older frames with a smaller relative weight are left out.
static const double least_weight = 1.0e-6;

typedef struct late_scores {
    bb_ao_scoring *scoring;
    const bb_tomography *problem;
    const bb_ao_config *physics;
    const double (*wind)[2]; // [layers], m/s
    double frame_s, delay_s;
    bb_index frames;         // J + 1
    double *weight;          // a [frames]
    double (*drift_m)[2];    // [frames][layers] drift from a frame's slopes to its correction
    double *cmm;             // Cmm' [n][n]; NULL: single frame
    double **ctm;            // [targets] Ctm' [m][n]; NULL: single frame
    bb_sensor_array *truths; // [targets] sensors after the delay, for a single frame
    bb_slope_covariance **covariances; // [targets] covariances of `truths` with the guide stars
    bb_view *views;                    // [targets + 1]
    bb_matrix_source *dense;           // [targets + 1] the last is Cmm'
    const bb_matrix_source **listed;   // [targets]
    bb_whole_residual **wholes;        // [targets]; NULL: independent error terms
} late_scores;

static bb_index frames_of(const bb_ao_study *study)
{
    const double gain = study->time_domain.gain;
    const bb_index settle = study->time_domain.settle_frames;
    const double wanted = gain < 1.0 ? ceil(log(least_weight) / log(1.0 - gain)) : 0.0;
    return 1 + (wanted < (double)settle ? (bb_index)wanted : settle);
}

// Computes the weights of the frames, and the drift of the layers since each of them.
static bb_status set_weights(late_scores *work)
{
    bb_status status = BB_OK;
    const double gain = work->scoring->study->time_domain.gain;
    const bb_index layers = work->problem->atmosphere.layer_count;
    work->frames = gain < 1.0 ? frames_of(work->scoring->study) : 1;
    BB_TRY(BB_ALLOCATE(work->frames, &work->weight));
    BB_TRY(BB_ALLOCATE(work->frames * layers, &work->drift_m));
    for (bb_index j = 0; j < work->frames; ++j) {
        const double age_s = work->delay_s + (double)j * work->frame_s;
        work->weight[j] = (j + 1 < work->frames ? gain : 1.0) * pow(1.0 - gain, (double)j);
        for (bb_index l = 0; l < layers; ++l) {
            work->drift_m[j * layers + l][0] = age_s * work->wind[l][0];
            work->drift_m[j * layers + l][1] = age_s * work->wind[l][1];
        }
    }
done:
    return status;
}

// Moves sensors upwind. By frozen flow, they then measure the turbulence of `time_s` later.
static bb_status move_upwind(const late_scores *work, double time_s, bb_sensor_array *array)
{
    bb_status status = BB_OK;
    const bb_index layers = work->problem->atmosphere.layer_count;
    double(*drift_m)[2] = NULL;
    BB_TRY(BB_ALLOCATE(layers, &drift_m));
    for (bb_index l = 0; l < layers; ++l) {
        drift_m[l][0] = -time_s * work->wind[l][0];
        drift_m[l][1] = -time_s * work->wind[l][1];
    }
    bb_sensor_array_drift(array, (const double(*)[2])drift_m);
done:
    BB_RELEASE(&drift_m);
    return status;
}

// Adds `weight` times the covariance of two arrays to `sum`, with `both` also its transpose.
static bb_status add_covariance(const bb_atmosphere *atmosphere, const bb_sensor_array *rows,
                                const bb_sensor_array *columns, double weight, bool both,
                                double *values, double *sum)
{
    bb_status status = BB_OK;
    const bb_index height = rows->measurement_count;
    const bb_index width = columns->measurement_count;
    bb_slope_covariance *covariance = NULL;
    const bb_slope_covariance_parts parts = {
        .name = "C at a lag", .atmosphere = atmosphere, .rows = rows, .columns = columns};
    BB_TRY(bb_slope_covariance_create(&parts, &covariance));
    BB_TRY(bb_matrix_source_load(bb_slope_covariance_source(covariance), values));
    for (bb_index i = 0; i < height; ++i) {
        for (bb_index j = 0; j < width; ++j) {
            const double there = both ? values[j * width + i] : 0.0;
            sum[i * width + j] += weight * (values[i * width + j] + there);
        }
    }
done:
    bb_slope_covariance_destroy(&covariance);
    return status;
}

// Weight b_k of a lag of k frames.
static double lag_weight(const late_scores *work, bb_index k)
{
    double sum = 0.0;
    for (bb_index i = 0; i + k < work->frames; ++i) {
        sum += work->weight[i] * work->weight[i + k];
    }
    return sum;
}

static bb_status sum_guides(late_scores *work)
{
    bb_status status = BB_OK;
    const bb_index n = work->problem->cmm->rows;
    bb_sensor_array later = {0};
    double *values = NULL; // [n][n]
    BB_TRY(BB_ALLOCATE(n * n, &values));
    BB_TRY(BB_ALLOCATE(n * n, &work->cmm));
    BB_TRY(bb_matrix_source_load(work->problem->cmm, values));
    for (bb_index i = 0; i < n * n; ++i) {
        work->cmm[i] = lag_weight(work, 0) * values[i];
    }
    for (bb_index k = 1; k < work->frames; ++k) {
        BB_TRY(bb_sensor_array_create_guides(work->physics, &work->problem->atmosphere, &later));
        BB_TRY(move_upwind(work, (double)k * work->frame_s, &later));
        BB_TRY(add_covariance(&work->problem->atmosphere, &later, &work->problem->guides,
                              lag_weight(work, k), true, values, work->cmm));
        bb_sensor_array_release(&later);
    }
done:
    bb_sensor_array_release(&later);
    BB_RELEASE(&values);
    return status;
}

static bb_status sum_truths(late_scores *work, bb_index target)
{
    bb_status status = BB_OK;
    const bb_tomography_target *aim = &work->problem->targets[target];
    const bb_index items = aim->ctm->rows * aim->ctm->columns;
    bb_sensor_array later = {0};
    double *values = NULL; // [m][n]
    BB_TRY(BB_ALLOCATE(items, &values));
    BB_TRY(BB_ZEROED(items, &work->ctm[target]));
    for (bb_index j = 0; j < work->frames; ++j) {
        BB_TRY(bb_sensor_array_create_truth(work->physics, target, &work->problem->atmosphere,
                                            &later));
        BB_TRY(move_upwind(work, work->delay_s + (double)j * work->frame_s, &later));
        BB_TRY(add_covariance(&aim->seen, &later, &work->problem->guides, work->weight[j], false,
                              values, work->ctm[target]));
        bb_sensor_array_release(&later);
    }
done:
    bb_sensor_array_release(&later);
    BB_RELEASE(&values);
    return status;
}

// Sets the delayed Ctm of a target. For a single frame it is an analytic source that a GPU can
// fill.
static bb_status set_source(late_scores *work, bb_index target)
{
    bb_status status = BB_OK;
    const bb_tomography_target *aim = &work->problem->targets[target];
    const bb_slope_covariance_parts parts = {.name = "Ctm, delayed",
                                             .atmosphere = &aim->seen,
                                             .rows = &work->truths[target],
                                             .columns = &work->problem->guides};
    if (work->frames > 1) {
        BB_TRY(sum_truths(work, target));
        work->views[target] = bb_view_matrix(work->ctm[target], aim->ctm->rows, aim->ctm->columns);
        work->dense[target] =
            bb_matrix_source_dense(&work->views[target], "Ctm, delayed", "arcsec^2");
        work->listed[target] = &work->dense[target];
        goto done;
    }
    BB_TRY(bb_sensor_array_create_truth(work->physics, target, &work->problem->atmosphere,
                                        &work->truths[target]));
    BB_TRY(move_upwind(work, work->delay_s, &work->truths[target]));
    BB_TRY(bb_slope_covariance_create(&parts, &work->covariances[target]));
    work->listed[target] = bb_slope_covariance_source(work->covariances[target]);
done:
    return status;
}

static bb_status make_wholes(late_scores *work)
{
    bb_status status = BB_OK;
    const bb_index targets = work->problem->target_count;
    const bb_index layers = work->problem->atmosphere.layer_count;
    bb_whole_look *looks = NULL; // [frames]
    if (!bb_ao_whole_applies(work->scoring->study)) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(work->frames, &looks));
    for (bb_index j = 0; j < work->frames; ++j) {
        looks[j] = (bb_whole_look){work->weight[j], (const double(*)[2])work->drift_m + j * layers};
    }
    BB_TRY(BB_ZEROED(targets, &work->wholes));
    for (bb_index t = 0; t < targets; ++t) {
        BB_TRY(bb_whole_residual_create(work->problem, t, work->listed[t], work->frames, looks,
                                        &work->wholes[t]));
    }
done:
    BB_RELEASE(&looks);
    return status;
}

static void release(late_scores *work)
{
    for (bb_index t = 0; t < work->problem->target_count; ++t) {
        if (work->wholes != NULL) {
            bb_whole_residual_destroy(&work->wholes[t]);
        }
        if (work->covariances != NULL) {
            bb_slope_covariance_destroy(&work->covariances[t]);
        }
        if (work->truths != NULL) {
            bb_sensor_array_release(&work->truths[t]);
        }
        if (work->ctm != NULL) {
            BB_RELEASE(&work->ctm[t]);
        }
    }
    BB_RELEASE(&work->wholes);
    BB_RELEASE(&work->covariances);
    BB_RELEASE(&work->truths);
    BB_RELEASE(&work->ctm);
    BB_RELEASE(&work->cmm);
    BB_RELEASE(&work->weight);
    BB_RELEASE(&work->drift_m);
    BB_RELEASE(&work->views);
    BB_RELEASE(&work->dense);
    BB_RELEASE(&work->listed);
}

static bb_status make_sources(late_scores *work)
{
    bb_status status = BB_OK;
    const bb_index targets = work->problem->target_count;
    const bb_index n = work->problem->cmm->rows;
    BB_TRY(set_weights(work));
    BB_TRY(BB_ZEROED(targets, &work->ctm));
    BB_TRY(BB_ZEROED(targets, &work->truths));
    BB_TRY(BB_ZEROED(targets, &work->covariances));
    BB_TRY(BB_ZEROED(targets + 1, &work->views));
    BB_TRY(BB_ZEROED(targets + 1, &work->dense));
    BB_TRY(BB_ZEROED(targets, &work->listed));
    for (bb_index t = 0; t < targets; ++t) {
        BB_TRY(set_source(work, t));
    }
    if (work->frames > 1) {
        BB_TRY(sum_guides(work));
        work->views[targets] = bb_view_matrix(work->cmm, n, n);
        work->dense[targets] = bb_matrix_source_dense(&work->views[targets], "Cmm'", "arcsec^2");
        work->dense[targets].symmetric = true;
    }
    BB_TRY(make_wholes(work));
done:
    return status;
}

bb_status bb_late_scores_run(bb_ao_scoring *scoring, const bb_ao_config *physics,
                             const double (*wind)[2], bb_ao_evaluation *evaluations,
                             double *correctable, double *whole)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = scoring->study;
    const bb_index targets = scoring->problem->target_count;
    const bb_index each = targets * study->wavelengths_um.count;
    late_scores work = {.scoring = scoring,
                        .problem = scoring->problem,
                        .physics = physics,
                        .wind = wind,
                        .frame_s = 1.0 / study->time_domain.rate_hz,
                        .delay_s = 1e-3 * bb_ao_timeline_config_delay_ms(study)};
    bb_ao_evaluation *listed[BB_STUDY_PIPELINES];
    double *parts[BB_STUDY_PIPELINES];
    double *wholes[BB_STUDY_PIPELINES];
    BB_TRY(make_sources(&work));
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        listed[p] = &evaluations[p];
        parts[p] = correctable + p * each;
        wholes[p] = whole + p * each;
    }
    const bb_ao_late late = {.cmm = work.frames > 1 ? &work.dense[targets] : NULL,
                             .ctm = work.listed,
                             .wholes = work.wholes,
                             .share = lag_weight(&work, 0)};
    BB_TRY(bb_ao_scoring_late(scoring, &late, listed, study->pipelines.count, parts, wholes));
done:
    release(&work);
    return status;
}

bb_need bb_late_scores_need(const bb_ao_study *study, double n, double m, bb_need cmm, bb_need ctm,
                            bb_need wholes)
{
    const double frames = study->time_domain.gain < 1.0 ? (double)frames_of(study) : 1.0;
    const double values = frames > 1.0 ? 2.0 * n * (n + m) : 0.0;
    const bb_need sums = {.host_bytes = sizeof(double) * values,
                          .seconds = frames * (cmm.seconds + ctm.seconds)};
    return bb_need_together(wholes, sums);
}
