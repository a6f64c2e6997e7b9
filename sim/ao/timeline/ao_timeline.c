// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/frames/time_domain.h"
#include "sim/ao/ao_plan.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/timeline/ao_timeline_config.h"
#include "sim/ao/timeline/late_scores.h"
#include "sim/pipelines/stored_product.h"

#include <cblas.h>
#include <math.h>

// Controllers of all pipelines with a matrix, and the result arrays; NaN elsewhere.
typedef struct timeline {
    const bb_ao_study *study;
    const bb_ao_config *physics;
    bb_ao_scoring *scoring;
    const bb_tomography *problem; // borrowed from the scoring
    bb_ao_evaluation *evaluations;
    bb_index targets, wavelengths, pipelines;
    bb_time_domain_task task;
    bb_time_domain_estimate *estimates; // [pipelines][targets] at most
    bb_stored_product *products;        // [estimates] products not in fp64
    bb_index *place;                    // [estimates] index: pipeline * targets + target
    bb_frame_mean *correctable;         // [pipelines][targets][wavelengths]
    bb_frame_mean *total;
    bb_frame_mean *loss;
    double *delayed;   // [pipelines][targets][wavelengths] by pairs
    double *whole;     // [pipelines][targets][wavelengths] the whole residual by pairs; NaN with
                       // independent error terms
    double (*wind)[2]; // [layers], m/s
    double *poked;     // [n][actuators] guide-star slopes per mirror command; NULL: open loop
    double *seen; // [n][m] guide-star slopes per truth slope, with one mirror per target; NULL:
                  // open loop or mcao
} timeline;

static bb_status set_wind(timeline *line)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(line->problem->atmosphere.layer_count, &line->wind));
    bb_ao_timeline_config_wind(line->study, &line->problem->atmosphere, line->wind);
    line->task.wind = (const double(*)[2])line->wind;
done:
    return status;
}

// Computes the guide stars' slopes per command of `stack`.
static bb_status compute_interaction(const bb_tomography *problem, const bb_mirror_stack *stack,
                                     double *out)
{
    bb_status status = BB_OK;
    for (bb_index s = 0; s < problem->guides.sensor_count; ++s) {
        const bb_sensor *sensor = &problem->guides.sensors[s];
        BB_TRY(bb_mirror_stack_interaction(stack, sensor,
                                           out + sensor->first * stack->actuator_count));
    }
done:
    return status;
}

// Computes matrix P of bb_frame_controller: guide-star slopes per command, and, without mcao, per
// truth slope. The same P serves all targets.
static bb_status compute_mirror_response(timeline *line)
{
    bb_status status = BB_OK;
    const bb_tomography *problem = line->problem;
    const bb_index n = problem->cmm->columns;
    bb_mirror_stack stack = {0};
    if (line->study->time_domain.loop != (int)BB_LOOP_CLOSED) {
        goto done;
    }
    if (problem->commands != NULL) {
        BB_TRY(BB_ALLOCATE(n * problem->commands->stack.actuator_count, &line->poked));
        BB_TRY(compute_interaction(problem, &problem->commands->stack, line->poked));
        goto done;
    }
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(problem->targets[0].spread);
    const int actuators = (int)mirror->actuator_count;
    const int m = (int)mirror->measurement_count;
    BB_TRY(bb_mirror_stack_of_pupil(mirror, &stack));
    BB_TRY(BB_ALLOCATE(n * actuators, &line->poked));
    BB_TRY(BB_ALLOCATE(n * m, &line->seen));
    BB_TRY(compute_interaction(problem, &stack, line->poked));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, m, actuators, 1.0, line->poked,
                actuators, mirror->projector, m, 0.0, line->seen, m);
done:
    bb_mirror_stack_release(&stack);
    return status;
}

// Estimate of the reference pipeline for the same target; `e` itself if there is none.
static bb_index find_reference(const timeline *line, bb_index e)
{
    const bb_index pipeline = bb_factor_pipelines_reference(&line->study->pipelines);
    for (bb_index other = 0; other < line->task.estimate_count; ++other) {
        if (line->place[other] == pipeline * line->targets + line->estimates[e].target) {
            return other;
        }
    }
    return e;
}

