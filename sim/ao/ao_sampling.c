// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/frames/monte_carlo.h"
#include "sim/ao/ao_run.h"

#include <math.h>

enum { MOST_SEPARATIONS = 12 };

// Estimates of all successful pipelines, and the result arrays; NaN elsewhere.
typedef struct sampling {
    const bb_ao_study *study;
    const bb_tomography *problem;
    const bb_ao_evaluation *evaluations;
    bb_index targets, wavelengths, pipelines;
    bb_monte_carlo_task task;
    bb_monte_carlo_estimate *estimates; // [pipelines][targets] at most
    bb_index *place;                    // [estimates] index: pipeline * targets + target
    bb_frame_mean *correctable;         // [pipelines][targets][wavelengths]
    bb_frame_mean *total;
    bb_frame_mean *fitting; // [targets]
    double *psf;            // [BB_AO_PSF_PIXELS]^2
    bb_index separations[MOST_SEPARATIONS];
    bb_frame_mean structure[MOST_SEPARATIONS];
} sampling;

// Selects separations of 1, 2, 4 ... lenslets of the first target's sensor, up to its diameter.
static void choose_separations(sampling *samples)
{
    bb_index lenslets = samples->problem->targets[0].truth.sensors[0].lenslets;
    for (bb_index s = 1; s <= lenslets && samples->task.separation_count < MOST_SEPARATIONS;
         s *= 2) {
        samples->separations[samples->task.separation_count++] = s;
    }
    samples->task.separations = samples->separations;
    samples->task.structure = samples->structure;
}

static bb_status list_estimates(sampling *samples)
{
    bb_status status = BB_OK;
    bb_index limit = samples->pipelines * samples->targets;
    bb_index reference = bb_factor_pipelines_reference(&samples->study->pipelines);
    BB_TRY(BB_ZEROED(limit, &samples->estimates));
    BB_TRY(BB_ALLOCATE(limit, &samples->place));
    BB_TRY(BB_ALLOCATE(limit * samples->wavelengths, &samples->correctable));
    BB_TRY(BB_ALLOCATE(limit * samples->wavelengths, &samples->total));
    BB_TRY(BB_ALLOCATE(samples->targets, &samples->fitting));
    BB_TRY(bb_evaluation_unset((bb_index)BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS, &samples->psf));
    for (bb_index i = 0; i < limit * samples->wavelengths; ++i) {
        samples->correctable[i] = samples->total[i] = (bb_frame_mean){NAN, NAN};
    }
    for (bb_index i = 0; i < limit; ++i) {
        const bb_ao_evaluation *evaluation = &samples->evaluations[i / samples->targets];
        const double *r = bb_ao_evaluation_reconstructor(evaluation, i % samples->targets);
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK || r == NULL) {
            continue;
        }
        samples->estimates[samples->task.estimate_count] = (bb_monte_carlo_estimate){
            .target = i % samples->targets,
            .r = r,
            .kind = evaluation->kind,
            .m = samples->problem->commands != NULL ? evaluation->r[0] : NULL,
            .correctable = samples->correctable + i * samples->wavelengths,
            .total = samples->total + i * samples->wavelengths,
            .psf = i == reference * samples->targets ? samples->psf : NULL};
        samples->place[samples->task.estimate_count++] = i;
    }
    samples->task.estimates = samples->estimates;
    samples->task.fitting = samples->fitting;
done:
    return status;
}

#define BY_DIRECTION "pipeline, target, wavelength"
#define BY_STUDENT                                                                                 \
    "Student's t with frames - 1 degrees of freedom, as the normal quantile of the same "          \
    "probability"

// Row of a pipeline, a target and a wavelength.
typedef struct strehl_row {
    double mean, error, sigmas, whole_mean, whole_error, whole_sigmas;
} strehl_row;

