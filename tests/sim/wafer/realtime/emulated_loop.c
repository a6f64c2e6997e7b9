// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/wafer/realtime/emulated_loop.h"

#include "core/memory.h"
#include "solvers/loop/sliced_rows.h"
#include "tests/check.h"
#include "tests/manual_clock.h"

#include <signal.h>

enum { EMULATED_PERIODS = 8 };

bb_index emulated_signal_in;
int emulated_signal = SIGINT;
bb_index emulated_ahead;
bb_index emulated_slow_in;

struct bb_control_loop {
    bb_sliced_rows a, w;
    bb_loop_system system; // a, b, w are not accessed
    bb_index n, cells;
    const double *b;
    float *state, *next, *x, *part;
    double *wide, *y, *z; // wide: x in fp64
    bb_loop_period periods[EMULATED_PERIODS];
    bb_index period_count, period, step;
    uint64_t clock, queued; // ns; steps
    int64_t done_ns;        // host clock when all queued steps are done
    bb_loop_stamps stamps[BB_LOOP_KEPT];
    void *blocks[6 * EMULATED_PERIODS];
    int block_count;
};

// A copy that lives as long as the loop.
static void *emulated_copy(bb_control_loop *loop, const void *source, bb_index count, size_t bytes)
{
    void **block = &loop->blocks[loop->block_count++];
    check_ok(bb_memory_allocate(count + 1, bytes, block));
    if (count > 0) {
        memcpy(*block, source, (size_t)count * bytes);
    }
    return *block;
}

bb_status bb_control_loop_create(bb_device *device, const bb_loop_system *system,
                                 bb_control_loop **out)
{
    bb_status status = BB_OK;
    autoptr(bb_control_loop) loop = NULL;
    (void)device;
    BB_TRY(BB_ZEROED(1, &loop));
    loop->system = *system;
    loop->b = system->b;
    loop->n = system->a->rows;
    loop->cells = system->w->rows;
    BB_TRY(bb_sliced_rows_of(system->a, &loop->a));
    BB_TRY(bb_sliced_rows_of(system->w, &loop->w));
    BB_TRY(BB_ZEROED(loop->n, &loop->state));
    BB_TRY(BB_ZEROED(loop->n, &loop->next));
    BB_TRY(BB_ZEROED(loop->cells, &loop->x));
    BB_TRY(BB_ZEROED(loop->cells, &loop->part));
    BB_TRY(BB_ZEROED(loop->cells, &loop->wide));
    BB_TRY(BB_ZEROED(system->axes * system->window_rows, &loop->y));
    BB_TRY(BB_ZEROED(system->axes * system->points, &loop->z));
    *out = loop;
    loop = NULL;
done:
    return status;
}

void bb_control_loop_destroy(bb_control_loop **loop)
{
    bb_control_loop *control_loop = *loop;
    if (control_loop == NULL) {
        return;
    }
    for (int block = 0; block < control_loop->block_count; ++block) {
        bb_memory_release(&control_loop->blocks[block]);
    }
    bb_sliced_rows_release(&control_loop->a);
    bb_sliced_rows_release(&control_loop->w);
    BB_RELEASE(&control_loop->state);
    BB_RELEASE(&control_loop->next);
    BB_RELEASE(&control_loop->x);
    BB_RELEASE(&control_loop->part);
    BB_RELEASE(&control_loop->wide);
    BB_RELEASE(&control_loop->y);
    BB_RELEASE(&control_loop->z);
    BB_RELEASE(loop);
}

bb_status bb_control_loop_add(bb_control_loop *loop, const bb_loop_period *period)
{
    const bb_index light = period->light_steps;
    const bb_index inputs = period->input_begin[light];
    bb_loop_period *loop_period = &loop->periods[loop->period_count++];
    *loop_period = (bb_loop_period){
        .set = period->set, .light_steps = light, .dark_steps = period->dark_steps};
    loop_period->input_begin = emulated_copy(loop, period->input_begin, light + 1, sizeof(int32_t));
    loop_period->input_where = emulated_copy(loop, period->input_where, inputs, sizeof(int32_t));
    loop_period->input = emulated_copy(loop, period->input, inputs, sizeof(double));
    if (period->set >= 0) {
        loop_period->window = emulated_copy(loop, period->window, light, sizeof(int32_t));
        loop_period->output_begin =
            emulated_copy(loop, period->output_begin, light + 1, sizeof(int32_t));
        loop_period->output = emulated_copy(loop, period->output, period->output_begin[light],
                                            sizeof *period->output);
    }
    return BB_OK;
}

bb_status bb_control_loop_use(bb_control_loop *loop, bb_index period, bb_index set)
{
    assert_true(set >= 0 && set < loop->system.set_count && loop->periods[period].set >= 0);
    loop->periods[period].set = set;
    return BB_OK;
}

bb_status bb_control_loop_begin(bb_control_loop *loop, bb_index period)
{
    loop->period = period;
    loop->step = 0;
    memset(loop->z, 0, (size_t)(loop->system.axes * loop->system.points) * sizeof *loop->z);
    return BB_OK;
}