// Sets the matrix for target t: slopes, commands of the target's own mirror, or commands of mcao.
static void set_matrix(const timeline *line, const bb_ao_evaluation *evaluation, bb_index t,
                       bb_time_domain_estimate *out)
{
    const bb_mirror_commands *together = line->problem->commands;
    out->target = t;
    out->kind = evaluation->kind;
    out->rows = bb_ao_commands_rows(line->problem, evaluation, t);
    out->seen = together != NULL || out->kind == BB_RESIDUAL_COMMANDS ? line->poked : line->seen;
    if (together != NULL) {
        out->q = evaluation->r[0];
        out->interaction = together->interaction[t];
    } else {
        out->q = bb_ao_evaluation_reconstructor(evaluation, t);
    }
}

// Sets the product of a pipeline, with its rounded slopes and sums.
static bb_status set_product(const timeline *line, const bb_factor_pipeline *level,
                             bb_stored_product *product, bb_time_domain_estimate *out)
{
    bb_status status = BB_OK;
    if (bb_stored_product_is_given(level)) {
        BB_TRY(bb_stored_product_create(&line->scoring->storage->common, level, out->rows, out->q,
                                        product));
        out->product = (bb_control_product){bb_stored_product_multiply, product,
                                            bb_stored_product_work(product)};
    }
done:
    return status;
}

static bb_status list_estimates(timeline *line)
{
    bb_status status = BB_OK;
    const bb_index limit = line->pipelines * line->targets;
    BB_TRY(BB_ZEROED(limit, &line->estimates));
    BB_TRY(BB_ZEROED(limit, &line->products));
    BB_TRY(BB_ALLOCATE(limit, &line->place));
    BB_TRY(BB_ALLOCATE(limit * line->wavelengths, &line->correctable));
    BB_TRY(BB_ALLOCATE(limit * line->wavelengths, &line->total));
    BB_TRY(BB_ALLOCATE(limit * line->wavelengths, &line->loss));
    BB_TRY(bb_evaluation_unset(limit * line->wavelengths, &line->delayed));
    BB_TRY(bb_evaluation_unset(limit * line->wavelengths, &line->whole));
    for (bb_index i = 0; i < limit * line->wavelengths; ++i) {
        line->correctable[i] = line->total[i] = line->loss[i] = (bb_frame_mean){NAN, NAN};
    }
    for (bb_index i = 0; i < limit; ++i) {
        const bb_ao_evaluation *evaluation = &line->evaluations[i / line->targets];
        const bb_index t = i % line->targets;
        const double *r = bb_ao_evaluation_reconstructor(evaluation, t);
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK || r == NULL) {
            continue;
        }
        bb_time_domain_estimate *estimate = &line->estimates[line->task.estimate_count];
        *estimate =
            (bb_time_domain_estimate){.correctable = line->correctable + i * line->wavelengths,
                                      .total = line->total + i * line->wavelengths,
                                      .loss = line->loss + i * line->wavelengths};
        set_matrix(line, evaluation, t, estimate);
        BB_TRY(set_product(line, &evaluation->level, &line->products[line->task.estimate_count],
                           estimate));
        line->place[line->task.estimate_count++] = i;
    }
    line->task.estimates = line->estimates;
    for (bb_index e = 0; e < line->task.estimate_count; ++e) {
        line->estimates[e].reference = find_reference(line, e);
    }
done:
    return status;
}

#define BY_DIRECTION "pipeline, target, wavelength"
#define BY_STUDENT                                                                                 \
    "Student's t with realisations - 1 degrees of freedom, as the normal quantile of the same "    \
    "probability"

// Row of a pipeline, a target and a wavelength.
typedef struct strehl_row {
    double mean, error, sigmas, loss, loss_error, delayed, whole_delayed, whole_mean, whole_error,
        whole_sigmas;
} strehl_row;

