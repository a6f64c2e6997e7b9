// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_plan.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/ao_study.h"
#include "sim/ao/realtime/ao_realtime.h"
#include "sim/pipelines/factor_spectrum.h"
#include "sim/pipelines/factor_tiles.h"

static const bb_column columns[] = {
    {"strehl", "strehl", 1.0},
    {"strehl_loss", "strehl loss", 1.0},
    {"strehl_loss_shaken", "loss shaken", 1.0},
    {"residual_rms_nm", "residual [nm]", 1.0},
    {"qoi_relative_error", "relative error", 1.0},
    {"operator_bytes", "operator [MB]", 1e-6},
    {"compression_ratio", "ratio to fp32", 1.0},
    {"reconstructor_bits", "bits per value", 1.0},
    {"solved_bits", "bits of R", 1.0},
    {"frame_p50_us", "frame p50 [us]", 1.0},
    {"frame_p99_us", "frame p99 [us]", 1.0},
    {"solve_time_s", "solve [ms]", 1e3},
    {"encode_time_s", "encode [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},
    {"cost_usd", "cost [USD]", 1.0},
};

static bb_status run_spectrum(void *work, bb_results *results)
{
    return bb_factor_spectrum_publish(&((bb_ao_work *)work)->factor_problem, results);
}

static bb_status need_spectrum(const void *study, const void *extent, bb_need *out)
{
    *out = bb_factor_spectrum_need(&((const bb_ao_study *)study)->solver.common,
                                   ((const bb_ao_extent *)extent)->n);
    return BB_OK;
}

static const bb_part spectrum = {
    .name = "spectrum",
    .need = need_spectrum,
    .run = run_spectrum,
    .outputs = BB_OUTPUTS(&bb_factor_spectrum_formats, &bb_factor_spectrum_matrix,
                          &bb_factor_spectrum_places, &bb_factor_spectrum_tiles),
};

static bb_status run_tiles(void *all, bb_results *results)
{
    const bb_ao_work *work = all;
    const bb_list *pipelines = &work->study->pipelines;
    return bb_factor_tiles_publish(&work->factor_problem, pipelines->items, pipelines->count,
                                   results);
}

static const bb_part tiles = {
    .name = "tiles",
    .run = run_tiles,
    .outputs = BB_OUTPUTS(&bb_factor_tiles_outputs),
};

// Parts in order of execution. Scores come first, because they write the axes of /results;
// operators come last, because they take over the problem.
const bb_part *const bb_ao_parts[] = {
    &bb_ao_evaluation_part,
    &bb_ao_quantities_part,
    &bb_ao_images_part,
    &bb_ao_storage_part,
    &bb_ao_scoring_part,
    &bb_frame_times_part,
    &bb_ao_whole_part,
    &bb_ao_learning_part,
    &bb_ao_sampling_part,
    &bb_ao_timeline_part,
    &bb_night_part,
    &bb_ao_search_part,
    &spectrum,
    &tiles,
    &bb_ao_realtime_part,
    &bb_ao_dump_part,
    NULL,
};

static const bb_column scores[] = {{"strehl", "Strehl ratio", 1.0}};
static const char *const losses[] = {"strehl_loss"};

const bb_experiment bb_ao_experiment = {
    .name = "ao",
    .schema = &bb_ao_study_schema,
    .starter = bb_ao_study_starter,
    .check = bb_ao_study_check,
    .plan = bb_ao_plan,
    .run = bb_ao_run,
    .realtime = bb_ao_realtime_run,
    .realtime_help = "the frames of one pipeline's reconstructor, with the keys of `realtime:`",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .parts = bb_ao_parts,
    .losses = losses,
    .loss_count = sizeof losses / sizeof losses[0],
    .loss_name = "strehl loss",
    .tolerance = 1e-3,
    .scores = scores,
    .score_count = sizeof scores / sizeof scores[0],
    .checkpoint_help = "pipelines, a tenth of the time at most",
    .operators = "Cmm,Cmm_core,Ctm,Ctt,R,pupil",
};
