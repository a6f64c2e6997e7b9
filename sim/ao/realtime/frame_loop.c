// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/frame_loop.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_extent.h"
#include "sim/ao/ao_input.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/realtime/telemetry_file.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/slope_rounding.h"

#include <math.h>
#include <string.h>

enum { DRAWN_GROUPS = 16 };

static const double drawn_common = 3.0; // relative to a deviation of 1 of each slope
static const double drawn_width =
    0.1; // half-width of the peak of a row, as a fraction of the pupil
static const double drawn_range = 10.0; // range for tolerances that are relative to a range

static const bb_device_offer offer = {.work = "the tile Cholesky of ao",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

// Problem, storage and solution of a study.
typedef struct solving {
    const bb_ao_study *study;
    const bb_factor_pipeline *pipeline;
    double *mask, *noise;
    bb_influence_cube *influences; // [mirrors], NULL: all Gaussian
    bb_tomography *problem;
    const bb_matrix_source **ctm; // [targets]
    bb_ao_mcao *mcao;
    bb_factor_problem factor_problem;
    bb_ao_storage storage;
    bb_ao_evaluation evaluation;
} solving;

static void release(solving *work)
{
    bb_ao_evaluation_release(&work->evaluation, work->study->targets.count);
    bb_ao_storage_release(&work->storage);
    bb_factor_problem_release(&work->factor_problem);
    bb_ao_mcao_destroy(&work->mcao);
    BB_RELEASE(&work->ctm);
    bb_tomography_destroy(&work->problem);
    bb_ao_input_influences_release(work->study, &work->influences);
    BB_RELEASE(&work->mask);
    BB_RELEASE(&work->noise);
}

static bb_status set_up_problem(solving *work)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = work->study;
    const bb_index targets = study->targets.count;
    const bool ltao = study->correction == (int)BB_AO_CORRECTION_LTAO;
    bb_ao_config physics = bb_ao_study_physics(study);
    BB_TRY(bb_ao_input_pupil(study, &physics, &work->mask));
    BB_TRY(bb_ao_input_influences(study, &physics, &work->influences));
    BB_TRY(bb_tomography_create(&physics, (bb_lgs_tilt)study->solver.lgs_tilt, &work->problem));
    BB_TRY(BB_ALLOCATE(targets, &work->ctm));
    for (bb_index t = 0; t < targets; ++t) {
        work->ctm[t] = work->problem->targets[t].ctm;
    }
    BB_TRY(
        bb_measurement_noise_bounds(&work->problem->guides, &work->problem->noise, &work->noise));
    const bb_tilt_vectors *tilts = &work->problem->tilts;
    work->factor_problem =
        (bb_factor_problem){.solver = &study->solver.common,
                            .matrix = work->problem->cmm_core,
                            .part = {tilts->columns, tilts->vectors, tilts->variance},
                            .target_count = ltao ? 1 : targets,
                            .sides = work->ctm,
                            .noise = work->noise,
                            .seed = (uint64_t)study->common.seed};
    BB_TRY(bb_ao_mcao_create(work->problem, work->ctm, &work->mcao));
    bb_ao_mcao_set_sides(work->mcao, &work->factor_problem);
    BB_TRY(bb_factor_problem_prepare(&work->factor_problem));
    BB_TRY(bb_ao_storage_open(&work->factor_problem, study->common.device, work->problem,
                              &study->inflation, &work->storage));
done:
    return status;
}

static bb_status solve(solving *work)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = work->study;
    bb_ao_evaluation *evaluation = &work->evaluation;
    BB_TRY(
        bb_ao_evaluation_create(work->pipeline->name, study->targets.count, 1, 0, 1, evaluation));
    evaluation->level = *work->pipeline;
    evaluation->shared = study->correction == (int)BB_AO_CORRECTION_LTAO ||
                         study->correction == (int)BB_AO_CORRECTION_GLAO;
    BB_TRY(bb_factor_device_choose(&offer, study->common.device, &study->solver.common,
                                   work->pipeline, &evaluation->common.device));
    BB_TRY(bb_ao_storage_solve(&work->storage, &work->factor_problem, work->pipeline,
                               study->correction, evaluation));
    BB_TRY(bb_ao_commands_replace_estimates(work->problem, work->pipeline, evaluation));
