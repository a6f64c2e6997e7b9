// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_run.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/energy.h"
#include "sim/fringe/fringe_dump.h"
#include "sim/fringe/fringe_maps.h"
#include "sim/fringe/fringe_promise.h"
#include "sim/fringe/fringe_work.h"
#include "sim/fringe/live/live_table.h"
#include "solvers/unwrap/unwrap_quality.h"

#include <math.h>

typedef struct fringe_run {
    bb_fringe_work work;
    bb_fringe_facts facts;
    bb_fringe_dump *dump;        // NULL for none; the results'
    bb_fringe_maps *maps;        // of draw 0
    bb_fringe_evaluation *plain; // [pipelines] of draw 0
    bb_promise_trials *trials;
} fringe_run;

const bb_output_table *const bb_fringe_outputs[] = {
    &bb_evaluation_outputs,  &bb_fringe_pipeline_outputs, &bb_fringe_fact_outputs,
    &bb_fringe_zernike_axes, &bb_fringe_zernike_outputs,  &bb_fringe_map_axes,
    &bb_fringe_map_outputs,  &bb_fringe_part_axes,        &bb_fringe_part_outputs,
    &bb_promise_outputs,     &bb_fringe_promise_outputs,  &bb_fringe_promise_prices,
    &bb_live_stream_outputs, &bb_live_pipeline_outputs,   &bb_live_latency_outputs,
    &bb_kernel_ledger_axes,  &bb_kernel_ledger_outputs,   NULL,
};

// Unwraps once more, for joules.
typedef struct repetition {
    bb_unwrap *unwrap;
    const double *wrapped;
    double *phase;
} repetition;

static bb_status unwrap_again(void *context)
{
    const repetition *work = context;
    bb_unwrap_report report;
    return bb_unwrap_run(work->unwrap, work->wrapped, work->phase, &report);
}

static bb_status measure_energy(bb_fringe_work *work, bb_unwrap *unwrapper,
                                bb_fringe_evaluation *evaluation)
{
    repetition again = {unwrapper, work->wrapped, work->phase};
    return bb_energy_measure(evaluation->common.device, unwrap_again, &again, &evaluation->common);
}

// What the reference saw, and how far its unwrapping can be trusted.
static bb_status show_sight(fringe_run *run, bb_unwrap *unwrapper)
{
    bb_status status = BB_OK;
    const bb_fringe_work *work = &run->work;
    const bb_frames *frames = work->frames;
    bb_unwrap_doubt doubt = {0};
    double *quality = NULL; // [rows][columns]
    BB_TRY(BB_ALLOCATE(work->points, &quality));
    BB_TRY(bb_unwrap_quality_map(unwrapper, quality));
    const bb_fringe_sight sight = {.interferogram = frames == NULL ? NULL : frames->intensity,
                                   .wrapped = work->wrapped,
                                   .truth = bb_fringe_work_truth(work),
                                   .quality = quality,
                                   .parts = bb_unwrap_parts_of(unwrapper)};
    BB_TRY(bb_fringe_maps_see(run->maps, &sight));
    BB_TRY(bb_fringe_dump_sight(run->dump, &sight));
    BB_TRY(bb_unwrap_quality_doubt(unwrapper, &doubt));
    run->facts = (bb_fringe_facts){
        (double)sight.parts->point_count, (double)sight.parts->count, doubt.steep_share,
        doubt.hanging_share,
        frames == NULL || work->input.columns == 0 ? (double)NAN : work->input.full_scale};
    bb_fringe_score_warn(&run->facts);
done:
    BB_RELEASE(&quality);
    return status;
}

// The maps of a pipeline, thinned, and whole where they are asked for.
static bb_status show(fringe_run *run, bb_index pipeline, bb_unwrap *unwrapper)
{
    bb_status status = BB_OK;
    const bb_fringe_work *work = &run->work;
    const bool of_reference = pipeline == work->reference;
    const bb_unwrap_parts *parts = bb_unwrap_parts_of(unwrapper);
    if (of_reference) {
        BB_TRY(show_sight(run, unwrapper));
    }
    const double *truth = bb_fringe_work_truth(work);
    BB_TRY(bb_fringe_maps_take(run->maps, pipeline, of_reference, parts, work->phase,
                               truth == NULL ? bb_fringe_work_reference(work) : truth));
    BB_TRY(bb_fringe_dump_phase(run->dump, work->pipelines[pipeline].name, pipeline, parts->columns,
                                parts->rows, work->phase));
done:
    return status;
}

// Draw 0 is the pipeline's numbers, and what is shown.
static bb_status run_plain(fringe_run *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    bb_fringe_evaluation *plain = &run->plain[pipeline];
    bb_unwrap *unwrapper = NULL;
    BB_TRY(bb_fringe_work_run(&run->work, pipeline, plain, &unwrapper));
    if (unwrapper != NULL) { // else its frames have no phase
        BB_TRY(measure_energy(&run->work, unwrapper, plain));
        BB_TRY(show(run, pipeline, unwrapper));
    }
done:
    bb_unwrap_destroy(&unwrapper);
    return status;
}

