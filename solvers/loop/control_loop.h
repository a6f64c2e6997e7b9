// SPDX-License-Identifier: Apache-2.0
//
// One step of a linear feed-forward on a GPU, captured once and replayed: state, input, reading,
// products, outputs.
//
//     T <- A T + B u              state in fp32, input of few unknowns
//     x = W (T before + T after) / 2
//     y_a = C_a[window] x         coded matrices, a axis (bb_coded_operator_queue)
//     z_a[p] += sum_k w_pk y_a[k] outputs: points that interpolate in the windows of several steps
//
// The loop of Bamakhrama et al. (wafer feed-forward). Steps come in periods (a field): the first
// `light_steps` of one have input, window and outputs, the others the state alone. Everything that
// changes from step to step lies on the device before a period begins, so that a step is one graph
// launch and nothing else. Graphs are captured for steps with products (of each set of matrices,
// and of each window where the operators do not find it on the device), with input alone and with
// neither, each for even and odd steps, between which old and new state change places.
//
// The last kernel of a step writes the count of steps done to memory of the host, which polls it.
// Steps may be queued before their time: a hold makes the device wait for its own clock.
#ifndef BB_SOLVERS_LOOP_CONTROL_LOOP_H
#define BB_SOLVERS_LOOP_CONTROL_LOOP_H

#include "core/csr.h"
#include "solvers/operator/coded_operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the loop is made of; borrowed while it is created, but for the operators, which must
/// outlive it.
typedef struct bb_loop_system {
    const bb_csr *a;                     ///< [n][n]
    const double *b;                     ///< [n], the diagonal of B
    const bb_csr *w;                     ///< [columns of C][at most n]: reads the first unknowns
    bb_index window_rows;                ///< of C that a step takes
    bb_index points;                     ///< of an axis' outputs
    int axes;                            ///< 1 to BB_CODED_TOGETHER
    bb_index set_count;                  ///< sets of matrices: a field's each, or one
    bb_coded_operator *const *operators; ///< [set_count][axes], fp32 products, on the device
} bb_loop_system;

/// An output of a light step: weights of window rows for one point, the same for all axes.
typedef struct bb_loop_output {
    int32_t point;
    int32_t corner[4];
    double weight[4];
} bb_loop_output;

/// A period's data; borrowed while it is added. A point has at most one output a step.
typedef struct bb_loop_period {
    bb_index set; ///< of matrices; -1: the light steps have input and neither window nor output
    bb_index light_steps, dark_steps;
    const int32_t *input_begin;  ///< [light_steps + 1]
    const int32_t *input_where;  ///< unknowns, each once a step
    const double *input;         ///< u
    const int32_t *window;       ///< [light_steps] first row of C
    const int32_t *output_begin; ///< [light_steps + 1]
    const bb_loop_output *output;
} bb_loop_period;

/// Parts of a step whose start is noted.
typedef enum bb_loop_stage {
    BB_LOOP_STATE,
    BB_LOOP_INPUT,
    BB_LOOP_READING,
    BB_LOOP_OUTPUT, ///< after the products
    BB_LOOP_END,
    BB_LOOP_STAGES,
} bb_loop_stage;

/// Steps whose stamps are kept.
enum { BB_LOOP_KEPT = 256 };

/// What a step noted, ns of the device's clock; 0 for stages that a step without products does not
/// have.
typedef struct bb_loop_stamps {
    uint64_t ns[BB_LOOP_STAGES];
} bb_loop_stamps;

typedef struct bb_control_loop bb_control_loop;

/// Copies the system to the device and captures its graphs. The state is zero. Errors: BB_INVALID
/// (shapes that do not fit), BB_UNSUPPORTED (a build without CUDA, a device before sm_90, operators
/// of the cpu), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_create(bb_device *device, const bb_loop_system *system,
                                            bb_control_loop **out);
void bb_control_loop_destroy(bb_control_loop **loop);

/// Copies a period to the device and captures what graphs it needs; periods are numbered from 0 in
/// the order of their adding. Errors:
/// BB_INVALID (indices beyond the system's), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_add(bb_control_loop *loop, const bb_loop_period *period);

/// From now on a period with products takes another set of matrices; captures what graphs it needs,
/// so that the second time costs nothing. Errors: BB_INVALID (no such period or set, a period
/// without products), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_use(bb_control_loop *loop, bb_index period, bb_index set);

/// Queues the start of a period, outputs zero: before its first step. Errors: BB_INVALID (no such
/// period), BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_begin(bb_control_loop *loop, bb_index period);

/// Queues the next step of the period, and waits for all that were queued, polling. Errors:
/// BB_INVALID (a step past the period's last), BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_step(bb_control_loop *loop);
BB_CHECKED bb_status bb_control_loop_wait(bb_control_loop *loop);

/// Waits until at most `rest` of the queued steps are to be done, and looks every `sleep_ns`.
/// Errors: BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_await(bb_control_loop *loop, bb_index rest, int64_t sleep_ns);

/// Steps that were queued and are not done.
bb_index bb_control_loop_left(const bb_control_loop *loop);

/// Of the step `rest` before the last queued one, which is done; `rest` below BB_LOOP_KEPT.
bb_loop_stamps bb_control_loop_stamps(const bb_control_loop *loop, bb_index rest);

/// Queues a wait until the device's clock shows `ns`: what is queued after it starts then. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_wait_until(bb_control_loop *loop, uint64_t ns);

/// What the device's clock, that of the stamps, shows after all that was queued, ns. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_clock(bb_control_loop *loop, uint64_t *ns);

/// Queues setting the state to zero.
BB_CHECKED bb_status bb_control_loop_reset(bb_control_loop *loop);

/// What the loop takes on a device for `nodes` unknowns and x of so many cells, its operators not
/// counted.
bb_need bb_control_loop_need(double nodes, double cells);

/// Copies of the state [n], of x [columns of C], of the windows [axes][window_rows] of the last
/// light step and of the outputs [axes][points] of the period. Wait for everything. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_control_loop_state(bb_control_loop *loop, float *out);
BB_CHECKED bb_status bb_control_loop_reading(bb_control_loop *loop, float *out);
BB_CHECKED bb_status bb_control_loop_windows(bb_control_loop *loop, double *out);
BB_CHECKED bb_status bb_control_loop_outputs(bb_control_loop *loop, double *out);

/// Bytes that a light step moves besides the matrices: A, W and vectors, as they are stored.
double bb_control_loop_bytes(const bb_control_loop *loop, bool light);

#ifdef __cplusplus
}
#endif

#endif
