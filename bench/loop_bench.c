// SPDX-License-Identifier: Apache-2.0
//
// Control loop of wafer on a cuda device, at the sizes of Bamakhrama et al.: mesh 0.5 mm, 512 x 500
// cells, windows of 378 out of 2163 rows.
//
// `heat-step-cuda`: steps of the state only, within their graph by the device's clock.
// bb_bench_restriction_cuda times the same kernel on the rows that compute the grid from the state.
// `loop-slow-field-*`: all 81 light and 29 dark steps of one scored field, three axes, each step
// launched after the host has seen the end of the previous one, by the host's clock; rows by the
// closed-form kernel.
#include "bench/bench.h"
#include "bench/heat_bench.h"
#include "core/memory.h"
#include "physics/wafer/response/temperature_grid.h"
#include "sim/wafer/realtime/wafer_loop.h"

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 40, HEAT_STEPS = 128, TINY = 32 };

static const double heat_bar = 15e-6;
static const double field_bar = 12e-3;

// Loop of the state only; its products, with a tiny matrix, are never run.
typedef struct heat_contest {
    bb_device *device;
    bb_disc_mesh *mesh;
    bb_thermal *thermal;
    bb_temperature_grid *grid;
    bb_csr square;   // rows of the grid, followed by empty ones
    const bb_csr *a; // matrix that a step multiplies by the state
    double *b;       // zeros
    bb_csr reading;
    bb_coded_matrix *matrix;
    bb_coded_operator *operation;
    bb_control_loop *loop;
} heat_contest;

static bb_status make_tiny(heat_contest *task)
{
    bb_status status = BB_OK;
    const bb_codec_config plain = bb_codec_plain(BB_FORMAT_FP32);
    const bb_matrix_layout layout = {.rows = TINY, .columns = TINY};
    const bb_gemv_arithmetic arithmetic = {BB_FORMAT_FP32, BB_FORMAT_FP32};
    bb_triplets ones = {0};
    double *values = NULL;
    BB_TRY(BB_ZEROED((bb_index)TINY * TINY, &values));
    for (bb_index i = 0; i < TINY; ++i) {
        BB_TRY(bb_triplets_add(&ones, i, i, 1.0));
    }
    BB_TRY(bb_csr_assemble(TINY, task->a->rows, &ones, &task->reading));
    BB_TRY(bb_coded_matrix_create(&plain, BB_ROW_SCALE_NONE, &layout, &task->matrix));
    BB_TRY(bb_coded_matrix_encode(task->matrix, 0, bb_view_matrix(values, TINY, TINY)));
    BB_TRY(bb_coded_operator_create(task->device, task->matrix, arithmetic, &task->operation));
done:
    bb_triplets_release(&ones);
    BB_RELEASE(&values);
    return status;
}

static bb_status prepare_loop(heat_contest *task)
{
    bb_status status = BB_OK;
    const int32_t none = 0;
    BB_TRY(make_tiny(task));
    BB_TRY(BB_ZEROED(task->a->rows, &task->b));
    const bb_loop_system system = {.a = task->a,
                                   .b = task->b,
                                   .w = &task->reading,
                                   .window_rows = TINY,
                                   .points = 1,
                                   .axes = 1,
                                   .set_count = 1,
                                   .operators = &task->operation};
    BB_TRY(bb_control_loop_create(task->device, &system, &task->loop));
    const bb_loop_period dark = {.set = -1, .dark_steps = HEAT_STEPS, .input_begin = &none};
    BB_TRY(bb_control_loop_add(task->loop, &dark));
done:
    return status;
}

static bb_status prepare_heat(bool quick, heat_contest *task)
{
    bb_status status = BB_OK;
    const double spacing = quick ? 5e-3 : 0.5e-3;
    bb_clamp_config layer = bb_bench_clamp;
    layer.spacing_mm = 6e3 * spacing;
    BB_TRY(bb_disc_mesh_create(0.15, spacing, &task->mesh));
    BB_TRY(bb_thermal_create(task->mesh, &bb_bench_wafer, &layer, BB_CLAMP_LAYER, 1e-3,
                             &task->thermal));
    task->a = &task->thermal->step_matrix;
    BB_TRY(prepare_loop(task));
done:
    return status;
}

