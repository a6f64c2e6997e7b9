// SPDX-License-Identifier: Apache-2.0
//
// One step of a linear feed-forward controller on a GPU, captured once and replayed: state, input,
// measurement, products, outputs.
//
//     T <- A T + B u              state in fp32, input of few unknowns
//     x = W (T before + T after) / 2
//     y_a = C_a[window] x         coded matrices, one per axis (bb_coded_operator_queue)
//     z_a[p] += sum_k w_pk y_a[k] outputs: points interpolated from the windows of several steps
//
// The loop of Bamakhrama et al. (wafer feed-forward). Steps are grouped in periods (a field): the
// first `light_steps` of a period have input, window and outputs, the others update the state only.
// All data that changes from step to step is on the device before a period begins, so a step is a
// single graph launch. Graphs are captured for steps with products, with input only and with
// neither. Steps with products need one for each set of matrices, and one for each window if the
// operators cannot read the window index on the device. Each exists for even and odd steps, which
// swap old and new state.
//
// The last kernel of a step writes the number of completed steps to host memory, which the host
// polls. Steps may be queued early: bb_control_loop_wait_until makes the device wait for a time of
// its own clock.
#ifndef BB_SOLVERS_LOOP_CONTROL_LOOP_H
#define BB_SOLVERS_LOOP_CONTROL_LOOP_H

#include "core/csr.h"
#include "solvers/operator/coded_operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/// System of a control loop. Borrowed during creation; the operators must outlive the loop.
typedef struct bb_loop_system {
    const bb_csr *a;      ///< [n][n]
    const double *b;      ///< [n], the diagonal of B
    const bb_csr *w;      ///< [columns of C][at most n]: W uses the first unknowns only
    bb_index window_rows; ///< rows of C per step
    bb_index points;      ///< points per axis
    int axes;             ///< 1 to BB_CODED_TOGETHER
    bb_index set_count;   ///< sets of matrices: one per field, or a single one
    bb_coded_operator *const *operators; ///< [set_count][axes], fp32 products, on the device
} bb_loop_system;

/// An output of a light step: interpolation weights of window rows for one point, equal for all
/// axes.
typedef struct bb_loop_output {
    int32_t point;
    int32_t corner[4];
    double weight[4];
} bb_loop_output;

/// Data of one period, borrowed while it is added. A point has at most one output per step.
typedef struct bb_loop_period {
    bb_index set; ///< set of matrices; -1: light steps have input but neither window nor outputs
    bb_index light_steps, dark_steps;
    const int32_t *input_begin;  ///< [light_steps + 1]
    const int32_t *input_where;  ///< unknowns, each at most once per step
    const double *input;         ///< input values u
    const int32_t *window;       ///< [light_steps] first row of C
    const int32_t *output_begin; ///< [light_steps + 1]
    const bb_loop_output *output;
} bb_loop_period;

/// Timed stages of a step.
typedef enum bb_loop_stage {
    BB_LOOP_STATE,
    BB_LOOP_INPUT,
    BB_LOOP_READING,
    BB_LOOP_OUTPUT, ///< start of the outputs, after the products
    BB_LOOP_END,
    BB_LOOP_STAGES,
} bb_loop_stage;

/// Number of steps whose time stamps are stored.
enum { BB_LOOP_KEPT = 256 };

/// Time stamps of a step [ns of the device clock]; 0 for stages that the step does not have.
typedef struct bb_loop_stamps {
    uint64_t ns[BB_LOOP_STAGES];
} bb_loop_stamps;

typedef struct bb_control_loop bb_control_loop;

/// Copies the system to the device and captures its graphs. The state is zero. Errors: BB_INVALID
/// (shapes that do not fit), BB_UNSUPPORTED (a build without CUDA, a device older than sm_90,
/// operators on the cpu), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_create(bb_device *device, const bb_loop_system *system,
                                            bb_control_loop **out);
void bb_control_loop_destroy(bb_control_loop **loop);

/// Copies a period to the device and captures the graphs it needs; periods are numbered from 0 in
/// the order of these calls. Errors: BB_INVALID (an index out of range), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_add(bb_control_loop *loop, const bb_loop_period *period);

/// Makes a period with products use another set of matrices from now on. Captures the graphs it
/// needs, so a second call with the same set is cheap. Errors: BB_INVALID (no such period or set, a
/// period without products), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_use(bb_control_loop *loop, bb_index period, bb_index set);

/// Queues the start of a period, which zeroes the outputs; call it before the first step. Errors:
/// BB_INVALID (no such period), BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_begin(bb_control_loop *loop, bb_index period);

/// Queue the next step of the period; wait for all queued steps by polling. Errors: BB_INVALID (a
/// step past the end of the period), BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_step(bb_control_loop *loop);
BB_CHECKED bb_status bb_control_loop_wait(bb_control_loop *loop);

/// Waits until at most `rest` of the queued steps are incomplete, sleeping `sleep_ns` between
/// polls. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_await(bb_control_loop *loop, bb_index rest, int64_t sleep_ns);

/// Number of queued steps that are incomplete.
bb_index bb_control_loop_left(const bb_control_loop *loop);

/// Time stamps of the completed step `rest` before the last queued one; `rest` below BB_LOOP_KEPT.
bb_loop_stamps bb_control_loop_stamps(const bb_control_loop *loop, bb_index rest);

/// Queues a wait until the device clock reaches `ns`; everything queued later starts after it.
/// Errors: BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_wait_until(bb_control_loop *loop, uint64_t ns);

/// Reads the device clock [ns], which also gives the time stamps, after all queued work. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_clock(bb_control_loop *loop, uint64_t *ns);

/// Queues zeroing of the state.
BB_CHECKED bb_status bb_control_loop_reset(bb_control_loop *loop);

/// Device memory of a loop with `nodes` unknowns and x of `cells`, without its operators.
bb_need bb_control_loop_need(double nodes, double cells);

/// Copy the state [n], x [columns of C], the windows [axes][window_rows] of the last light step,
/// and the outputs [axes][points] of the period. Wait for all queued work. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_state(bb_control_loop *loop, float *out);
BB_CHECKED bb_status bb_control_loop_reading(bb_control_loop *loop, float *out);
BB_CHECKED bb_status bb_control_loop_windows(bb_control_loop *loop, double *out);
BB_CHECKED bb_status bb_control_loop_outputs(bb_control_loop *loop, double *out);

/// Bytes moved by a light step without the matrices: A, W and vectors as stored.
double bb_control_loop_bytes(const bb_control_loop *loop, bool light);

#ifdef __cplusplus
}
#endif

#endif