static const bb_output strehl_rows[] = {
    {"strehl_monte_carlo", BY_DIRECTION, "1",
     "Strehl ratio of the correctable residual, mean over frames",
     .member = offsetof(strehl_row, mean)},
    {"strehl_monte_carlo_error", BY_DIRECTION, "1", "its standard error",
     .member = offsetof(strehl_row, error)},
    {"strehl_monte_carlo_sigmas", BY_DIRECTION, "1", "z-score of its difference from strehl_pairs",
     .note = BY_STUDENT, .member = offsetof(strehl_row, sigmas)},
    {"strehl_monte_carlo_whole", BY_DIRECTION, "1",
     "Strehl ratio of the whole residual, mean over frames",
     .note = "includes fitting and aliasing", .member = offsetof(strehl_row, whole_mean)},
    {"strehl_monte_carlo_whole_error", BY_DIRECTION, "1", "its standard error",
     .member = offsetof(strehl_row, whole_error)},
    {"strehl_monte_carlo_whole_sigmas", BY_DIRECTION, "1",
     "z-score of its difference from strehl_pairs_whole",
     .note = BY_STUDENT "; NaN without `error_terms`",
     .member = offsetof(strehl_row, whole_sigmas)},
};

static const bb_output_table strehl_outputs = {
    .title = "/results, ao",
    .when = "With `monte_carlo.frames`, means over the frames (`docs/manual/physics-ao.md`, 2.10):",
    .group = "results",
    .axes = BY_DIRECTION,
    BB_OUTPUT_ROWS(strehl_rows)};

static bb_status publish_strehl(const sampling *samples, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index items = samples->targets * samples->wavelengths;
    const bb_index count = samples->pipelines * items;
    strehl_row *rows = NULL; // [count]
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index i = 0; i < count; ++i) {
        const bb_ao_evaluation *evaluation = &samples->evaluations[i / items];
        const bb_frame_mean *part = &samples->correctable[i];
        const bb_frame_mean *total = &samples->total[i];
        rows[i] = (strehl_row){
            part->mean,
            part->error,
            bb_frame_mean_sigmas(part, evaluation->pairs[i % items], samples->task.frames),
            total->mean,
            total->error,
            bb_frame_mean_sigmas(total, evaluation->pairs_with_terms[i % items],
                                 samples->task.frames)};
    }
    BB_TRY(
        bb_output_table_publish_records(&strehl_outputs, rows, sizeof *rows, count, NULL, results));
done:
    BB_RELEASE(&rows);
    return status;
}

// Results of the frames other than Strehl ratios.
typedef struct frame_record {
    const double *residual_nm, *fitting, *psf;
    bb_index separation_count;
    const double *separations, *structure, *structure_error;
} frame_record;

static const bb_output frame_rows[] = {
    {"residual_rms_monte_carlo_nm", "pipeline, target", "nm",
     "rms of the correctable residual over the pupil without piston, root of the mean over frames",
     .member = offsetof(frame_record, residual_nm)},
    {"fitting_coefficient_monte_carlo", "target", "rad^2",
     "residual variance with the mirror driven by the truth sensor, over (pitch / r0)^(5/3)",
     .note = "with `error_terms.fitting` the truth sensor measures the correctable turbulence only",
     .member = offsetof(frame_record, fitting)},
    {"psf_monte_carlo", "psf_y, psf_x", "1",
     "mean over frames of the whole residual, 1 at the diffraction-limited peak; reference, first "
     "target and wavelength",
     .member = offsetof(frame_record, psf)},
    {"separation", "separation", "m", "separation in the pupil",
     .note = "1, 2, 4 ... lenslets of the first target's sensor",
     .member = offsetof(frame_record, separations),
     .count = offsetof(frame_record, separation_count)},
    {"structure_ratio", "separation", "1",
     "structure function of the frames' phase, relative to von Karman's",
     .note = "over the first target's pupil", .member = offsetof(frame_record, structure)},
    {"structure_ratio_error", "separation", "1", "its standard error",
     .member = offsetof(frame_record, structure_error)},
};

static const bb_output_table frames_outputs = {
    .title = "/results, ao", .group = "results", BB_OUTPUT_ROWS(frame_rows)};