// Places W in the first rows of a square matrix, so that a step of the state is S = W T.
static bb_status prepare_restriction(bool quick, heat_contest *task)
{
    bb_status status = BB_OK;
    const bb_grid_config config = {.columns = quick ? 32 : 512, .rows = quick ? 30 : 500};
    bb_triplets entries = {0};
    BB_TRY(bb_disc_mesh_create(0.15, quick ? 5e-3 : 0.5e-3, &task->mesh));
    BB_TRY(bb_temperature_grid_create(task->mesh, &config, &task->grid));
    const bb_csr *w = &task->grid->restriction;
    BB_REQUIRE(w->rows <= w->columns, BB_INTERNAL,
               "internal: a grid of %td cells exceeds a mesh of %td", w->rows, w->columns);
    for (bb_index row = 0; row < w->rows; ++row) {
        for (bb_index k = w->row_start[row]; k < w->row_start[row + 1]; ++k) {
            BB_TRY(bb_triplets_add(&entries, row, w->column[k], w->value[k]));
        }
    }
    BB_TRY(bb_csr_assemble(w->columns, w->columns, &entries, &task->square));
    task->a = &task->square;
    BB_TRY(prepare_loop(task));
done:
    bb_triplets_release(&entries);
    return status;
}

// Measures the mean time of a round within the graph, from the start of the first kernel to the end
// of the last.
static bb_status time_alone(heat_contest *task, double *seconds)
{
    bb_status status = BB_OK;
    double sum = 0.0;
    BB_TRY(bb_control_loop_begin(task->loop, 0));
    for (int step = 0; step < HEAT_STEPS; ++step) {
        BB_TRY(bb_control_loop_step(task->loop));
        BB_TRY(bb_control_loop_wait(task->loop));
        const bb_loop_stamps stamps = bb_control_loop_stamps(task->loop, 0);
        sum += 1e-9 * (double)(stamps.ns[BB_LOOP_END] - stamps.ns[BB_LOOP_STATE]);
    }
    *seconds = sum / HEAT_STEPS;
done:
    return status;
}

static bb_status step_again(void *context)
{
    double seconds = 0.0;
    return time_alone(context, &seconds);
}

static void release_heat(heat_contest *task)
{
    bb_control_loop_destroy(&task->loop);
    bb_coded_operator_destroy(&task->operation);
    bb_coded_matrix_destroy(&task->matrix);
    bb_csr_release(&task->reading);
    bb_temperature_grid_destroy(&task->grid);
    bb_csr_release(&task->square);
    BB_RELEASE(&task->b);
    bb_thermal_destroy(&task->thermal);
    bb_disc_mesh_destroy(&task->mesh);
}

static bb_status bench_step(const bb_bench_setup *setup,
                            bb_status (*prepare)(bool quick, heat_contest *task),
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    heat_contest task = {.device = setup->device};
    bb_bench_times times = {0};
    BB_TRY(prepare(setup->quick, &task));
    for (int round = -2; round < (setup->quick ? 3 : ROUNDS); ++round) { // negative rounds warm up
        double seconds = 0.0;
        BB_TRY(time_alone(&task, &seconds));
        if (round >= 0) {
            bb_bench_add(&times, seconds);
        }
    }
    out->best_s = bb_bench_best(&times);
    out->median_s = bb_bench_median(&times);
    out->bytes = bb_control_loop_bytes(task.loop, false);
    out->flops = 2.0 * (double)bb_csr_nonzeros(task.a);
    out->binds = "bytes";
    (void)snprintf(out->detail, sizeof out->detail, "%td unknowns", task.a->rows);
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CUDA, step_again, &task, HEAT_STEPS,
                                   "host's wait for each step", out));
done:
    release_heat(&task);
    return status;
}

bb_status bb_bench_heat_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                             bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    (void)self;
    BB_TRY(bench_step(setup, prepare_heat, out));
    out->ratio = heat_bar / out->best_s;
done:
    return status;
}

bb_status bb_bench_restriction_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                    bb_bench_outcome *out)
{
    (void)self;
    return bench_step(setup, prepare_restriction, out);
}

