// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_plan.h"

#include "sim/ao/ao_run.h"
#include "sim/ao/realtime/ao_realtime.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_engine.h"
#include "sim/pipelines/factor_storage.h"
#include "sim/pipelines/storage_search.h"
#include "sim/run/dump.h"
#include "solvers/factor/residual_noise.h"

#include <math.h>
#include <stdio.h>

// Need of `count` reconstructors of all targets, with their commands.
static bb_need estimates_of(const bb_ao_extent *span, double count)
{
    const double rows = span->resident ? 0.0 : span->estimated + span->projected_rows;
    return (bb_need){.host_bytes = sizeof(double) * count * (double)span->n * rows};
}

// Need of `count` right-hand sides of mcao.
static bb_need sides_of(const bb_ao_extent *span, double count)
{
    return (bb_need){.host_bytes = sizeof(double) * count * (double)span->n * span->actuators};
}

// Need of applying the influence matrix to solved commands, for frames.
static bb_need projection_of(const bb_ao_extent *span)
{
    const double items = (double)span->n * span->projected_rows;
    return (bb_need){.host_bytes = sizeof(double) * items,
                     .seconds =
                         2.0 * items * span->actuators / (BB_NEED_FP64_RATE * span->threads)};
}

static double output_bytes(const bb_ao_study *study)
{
    double by_target = (double)study->targets.count * (1.0 + (double)study->wavelengths_um.count);
    double image = (double)BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS;
    double boxes = (double)(study->ensquared_mas.count * study->wavelengths_um.count);
    by_target += (double)study->targets.count * boxes +
                 (double)(study->targets.count * study->wavelengths_um.count);
    if (study->images == (int)BB_AO_IMAGES_ALL) {
        image *= 1.0 + (double)bb_ao_study_images(study);
    }
    if (study->time_domain.frames > 0) {
        by_target += 12.0 * (double)(study->targets.count * study->wavelengths_um.count);
    }
    if (study->monte_carlo.frames > 0) {
        by_target += 8.0 * (double)(study->targets.count * study->wavelengths_um.count);
        image += image / (double)study->pipelines.count;
    }
    return 8.0 * (double)study->pipelines.count * (image + by_target);
}

// True if scores are computed on a GPU, which is the case if any pipeline computes on one.
static bool scores_on_device(const bb_ao_study *study)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bool serves = false;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        serves = serves || bb_factor_device_supports(&study->solver.common, &pipelines[p],
                                                     study->common.device);
    }
    return serves;
}

// Need of scoring `count` estimates with `passes` fills of Cmm: all residuals in one pass, then one
// score after another.
static bb_need score_need(const bb_ao_extent *span, bool device, double count, double passes)
{
    bb_residual_extent score = span->residual;
    const double targets = score.rows / score.most_rows;
    const double height = fmax(score.most_rows, score.shared_rows);
    const double times = count * (score.shared > 0.0 ? 1.0 : targets);
    score.rows += span->products;
    score.squared_rows += span->products * span->products;
    score.rows *= count;
    score.squared_rows *= count;
    score.shared *= count;
    bb_need products = bb_residual_covariance_need(&score, span->threads * span->processes);
    if (device) {
        products = bb_need_repeated(
            bb_residual_covariance_device_need(span->gpus, score.n, (bb_index)height,
                                               (bb_index)score.most_rows, (bb_index)height),
            times);
        // Reconstructors of other targets stay on the device while one is scored.
        products.device_bytes +=
            span->resident ? sizeof(double) * (double)score.n * fmax(span->estimated - height, 0.0)
                           : 0.0;
    } else if (span->most_commands > 0.0) {
        score.shared = count * targets;
        score.shared_rows = span->most_commands;
        products = bb_need_in_turn(products, bb_need_resident(bb_residual_covariance_need(
                                                 &score, span->threads * span->processes)));
    }
    const bb_need residuals = {.host_bytes = sizeof(double) * score.squared_rows};
    const bb_need filling =
        bb_need_together(bb_need_repeated(bb_need_shared(span->cmm, span->processes), passes),
                         bb_need_repeated(span->ctm, 2.0 * count));
    bb_need rating = span->rating;
    if (device) {
        rating.seconds -= span->projecting_s + span->pairing_s;
        rating = bb_need_together(rating, span->pairs);
    }
    const bb_need scoring = bb_need_in_turn(device ? products : bb_need_together(products, filling),
                                            bb_need_repeated(rating, count));
    return bb_need_together(residuals, scoring);
}

