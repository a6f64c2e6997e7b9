// SPDX-License-Identifier: Apache-2.0
//
// Wafer loop compared with the offline path on the cpu: fp64 heat, encoded products of the same
// matrices, dwell. The loop's fp32 state bounds the difference.
#ifndef BB_TESTS_SIM_WAFER_REALTIME_LOOP_PARITY_H
#define BB_TESTS_SIM_WAFER_REALTIME_LOOP_PARITY_H

#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/realtime/realtime_measurement.h"
#include "sim/wafer/realtime/wafer_loop.h"
#include "sim/wafer/wafer_experiment.h"
#include "tests/sim/driver.h"

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "              \
    "{name: fp32, storage: fp32, multiply: fp32, accumulate: fp64}, "                              \
    "{name: e4m3, storage: e4m3, scale: row, multiply: fp32, accumulate: fp64, "                   \
    "accumulate_run: 32}, {name: low-rank, storage: {codec: low_rank, "                            \
    "tolerance_of_range: 2.9e-5}, multiply: fp32, accumulate: fp64}]"

static const driver_case loop_small = {CONFIG_WAFER_SMALL, {"response.axes=[x, y, z]", PIPELINES}};

// Small enough to create many loops.
#define SMALLEST                                                                                   \
    "response.axes=[x, y, z]", PIPELINES, "response.grid={columns: 20, rows: 19}",                 \
        "response.slit_points={columns: 4, rows: 4}", "mesh.spacing_mm=5.0"

static const driver_case loop_smallest = {CONFIG_WAFER_SMALL, {SMALLEST}};

enum { LOOP_AXES = 3 };

// Tolerances relative to the maximum: fp32 rounds 100 steps of the state, and displacements are
// sums with both signs.
static const double state_bound = 1e-5;
static const double output_bound = 1e-5;

typedef struct truth {
    bb_config *config;
    const bb_wafer_study *study;
    bb_wafer_problem *problem;
    bb_wafer_heating heating;
    double *state;                    // [size] after the last step
    bb_device *cpu;                   // results of the offline path
    bb_device *devices[BB_LOOP_GPUS]; // results of the loop, in the same order
} truth;

static inline void open_truth(bb_device_kind kind, const driver_case *what, truth *reference)
{
    bb_heat_simulation simulation = {0};
    *reference = (truth){0};
    check_ok(bb_threads_set(2));
    check_ok(driver_load(what, &reference->config));
    reference->study = bb_config_study(reference->config);
    const bb_wafer_config physics = bb_wafer_study_physics(reference->study);
    check_ok(bb_wafer_problem_create(&physics, &reference->problem));
    check_ok(bb_wafer_heating_resume(reference->problem, NULL, &reference->heating));
    check_ok(bb_heat_simulation_open(reference->problem, NULL, &simulation));
    const bb_scan *scan = reference->problem->scan;
    for (bb_index field = 0; field < reference->heating.exposed_count; ++field) {
        check_ok(bb_heat_simulation_expose(&simulation, field));
        for (bb_index part = 0; part < scan->light_steps + scan->dark_steps; ++part) {
            check_ok(bb_heat_simulation_step(&simulation, part));
        }
    }
    const bb_index size = reference->problem->thermal->size;
    check_ok(BB_ALLOCATE(size, &reference->state));
    memcpy(reference->state, bb_stepper_state(simulation.stepper),
           (size_t)size * sizeof *reference->state);
    bb_heat_simulation_release(&simulation);
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &reference->cpu));
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        check_ok(bb_device_open(kind, g % bb_device_count(kind, NULL, 0), &reference->devices[g]));
    }
}

static inline void close_truth(truth *reference)
{
    BB_RELEASE(&reference->state);
    bb_wafer_heating_release(&reference->heating);
    bb_wafer_problem_destroy(&reference->problem);
    bb_config_destroy(&reference->config);
    bb_device_close(&reference->cpu);
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        bb_device_close(&reference->devices[g]);
    }
}