// Creates the study of one scored field and one pipeline; `field` and `axes` are borrowed.
static bb_wafer_study make_study(bool quick, const bb_codec_config *storage, bb_index *field,
                                 int axes[3], bb_product_pipeline *pipeline)
{
    bb_row_scale scale = bb_codec_allows_row_scale(storage) ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
    *pipeline = (bb_product_pipeline){.name = bb_codec_name(storage->codec),
                                      .storage = *storage,
                                      .scale = (int)scale,
                                      .multiply = BB_FORMAT_FP32,
                                      .accumulate = BB_FORMAT_FP64,
                                      .accumulate_run = 32};
    bb_wafer_study study = {
        .wafer = bb_bench_wafer,
        .clamp = bb_bench_clamp,
        .mesh = {.spacing_mm = quick ? 3.0 : 0.5, .step_ms = 1.0, .substeps = 1},
        .scan = {.field_width_mm = 26.0,
                 .field_height_mm = 33.0,
                 .usable_radius_mm = 147.0,
                 .fields = {field, 1},
                 .dose_mj_per_cm2 = 30.0,
                 .light_steps = 81,
                 .dark_steps = 29,
                 .slit_width_mm = 1.6,
                 .slit_arc_radius_mm = 30.0},
        .response = {.generator = BB_GENERATOR_KERNEL,
                     .axes = {axes, 3},
                     .grid = {quick ? 40 : 512, quick ? 37 : 500},
                     .slit_points = {quick ? 6 : 21, quick ? 5 : 18},
                     .field_rows = quick ? BB_INTEGER_UNSET : 103},
        .realtime = {.gpus = 1},
        .metrology = {.columns = 13, .rows = 19},
        .pipelines = {pipeline, 1}};
    study.clamp.spacing_mm = quick ? 6.0 : 3.0;
    return study;
}

static bb_status run_again(void *context)
{
    double seconds = 0.0;
    return bb_wafer_loop_time(context, 0, true, &seconds);
}

// Sets the outcome. A step is assigned an equal share of the matrix bytes of all rows.
static void set_outcome(const bb_wafer_loop *loop, const bb_bench_times *times,
                        bb_bench_outcome *out)
{
    const bb_slit_grid *slit = &loop->problem->slit;
    const double light = (double)loop->problem->scan->light_steps;
    const double dark = (double)loop->problem->scan->dark_steps;
    const double share = (double)slit->window_points / (double)slit->field_points;
    out->best_s = bb_bench_best(times);
    out->median_s = bb_bench_median(times);
    const bb_control_loop *control = loop->parts[0].loop;
    out->bytes = light * (share * loop->device_bytes + bb_control_loop_bytes(control, true)) +
                 dark * bb_control_loop_bytes(control, false);
    out->flops = light * (double)loop->axes *
                 bb_coded_operator_flops(slit->window_points, loop->problem->grid->cell_count);
    out->ratio = field_bar / out->best_s;
    out->binds = bb_coded_operator_moves(&loop->pipeline->storage) ? "bytes" : "latency";
    (void)snprintf(out->detail, sizeof out->detail, "%td steps, %d axes, %.1f MB encoded in %.1f s",
                   loop->steps, loop->axes, 1e-6 * loop->device_bytes, loop->coding.seconds);
}

bb_status bb_bench_loop(const bb_bench_case *self, const bb_bench_setup *setup,
                        bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_index field = 40;
    int axes[3] = {BB_AXIS_X, BB_AXIS_Y, BB_AXIS_Z};
    bb_product_pipeline pipeline;
    bb_codec_config storage;
    bb_device *device = setup->device;
    bb_wafer_problem *problem = NULL;
    bb_wafer_loop *loop = NULL;
    bb_bench_times times = {0};
    BB_REQUIRE(bb_codec_read(self->storage, &storage), BB_INTERNAL, "internal: invalid storage %s",
               self->storage);
    const bb_wafer_study study = make_study(setup->quick, &storage, &field, axes, &pipeline);
    const bb_wafer_config physics = bb_wafer_study_physics(&study);
    BB_TRY(bb_wafer_problem_create(&physics, &problem));
    BB_TRY(bb_wafer_loop_create(&study, problem, &pipeline, &device, field, &loop));
    for (int round = -2; round < (setup->quick ? 3 : ROUNDS); ++round) { // negative rounds warm up
        double seconds = 0.0;
        BB_TRY(bb_wafer_loop_time(loop, 0, true, &seconds));
        if (round >= 0) {
            bb_bench_add(&times, seconds);
        }
    }
    set_outcome(loop, &times, out);
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CUDA, run_again, loop, 1.0, NULL, out));
done:
    bb_wafer_loop_destroy(&loop);
    bb_wafer_problem_destroy(&problem);
    return status;
}
