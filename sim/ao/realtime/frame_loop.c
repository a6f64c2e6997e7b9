// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/frame_loop.h"

#include "core/memory.h"
#include "core/random.h"
#include "sim/ao/realtime/telemetry_file.h"
#include "sim/pipelines/storage/slope_rounding.h"

#include <math.h>
#include <string.h>

static const double reference_share = 0.1; // of the deviation of a slope

// Reference and sets of slopes by Philox: whatever the threads, the same.
static bb_status draw_slopes(bb_frame_loop *loop)
{
    bb_status status = BB_OK;
    const bb_frame_matrices *matrices = &loop->matrices;
    const bb_index n = matrices->slopes;
    const uint64_t seed = (uint64_t)loop->study->common.seed;
    BB_TRY(BB_ALLOCATE(n, &loop->reference));
    BB_TRY(BB_ALLOCATE(BB_FRAME_SETS * n, &loop->slopes));
    loop->sets = BB_FRAME_SETS;
    for (bb_index j = 0; j < n; ++j) {
        loop->reference[j] = (float)(reference_share * matrices->own[j] *
                                     bb_random_normal(seed, BB_STREAM_LOOP_REFERENCE, (uint64_t)j));
    }
    for (bb_index set = 0; set < BB_FRAME_SETS; ++set) {
        bb_index group = 0;
        for (bb_index j = 0; j < n; ++j) {
            while (group < matrices->group_count && matrices->group_begin[group + 1] <= j) {
                ++group;
            }
            const double own =
                bb_random_normal(seed, BB_STREAM_LOOP_SLOPES, (uint64_t)(set * n + j));
            const double common =
                matrices->group_count == 0
                    ? 0.0
                    : bb_random_normal(seed, BB_STREAM_LOOP_SLOPES,
                                       UINT64_MAX -
                                           (uint64_t)(set * matrices->group_count + group));
            loop->slopes[set * n + j] =
                loop->reference[j] + (float)(matrices->own[j] * own + matrices->common[j] * common);
        }
    }
done:
    return status;
}

static bb_status replay_slopes(bb_frame_loop *loop)
{
    bb_status status = BB_OK;
    const bb_index n = loop->matrices.slopes;
    bb_telemetry_file telemetry = {0};
    BB_TRY(bb_telemetry_file_load(&loop->study->realtime.telemetry, n, &telemetry));
    BB_TRY(BB_ZEROED(n, &loop->reference));
    loop->sets = telemetry.frames;
    loop->slopes = telemetry.values;
    telemetry.values = NULL;
done:
    bb_telemetry_file_release(&telemetry);
    return status;
}

static bb_command_rounding rounding_of(const bb_frame_loop *loop)
{
    const bb_slope_config *slopes = &loop->pipeline->slopes;
    const double step = bb_slope_rounding_step(slopes, loop->matrices.slopes, loop->matrices.own);
    return (bb_command_rounding){.format = slopes->format < 0 ? BB_FORMAT_FP32
                                                              : (bb_format)slopes->format,
                                 .step = step,
                                 .steps = step > 0.0 ? exp2((double)slopes->bits - 1.0) : 0.0};
}

typedef bb_coded_operator *operator_row[BB_COMMAND_MATRICES];

// Rows of matrix `t` that a device has.
static bb_command_share share_of(const bb_frame_loop *loop, int t, int devices, int which)
{
    return bb_command_share_of(bb_coded_matrix_rows(loop->matrices.stored[t].matrix), devices,
                               which);
}

