// SPDX-License-Identifier: Apache-2.0
//
// Control loop on a GPU against the same steps in C: state and reading bit for bit, products and
// outputs within the bound of their sums.
#include "precision/coded_matrix.h"
#include "solvers/loop/control_loop.h"
#include "solvers/loop/sliced_rows.h"
#include "tests/first_device.h"
#include "tests/solvers/sparse.h"

enum {
    UNKNOWNS = 3000,
    READ = 2500, // rows of W
    CELLS = 1024,
    ROWS = 90, // of C
    WINDOW = 18,
    POINTS = 7,
    AXES = 3,
    SETS = 2,
    LIGHT = 9,
    DARK = 4,
    INPUTS = 50, // maximum per step
};

static bb_device *gpu;

// A period as added, and its arrays.
typedef struct input_data {
    bb_loop_period period;
    int32_t input_begin[LIGHT + 1], output_begin[LIGHT + 1], window[LIGHT];
    int32_t where[LIGHT * INPUTS];
    double input[LIGHT * INPUTS];
    bb_loop_output output[LIGHT * POINTS];
} input_data;

// The system, and the loop computed on the host.
typedef struct plant {
    bb_csr a, w;
    bb_sliced_rows a_rows, w_rows;
    double *b;
    bb_coded_matrix *coded[SETS][AXES];
    bb_coded_operator *operators[SETS * AXES];
    bb_control_loop *loop;
    float *state, *next, *x, *part;
    double z[AXES * POINTS], z_magnitude[AXES * POINTS];
    double y[AXES * WINDOW], y_magnitude[AXES * WINDOW];
} plant;

static void encode(int storage, uint64_t seed, bb_coded_matrix **out)
{
    const bb_codec_config codec = bb_codec_plain((bb_format)storage);
    const bb_matrix_layout layout = {.rows = ROWS, .columns = CELLS, .range = 1.0};
    autofree double *values = dense_new((bb_index)ROWS * CELLS);
    dense_random((bb_index)ROWS * CELLS, seed, values);
    check_ok(bb_coded_matrix_create(&codec, BB_ROW_SCALE_ROW, &layout, out));
    check_ok(bb_coded_matrix_encode(*out, 0, bb_view_matrix(values, ROWS, CELLS)));
}

static void plant_open(plant *rig, int storage)
{
    const bb_gemv_arithmetic arithmetic = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    *rig = (plant){0};
    sparse_random(UNKNOWNS, UNKNOWNS, 0, 12, 41, 77, &rig->a);
    sparse_random(CELLS, READ, 0, BB_SLICED_LONG, 0, 0, &rig->w);
    check_ok(bb_sliced_rows_of(&rig->a, &rig->a_rows));
    check_ok(bb_sliced_rows_of(&rig->w, &rig->w_rows));
    rig->b = dense_new(UNKNOWNS);
    dense_random(UNKNOWNS, 5, rig->b);
    for (int k = 0; k < SETS * AXES; ++k) {
        encode(storage, (uint64_t)(100 + k), &rig->coded[k / AXES][k % AXES]);
        check_ok(bb_coded_operator_create(gpu, rig->coded[k / AXES][k % AXES], arithmetic,
                                          &rig->operators[k]));
        check_ok(bb_coded_operator_sum_in_runs(rig->operators[k], 32));
    }
    const bb_loop_system system = {&rig->a, rig->b, &rig->w, WINDOW,
                                   POINTS,  AXES,   SETS,    rig->operators};
    check_ok(bb_control_loop_create(gpu, &system, &rig->loop));
    rig->state = sparse_floats(UNKNOWNS);
    rig->next = sparse_floats(UNKNOWNS);
    rig->x = sparse_floats(CELLS);
    rig->part = sparse_floats(CELLS);
}

static void plant_close(plant *system)
{
    bb_control_loop_destroy(&system->loop);
    for (int k = 0; k < SETS * AXES; ++k) {
        bb_coded_operator_destroy(&system->operators[k]);
        bb_coded_matrix_destroy(&system->coded[k / AXES][k % AXES]);
    }
    bb_sliced_rows_release(&system->a_rows);
    bb_sliced_rows_release(&system->w_rows);
    bb_csr_release(&system->a);
    bb_csr_release(&system->w);
    BB_RELEASE(&system->b);
    BB_RELEASE(&system->state);
    BB_RELEASE(&system->next);
    BB_RELEASE(&system->x);
    BB_RELEASE(&system->part);
}