static const bb_output strehl_rows[] = {
    {"strehl_time_domain", BY_DIRECTION, "1",
     "Strehl ratio of the correctable residual in time, mean over realisations",
     .member = offsetof(strehl_row, mean)},
    {"strehl_time_domain_error", BY_DIRECTION, "1", "its standard error",
     .note = "from independent realisations, because frames within one are correlated",
     .member = offsetof(strehl_row, error)},
    {"strehl_pairs_delayed", BY_DIRECTION, "1",
     "Strehl ratio of the correctable residual by pairs of points, from slopes' covariance with "
     "the truth after the delay",
     .note =
         "with these winds; with a gain below 1 also from earlier slopes, as many frames as settle",
     .member = offsetof(strehl_row, delayed)},
    {"strehl_whole_delayed", BY_DIRECTION, "1",
     "Strehl ratio of the whole residual by pairs of points, after the delay",
     .note = "likewise; NaN with independent error terms",
     .member = offsetof(strehl_row, whole_delayed)},
    {"strehl_time_domain_sigmas", BY_DIRECTION, "1",
     "z-score of its difference from strehl_pairs_delayed", .note = BY_STUDENT,
     .member = offsetof(strehl_row, sigmas)},
    {"strehl_time_domain_loss", BY_DIRECTION, "1",
     "loss relative to the reference on the same screens", .member = offsetof(strehl_row, loss)},
    {"strehl_time_domain_loss_error", BY_DIRECTION, "1", "its standard error",
     .note = "of differences", .member = offsetof(strehl_row, loss_error)},
    {"strehl_time_domain_whole", BY_DIRECTION, "1",
     "Strehl ratio of the whole residual in time, mean over realisations",
     .note = "includes fitting and aliasing", .member = offsetof(strehl_row, whole_mean)},
    {"strehl_time_domain_whole_error", BY_DIRECTION, "1", "its standard error",
     .member = offsetof(strehl_row, whole_error)},
    {"strehl_time_domain_whole_sigmas", BY_DIRECTION, "1",
     "z-score of its difference from strehl_whole_delayed", .note = BY_STUDENT,
     .member = offsetof(strehl_row, whole_sigmas)},
};

static const bb_output_table strehl_outputs = {
    .title = "/results, ao",
    .when = "With `time_domain.frames`, a controller in time (`docs/manual/physics-ao.md`, 2.17):",
    .group = "results",
    .axes = BY_DIRECTION,
    BB_OUTPUT_ROWS(strehl_rows)};

static bb_status publish_strehl(const timeline *line, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index items = line->targets * line->wavelengths;
    const bb_index count = line->pipelines * items;
    strehl_row *rows = NULL; // [count]
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index i = 0; i < count; ++i) {
        const bb_frame_mean *part = &line->correctable[i];
        const bb_frame_mean *total = &line->total[i];
        rows[i] = (strehl_row){
            .mean = part->mean,
            .error = part->error,
            .sigmas = bb_frame_mean_sigmas(part, line->delayed[i], line->task.realisations),
            .loss = line->loss[i].mean,
            .loss_error = line->loss[i].error,
            .delayed = line->delayed[i],
            .whole_delayed = line->whole[i],
            .whole_mean = total->mean,
            .whole_error = total->error,
            .whole_sigmas = bb_frame_mean_sigmas(total, line->whole[i], line->task.realisations)};
    }
    BB_TRY(
        bb_output_table_publish_records(&strehl_outputs, rows, sizeof *rows, count, NULL, results));
done:
    BB_RELEASE(&rows);
    return status;
}

typedef struct residual_record {
    double delay_ms, period_s;
    const double *residual_nm;
} residual_record;

static const bb_output residual_rows[] = {
    {"residual_rms_time_domain_nm", "pipeline, target", "nm",
     "rms of the correctable residual over the pupil without piston, root of the mean over time",
     .member = offsetof(residual_record, residual_nm)},
    {"time_domain_delay_ms", "", "ms", "age of the correction at scoring",
     .member = offsetof(residual_record, delay_ms)},
    {"time_domain_period_s", "", "s",
     "repetition period of the fine screens, for the fastest layer",
     .member = offsetof(residual_record, period_s)},
};

static const bb_output_table residual_outputs = {
    .title = "/results, ao", .group = "results", BB_OUTPUT_ROWS(residual_rows)};

typedef struct wind_row {
    double index, height_m, x_m_per_s, y_m_per_s;
} wind_row;

static const bb_output wind_rows[] = {
    {"layer", "layer", "1", "index of the turbulent layer", .member = offsetof(wind_row, index)},
    {"layer_height_m", "layer", "m", "height of the layer along the line of sight",
     .member = offsetof(wind_row, height_m), .coordinate = true},
    {"layer_wind_x_m_per_s", "layer", "m/s", "its wind along x",
     .member = offsetof(wind_row, x_m_per_s)},
    {"layer_wind_y_m_per_s", "layer", "m/s", "its wind along y",
     .member = offsetof(wind_row, y_m_per_s)},
};

