// SPDX-License-Identifier: Apache-2.0
//
// The wafer's feed-forward as a control loop on one GPU or several: heat, restriction, response of
// all axes and dose-weighted displacements of one pipeline, a captured graph a step on each device
// (solvers/loop/control_loop.h).
//
// A period of the loop is an exposure, from `first` on up to the last scored one; fields that are
// not scored have heat alone. Outputs are the displacements at the field's scored points, weighted
// by the dose of each step, whose sum over a field's steps is what bb_dwell calls the mean.
//
// Resident mode: the coded matrices of every scored field lie on the devices at once. Streamed mode
// (Bamakhrama et al., wafer feed-forward): they lie in pinned memory of the host and take turns in
// two slots. The turn-th scored field that begins has slot turn mod 2; after its last light step
// the matrices of the second next scored field are on their way to that slot, and after the last
// scored field comes the first again. A field that begins out of turn is fetched when it begins.
//
// Several devices: axis a on device a mod gpus. Each computes the whole thermal state, the same
// bits everywhere, so that nothing crosses between them. An axis' sums depend on how many axes a
// launch multiplies (solvers/operator/stream/coded_stream_cuda.h): outputs have the bits of another
// number of devices only where the launches have as many, and otherwise agree within rounding;
// low-rank tiles have the same bits in any launch.
//
// A part is one device's share: some of the axes, their matrices, and a control loop of its own
// with the whole thermal state, which every device computes alike. Resident it has a set of
// operators for each scored field; streamed a set for each slot, and an image of each scored field
// in pinned memory of the host, which crosses while the field before is exposed
// (solvers/loop/field_stream.h). A period of its control loop has the nodes that get heat in each
// light step, windows of the slit, and dose-weighted displacements of the scored points.
//
// Explicit heat in whole steps without hood or ring, products in fp32. The state is in fp32.
#ifndef BB_SIM_WAFER_REALTIME_WAFER_LOOP_H
#define BB_SIM_WAFER_REALTIME_WAFER_LOOP_H

#include "sim/pipelines/product_coding.h"
#include "sim/wafer/wafer_study.h"
#include "solvers/loop/control_loop.h"
#include "solvers/loop/field_stream.h"

/// Makes the rows of axis `axis` (bb_axis) for scored field `field` over the threads and codes them
/// for a pipeline of the study. Errors: those of bb_wafer_row_source_open and
/// bb_product_coding_encode. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_loop_part_encode(const bb_wafer_study *study,
                                         const bb_wafer_problem *problem,
                                         const bb_product_pipeline *pipeline, bb_index field,
                                         int axis, bb_coding_report *report, bb_coded_matrix **out);

/// Share of one device.
typedef struct bb_loop_part {
    bb_device *device; ///< borrowed
    bool streamed;
    int axes;
    bb_index fields, sets;         ///< scored fields; of operators: those, or slots
    bb_coded_matrix **matrices;    ///< [sets][axes]; NULL on a GPU, which has copies
    bb_coded_operator **operators; ///< [sets][axes]
    /// Of a field whose image is still to be taken; matrices as above
    bb_coded_operator *fresh[BB_CODED_TOGETHER];
    bb_coded_matrix *fresh_matrices[BB_CODED_TOGETHER];
    bb_field_stream *stream; ///< NULL where matrices are resident
    bb_field_image **images; ///< [fields], NULL where matrices are resident
    double bytes;            ///< of all operators, as products read them
    bb_control_loop *loop;
} bb_loop_part;

/// Read-only to users but for `keeps`.
typedef struct bb_wafer_loop {
    const bb_wafer_study *study;         ///< borrowed, as are the next two
    const bb_wafer_problem *problem;     ///< of the study
    const bb_product_pipeline *pipeline; ///< of the study
    bb_index first;                      ///< exposure of period 0
    bb_index period_count;               ///< exposures [first, first + period_count)
    bb_index steps;                      ///< of a period, light and dark
    int axes;
    bb_index points; ///< of an axis' outputs: the most scored points of a field
    int gpus;
    bb_loop_part parts[BB_LOOP_GPUS]; ///< [gpus]
    bb_coding_report coding;          ///< of all matrices
    double device_bytes;              ///< of all operators on all devices, as products read them
    double field_bytes;               ///< that cross for a field, streamed
    bool streamed;
    bool keeps;                     ///< streamed: no field is on its way while another runs
    bb_index turn;                  ///< streamed: scored fields that have begun
    bb_index holds[BB_FIELD_SLOTS]; ///< streamed: scored field in a slot or on its way; -1: none
    bb_index period, step;          ///< that run; -1: none
} bb_wafer_loop;

/// Whether the loop computes what a study and a pipeline of it ask for. Errors: BB_UNSUPPORTED,
/// with the key and what the loop expects.
BB_CHECKED bb_status bb_wafer_loop_check(const bb_wafer_study *study,
                                         const bb_product_pipeline *pipeline);

/// Codes the rows over the threads and readies the loop on `devices`, as many as the study's
/// realtime.gpus, borrowed, its state at rest before exposure `first`; streamed, the first two
/// fields are on their way. Errors: those of bb_wafer_loop_check, of the rows, of
/// bb_product_coding_encode, of the operators and of bb_control_loop_create; BB_INVALID (no scored
/// exposure from `first` on). Owner: the caller.
BB_CHECKED bb_status bb_wafer_loop_create(const bb_wafer_study *study,
                                          const bb_wafer_problem *problem,
                                          const bb_product_pipeline *pipeline,
                                          bb_device *const *devices, bb_index first,
                                          bb_wafer_loop **out);
void bb_wafer_loop_destroy(bb_wafer_loop **loop);

/// Index of a period's exposure among the scored ones, -1 where it has heat alone.
bb_index bb_wafer_loop_scored(const bb_wafer_loop *loop, bb_index period);

/// Queues setting the state of every device to zero.
BB_CHECKED bb_status bb_wafer_loop_reset(bb_wafer_loop *loop);

/// Queues the copy of the matrices of a scored period that begins next, whatever its slot holds;
/// resident, nothing. Errors: the stream's.
BB_CHECKED bb_status bb_wafer_loop_fetch(bb_wafer_loop *loop, bb_index period);

/// Waits until the matrices of a period that begins next are on the devices, polling: s that each
/// was waited for, 0 where they were there, NaN where the period needs none or they are resident.
/// Errors: the stream's.
BB_CHECKED bb_status bb_wafer_loop_await(bb_wafer_loop *loop, bb_index period,
                                         double waited[BB_LOOP_GPUS]);

/// Queues the start of a period on all devices, its next step, and waits for all that were queued,
/// polling. Where matrices are not there, the device waits for them. Errors: as the calls of
/// solvers/loop/control_loop.h.
BB_CHECKED bb_status bb_wafer_loop_begin(bb_wafer_loop *loop, bb_index period);
BB_CHECKED bb_status bb_wafer_loop_step(bb_wafer_loop *loop);
BB_CHECKED bb_status bb_wafer_loop_wait(bb_wafer_loop *loop);

/// A copy of the outputs of the period: [axes][points]. Errors: BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_loop_outputs(bb_wafer_loop *loop, double *out);

/// Runs all steps of a period, whose matrices are waited for first, back to back by the host's
/// clock: `each` step is waited for before the next is launched, or all are queued and the last is.
/// Errors: the loop's.
BB_CHECKED bb_status bb_wafer_loop_time(bb_wafer_loop *loop, bb_index period, bool each,
                                        double *seconds);

#endif