done:
    return status;
}

static bb_status store_each(bb_ao_storage *storage, const bb_factor_pipeline *pipeline,
                            bb_ao_evaluation *evaluation, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const bb_tomography *problem = storage->problem;
    for (bb_index t = 0; t < problem->target_count; ++t) {
        const bb_index rows = bb_ao_commands_rows(problem, evaluation, t);
        if (evaluation->r[t] == NULL) {
            continue;
        }
        BB_REQUIRE(out->count < (int)BB_COMMAND_MATRICES, BB_INVALID,
                   "reconstructors of more than %d targets: the realtime loop multiplies at most "
                   "that many",
                   (int)BB_COMMAND_MATRICES);
        BB_TRY(bb_factor_storage_encode(&storage->common, pipeline, rows, evaluation->r[t],
                                        &evaluation->common, &out->stored[out->count]));
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK) {
            break;
        }
        out->commands += rows;
        ++out->count;
    }
done:
    return status;
}

// Copies the slope groups, which must be contiguous.
static bb_status copy_groups(const bb_slope_groups *groups, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(groups->count + 1, &out->group_begin));
    for (bb_index k = 0; k < groups->count; ++k) {
        out->group_begin[k + 1] = out->group_begin[k] + groups->size[k];
        for (bb_index j = out->group_begin[k]; j < out->group_begin[k + 1]; ++j) {
            BB_REQUIRE(groups->group[j] == k, BB_INTERNAL,
                       "slope %td belongs to group %td, not %td", j, groups->group[j], k);
        }
    }
    out->group_count = groups->count;
done:
    return status;
}

// Computes the standard deviations of slopes after the filter, and of the part that it removes.
static bb_status compute_spread(bb_rounding_norm *norms, bool filtered, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(out->slopes, &out->own));
    BB_TRY(BB_ALLOCATE(out->slopes, &out->common));
    BB_TRY(bb_rounding_norm_variances(&norms[0], out->common));
    BB_TRY(bb_rounding_norm_variances(&norms[filtered], out->own));
    for (bb_index j = 0; j < out->slopes; ++j) {
        out->common[j] = sqrt(fmax(out->common[j] - out->own[j], 0.0));
        out->own[j] = sqrt(out->own[j]);
    }
    if (filtered) {
        BB_TRY(copy_groups(&norms[1].groups, out));
    }
done:
    return status;
}

bb_status bb_frame_matrices_store(bb_ao_storage *storage, const bb_factor_pipeline *pipeline,
                                  bb_ao_evaluation *evaluation, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const bool filtered = pipeline->filter == (int)BB_SLOPE_FILTER_MEANS;
    out->slopes = storage->problem->cmm->rows;
    BB_TRY(store_each(storage, pipeline, evaluation, out));
    if (evaluation->common.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(compute_spread(storage->common.norms, filtered, out));
    }
done:
    return status;
}

static bb_status solve_study(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                             bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    bb_ao_study resolved = *study;
    solving work = {.study = &resolved, .pipeline = pipeline};
    const bb_outcome *outcome = &work.evaluation.common.outcome;
    BB_TRY(bb_ao_extent_resolve(study, &resolved));
    BB_REQUIRE(study->learn.source == (int)BB_AO_LEARN_OFF, BB_UNSUPPORTED,
               "learn.source: the realtime loop needs the reconstructor of the true profile, "
               "expected off");
    BB_TRY(set_up_problem(&work));
    BB_TRY(solve(&work));
    BB_TRY(bb_frame_matrices_store(&work.storage, pipeline, &work.evaluation, out));
    BB_REQUIRE(outcome->kind == BB_OUTCOME_OK, BB_INVALID,
               "pipeline %s: %s, %s: there is no reconstructor to run", pipeline->name,
               bb_outcome_name(outcome->kind), outcome->detail);
done:
    release(&work);
    return status;
}

// Random matrix.
typedef struct drawing {
    uint64_t seed;
    bb_index number; // index among the matrices of a frame
    bb_index rows, columns;
    const double *places; // [columns] positions of the slopes
} drawing;

// Position of item `index` of `count` on a line from 0 to 1.
static double place_of(bb_index index, bb_index count)
{
    return ((double)index + 0.5) / (double)count;
}