static const bb_output_table wind_outputs = {
    .title = "/results, ao", .group = "results", .axes = "layer", BB_OUTPUT_ROWS(wind_rows)};

// Period of the fine screens, which is the shorter one.
static double period_s(const timeline *line, const bb_screen_size *size)
{
    double fastest = 0.0;
    for (bb_index l = 0; l < line->problem->atmosphere.layer_count; ++l) {
        fastest = fmax(fastest, hypot(line->wind[l][0], line->wind[l][1]));
    }
    return (double)size->fine_points * size->fine_pixel_m / fastest;
}

static bb_status publish_residual(const timeline *line, const bb_screen_size *size,
                                  bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index layers = line->problem->atmosphere.layer_count;
    double *residual_nm = NULL; // [pipelines][targets]
    wind_row *winds = NULL;     // [layers]
    BB_TRY(bb_evaluation_unset(line->pipelines * line->targets, &residual_nm));
    BB_TRY(BB_ALLOCATE(layers, &winds));
    for (bb_index e = 0; e < line->task.estimate_count; ++e) {
        residual_nm[line->place[e]] = 1e9 * sqrt(line->estimates[e].residual_m2.mean);
    }
    for (bb_index l = 0; l < layers; ++l) {
        winds[l] = (wind_row){(double)l, line->problem->atmosphere.height_m[l], line->wind[l][0],
                              line->wind[l][1]};
    }
    const residual_record record = {.delay_ms = 1e3 * line->task.delay_s,
                                    .period_s = period_s(line, size),
                                    .residual_nm = residual_nm};
    BB_TRY(bb_output_table_publish(&residual_outputs, &record, NULL, results));
    BB_TRY(bb_output_table_publish_records(&wind_outputs, winds, sizeof *winds, layers, NULL,
                                           results));
done:
    BB_RELEASE(&residual_nm);
    BB_RELEASE(&winds);
    return status;
}

static void release(timeline *line)
{
    for (bb_index e = 0; line->products != NULL && e < line->pipelines * line->targets; ++e) {
        bb_stored_product_release(&line->products[e]);
    }
    BB_RELEASE(&line->products);
    BB_RELEASE(&line->estimates);
    BB_RELEASE(&line->place);
    BB_RELEASE(&line->correctable);
    BB_RELEASE(&line->total);
    BB_RELEASE(&line->loss);
    BB_RELEASE(&line->delayed);
    BB_RELEASE(&line->whole);
    BB_RELEASE(&line->wind);
    BB_RELEASE(&line->poked);
    BB_RELEASE(&line->seen);
}

static double narrow_pipelines(const bb_ao_study *study)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    double count = 0.0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        count += bb_narrow_sum_is_given(&pipelines[p]) ? 1.0 : 0.0;
    }
    return count;
}

// Need of the run over all skies. `held` remains until scoring: guide-star slopes per command, and
// matrices whose products are not in fp64.
static bb_need skies_need(const bb_ao_study *study, const bb_ao_extent *span, bb_need *held)
{
    const bb_time_domain_config *time = &study->time_domain;
    const bool closed = time->loop == (int)BB_LOOP_CLOSED;
    const bool alone = span->actuators == 0.0;
    const double targets = (double)study->targets.count;
    const double rows =
        alone ? fmax(span->residual.most_rows, span->most_commands) : span->actuators;
    const double seen = closed ? rows + (alone ? span->residual.most_rows : 0.0) : 0.0;
    const bb_time_domain_extent series = {
        .frames = span->frames,
        .realisations = (double)time->realisations,
        .scored = (double)time->frames,
        .settle = time->gain >= 1.0 && !closed ? 0.0 : (double)time->settle_frames,
        .estimates = (double)study->pipelines.count * targets,
        .rows = rows,
        .slopes = (double)span->n,
        .delay = 1e-3 * bb_ao_timeline_config_delay_ms(study) * time->rate_hz,
        .wavelengths = (double)study->wavelengths_um.count};
    *held = (bb_need){.host_bytes = sizeof(double) * (double)span->n *
                                    (seen + narrow_pipelines(study) * targets * rows)};
    return bb_need_in_turn(bb_frame_sampler_need(&span->frames),
                           bb_need_together(bb_frame_sampler_resident(&span->frames),
                                            bb_time_domain_need(&series, span->threads)));
}