// Inputs of other unknowns in every step; step 0 has none.
static void fill_input(input_data *data, uint64_t seed)
{
    int32_t index = 0;
    for (int step = 0; step < LIGHT; ++step) {
        data->input_begin[step] = index;
        for (int k = 0; k < step * INPUTS / LIGHT; ++k, ++index) {
            data->where[index] = (int32_t)((53 * k + 11 * step) % UNKNOWNS);
            data->input[index] = bb_random_normal(seed, BB_STREAM_SELF_TEST, (uint64_t)index);
        }
    }
    data->input_begin[LIGHT] = index;
}

// Windows that move with different strides; some points have no output in a step.
static void fill_output(input_data *data, uint64_t seed)
{
    int32_t index = 0;
    for (int step = 0; step < LIGHT; ++step) {
        data->window[step] = (int32_t)((13 * step + (int)seed) % (ROWS - WINDOW + 1));
        data->output_begin[step] = index;
        for (int point = step % 3; point < POINTS; point += 2, ++index) {
            bb_loop_output *output = &data->output[index];
            output->point = point;
            for (int k = 0; k < 4; ++k) {
                output->corner[k] = (int32_t)((3 * point + 5 * k + step) % WINDOW);
                output->weight[k] =
                    bb_random_normal(seed, BB_STREAM_SELF_TEST, (uint64_t)(1000 + 4 * index + k));
            }
        }
    }
    data->output_begin[LIGHT] = index;
}

static void fill(bb_index set, uint64_t seed, input_data *data)
{
    fill_input(data, seed);
    data->period = (bb_loop_period){.set = set,
                                    .light_steps = LIGHT,
                                    .dark_steps = DARK,
                                    .input_begin = data->input_begin,
                                    .input_where = data->where,
                                    .input = data->input};
    if (set >= 0) {
        fill_output(data, seed);
        data->period.window = data->window;
        data->period.output_begin = data->output_begin;
        data->period.output = data->output;
    }
}

static void multiply(plant *system, const input_data *data, int step)
{
    autofree double *row = dense_new(CELLS);
    for (int i = 0; i < AXES * WINDOW; ++i) {
        const bb_coded_matrix *matrix = system->coded[data->period.set][i / WINDOW];
        bb_index which = data->window[step] + i % WINDOW;
        double scale = bb_coded_matrix_row_scale(matrix, which);
        bb_coded_matrix_decode(matrix, which, 0, CELLS, row);
        system->y[i] = system->y_magnitude[i] = 0.0;
        for (int j = 0; j < CELLS; ++j) {
            system->y[i] += row[j] / scale * (double)system->x[j];
            system->y_magnitude[i] += fabs(row[j] / scale * (double)system->x[j]);
        }
    }
}

static void add_outputs(plant *system, const input_data *data, int step)
{
    for (int k = data->output_begin[step]; k < data->output_begin[step + 1]; ++k) {
        const bb_loop_output *output = &data->output[k];
        for (int axis = 0; axis < AXES; ++axis) {
            for (int c = 0; c < 4; ++c) {
                int index = axis * WINDOW + output->corner[c];
                system->z[axis * POINTS + output->point] += output->weight[c] * system->y[index];
                system->z_magnitude[axis * POINTS + output->point] +=
                    fabs(output->weight[c]) * system->y_magnitude[index];
            }
        }
    }
}

// The step as specified in solvers/loop/control_loop.h.
static void emulate(plant *system, const input_data *data, int step)
{
    bb_sliced_rows_multiply(&system->a_rows, system->state, system->next);
    for (int k = step < LIGHT ? data->input_begin[step] : 0;
         step < LIGHT && k < data->input_begin[step + 1]; ++k) {
        int32_t where = data->where[k];
        system->next[where] =
            fmaf((float)system->b[where], (float)data->input[k], system->next[where]);
    }
    if (step < LIGHT && data->period.set >= 0) {
        bb_sliced_rows_multiply(&system->w_rows, system->state, system->x);
        bb_sliced_rows_multiply(&system->w_rows, system->next, system->part);
        for (int j = 0; j < CELLS; ++j) {
            system->x[j] = 0.5F * (system->x[j] + system->part[j]);
        }
        multiply(system, data, step);
        add_outputs(system, data, step);
    }
    float *done_with = system->state;
    system->state = system->next;
    system->next = done_with;
}

static void check_state(plant *system)
{
    autofree float *state = sparse_floats(UNKNOWNS);
    check_ok(bb_control_loop_state(system->loop, state));
    assert_memory_equal(state, system->state, UNKNOWNS * sizeof *state);
}