static bb_index first_of_group(bb_index group, bb_index slopes)
{
    return group * slopes / DRAWN_GROUPS;
}

static double place_of_slope(bb_index slope, bb_index slopes)
{
    const bb_index group = ((slope + 1) * DRAWN_GROUPS - 1) / slopes;
    const bb_index first = first_of_group(group, slopes);
    return place_of(slope - first, first_of_group(group + 1, slopes) - first);
}

static bb_status fill_drawn(const bb_matrix_source *source, bb_index row, bb_index column,
                            bb_view out)
{
    const drawing *matrix = source->context;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        const double place = place_of(row + i, matrix->rows);
        const uint64_t first =
            (uint64_t)((matrix->number * matrix->rows + row + i) * ((matrix->columns + 1) / 2));
        double pair[2] = {0.0};
        for (bb_index j = column; j < column + out.shape[1]; ++j) {
            const double distance = (matrix->places[j] - place) / drawn_width;
            if (j % 2 == 0 || j == column) {
                bb_random_normal_pair(matrix->seed, BB_STREAM_LOOP_MATRIX,
                                      first + (uint64_t)(j / 2), pair);
            }
            values[j - column] = pair[j % 2] * (0.05 + 1.0 / (1.0 + distance * distance));
        }
    }
    return BB_OK;
}

static bb_status draw_matrix(const drawing *matrix, const bb_factor_pipeline *pipeline,
                             bb_stored_reconstructor *out)
{
    bb_status status = BB_OK;
    const bb_matrix_source source = {.rows = matrix->rows,
                                     .columns = matrix->columns,
                                     .name = "random matrix",
                                     .unit = "1",
                                     .fill = fill_drawn,
                                     .context = matrix};
    const bb_matrix_layout layout = {
        .rows = source.rows, .columns = source.columns, .range = drawn_range};
    BB_TRY(bb_stored_reconstructor_code(pipeline, &source, &layout, &out->matrix));
    if (pipeline->filter == (int)BB_SLOPE_FILTER_MEANS) {
        const bb_index count = matrix->rows * DRAWN_GROUPS;
        BB_TRY(BB_ALLOCATE(count, &out->means));
        for (bb_index i = 0; i < count; ++i) {
            out->means[i] =
                (float)bb_random_normal(matrix->seed, BB_STREAM_LOOP_MATRIX,
                                        UINT64_MAX - (uint64_t)(matrix->number * count + i));
        }
    }
done:
    return status;
}

static bb_status draw(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                      bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const bool filtered = pipeline->filter == (int)BB_SLOPE_FILTER_MEANS;
    const bb_frame_size *size = &study->realtime.size;
    double *places = NULL;
    out->is_drawn = true;
    out->slopes = size->slopes;
    BB_TRY(BB_ALLOCATE(size->slopes, &places));
    for (bb_index j = 0; j < size->slopes; ++j) {
        places[j] = place_of_slope(j, size->slopes);
    }
    for (bb_index t = 0; t < study->realtime.targets; ++t) {
        const drawing matrix = {.seed = (uint64_t)study->common.seed,
                                .number = t,
                                .rows = size->commands,
                                .columns = size->slopes,
                                .places = places};
        bb_log_progress_step("drawing", pipeline->name, t, study->realtime.targets);
        BB_TRY(draw_matrix(&matrix, pipeline, &out->stored[out->count]));
        out->commands += size->commands;
        ++out->count;
    }
    bb_log_progress("drawing", study->realtime.targets, study->realtime.targets);
    BB_TRY(BB_ALLOCATE(out->slopes, &out->own));
    BB_TRY(BB_ALLOCATE(out->slopes, &out->common));
    for (bb_index j = 0; j < out->slopes; ++j) {
        out->own[j] = 1.0;
        out->common[j] = filtered ? drawn_common : 0.0;
    }
    if (filtered) {
        BB_TRY(BB_ALLOCATE(DRAWN_GROUPS + 1, &out->group_begin));
        for (bb_index k = 0; k <= DRAWN_GROUPS; ++k) {
            out->group_begin[k] = first_of_group(k, out->slopes);
        }
        out->group_count = DRAWN_GROUPS;
    }
done:
    BB_RELEASE(&places);
    return status;
}