// Need of the noise residual, one target at a time.
static bb_need noise_need(const bb_ao_extent *span)
{
    const bb_residual_extent one = span->residual;
    const double n = (double)one.n;
    const double entries = 2.0 * n;
    const bb_need kept = {.host_bytes = sizeof(double) * one.most_rows * one.most_rows};
    const bb_need projected =
        bb_need_in_turn(bb_residual_noise_need(n, one.most_rows, span->threads), span->rating);
    return bb_need_in_turn(
        bb_csr_assemble_need(n, entries),
        bb_need_together(
            bb_csr_resident(n, entries),
            bb_need_together(kept, bb_need_repeated(projected, one.rows / one.most_rows))));
}

bb_need bb_ao_plan_score_need(const bb_ao_study *study, const bb_ao_extent *span, double count)
{
    return score_need(span, scores_on_device(study), count, 1.0);
}

// Need of the trials of a storage search, without the rounding itself, which is planned with all
// storages: copies of the solution, and scores.
static bb_need search_need(const bb_ao_extent *span, bool device, double trials)
{
    const bb_need scoring =
        bb_need_together(score_need(span, device, 1.0, 1.0), projection_of(span));
    return bb_need_together(bb_need_together(estimates_of(span, 1.0), span->truths),
                            bb_need_repeated(scoring, trials));
}

static bb_status plan_line(const bb_factor_pipeline *pipeline, double operator_bytes, bb_plan *plan)
{
    const double draws = (double)pipeline->draws;
    char drawn[32] = "";
    if (pipeline->draws > 1) {
        (void)snprintf(drawn, sizeof drawn, " of %td draws", pipeline->draws);
    }
    return bb_factor_pipeline_finds_storage(pipeline)
               ? bb_plan_add(plan, pipeline->name,
                             "operator %.1f MB, storage by max_loss %g, up to %.0f trials%s",
                             1e-6 * operator_bytes, pipeline->max_loss,
                             bb_storage_search_trials(pipeline) / draws, drawn)
               : bb_plan_add(plan, pipeline->name, "operator %.1f MB", 1e-6 * operator_bytes);
}

// Adds a plan line for each pipeline, and its solves to `need`, on top of the estimates made so
// far. Draws follow after all pipelines are solved; each draw is scored.
static bb_status plan_solves(const bb_ao_study *study, const bb_ao_extent *span, bb_plan *plan,
                             bb_need *need)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bool device = scores_on_device(study);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const double trials = bb_factor_pipeline_trials(&pipelines[p]);
        const bb_index others = pipelines[p].draws > 1 ? study->pipelines.count : p + 1;
        const bool repeats = bb_factor_pipelines_repeat(&study->pipelines, p);
        const bb_index estimated = (span->one_by_one ? 1 : others) + (repeats ? 1 : 0);
        double operator_bytes;
        bb_need solving;
        BB_TRY(bb_factor_pipeline_need(&study->solver.common, &pipelines[p], study->common.device,
                                       &span->solved, plan, &solving, &operator_bytes));
        solving = repeats ? bb_need_resident(solving) : solving;
        const bb_need rescoring = score_need(span, device, 1.0, 1.0);
        solving = bb_need_in_turn(solving, bb_need_repeated(rescoring, trials - 1.0));
        solving = bb_need_together(solving, bb_need_repeated(projection_of(span), trials));
        if (bb_factor_pipeline_finds_storage(&pipelines[p])) {
            const double limit = bb_storage_search_trials(&pipelines[p]);
            solving = bb_need_in_turn(solving, search_need(span, device, 0.5 * limit + 1.0));
        }
        *need = bb_need_in_turn(*need,
                                bb_need_together(estimates_of(span, (double)estimated), solving));
        BB_TRY(plan_line(&pipelines[p], operator_bytes, plan));
    }