// fp32 products, summed in fp32 in runs of 32: at most 34 roundings, plus those of x.
static void check_outputs(plant *system)
{
    autofree float *x = sparse_floats(CELLS);
    double y[AXES * WINDOW], z[AXES * POINTS];
    check_ok(bb_control_loop_reading(system->loop, x));
    assert_memory_equal(x, system->x, CELLS * sizeof *x);
    check_ok(bb_control_loop_windows(system->loop, y));
    check_ok(bb_control_loop_outputs(system->loop, z));
    for (int i = 0; i < AXES * WINDOW; ++i) {
        check_close(y[i], system->y[i], 36.0 * 0x1p-24, system->y_magnitude[i]);
    }
    for (int i = 0; i < AXES * POINTS; ++i) {
        check_close(z[i], system->z[i], 36.0 * 0x1p-24, system->z_magnitude[i]);
    }
}

static void check_stamps(const plant *system, const input_data *data, int step)
{
    const bb_loop_stamps stamps = bb_control_loop_stamps(system->loop, 0);
    bool light = step < LIGHT;
    bool products = light && data->period.set >= 0;
    assert_true(stamps.ns[BB_LOOP_STATE] > 0 && stamps.ns[BB_LOOP_END] >= stamps.ns[BB_LOOP_STATE]);
    assert_int_equal(stamps.ns[BB_LOOP_INPUT] > 0, light);
    assert_int_equal(stamps.ns[BB_LOOP_READING] > 0, products);
    assert_int_equal(stamps.ns[BB_LOOP_OUTPUT] > 0, products);
}

static void run_period(plant *system, const input_data *data, bb_index which)
{
    memset(system->z, 0, sizeof system->z);
    memset(system->z_magnitude, 0, sizeof system->z_magnitude);
    check_ok(bb_control_loop_begin(system->loop, which));
    for (int step = 0; step < LIGHT + DARK; ++step) {
        check_ok(bb_control_loop_step(system->loop));
        check_ok(bb_control_loop_wait(system->loop));
        check_stamps(system, data, step);
        emulate(system, data, step);
        check_state(system);
    }
    if (data->period.set >= 0) {
        check_outputs(system);
    }
    check_fails(bb_control_loop_step(system->loop), BB_INVALID, "start the period first");
}

TEST(steps_are_those_of_the_emulation)
{
    static const int storages[] = {BB_FORMAT_FP32, BB_FORMAT_E4M3};
    static const bb_index sets[] = {1, -1, 0, 1};
    static input_data periods[4];
    for (size_t s = 0; s < sizeof storages / sizeof *storages; ++s) {
        autocall(plant_close) plant system;
        plant_open(&system, storages[s]);
        for (int p = 0; p < 4; ++p) {
            memset(&periods[p], 0, sizeof periods[p]);
            fill(sets[p], (uint64_t)(p + 1), &periods[p]);
            check_ok(bb_control_loop_add(system.loop, &periods[p].period));
        }
        for (int p = 0; p < 4; ++p) {
            run_period(&system, &periods[p], p);
        }
        // From rest again, with the periods in another order.
        check_ok(bb_control_loop_reset(system.loop));
        memset(system.state, 0, UNKNOWNS * sizeof *system.state);
        run_period(&system, &periods[2], 2);
        run_period(&system, &periods[0], 0);
    }
}

// All steps of a period from rest, queued at once.
static void run_queued(const plant *system, bb_index period, double z[AXES * POINTS])
{
    check_ok(bb_control_loop_reset(system->loop));
    check_ok(bb_control_loop_begin(system->loop, period));
    for (int step = 0; step < LIGHT + DARK; ++step) {
        check_ok(bb_control_loop_step(system->loop));
    }
    check_ok(bb_control_loop_wait(system->loop));
    check_ok(bb_control_loop_outputs(system->loop, z));
}

// Steps queued without waiting give the same bits.
TEST(a_queue_of_steps_is_the_same)
{
    static input_data data;
    double z[2][AXES * POINTS];
    autocall(plant_close) plant system;
    plant_open(&system, BB_FORMAT_FP32);
    fill(0, 9, &data);
    check_ok(bb_control_loop_add(system.loop, &data.period));
    for (int wait = 0; wait < 2; ++wait) {
        check_ok(bb_control_loop_reset(system.loop));
        check_ok(bb_control_loop_begin(system.loop, 0));
        for (int step = 0; step < LIGHT + DARK; ++step) {
            check_ok(bb_control_loop_step(system.loop));
            if (wait == 1) {
                check_ok(bb_control_loop_wait(system.loop));
            }
        }
        check_ok(bb_control_loop_wait(system.loop));
        check_ok(bb_control_loop_outputs(system.loop, z[wait]));
    }
    assert_memory_equal(z[0], z[1], sizeof z[0]);
}

