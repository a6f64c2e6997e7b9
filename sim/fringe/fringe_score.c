// SPDX-License-Identifier: Apache-2.0
//
// Scores of an unwrapped phase: wrong cycles and nanometres.
#include "core/log.h"
#include "core/memory.h"
#include "physics/fringe/cycles.h"
#include "physics/fringe/wavefront.h"
#include "sim/fringe/fringe_work.h"

#include <math.h>

bb_status bb_fringe_evaluation_start(const bb_fringe_study *study, const char *pipeline,
                                     bb_fringe_evaluation *out)
{
    bb_status status = BB_OK;
    *out = (bb_fringe_evaluation){.common = bb_evaluation_start(pipeline)};
    double *const numbers[] = {&out->wrong_cycles,
                               &out->wrong_cycles_reference,
                               &out->missing,
                               &out->wavefront_rms_nm,
                               &out->wavefront_pv_nm,
                               &out->wavefront_error_nm,
                               &out->wavefront_error_reference_nm,
                               &out->scale_rad,
                               &out->limit_rad,
                               &out->rejected_share,
                               &out->cycles,
                               &out->reweighted,
                               &out->changed,
                               &out->bits,
                               &out->saturated};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        *numbers[i] = NAN;
    }
    if (study->zernike_terms > 0) {
        BB_TRY(bb_evaluation_unset(study->zernike_terms, &out->zernike_nm));
    }
done:
    return status;
}

void bb_fringe_evaluation_release(bb_fringe_evaluation *evaluation)
{
    BB_RELEASE(&evaluation->zernike_nm);
}

// Counts points where the reference has a phase and the pipeline's detection has none.
static bb_index count_lost(const bb_fringe_answer *answer)
{
    const bb_unwrap_parts *parts = answer->parts;
    bb_index lost = 0;
    for (bb_index p = 0; p < parts->columns * parts->rows; ++p) {
        lost += parts->labels[p] < 0 && isfinite(answer->reference[p]);
    }
    return lost;
}

static bb_status score_truth(const bb_fringe_answer *answer, double rad_per_nm,
                             bb_fringe_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_unwrap_parts *parts = answer->parts;
    const bb_index points = parts->columns * parts->rows;
    bb_cycles cycles = {0};
    bb_wavefront wavefront = {0};
    BB_TRY(bb_cycles_count(points, answer->phase, answer->truth, parts->labels, parts->count, NULL,
                           &cycles));
    evaluation->wrong_cycles = (double)(cycles.wrong + count_lost(answer));
    BB_TRY(bb_wavefront_measure(points, answer->phase, answer->truth, parts->labels, parts->count,
                                rad_per_nm, &wavefront));
    evaluation->wavefront_error_nm = wavefront.rms_nm;
done:
    return status;
}

bb_status bb_fringe_evaluation_score(const bb_fringe_study *study, const bb_fringe_answer *answer,
                                     bb_fringe_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_unwrap_parts *parts = answer->parts;
    const bb_index points = parts->columns * parts->rows;
    const double rad_per_nm = bb_fringe_config_rad_per_nm(&study->physics);
    const char *reason = NULL;
    bb_cycles cycles = {0};
    bb_wavefront wavefront = {0};
    bb_wavefront reference = {0};
    if (answer->truth != NULL) {
        BB_TRY(score_truth(answer, rad_per_nm, evaluation));
    }
    BB_TRY(bb_cycles_count(points, answer->phase, answer->reference, parts->labels, parts->count,
                           NULL, &cycles));
    evaluation->wrong_cycles_reference = (double)(cycles.wrong + count_lost(answer));
    evaluation->missing = (double)(cycles.missing + count_lost(answer));
    BB_TRY(bb_wavefront_measure(points, answer->phase, answer->reference, parts->labels,
                                parts->count, rad_per_nm, &wavefront));
    evaluation->wavefront_error_reference_nm = wavefront.rms_nm;
    BB_TRY(bb_wavefront_measure(points, answer->reference, NULL, parts->labels, parts->count,
                                rad_per_nm, &reference));
    evaluation->common.qoi_relative_error =
        reference.rms_nm > 0.0 ? wavefront.rms_nm / reference.rms_nm : NAN;
    BB_TRY(bb_wavefront_measure(points, answer->phase, NULL, parts->labels, parts->count,
                                rad_per_nm, &wavefront));
    evaluation->wavefront_rms_nm = wavefront.rms_nm;
    evaluation->wavefront_pv_nm = wavefront.pv_nm;
    if (evaluation->zernike_nm != NULL) {
        BB_TRY(bb_wavefront_fit(parts->columns, parts->rows,
                                bb_fringe_config_radius_px(&study->physics), answer->phase,
                                rad_per_nm, study->zernike_terms, evaluation->zernike_nm, &reason));
    }
done:
    return status;
}

#define ROW(field, unit, text)                                                                     \
    {                                                                                              \
#field, "pipeline", unit, text, .member = offsetof(bb_fringe_evaluation, field)            \
    }

static const char title[] = "/results, fringe";

