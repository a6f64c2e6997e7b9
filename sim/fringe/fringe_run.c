// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/memory.h"
#include "sim/fringe/fringe_experiment.h"
#include "sim/fringe/fringe_work.h"
#include "sim/pipelines/energy.h"
#include "solvers/unwrap/unwrap_quality.h"

#include <math.h>

// Thresholds of the shares in bb_unwrap_doubt above which a run warns.
static const double STEEP_SHARE = 0.01, HANGING_SHARE = 0.01;

// Warns about doubts in the reference's phase that neither residues nor edge rejection resolve, one
// sentence each.
static void warn(const bb_fringe_facts *facts)
{
    if (facts->steep_share > STEEP_SHARE) {
        bb_log_warning("%.2g %% of the neighbour differences are beyond 0.8 pi and were kept: "
                       "slopes so steep cannot be distinguished from aliased ones, which leave no "
                       "residue; use finer pixels or mask them",
                       100.0 * facts->steep_share);
    }
    if (facts->hanging_share > HANGING_SHARE) {
        bb_log_warning("%.2g %% of the points are connected to their region by rejected "
                       "differences only: their cycle is a guess; use finer pixels, or mask the "
                       "jump to make them a separate region",
                       100.0 * facts->hanging_share);
    }
}

// Repeats the unwrapping for an energy measurement.
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

// Stores maps of the reference's data and of the quality of its unwrapping.
static bb_status store_data_maps(bb_fringe_run *run, bb_unwrap *unwrapper)
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
    BB_TRY(bb_fringe_maps_set_data(run->maps, &sight));
    BB_TRY(bb_unwrap_quality_reliability(unwrapper, &doubt));
    run->facts = (bb_fringe_facts){
        (double)sight.parts->point_count, (double)sight.parts->count, doubt.steep_share,
        doubt.hanging_share,
        frames == NULL || work->input.columns == 0 ? (double)NAN : work->input.full_scale};
    warn(&run->facts);
done:
    BB_RELEASE(&quality);
    return status;
}

static bb_status store_maps(bb_fringe_run *run, bb_index pipeline, bb_unwrap *unwrapper)
{
    bb_status status = BB_OK;
    const bb_fringe_work *work = &run->work;
    const bool of_reference = pipeline == work->reference;
    const bb_unwrap_parts *parts = bb_unwrap_parts_of(unwrapper);
    if (of_reference) {
        BB_TRY(store_data_maps(run, unwrapper));
    }
    const double *truth = bb_fringe_work_truth(work);
    BB_TRY(bb_fringe_maps_add(run->maps, pipeline, of_reference, parts, work->phase,
                              truth == NULL ? bb_fringe_work_reference(work) : truth));
done:
    return status;
}

// Runs draw 0, which gives the pipeline's reported values and maps.
static bb_status run_plain(bb_fringe_run *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    bb_fringe_evaluation *plain = &run->plain[pipeline];
    bb_unwrap *unwrapper = NULL;
    BB_TRY(bb_fringe_work_run(&run->work, pipeline, plain, &unwrapper));
    if (unwrapper != NULL) { // NULL: the frames gave no phase
        BB_TRY(measure_energy(&run->work, unwrapper, plain));
        BB_TRY(store_maps(run, pipeline, unwrapper));
    }
done:
    bb_unwrap_destroy(&unwrapper);
    return status;
}

bb_status bb_fringe_run_draw(bb_fringe_run *run, bb_index pipeline)
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

// Runs the reference and the pipelines without max_loss, draw by draw.
static bb_status run_pipelines(bb_fringe_run *run)
{
    bb_status status = BB_OK;
    bb_fringe_work *work = &run->work;
    const bb_index count = work->pipeline_count;
    const bb_index draws = count_draws(&work->study);
    for (bb_index draw = 0; draw < draws; ++draw) {
        BB_TRY(bb_fringe_work_load(work, draw));
        for (bb_index i = 0; i < count; ++i) { // reference first
            const bb_index p = i == 0 ? work->reference : i - (i <= work->reference);
            bb_log_progress_step("unwrapping", work->pipelines[p].name, draw * count + i,
                                 draws * count);
            if (!bb_fringe_pipeline_searches(&work->pipelines[p])) {
                BB_TRY(bb_fringe_run_draw(run, p));
            }
        }
    }
    bb_log_progress("unwrapping", draws * count, draws * count);
done:
    return status;
}

static bb_status start(bb_fringe_run *run)
{
    bb_status status = BB_OK;
    const bb_fringe_work *work = &run->work;
    BB_TRY(BB_ZEROED(work->pipeline_count, &run->plain));
    for (bb_index p = 0; p < work->pipeline_count; ++p) {
        BB_TRY(bb_fringe_evaluation_start(&work->study, work->pipelines[p].name, &run->plain[p]));
        run->plain[p].common.device = work->places[p];
    }
done:
    return status;
}

static void finish(bb_fringe_run *run)
{
    for (bb_index p = 0; run->plain != NULL && p < run->work.pipeline_count; ++p) {
        bb_fringe_evaluation_release(&run->plain[p]);
    }
    BB_RELEASE(&run->plain);
    bb_fringe_maps_destroy(&run->maps);
    bb_search_trials_destroy(&run->trials);
    bb_fringe_work_close(&run->work);
}

bb_status bb_fringe_experiment_run(const void *study, const bb_run_options *options,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    bb_fringe_run run = {.dump = options->dump};
    bb_fringe_work *work = &run.work;
    BB_TRY(bb_fringe_work_open(study, options->kernels, 0, work));
    BB_TRY(start(&run));
    BB_TRY(bb_parts_start(bb_fringe_parts, &work->study, &run, results));
    BB_TRY(run_pipelines(&run));
    BB_TRY(bb_parts_run(bb_fringe_parts, &work->study, &run, results));
done:
    finish(&run);
    return status;
}