// Largest difference over the largest expected value.
static inline double distance_f32(bb_index count, const float *got, const double *expected)
{
    double worst = 0.0;
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        worst = fmax(worst, fabs((double)got[i] - expected[i]));
        largest = fmax(largest, fabs(expected[i]));
    }
    return worst / largest;
}

static inline double distance(bb_index count, const double *got, const double *expected)
{
    double worst = 0.0;
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        worst = fmax(worst, fabs(got[i] - expected[i]));
        largest = fmax(largest, fabs(expected[i]));
    }
    return worst / largest;
}

// Means of one field and axis from the offline path, with the same matrix.
static inline const double *dwell_means(const truth *reference, const bb_wafer_loop *loop,
                                        bb_index field, int axis)
{
    const bb_slit_grid *slit = &reference->problem->slit;
    bb_dwell *dwell = reference->problem->dwells[field];
    autoptr(bb_coded_operator) operation = NULL;
    double seconds = 0.0;
    autoptr(bb_coded_matrix) matrix = NULL;
    bb_coding_report report;
    autofree double *window = new_array(double, slit->window_points);
    check_ok(bb_loop_part_encode(reference->study, reference->problem, loop->pipeline, field, axis,
                                 &report, &matrix));
    check_ok(bb_product_pipeline_operator(loop->pipeline, reference->cpu, matrix, &operation));
    bb_dwell_reset(dwell);
    for (bb_index step = 0; step < reference->heating.light_steps; ++step) {
        const bb_index row = bb_slit_grid_offset(slit, &dwell->field, step) * slit->columns;
        check_ok(bb_coded_operator_apply(operation, row, slit->window_points,
                                         bb_wafer_heating_input(&reference->heating, field, step),
                                         window, &seconds));
        bb_dwell_add(dwell, step, window);
    }
    return dwell->mean;
}

static inline void check_field(const truth *reference, bb_wafer_loop *loop, bb_index field)
{
    const bb_index cells = reference->heating.cell_count;
    const bb_index count = reference->problem->dwells[field]->count;
    autofree float *x = new_array(float, cells);
    autofree double *z = new_array(double, LOOP_AXES * loop->points);
    check_ok(bb_control_loop_reading(loop->parts[0].loop, x));
    check_ok(bb_wafer_loop_outputs(loop, z));
    double reading = distance_f32(
        cells, x,
        bb_wafer_heating_input(&reference->heating, field, reference->heating.light_steps - 1));
    assert_true(reading <= state_bound);
    for (int axis = 0; axis < LOOP_AXES; ++axis) {
        double away =
            distance(count, z + axis * loop->points, dwell_means(reference, loop, field, axis));
        print_message("%s, field %td, %c: reading %.2g, means %.2g of the largest\n",
                      loop->pipeline->name, field, "xyz"[axis], reading, away);
        assert_true(away <= output_bound);
    }
}

// Runs all steps from a zero state: each step waited for and fields checked, or a field's steps
// queued at once. `z` [period_count][LOOP_AXES][points] gets the outputs, `state` [size] the final
// state, which all parts share.
static inline void run_all(const truth *reference, bb_wafer_loop *loop, bool check, double *z,
                           float *state)
{
    const bb_index size = reference->problem->thermal->size;
    autofree float *other = new_array(float, size);
    check_ok(bb_wafer_loop_reset(loop));
    for (bb_index period = 0; period < loop->period_count; ++period) {
        check_ok(bb_wafer_loop_begin(loop, period));
        for (bb_index step = 0; step < loop->steps; ++step) {
            check_ok(bb_wafer_loop_step(loop));
            if (check) {
                check_ok(bb_wafer_loop_wait(loop));
            }
        }
        check_ok(bb_wafer_loop_outputs(loop, z + period * LOOP_AXES * loop->points));
        if (check && bb_wafer_loop_scored(loop, period) >= 0) {
            check_field(reference, loop, bb_wafer_loop_scored(loop, period));
        }
    }
    check_ok(bb_control_loop_state(loop->parts[0].loop, state));
    for (int g = 1; g < loop->gpus; ++g) {
        check_ok(bb_control_loop_state(loop->parts[g].loop, other));
        assert_memory_equal(state, other, (size_t)size * sizeof *state);
    }
}