done:
    return status;
}

// Need of the scores of all pipelines, and of the reference's noise.
static bb_need scores_need(const bb_ao_study *study, const bb_ao_extent *span, double count)
{
    const bool device = scores_on_device(study);
    const bb_need residuals = span->one_by_one
                                  ? bb_need_repeated(score_need(span, device, 1.0, 1.0), count)
                                  : score_need(span, device, count, 1.0);
    return bb_need_in_turn(residuals, noise_need(span));
}

// Memory for the whole run: the mask, evaluations, noise, scale, groups, unknown modes with and
// without means, and the buffer of one residual.
static bb_need kept_need(const bb_ao_study *study, const bb_ao_extent *span)
{
    const bb_need modes = bb_unknown_modes_need(span->n, span->solved.modes);
    const double mask = (double)span->mask_edge * (double)span->mask_edge;
    const double residual =
        scores_on_device(study) ? span->residual.most_rows * span->residual.most_rows : 0.0;
    return (bb_need){.host_bytes = output_bytes(study) + 2.0 * modes.host_bytes +
                                   sizeof(double) * (mask + 4.0 * (double)span->n + residual)};
}

// Need of stored reconstructors, and of frames timed while the factors of the rounding are in
// memory.
static bb_need storing_need(const bb_ao_study *study, const bb_ao_extent *span)
{
    const double rows = fmax(span->stored_rows, span->actuators);
    const bb_need timing = bb_ao_realtime_times_need(study, span);
    return bb_need_together(timing, bb_factor_storage_need(&study->pipelines, &study->solver.common,
                                                           study->common.device, &span->solved,
                                                           (bb_index)rows));
}

bb_status bb_ao_plan_reference_need(const bb_ao_study *study, const bb_ao_extent *span,
                                    bb_need *out)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    double operator_bytes;
    return bb_factor_pipeline_need(&study->solver.common,
                                   &pipelines[bb_factor_pipelines_reference(&study->pipelines)],
                                   study->common.device, &span->solved, NULL, out, &operator_bytes);
}

// Sums all steps of a study. Learning adds a second problem and an estimate of it.
static bb_status sum(const bb_ao_study *study, const bb_ao_extent *span, bb_plan *plan,
                     bb_need *out)
{
    bb_status status = BB_OK;
    const double count = (double)study->pipelines.count;
    const bool again = span->learn.solves_again;
    const bool device = scores_on_device(study);
    const bb_need sides = sides_of(span, again ? 2.0 : 1.0);
    const bb_need problems = bb_need_together(bb_need_copies(span->held, again ? 2.0 : 1.0), sides);
    const double held = span->one_by_one ? 1.0 : count;
    const bb_need estimates = estimates_of(span, held + (again ? 1.0 : 0.0));
    const bb_need scoring = scores_need(study, span, count);
    bb_need need = {.seconds = 0.2}; // solves
    bb_need parts;
    BB_TRY(plan_solves(study, span, plan, &need));
    if (again) {
        bb_need solving;
        BB_TRY(bb_ao_plan_reference_need(study, span, &solving));
        solving = bb_need_in_turn(solving, score_need(span, device, 1.0, 1.0));
        need = bb_need_in_turn(need, bb_need_together(estimates, solving));
    }
    need = bb_need_in_turn(need, bb_need_together(estimates, storing_need(study, span)));
    need =
        bb_need_in_turn(need, bb_need_together(estimates, bb_need_together(scoring, span->truths)));
    BB_TRY(bb_parts_need(bb_ao_parts, study, span, estimates, &parts));
    need = bb_need_in_turn(need, parts);
    need = bb_need_together(problems, need);
    need = bb_need_in_turn(
        bb_need_together(bb_need_together(span->held, sides_of(span, 1.0)), span->learn.need),
        need);
    need = bb_need_in_turn(bb_need_together(problems, span->gathering), need);
    need = bb_need_in_turn(span->making, need);
    if (again) {
        const bb_need both = bb_need_together(span->held, sides_of(span, 1.0));
        need = bb_need_in_turn(bb_need_together(both, span->making), need);
    }
    need = bb_need_in_turn(span->reading, bb_need_together(span->read, need));
    *out = bb_need_together(kept_need(study, span), need);
done:
    return status;
}