bb_status bb_frame_matrices_make(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                 bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    BB_TRY(bb_ao_realtime_config_draws(&study->realtime) ? draw(study, pipeline, out)
                                                         : solve_study(study, pipeline, out));
    out->seconds = bb_clock_seconds() - begin;
done:
    return status;
}

void bb_frame_matrices_release(bb_frame_matrices *self)
{
    for (int t = 0; t < BB_COMMAND_MATRICES; ++t) {
        bb_stored_reconstructor_release(&self->stored[t]);
    }
    BB_RELEASE(&self->group_begin);
    BB_RELEASE(&self->own);
    BB_RELEASE(&self->common);
}

double bb_frame_matrices_bytes(const bb_frame_matrices *self)
{
    double bytes = sizeof(float) * (double)self->group_count * (double)self->commands;
    for (int t = 0; t < self->count; ++t) {
        bytes += self->stored[t].scales == NULL ? 0.0 : sizeof(float) * (double)self->slopes;
        bytes += (double)bb_coded_matrix_bytes(self->stored[t].matrix);
    }
    return bytes;
}

double bb_frame_matrices_values(const bb_frame_matrices *self)
{
    return (double)self->commands * (double)self->slopes;
}

static const double reference_share = 0.1; // fraction of a slope's deviation

// Draws the reference and the sets of slopes by Philox, independently of the number of threads.
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

// Rows of matrix `t` on a device.
static bb_command_share share_of(const bb_frame_loop *loop, int t, int devices, int which)
{
    return bb_command_share_of(bb_coded_matrix_rows(loop->matrices.stored[t].matrix), devices,
                               which);
}

// Creates a command loop from the given operators, one row of them per device.
static bb_status open_frames(const bb_frame_loop *loop, int device_count, bb_device *const *devices,
                             operator_row *operators, bb_command_loop **out)
{
    const float *means[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES] = {{NULL}};
    const float *scales[BB_COMMAND_MATRICES] = {NULL};
    bb_command_system systems[BB_COMMAND_DEVICES];
    const bb_frame_matrices *matrices = &loop->matrices;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    for (int d = 0; d < device_count; ++d) {
        for (int t = 0; t < matrices->count; ++t) {
            const bb_index first = share_of(loop, t, device_count, d).first;
            const float *rows = matrices->stored[t].means; // for all devices
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
    return bb_command_loop_create(device_count, devices, systems, out);
}

// Creates an operator. On a GPU, fp32 sums are split into short runs that are added in fp64, which
// is fastest for narrow storages.
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
        bb_command_loop_destroy(&frames->frames);
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

void bb_frame_loop_set_slopes(bb_frame_loop *loop, bb_index number)
{
    const bb_index n = loop->matrices.slopes;
    bb_command_loop_set_slopes(loop->frames, loop->slopes + number % loop->sets * n);
}

// First set of slopes without NaN or infinity; the first set if there is none.
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

static bb_status run_delayed(bb_command_loop *frames, const float *slopes, bb_index delay,
                             float *commands)
{
    bb_status status = BB_OK;
    bb_command_frame frame;
    BB_TRY(bb_command_loop_reset(frames));
    for (bb_index k = 0; k <= delay; ++k) {
        bb_command_loop_set_slopes(frames, slopes);
        BB_TRY(bb_command_loop_step(frames, 0, &frame));
    }
    bb_command_loop_commands(frames, commands);
done:
    return status;
}

bb_status bb_frame_loop_compare(bb_frame_loop *loop, double *distance)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic wide = {BB_FORMAT_FP64, BB_FORMAT_FP64};
    const bb_index delay = loop->study->realtime.delay_frames;
    bb_device *cpu = NULL;
    bb_command_loop *exact = NULL;
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
    BB_TRY(bb_command_loop_reset(loop->frames));
done:
    BB_RELEASE(&expected);
    BB_RELEASE(&commands);
    bb_command_loop_destroy(&exact);
    for (int t = 0; t < BB_COMMAND_MATRICES; ++t) {
        bb_coded_operator_destroy(&operators[t]);
    }
    bb_device_close(&cpu);
    return status;
}
