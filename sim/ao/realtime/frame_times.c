// SPDX-License-Identifier: Apache-2.0
//
// Frame times of each pipeline's stored matrices, as a part of a run (ao_realtime.h). A frame
// includes all targets with separate reconstructors.
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/realtime/ao_realtime.h"

// True if the pipeline's device has a product for its storage and sums.
static bool is_run(const bb_ao_evaluation *evaluation)
{
    const bb_factor_pipeline *level = &evaluation->level;
    const char *absent = bb_codec_absent(&level->storage, evaluation->common.device);
    if (level->accumulate > (int)BB_FORMAT_FP32) {
        absent = "the realtime loop sums in fp64 or fp32";
    }
    if (absent != NULL) {
        bb_log_info("pipeline %s has no frame times: %s", level->name, absent);
    }
    return absent == NULL;
}

static bb_status measure(bb_frame_loop *loop, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_index threads = bb_threads_count();
    bb_realtime_measurement measured = {0};
    bb_latency latency;
    BB_TRY(bb_frame_loop_run(loop, &measured));
    BB_TRY(bb_latency_summarise(measured.count, measured.records, BB_STEP_ALL,
                                1e-3 * loop->study->realtime.deadline_ms, &latency));
    evaluation->frame_times_s[0] = latency.p50;
    evaluation->frame_times_s[1] = latency.p99;
    evaluation->frame_times_s[2] = latency.max;
    if (measured.held > 0) {
        bb_log_warning(
            "pipeline %s: commands of %td of %td frames were held because a value was not finite",
            evaluation->level.name, measured.held, measured.count);
    }
    if (bb_threads_count() != threads) { // frames on a GPU stop the thread pool
        BB_TRY(bb_threads_set(threads));
    }
done:
    bb_realtime_measurement_release(&measured);
    return status;
}

// Stores the solution for scoring, and runs frames with the stored matrices.
static bb_status store_and_run(const bb_ao_study *study, bb_ao_storage *storage,
                               bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    bb_ao_study timed = *study;
    bb_frame_matrices matrices = {0};
    bb_device *device = NULL;
    bb_frame_loop *loop = NULL;
    timed.realtime = bb_frame_times_config_loop(&study->frame_times, &study->realtime);
    BB_TRY(bb_frame_matrices_store(storage, &evaluation->level, evaluation, &matrices));
    if (evaluation->common.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_device_open(evaluation->common.device, 0, &device));
        BB_TRY(bb_frame_loop_create(&timed, &evaluation->level, 1, &device, &matrices, &loop));
        BB_TRY(measure(loop, evaluation));
    }
done:
    bb_frame_loop_destroy(&loop);
    bb_device_close(&device);
    bb_frame_matrices_release(&matrices);
    return status;
}

bb_status bb_ao_realtime_store_timed(const bb_ao_study *study, bb_ao_storage *storage,
                                     bb_ao_evaluation *evaluation)
{
    const bool asked = study->frame_times.frames > 0 &&
                       bb_factor_storage_is_given(&evaluation->level) &&
                       evaluation->common.outcome.kind == BB_OUTCOME_OK;
    return asked && is_run(evaluation)
               ? store_and_run(study, storage, evaluation)
               : bb_ao_storage_round(storage, &evaluation->level, 0, evaluation);
}

// Latencies of a pipeline, in the order of frame_times_s.
typedef struct times_row {
    double p50, p99, max;
} times_row;

#define OF_FRAMES(field) BB_MEMBER(times_row, field), .scale = 1e6, .measured = true

static const bb_output outputs[] = {
    {"frame_p50_us", "pipeline", "us", "median latency of a frame with the stored matrices",
     .note = "from release to commands in host memory, on the pipeline's device; NaN "
             "without a stored matrix, or if the device does not multiply it",
     OF_FRAMES(p50)},
    {"frame_p99_us", "pipeline", "us", "99th percentile of that latency",
     .note = "nearest rank, a measured value", OF_FRAMES(p99)},
    {"frame_max_us", "pipeline", "us", "longest latency", OF_FRAMES(max)},
};

static const bb_output_table frame_times_outputs = {.title = "/results, ao",
                                                    .when = "With `frame_times.frames`:",
                                                    .group = "results",
                                                    .axes = "pipeline",
                                                    BB_OUTPUT_ROWS(outputs)};

static bool wanted(const void *study)
{
    return ((const bb_ao_study *)study)->frame_times.frames > 0;
}

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    const bb_ao_study *study = all;
    const bool each = study->correction == (int)BB_AO_CORRECTION_MOAO;
    return bb_frame_times_config_check(&study->frame_times, &study->pipelines,
                                       each ? study->targets.count : 1, config, problems);
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    const bb_ao_evaluation *evaluations = work->evaluations;
    times_row rows[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const double *times = evaluations[p].frame_times_s;
        rows[p] = (times_row){times[0], times[1], times[2]};
    }
    BB_TRY(bb_output_table_publish_records(&frame_times_outputs, rows, sizeof *rows,
                                           study->pipelines.count, NULL, results));
done:
    return status;
}

// Publishes the times of bb_ao_realtime_store_timed.
const bb_part bb_frame_times_part = {
    .name = "frame times",
    .wanted = wanted,
    .check = check,
    .run = run,
    .outputs = BB_OUTPUTS(&frame_times_outputs),
};