// Frames by given operators, a row of them a device.
static bb_status open_frames(const bb_frame_loop *loop, int device_count, bb_device *const *devices,
                             operator_row *operators, bb_command_team **out)
{
    const float *means[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES] = {{NULL}};
    const float *scales[BB_COMMAND_MATRICES] = {NULL};
    bb_command_system systems[BB_COMMAND_DEVICES];
    const bb_frame_matrices *matrices = &loop->matrices;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    for (int d = 0; d < device_count; ++d) {
        for (int t = 0; t < matrices->count; ++t) {
            const bb_index first = share_of(loop, t, device_count, d).first;
            const float *rows = matrices->stored[t].means; // of all devices
            means[d][t] = rows == NULL ? NULL : rows + first * matrices->group_count;
            scales[t] = matrices->stored[t].scales;
        }
        systems[d] = (bb_command_system){.matrix_count = matrices->count,
                                         .operators = operators[d],
                                         .reference = loop->reference,
                                         .group_count = matrices->group_count,
                                         .group_begin = matrices->group_begin,
                                         .means = means[d],
                                         .scales = scales[0] == NULL ? NULL : scales,
                                         .rounding = rounding_of(loop),
                                         .gain = bb_ao_realtime_config_gain(config),
                                         .delay = config->delay_frames};
    }
    return bb_command_team_create(device_count, devices, systems, out);
}

// On a GPU sums in fp32 are those of runs, which fp64 takes: narrow storages are fastest so.
static bb_status open_operator(bb_frame_loop *loop, int which, int t)
{
    enum { RUN = BB_GEMV_RUN_STEP };
    bb_status status = BB_OK;
    bb_device *device = loop->devices[which];
    const bb_coded_matrix *matrix = loop->matrices.stored[t].matrix;
    const bb_command_share share = share_of(loop, t, loop->device_count, which);
    const bb_format sums = (bb_format)loop->study->realtime.accumulate;
    const bool in_runs = sums == BB_FORMAT_FP32 && bb_device_kind_of(device) != BB_DEVICE_CPU;
    const bb_gemv_arithmetic arithmetic = {BB_FORMAT_FP32, in_runs ? BB_FORMAT_FP64 : sums};
    bb_coded_operator **out = &loop->operators[which][t];
    BB_REQUIRE(share.count > 0, BB_INVALID,
               "realtime.gpus = %d: matrix %d of a frame has %td rows, expected one for each",
               loop->device_count, t, bb_coded_matrix_rows(matrix));
    BB_TRY(
        bb_coded_operator_create_rows(device, matrix, share.first, share.count, arithmetic, out));
    BB_TRY(bb_coded_operator_sum_in_runs(*out, in_runs ? RUN : 1));
    loop->operator_bytes += (double)bb_coded_operator_bytes(*out);
done:
    return status;
}

bb_status bb_frame_loop_create(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                               int device_count, bb_device *const *devices, bb_frame_loop **out)
{
    bb_status status = BB_OK;
    bb_frame_matrices matrices = {0};
    *out = NULL;
    BB_TRY(bb_frame_matrices_make(study, pipeline, &matrices));
    BB_TRY(bb_frame_loop_create_made(study, pipeline, device_count, devices, &matrices, out));
done:
    bb_frame_matrices_release(&matrices);
    return status;
}

bb_status bb_frame_loop_create_made(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                    int device_count, bb_device *const *devices,
                                    bb_frame_matrices *matrices, bb_frame_loop **out)
{
    bb_status status = BB_OK;
    bb_frame_loop *loop = NULL;
    *out = NULL;
    BB_REQUIRE(device_count >= 1 && device_count <= (int)BB_COMMAND_DEVICES, BB_INVALID,
               "%d devices of a frame, expected 1 to %d", device_count, (int)BB_COMMAND_DEVICES);
    BB_TRY(BB_ZEROED(1, &loop));
    loop->study = study;
    loop->pipeline = pipeline;
    loop->device_count = device_count;
    memcpy(loop->devices, devices, (size_t)device_count * sizeof *devices);
    loop->matrices = *matrices;
    *matrices = (bb_frame_matrices){0};
    BB_TRY(study->realtime.telemetry.file == NULL ? draw_slopes(loop) : replay_slopes(loop));
    for (int d = 0; d < device_count; ++d) {
        for (int t = 0; t < loop->matrices.count; ++t) {
            BB_TRY(open_operator(loop, d, t));
        }
    }
    BB_TRY(open_frames(loop, device_count, devices, loop->operators, &loop->frames));
    *out = loop;
    loop = NULL;
done:
    bb_frame_loop_destroy(&loop);
    return status;
}