// A draw of a pipeline: other noise of scene, frames and vibration. The reference is computed for
// every draw that a pipeline has.
static bb_status run_draw(fringe_run *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    bb_fringe_work *work = &run->work;
    bb_fringe_evaluation *plain = &run->plain[pipeline];
    bb_fringe_evaluation drawn = {.zernike_nm = NULL};
    bb_fringe_evaluation *evaluation = work->draw == 0 ? plain : &drawn;
    const bool counts = work->draw < work->pipelines[pipeline].draws;
    if (!counts && pipeline != work->reference) {
        goto done;
    }
    if (work->draw == 0) {
        BB_TRY(run_plain(run, pipeline));
    } else {
        BB_TRY(bb_fringe_work_try(work, pipeline, &work->pipelines[pipeline], work->draw, &drawn));
    }
    if (counts) {
        bb_draws_add(&plain->common.draws, &evaluation->common.outcome,
                     evaluation->wrong_cycles_reference);
    }
done:
    bb_fringe_evaluation_release(&drawn);
    return status;
}

static bb_index count_draws(const bb_fringe_study *study)
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_index count = 1;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_index draws = bb_fringe_study_draws(study, &pipelines[p]);
        count = draws > count ? draws : count;
    }
    return count;
}

// The reference and what promises nothing, draw by draw.
static bb_status run_pipelines(fringe_run *run)
{
    bb_status status = BB_OK;
    bb_fringe_work *work = &run->work;
    const bb_index count = work->pipeline_count;
    const bb_index draws = count_draws(&work->study);
    for (bb_index draw = 0; draw < draws; ++draw) {
        BB_TRY(bb_fringe_work_look(work, draw));
        for (bb_index i = 0; i < count; ++i) { // the reference first
            const bb_index p = i == 0 ? work->reference : i - (i <= work->reference);
            bb_log_progress_step("unwrapping", work->pipelines[p].name, draw * count + i,
                                 draws * count);
            if (!bb_fringe_pipeline_promises(&work->pipelines[p])) {
                BB_TRY(run_draw(run, p));
            }
        }
    }
    bb_log_progress("unwrapping", draws * count, draws * count);
done:
    return status;
}

// What a search found is computed as any pipeline; a promise that was not kept leaves no numbers.
static bb_status run_promise(fringe_run *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    bb_fringe_work *work = &run->work;
    bb_evaluation *common = &run->plain[pipeline].common;
    const bb_index draws = bb_fringe_study_draws(&work->study, &work->pipelines[pipeline]);
    bb_index drawn = 0; // of the search's last trial
    bb_outcome outcome = {0};
    BB_TRY(bb_fringe_promise_keep(work, pipeline, run->trials, &drawn, &outcome));
    const bool is_kept = outcome.kind == BB_OUTCOME_OK;
    for (bb_index draw = 0; draw < (is_kept ? draws : drawn); ++draw) {
        if (is_kept) {
            BB_TRY(bb_fringe_work_look(work, draw));
            BB_TRY(run_draw(run, pipeline));
        } else {
            bb_draws_add(&common->draws, &outcome, NAN);
        }
    }
    if (!is_kept || common->outcome.kind == BB_OUTCOME_OK) {
        common->outcome = outcome;
    }
done:
    return status;
}

static bb_status run_promises(fringe_run *run)
{
    bb_status status = BB_OK;
    for (bb_index p = 0; p < run->work.pipeline_count; ++p) {
        if (bb_fringe_pipeline_promises(&run->work.pipelines[p])) {
            BB_TRY(run_promise(run, p));
        }
    }
done:
    return status;
}

static bb_status start(fringe_run *run)
{
    bb_status status = BB_OK;
    const bb_fringe_work *work = &run->work;
    const bb_fringe_size_config *size = &work->study.physics.size;
    BB_TRY(BB_ZEROED(work->pipeline_count, &run->plain));
    for (bb_index p = 0; p < work->pipeline_count; ++p) {
        BB_TRY(bb_fringe_evaluation_start(&work->study, work->pipelines[p].name, &run->plain[p]));
        run->plain[p].common.device = work->places[p];
    }
    BB_TRY(bb_fringe_maps_create(&work->study, size->columns, size->rows, &run->maps));
    BB_TRY(bb_promise_trials_create(bb_fringe_promises_most(&work->study), &run->trials));
done:
    return status;
}

static void finish(fringe_run *run)
{
    for (bb_index p = 0; run->plain != NULL && p < run->work.pipeline_count; ++p) {
        bb_fringe_evaluation_release(&run->plain[p]);
    }
    BB_RELEASE(&run->plain);
    bb_fringe_maps_destroy(&run->maps);
    bb_promise_trials_destroy(&run->trials);
    bb_fringe_work_close(&run->work);
}

bb_status bb_fringe_run(const void *study, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    fringe_run run = {.dump = NULL};
    bb_fringe_work *work = &run.work;
    BB_TRY(bb_fringe_dump_create(results, options->dump, &run.dump));
    BB_TRY(bb_fringe_work_open(study, options->kernels, bb_fringe_promises_draws(study), work));
    BB_TRY(start(&run));
    BB_TRY(run_pipelines(&run));
    BB_TRY(run_promises(&run));
    BB_TRY(bb_fringe_score_publish(&work->study, &run.facts, run.plain, work->pipeline_count,
                                   results));
    BB_TRY(bb_fringe_maps_publish(run.maps, results));
    BB_TRY(bb_fringe_promises_publish(run.trials, &work->study, results));
    BB_TRY(bb_kernel_variants_publish(work->variants, results));
done:
    finish(&run);
    return status;
}
