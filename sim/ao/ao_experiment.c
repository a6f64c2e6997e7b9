// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_experiment.h"

#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_plan.h"
#include "sim/ao/ao_promise.h"
#include "sim/ao/ao_quantities.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/ao_sampling.h"
#include "sim/ao/ao_scoring.h"
#include "sim/ao/ao_study.h"
#include "sim/ao/learn/ao_learn_publish.h"
#include "sim/ao/night/night_publish.h"
#include "sim/ao/realtime/ao_realtime.h"
#include "sim/ao/realtime/frame_times.h"
#include "sim/ao/timeline/ao_timeline.h"
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
    {"reconstructor_bits", "bits a value", 1.0},
    {"solved_bits", "bits of R", 1.0},
    {"frame_p50_us", "frame p50 [us]", 1.0},
    {"frame_p99_us", "frame p99 [us]", 1.0},
    {"solve_time_s", "solve [ms]", 1e3},
    {"encode_time_s", "encode [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},
    {"cost_usd", "cost [USD]", 1.0},
};
// clang-format off
static const bb_output_table *const outputs[] = {
    &bb_evaluation_outputs,
    &bb_ao_evaluation_headlines,
    &bb_ao_evaluation_axes,
    &bb_ao_evaluation_details,
    &bb_ao_quantities_mirrors,
    &bb_ao_quantities_budget,
    &bb_ao_storage_outputs,
    &bb_ao_scoring_outputs,
    &bb_ao_whole_outputs,
    &bb_frame_times_outputs,
    &bb_ao_mcao_outputs,
    &bb_ao_mcao_mirrors,
    &bb_ao_evaluation_images,
    &bb_ao_evaluation_boxes,
    &bb_ao_evaluation_ensquared,
    &bb_ao_evaluation_by_frames,
    &bb_ao_evaluation_with_terms,
    &bb_ao_sampling_strehl,
    &bb_ao_sampling_frames,
    &bb_ao_timeline_strehl,
    &bb_ao_timeline_residual,
    &bb_ao_timeline_wind,
    &bb_factor_report_axes,
    &bb_factor_report_outputs,
    &bb_promise_outputs,
    &bb_factor_promise_outputs,
    &bb_promise_storages,
    &bb_ao_promise_outputs,
    &bb_ao_quantities_seeing,
    &bb_ao_quantities_pupil,
    &bb_ao_quantities_sensors,
    &bb_ao_quantities_slopes,
    &bb_ao_quantities_truth_slopes,
    &bb_ao_commands_actuators,
    &bb_ao_learn_outputs,
    &bb_ao_learn_strehl,
    &bb_night_publish_profiles,
    &bb_night_publish_given,
    &bb_night_publish_given_ages,
    &bb_night_publish_measured,
    &bb_night_publish_measured_ages,
    &bb_factor_spectrum_formats,
    &bb_factor_spectrum_matrix,
    &bb_factor_spectrum_places,
    &bb_factor_spectrum_tiles,
    &bb_factor_tiles_outputs,
    &bb_frame_table_axes,
    &bb_realtime_report_kinds,
    &bb_frame_table_times,
    &bb_frame_table_figures,
    &bb_realtime_report_latencies,
    &bb_frame_table_worst,
    NULL,
};
// clang-format on
static const bb_column scores[] = {{"strehl", "Strehl ratio", 1.0}};
static const char *const prices[] = {"strehl_loss"};

const bb_experiment bb_ao_experiment = {
    .name = "ao",
    .schema = &bb_ao_study_schema,
    .starter = bb_ao_study_starter,
    .check = bb_ao_study_check,
    .plan = bb_ao_plan,
    .run = bb_ao_run,
    .realtime = bb_ao_realtime_run,
    .realtime_help = "the frames of one pipeline's reconstructor, by the keys of `realtime:`",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .outputs = outputs,
    .prices = prices,
    .price_count = sizeof prices / sizeof prices[0],
    .price_name = "strehl loss",
    .tolerance = 1e-3,
    .scores = scores,
    .score_count = sizeof scores / sizeof scores[0],
    .checkpoint_help = "pipelines, a tenth of the time at most",
    .operators = "Cmm,Cmm_core,Ctm,Ctt,R,pupil",
};