// Settings of a loop run, as keys of realtime.
typedef struct loop_way {
    int matrices;
    bb_index gpus;
    bb_device *const *devices;
} loop_way;

// Results of one pipeline's loop; two runs from a zero state have the same bits. Owner: the caller.
typedef struct loop_answer {
    bb_index count, size; // errors of z and of the state
    double *z;
    float *state;
} loop_answer;

static inline void release_answer(loop_answer *answer)
{
    BB_RELEASE(&answer->z);
    BB_RELEASE(&answer->state);
}

static inline loop_answer answer_of(const truth *reference, bb_index pipeline, const loop_way *way)
{
    const bb_product_pipeline *pipelines = reference->study->pipelines.items;
    bb_wafer_study study = *reference->study;
    loop_answer out[2] = {{.size = reference->problem->thermal->size}};
    study.realtime.matrices = way->matrices;
    study.realtime.gpus = way->gpus;
    autoptr(bb_wafer_loop) loop = new_object(bb_wafer_loop, &study, reference->problem,
                                             &pipelines[pipeline], way->devices, 0);
    assert_int_equal(loop->period_count,
                     reference->problem->scored[reference->problem->scored_count - 1] + 1);
    out[0].count = loop->period_count * LOOP_AXES * loop->points;
    for (int run = 0; run < 2; ++run) {
        check_ok(BB_ZEROED(out[0].count, &out[run].z));
        check_ok(BB_ALLOCATE(out[0].size, &out[run].state));
        run_all(reference, loop, run == 0, out[run].z, out[run].state);
    }
    double away = distance_f32(out[0].size, out[0].state, reference->state);
    print_message("%s, %s, %d: state %.2g of the largest\n", loop->pipeline->name,
                  bb_loop_mode_names[way->matrices], loop->gpus, away);
    assert_true(away <= state_bound);
    assert_memory_equal(out[0].z, out[1].z, (size_t)out[0].count * sizeof *out->z);
    assert_memory_equal(out[0].state, out[1].state, (size_t)out[0].size * sizeof *out->state);
    release_answer(&out[1]);
    return out[0];
}

// Bit for bit.
static inline void check_same(const loop_answer *a, const loop_answer *b)
{
    assert_true(a->count == b->count && a->size == b->size);
    assert_memory_equal(a->state, b->state, (size_t)a->size * sizeof *a->state);
    assert_memory_equal(a->z, b->z, (size_t)a->count * sizeof *a->z);
}

// Every pipeline but the reference.
static inline void check_parity(bb_device_kind kind, const driver_case *what)
{
    autocall(close_truth) truth reference;
    open_truth(kind, what, &reference);
    for (bb_index pipeline = 1; pipeline < reference.study->pipelines.count; ++pipeline) {
        const loop_way plain = {BB_LOOP_RESIDENT, 1, reference.devices};
        autocall(release_answer) loop_answer answer = answer_of(&reference, pipeline, &plain);
    }
}

// Results that `bitbudget realtime` publishes for a study on a GPU. Owner of both: the caller.
static inline bb_results *run_harness(const driver_case *study, bb_config **config)
{
    autorelease(bb_text) table = {0};
    check_ok(bb_threads_set(2));
    check_ok(driver_load(study, config));
    bb_results *results = empty_results();
    check_ok(bb_wafer_experiment_realtime(bb_config_study(*config), results, &table));
    print_message("%s", bb_text_string(&table));
    return results;
}

#endif