static double dump_bytes(const char *names, const bb_ao_extent *span, bb_index pipelines)
{
    double values = 0.0;
    values += bb_dump_wanted(names, "Cmm") ? (double)span->n * (double)span->n : 0.0;
    values += bb_dump_wanted(names, "Ctm") ? (double)span->n * span->m : 0.0;
    values += bb_dump_wanted(names, "Ctt") ? span->residual.squared_rows : 0.0;
    values += bb_dump_wanted(names, "R") ? (double)pipelines * (double)span->n *
                                               (span->actuators > 0.0 ? span->actuators : span->m)
                                         : 0.0;
    return 8.0 * values;
}

// True if no reconstructor of a study is copied to the host.
static bool stays_on_device(const bb_ao_study *study, const char *dump)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bool stays = bb_ao_storage_only_scores(study, dump);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        stays =
            stays && bb_ao_storage_is_unmodified(&pipelines[p]) &&
            !bb_factor_pipelines_repeat(&study->pipelines, p) &&
            bb_factor_device_supports(&study->solver.common, &pipelines[p], study->common.device);
    }
    return stays;
}

bb_status bb_ao_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_ao_study resolved;
    const bb_ao_study *ao = &resolved;
    bb_need need;
    bb_ao_extent span;
    BB_TRY(bb_ao_extent_resolve(study, &resolved));
    BB_TRY(bb_ao_extent_measure(ao, (double)options->threads, &span));
    const bool is_spread = bb_factor_engine_is_spread(&ao->solver.common);
    const bb_process_grid grid = bb_factor_engine_grid(&ao->solver.common);
    span.processes = is_spread ? (double)bb_process_grid_size(grid) : 1.0;
    span.one_by_one =
        (scores_on_device(ao) || is_spread) && !bb_ao_evaluation_is_reused(ao, options->dump);
    span.resident = stays_on_device(ao, options->dump);
    BB_TRY(sum(ao, &span, plan, &need));
    bb_plan_set(plan, need);
    plan->gpus = ao->solver.common.gpus;
    plan->output_bytes = output_bytes(ao) + span.night.output_bytes +
                         dump_bytes(options->dump, &span, ao->pipelines.count);
    BB_TRY(bb_plan_add(plan, "measurements", "%td, truth sensors %.0f", span.n, span.m));
    BB_TRY(bb_factor_device_print_tile(&((const bb_ao_study *)study)->solver.common,
                                       &ao->solver.common, plan));
    BB_TRY(bb_factor_device_print_single(&ao->pipelines, ao->solver.common.tile, span.n, plan));
    BB_TRY(bb_plan_add(plan, "layers", "%.0f", span.layers));
    if (span.actuators > 0.0) {
        BB_TRY(bb_plan_add(plan, "mirrors", "%td with %.0f actuators", ao->mirrors.count,
                           span.actuators));
    }
    BB_TRY(bb_ao_seeing_print(&span.seeing, ao->telescope.zenith_angle_deg, plan));
    BB_TRY(bb_plan_add(plan, "score", "%s%s", bb_score_names[ao->score],
                       ao->error_terms.fitting ? ", with fitting" : ", without fitting"));
    if (span.mask_edge > 0) {
        BB_TRY(
            bb_plan_add(plan, "pupil", "mask of %td x %td pixels", span.mask_edge, span.mask_edge));
    }
    BB_TRY(bb_parts_plan_lines(bb_ao_parts, ao, &span, plan));
    BB_TRY(bb_ao_realtime_plan(study, &span, need, plan)); // frames are sized separately
done:
    return status;
}