static bb_status emulated_products(bb_control_loop *loop, const bb_loop_period *period)
{
    bb_status status = BB_OK;
    const bb_loop_system *system = &loop->system;
    bb_sliced_rows_multiply(&loop->w, loop->state, loop->x);
    bb_sliced_rows_multiply(&loop->w, loop->next, loop->part);
    for (bb_index j = 0; j < loop->cells; ++j) {
        loop->x[j] = 0.5F * (loop->x[j] + loop->part[j]);
        loop->wide[j] = (double)loop->x[j];
    }
    for (int axis = 0; axis < system->axes; ++axis) {
        double seconds = 0.0;
        double *y = loop->y + axis * system->window_rows;
        BB_TRY(bb_coded_operator_apply(
            emulated_operator(system->operators[period->set * system->axes + axis]),
            period->window[loop->step], system->window_rows, loop->wide, y, &seconds));
        for (int k = period->output_begin[loop->step]; k < period->output_begin[loop->step + 1];
             ++k) {
            for (int c = 0; c < 4; ++c) {
                loop->z[axis * system->points + period->output[k].point] +=
                    period->output[k].weight[c] * y[period->output[k].corner[c]];
            }
        }
    }
done:
    return status;
}

static void note_stamps(bb_control_loop *loop, bool light, bool multiplies)
{
    const uint64_t slow = emulated_slow_in > 0 && --emulated_slow_in == 0 ? 2500000 : 0;
    const uint64_t begin = loop->clock + slow;
    loop->done_ns = (manual_ns > loop->done_ns ? manual_ns : loop->done_ns) + EMULATED_STEP_NS;
    loop->stamps[loop->queued++ % BB_LOOP_KEPT] =
        (bb_loop_stamps){{begin + 1000, light ? begin + 3000 : 0, multiplies ? begin + 6000 : 0,
                          multiplies ? begin + 10000 : 0, begin + EMULATED_STEP_NS}};
    loop->clock = begin + EMULATED_STEP_NS;
}

bb_status bb_control_loop_step(bb_control_loop *loop)
{
    bb_status status = BB_OK;
    const bb_loop_period *period = &loop->periods[loop->period];
    if (emulated_signal_in > 0 && --emulated_signal_in == 0) {
        (void)raise(emulated_signal);
    }
    const bool light = loop->step < period->light_steps;
    bb_sliced_rows_multiply(&loop->a, loop->state, loop->next);
    for (int k = light ? period->input_begin[loop->step] : 0;
         light && k < period->input_begin[loop->step + 1]; ++k) {
        const int32_t index = period->input_where[k];
        loop->next[index] = fmaf((float)loop->b[index], (float)period->input[k], loop->next[index]);
    }
    if (light && period->set >= 0) {
        BB_TRY(emulated_products(loop, period));
    }
    const bb_index n = loop->n;
    memcpy(loop->state, loop->next, (size_t)n * sizeof *loop->state);
    note_stamps(loop, light, light && period->set >= 0);
    loop->step += 1;
done:
    return status;
}

bb_status bb_control_loop_wait(bb_control_loop *loop)
{
    (void)manual_clock_sleep(loop->done_ns);
    return BB_OK;
}

bb_status bb_control_loop_await(bb_control_loop *loop, bb_index rest, int64_t sleep_ns)
{
    (void)sleep_ns;
    assert_true(rest >= 0 && (uint64_t)rest < loop->queued && rest < BB_LOOP_KEPT);
    if (rest == 0) {
        (void)manual_clock_sleep(loop->done_ns);
    }
    return BB_OK;
}

bb_index emulated_stall_in;

bb_index bb_control_loop_left(const bb_control_loop *loop)
{
    const bb_index held =
        emulated_ahead - (emulated_stall_in > 0 && --emulated_stall_in == 0 ? 7 : 0);
    (void)loop;
    return held > 0 ? held : 0;
}

bb_loop_stamps bb_control_loop_stamps(const bb_control_loop *loop, bb_index rest)
{
    return loop->stamps[(loop->queued - 1 - (uint64_t)rest) % BB_LOOP_KEPT];
}

bb_status bb_control_loop_wait_until(bb_control_loop *loop, uint64_t ns)
{
    loop->clock = loop->clock > ns ? loop->clock : ns;
    return BB_OK;
}

bb_status bb_control_loop_clock(bb_control_loop *loop, uint64_t *ns)
{
    *ns = loop->clock;
    return BB_OK;
}

bb_status bb_control_loop_reset(bb_control_loop *loop)
{
    memset(loop->state, 0, (size_t)loop->n * sizeof *loop->state);
    return BB_OK;
}

bb_status bb_control_loop_state(bb_control_loop *loop, float *out)
{
    memcpy(out, loop->state, (size_t)loop->n * sizeof *out);
    return BB_OK;
}

bb_status bb_control_loop_reading(bb_control_loop *loop, float *out)
{
    memcpy(out, loop->x, (size_t)loop->cells * sizeof *out);
    return BB_OK;
}

bb_status bb_control_loop_windows(bb_control_loop *loop, double *out)
{
    memcpy(out, loop->y, (size_t)(loop->system.axes * loop->system.window_rows) * sizeof *out);
    return BB_OK;
}

bb_status bb_control_loop_outputs(bb_control_loop *loop, double *out)
{
    memcpy(out, loop->z, (size_t)(loop->system.axes * loop->system.points) * sizeof *out);
    return BB_OK;
}

double bb_control_loop_bytes(const bb_control_loop *loop, bool light)
{
    (void)loop;
    return light ? 2.0 : 1.0;
}