// clang-format off
static const bb_output rows[] = {
    ROW(wrong_cycles, "1", "points on another cycle than the truth, after removing the piston of "
                           "each part"),
    ROW(wrong_cycles_reference, "1", "points on another cycle than the reference's phase"),
    ROW(missing, "1", "points without a phase where the reference has one; counted as wrong"),
    ROW(wavefront_rms_nm, "nm", "rms of the measured wavefront, without the mean of each part"),
    ROW(wavefront_pv_nm, "nm", "peak to valley of the measured wavefront"),
    ROW(wavefront_error_nm, "nm", "rms of the measured wavefront minus the truth"),
    ROW(wavefront_error_reference_nm, "nm", "rms of the measured wavefront minus the reference's"),
    ROW(scale_rad, "rad", "robust scale of the gradient residuals"),
    ROW(limit_rad, "rad", "residual above which an edge is rejected"),
    ROW(rejected_share, "1", "fraction of rejected edges"),
    ROW(cycles, "1", "multigrid V-cycles and conjugate-gradient steps"),
    ROW(reweighted, "1", "number of reweightings"),
    ROW(changed, "1", "points whose cycle changed in the last reweighting"),
    ROW(bits, "1", "bits of the camera whose frames the pipeline uses"),
    ROW(saturated, "1", "pixels outside the camera's range, over all frames"),
};
static const bb_output zernike_axes[] = {
    {"zernike", "zernike", "1", .long_name = "Noll index of the Zernike polynomial"},
};
static const bb_output zernike_rows[] = {
    {"zernike_nm", "pipeline, zernike", "nm", "fitted coefficient, rms over the disc",
     .member = offsetof(bb_fringe_evaluation, zernike_nm)},
};
static const bb_output fact_rows[] = {
    {"points", "", "1", "number of points in the pupil", .member = offsetof(bb_fringe_facts, points)},
    {"parts", "", "1", "number of separate parts of the pupil",
     .member = offsetof(bb_fringe_facts, parts)},
    {"steep_share", "", "1", "fraction of edges kept with a wrapped difference beyond 0.8 pi",
     .note = "of the reference; an aliased slope leaves no residue", BB_MEMBER(bb_fringe_facts, steep_share)},
    {"hanging_share", "", "1", "fraction of points in sets that only rejected edges connect to "
                               "their region",
     .note = "of the reference; sets of 16 points or more, whose cycle is a guess", BB_MEMBER(bb_fringe_facts, hanging_share)},
    {"full_scale", "", "1", "value of full scale in the frames",
     .note = "for frames of `input:`", BB_MEMBER(bb_fringe_facts, full_scale)},
};
// clang-format on

static const bb_output_table pipeline_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(rows)};
static const bb_output_table zernike_axis_outputs = {
    .title = title, .group = "results", BB_OUTPUT_ROWS(zernike_axes)};
static const bb_output_table zernike_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(zernike_rows)};
static const bb_output_table fact_outputs = {
    .title = title, .group = "results", BB_OUTPUT_ROWS(fact_rows)};

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_fringe_run *work = all;
    const bb_fringe_study *study = &work->work.study;
    const bb_fringe_evaluation *evaluations = work->plain;
    const bb_index count = work->work.pipeline_count;
    const size_t stride = sizeof *evaluations;
    double *terms = NULL; // [zernike_terms]
    const bb_evaluations common = {&evaluations->common, stride, count, &study->machine.price};
    BB_TRY(bb_evaluations_publish(&common, "1", results));
    BB_TRY(bb_output_table_publish_records(&pipeline_outputs, evaluations, stride, count, NULL,
                                           results));
    BB_TRY(bb_output_table_publish(&fact_outputs, &work->facts, NULL, results));
    if (study->zernike_terms > 0) {
        BB_TRY(BB_ALLOCATE(study->zernike_terms, &terms));
        for (bb_index j = 0; j < study->zernike_terms; ++j) {
            terms[j] = (double)(j + 1);
        }
        BB_TRY(bb_output_table_add_axis(&zernike_axis_outputs, "zernike", study->zernike_terms,
                                        terms, NULL, results));
        BB_TRY(bb_output_table_publish_records(&zernike_outputs, evaluations, stride, count, NULL,
                                               results));
    }
done:
    BB_RELEASE(&terms);
    return status;
}

static bb_status need(const void *all, const void *extent, bb_need *out)
{
    const bb_fringe_study *study = all;
    const bb_fringe_size_config *size = &study->physics.size;
    (void)extent;
    *out = study->zernike_terms > 0
               ? bb_wavefront_need(size->columns, size->rows, study->zernike_terms)
               : (bb_need){0};
    return BB_OK;
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    (void)extent;
    plan->output_bytes += 2000.0 * (double)((const bb_fringe_study *)study)->pipelines.count;
    return BB_OK;
}

const bb_part bb_fringe_score_part = {
    .name = "scores",
    .need = need,
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&bb_evaluation_outputs, &pipeline_outputs, &fact_outputs,
                          &zernike_axis_outputs, &zernike_outputs),
};