static bb_status publish_frames(const sampling *samples, bb_results *results)
{
    bb_status status = BB_OK;
    const double lenslet_m = samples->problem->targets[0].truth.sensors[0].size_m;
    double separation_m[MOST_SEPARATIONS];
    double structure[MOST_SEPARATIONS];
    double structure_error[MOST_SEPARATIONS];
    double *residual_nm = NULL; // [pipelines][targets]
    double *fitting = NULL;     // [targets]
    BB_TRY(bb_evaluation_unset(samples->pipelines * samples->targets, &residual_nm));
    BB_TRY(BB_ALLOCATE(samples->targets, &fitting));
    for (bb_index e = 0; e < samples->task.estimate_count; ++e) {
        residual_nm[samples->place[e]] = 1e9 * sqrt(samples->estimates[e].residual_m2.mean);
    }
    for (bb_index t = 0; t < samples->targets; ++t) {
        fitting[t] = samples->fitting[t].mean;
    }
    for (bb_index s = 0; s < samples->task.separation_count; ++s) {
        separation_m[s] = lenslet_m * (double)samples->separations[s];
        structure[s] = samples->structure[s].mean;
        structure_error[s] = samples->structure[s].error;
    }
    const frame_record record = {.residual_nm = residual_nm,
                                 .fitting = fitting,
                                 .psf = samples->psf,
                                 .separation_count = samples->task.separation_count,
                                 .separations = separation_m,
                                 .structure = structure,
                                 .structure_error = structure_error};
    BB_TRY(bb_output_table_publish(&frames_outputs, &record, NULL, results));
done:
    BB_RELEASE(&residual_nm);
    BB_RELEASE(&fitting);
    return status;
}

static bool wanted(const void *study)
{
    return ((const bb_ao_study *)study)->monte_carlo.frames > 0;
}

static bb_status need(const void *all, const void *extent, bb_need *out)
{
    const bb_ao_study *study = all;
    const bb_ao_extent *span = extent;
    const double estimates = (double)(study->pipelines.count * study->targets.count);
    const bb_need drawing =
        bb_monte_carlo_need(&span->frames, estimates, (double)study->wavelengths_um.count, 1.0,
                            BB_AO_PSF_PIXELS, span->threads);
    *out = bb_need_in_turn(bb_frame_sampler_need(&span->frames),
                           bb_need_together(bb_frame_sampler_resident(&span->frames), drawing));
    return BB_OK;
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    const bb_screen_size *screen = &((const bb_ao_extent *)extent)->frames.screen;
    return bb_plan_add(plan, "frames", "%td on screens of %td and %td points along an edge",
                       ((const bb_ao_study *)study)->monte_carlo.frames, screen->points,
                       screen->fine_points);
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    const bb_tomography *problem = work->problem;
    bb_frame_sampler *sampler = NULL;
    sampling samples = {.study = study,
                        .problem = problem,
                        .evaluations = work->evaluations,
                        .targets = study->targets.count,
                        .wavelengths = study->wavelengths_um.count,
                        .pipelines = study->pipelines.count,
                        .task = {.seed = (uint64_t)study->common.seed,
                                 .frames = study->monte_carlo.frames,
                                 .wavelength_count = study->wavelengths_um.count,
                                 .wavelengths_m = work->scoring.wavelengths_m,
                                 .psf_pixels = BB_AO_PSF_PIXELS}};
    BB_TRY(list_estimates(&samples));
    choose_separations(&samples);
    BB_TRY(bb_frame_sampler_create(problem, &study->monte_carlo, &sampler));
    const bb_screen_size size = bb_frame_sampler_screen(sampler);
    bb_log_info("%td frames on screens of %td x %td points of %.3g m", samples.task.frames,
                size.points, size.points, size.pixel_m);
    bb_log_progress_step("scoring", "frames", 0, 1);
    BB_TRY(bb_monte_carlo_run(sampler, &samples.task));
    bb_log_progress("scoring", 1, 1);
    BB_TRY(publish_strehl(&samples, results));
    BB_TRY(publish_frames(&samples, results));
done:
    bb_frame_sampler_destroy(&sampler);
    BB_RELEASE(&samples.estimates);
    BB_RELEASE(&samples.place);
    BB_RELEASE(&samples.correctable);
    BB_RELEASE(&samples.total);
    BB_RELEASE(&samples.fitting);
    BB_RELEASE(&samples.psf);
    return status;
}

// Part that runs the frames of `monte_carlo`. The axes of /results must exist.
const bb_part bb_ao_sampling_part = {
    .name = "frames",
    .wanted = wanted,
    .need = need,
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&strehl_outputs, &frames_outputs),
};