// The covariances of delayed truth sensors and all residuals follow the skies.
static bb_status need(const void *all, const void *extent, bb_need *out)
{
    const bb_ao_study *study = all;
    const bb_ao_extent *span = extent;
    bb_need held;
    const bb_need running = skies_need(study, span, &held);
    const bb_need scored = bb_ao_plan_score_need(study, span, (double)study->pipelines.count);
    const bb_need late =
        bb_late_scores_need(study, (double)span->n, span->m, span->cmm, span->ctm, span->whole);
    const bb_need scoring = bb_need_together(span->late, bb_need_together(late, scored));
    *out = bb_need_together(
        held, bb_need_in_turn(running,
                              bb_need_together(bb_frame_sampler_resident(&span->frames), scoring)));
    return BB_OK;
}

static bool wanted(const void *study)
{
    return ((const bb_ao_study *)study)->time_domain.frames > 0;
}

static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    const bb_ao_study *study = all;
    const bb_time_domain_config *time = &study->time_domain;
    (void)extent;
    return bb_plan_add(plan, "time", "%td skies of %td frames at %g Hz, delay %g ms, %s loop",
                       time->realisations, time->settle_frames + time->frames, time->rate_hz,
                       bb_ao_timeline_config_delay_ms(study),
                       time->loop == (int)BB_LOOP_CLOSED ? "closed" : "open");
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    bb_ao_scoring *scoring = &work->scoring;
    const bb_ao_config *physics = &work->physics;
    bb_ao_evaluation *evaluations = work->evaluations;
    const bb_time_domain_config *time = &study->time_domain;
    bb_frame_sampler *sampler = NULL;
    timeline line = {.study = study,
                     .physics = physics,
                     .scoring = scoring,
                     .problem = scoring->problem,
                     .evaluations = evaluations,
                     .targets = study->targets.count,
                     .wavelengths = study->wavelengths_um.count,
                     .pipelines = study->pipelines.count,
                     .task = {.seed = (uint64_t)study->common.seed,
                              .realisations = time->realisations,
                              .frames = time->frames,
                              .settle = time->settle_frames,
                              .frame_s = 1.0 / time->rate_hz,
                              .delay_s = 1e-3 * bb_ao_timeline_config_delay_ms(study),
                              .exposure_s = 1e-3 * time->exposure_ms,
                              .gain = time->gain,
                              .wavelength_count = study->wavelengths_um.count,
                              .wavelengths_m = scoring->wavelengths_m}};
    BB_TRY(set_wind(&line));
    BB_TRY(bb_ao_timeline_config_cover(study, physics, &line.problem->guides));
    BB_TRY(compute_mirror_response(&line));
    BB_TRY(list_estimates(&line));
    BB_TRY(bb_frame_sampler_create(line.problem, &study->monte_carlo, &sampler));
    const bb_screen_size size = bb_frame_sampler_screen(sampler);
    bb_log_info("%td skies of %td frames, %.3g s each; screens repeat after %.3g s",
                time->realisations, time->settle_frames + time->frames,
                (double)(time->settle_frames + time->frames) / time->rate_hz,
                period_s(&line, &size));
    bb_log_progress_step("scoring", "time", 0, 1);
    BB_TRY(bb_time_domain_run(sampler, &line.task));
    bb_log_progress("scoring", 1, 1);
    BB_TRY(bb_late_scores_run(scoring, physics, (const double(*)[2])line.wind, evaluations,
                              line.delayed, line.whole));
    BB_TRY(publish_strehl(&line, results));
    BB_TRY(publish_residual(&line, &size, results));
done:
    bb_frame_sampler_destroy(&sampler);
    release(&line);
    return status;
}

// Part that runs the controller in time, with the matrices of all pipelines. The axes of /results
// must exist.
const bb_part bb_ao_timeline_part = {
    .name = "time domain",
    .wanted = wanted,
    .check = bb_ao_timeline_config_check,
    .need = need,
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&strehl_outputs, &residual_outputs, &wind_outputs),
};