void bb_frame_loop_destroy(bb_frame_loop **loop)
{
    bb_frame_loop *frames = *loop;
    if (frames != NULL) {
        bb_command_team_destroy(&frames->frames);
        for (int k = 0; k < BB_COMMAND_DEVICES * BB_COMMAND_MATRICES; ++k) {
            bb_coded_operator_destroy(
                &frames->operators[k / BB_COMMAND_MATRICES][k % BB_COMMAND_MATRICES]);
        }
        bb_frame_matrices_release(&frames->matrices);
        BB_RELEASE(&frames->reference);
        BB_RELEASE(&frames->slopes);
        BB_RELEASE(loop);
    }
}

void bb_frame_loop_put(bb_frame_loop *loop, bb_index number)
{
    const bb_index n = loop->matrices.slopes;
    bb_command_team_put(loop->frames, loop->slopes + number % loop->sets * n);
}

// Slopes of the first set that is finite; of none the first.
static const float *find_finite(const bb_frame_loop *loop)
{
    const bb_index n = loop->matrices.slopes;
    for (bb_index set = 0; set < loop->sets; ++set) {
        const float *slopes = loop->slopes + set * n;
        bb_index j = 0;
        while (j < n && isfinite(slopes[j])) {
            ++j;
        }
        if (j == n) {
            return slopes;
        }
    }
    return loop->slopes;
}

static bb_status run_delayed(bb_command_team *frames, const float *slopes, bb_index delay,
                             float *commands)
{
    bb_status status = BB_OK;
    bb_command_frame frame;
    BB_TRY(bb_command_team_reset(frames));
    for (bb_index k = 0; k <= delay; ++k) {
        bb_command_team_put(frames, slopes);
        BB_TRY(bb_command_team_step(frames, 0, &frame));
    }
    bb_command_team_commands(frames, commands);
done:
    return status;
}

bb_status bb_frame_loop_compare(bb_frame_loop *loop, double *distance)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic wide = {BB_FORMAT_FP64, BB_FORMAT_FP64};
    const bb_index delay = loop->study->realtime.delay_frames;
    bb_device *cpu = NULL;
    bb_command_team *exact = NULL;
    operator_row operators = {NULL};
    float *expected = NULL;
    float *commands = NULL;
    double error = 0.0;
    double norm = 0.0;
    BB_TRY(bb_device_open(BB_DEVICE_CPU, 0, &cpu));
    for (int t = 0; t < loop->matrices.count; ++t) {
        BB_TRY(bb_coded_operator_create(cpu, loop->matrices.stored[t].matrix, wide, &operators[t]));
    }
    BB_TRY(open_frames(loop, 1, &cpu, &operators, &exact));
    const float *slopes = find_finite(loop);
    BB_TRY(BB_ALLOCATE(loop->matrices.commands, &expected));
    BB_TRY(BB_ALLOCATE(loop->matrices.commands, &commands));
    BB_TRY(run_delayed(exact, slopes, delay, expected));
    BB_TRY(run_delayed(loop->frames, slopes, delay, commands));
    for (bb_index i = 0; i < loop->matrices.commands; ++i) {
        error = hypot(error, (double)commands[i] - (double)expected[i]);
        norm = hypot(norm, (double)expected[i]);
    }
    *distance = error / norm;
    BB_TRY(bb_command_team_reset(loop->frames));
done:
    BB_RELEASE(&expected);
    BB_RELEASE(&commands);
    bb_command_team_destroy(&exact);
    for (int t = 0; t < BB_COMMAND_MATRICES; ++t) {
        bb_coded_operator_destroy(&operators[t]);
    }
    bb_device_close(&cpu);
    return status;
}