// Held steps do not start early, run in order, and give the same bits; each has its own stamps
// until they are overwritten.
TEST(held_steps_keep_their_times)
{
    enum { STEPS = LIGHT + DARK, APART_NS = 300000 };
    static input_data data;
    double z[2][AXES * POINTS];
    uint64_t start = 0;
    uint64_t end = 0;
    autocall(plant_close) plant system;
    plant_open(&system, BB_FORMAT_E4M3);
    fill(0, 9, &data);
    check_ok(bb_control_loop_add(system.loop, &data.period));
    run_queued(&system, 0, z[0]);
    check_ok(bb_control_loop_reset(system.loop));
    check_ok(bb_control_loop_clock(system.loop, &start));
    start += 5000000;
    check_ok(bb_control_loop_begin(system.loop, 0));
    for (uint64_t step = 0; step < STEPS; ++step) {
        check_ok(bb_control_loop_wait_until(system.loop, start + step * APART_NS));
        check_ok(bb_control_loop_step(system.loop));
    }
    for (bb_index step = 0; step < STEPS; ++step) {
        const bb_index rest = STEPS - 1 - step;
        check_ok(bb_control_loop_await(system.loop, rest, step % 2 == 0 ? 20000 : 0));
        const bb_loop_stamps stamps = bb_control_loop_stamps(system.loop, rest);
        assert_true(stamps.ns[BB_LOOP_STATE] >= start + (uint64_t)step * APART_NS);
        assert_true(stamps.ns[BB_LOOP_STATE] >= end);
        assert_int_equal(stamps.ns[BB_LOOP_OUTPUT] > 0, step < LIGHT);
        end = stamps.ns[BB_LOOP_END];
    }
    check_ok(bb_control_loop_outputs(system.loop, z[1]));
    assert_memory_equal(z[0], z[1], sizeof z[0]);
}

// A period that selects another set of matrices behaves like the other set from the start, bit for
// bit.
TEST(a_period_takes_any_set)
{
    static input_data data;
    double z[SETS][AXES * POINTS], found[AXES * POINTS];
    autocall(plant_close) plant system;
    plant_open(&system, BB_FORMAT_E4M3);
    for (int set = 0; set < SETS; ++set) {
        fill(set, 9, &data);
        check_ok(bb_control_loop_add(system.loop, &data.period));
        run_queued(&system, set, z[set]);
    }
    for (int turn = 0; turn < 4; ++turn) {
        const int set = (turn + 1) % SETS;
        check_ok(bb_control_loop_use(system.loop, 0, set));
        run_queued(&system, 0, found);
        assert_memory_equal(found, z[set], sizeof found);
    }
    assert_memory_not_equal(z[0], z[1], sizeof found);
    check_fails(bb_control_loop_use(system.loop, 0, SETS), BB_INVALID,
                "set 2 of 2 sets for period 0");
    check_fails(bb_control_loop_use(system.loop, SETS, 0), BB_INVALID, "period 2 does not exist");
    fill(-1, 9, &data);
    check_ok(bb_control_loop_add(system.loop, &data.period));
    check_fails(bb_control_loop_use(system.loop, SETS, 0), BB_INVALID, "period must have products");
}

TEST(periods_that_do_not_fit_are_refused)
{
    static input_data data;
    autocall(plant_close) plant system;
    plant_open(&system, BB_FORMAT_FP32);
    fill(0, 9, &data);
    data.period.set = SETS;
    check_fails(bb_control_loop_add(system.loop, &data.period), BB_INVALID, "set 2 of 2");
    data.period.set = 0;
    data.window[3] = ROWS - WINDOW + 1;
    check_fails(bb_control_loop_add(system.loop, &data.period), BB_INVALID, "window of 18 rows");
    data.window[3] = 0;
    data.output[1].point = POINTS;
    check_fails(bb_control_loop_add(system.loop, &data.period), BB_INVALID, "point 7 of 7");
    data.output[1].point = 0;
    data.where[2] = UNKNOWNS;
    check_fails(bb_control_loop_add(system.loop, &data.period), BB_INVALID, "unknown 3000 of 3000");
    check_fails(bb_control_loop_begin(system.loop, 0), BB_INVALID, "period 0 does not exist");
}

static int begin(void)
{
    return first_device_open(BB_DEVICE_CUDA, &gpu);
}

static void end(void)
{
    bb_device_close(&gpu);
}

TEST_GROUP(.begin = begin, .end = end);
