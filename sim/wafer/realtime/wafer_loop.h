// SPDX-License-Identifier: Apache-2.0
//
// Wafer feed-forward as a control loop on one or several GPUs: heat, restriction, response of all
// axes and dose-weighted displacements of one pipeline, with one captured graph per step and device
// (solvers/loop/control_loop.h).
//
// A period of the loop is one exposure; periods run from exposure `first` to the last scored one.
// Unscored fields have heat only. Outputs are the displacements at the field's scored points,
// weighted by the dose of each step; their sum over a field's steps is the mean of bb_dwell.
//
// Resident mode: the encoded matrices of every scored field are on the devices at once. Streamed
// mode (Bamakhrama et al., wafer feed-forward): they are in pinned host memory and alternate
// between two slots. The k-th scored field to start uses slot k mod 2. After its last light step
// the matrices of the second next scored field are sent to that slot; the order of scored fields is
// cyclic. The matrices of a field started out of order are sent when it starts.
//
// Several devices: axis a runs on device a mod gpus. Each device computes the whole thermal state
// with identical bits, so no data cross between devices. The sums of an axis depend on the number
// of axes multiplied by one launch (solvers/operator/stream/coded_stream_cuda.h). Results for
// different numbers of devices are bit-identical only if their launches have equally many axes, and
// otherwise agree within rounding; low-rank tiles are always bit-identical.
//
// A part is the share of one device: some axes, their matrices, and a control loop with the whole
// thermal state. A resident part has a set of operators for each scored field. A streamed part has
// a set for each slot, and an image of each scored field in pinned host memory, which is
// transferred while the previous field is exposed (solvers/loop/field_stream.h). A period of its
// control loop has the nodes heated in each light step, slit windows, and dose-weighted
// displacements of the scored points.
//
// Restrictions: explicit heat without substeps, hood or ring; state and products in fp32.
#ifndef BB_SIM_WAFER_REALTIME_WAFER_LOOP_H
#define BB_SIM_WAFER_REALTIME_WAFER_LOOP_H

#include "sim/pipelines/product_coding.h"
#include "sim/wafer/wafer_study.h"
#include "solvers/loop/control_loop.h"
#include "solvers/loop/field_stream.h"

/// Computes the rows of axis `axis` (bb_axis) for scored field `field` on all threads and encodes
/// them for a pipeline of the study. Errors: from bb_wafer_row_source_open and
/// bb_product_coding_encode. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_loop_part_encode(const bb_wafer_study *study,
                                         const bb_wafer_problem *problem,
                                         const bb_product_pipeline *pipeline, bb_index field,
                                         int axis, bb_coding_report *report, bb_coded_matrix **out);

/// Part of the loop on one device.
typedef struct bb_loop_part {
    bb_device *device; ///< borrowed
    bool streamed;
    int axes;
    bb_index fields, sets;         ///< scored fields; operator sets: fields or slots
    bb_coded_matrix **matrices;    ///< [sets][axes]; NULL on a GPU, which has its own copies
    bb_coded_operator **operators; ///< [sets][axes]
    /// operators and matrices of a field until its image is made; matrices are NULL on a GPU
    bb_coded_operator *fresh[BB_CODED_TOGETHER];
    bb_coded_matrix *fresh_matrices[BB_CODED_TOGETHER];
    bb_field_stream *stream; ///< NULL in resident mode
    bb_field_image **images; ///< [fields], NULL in resident mode
    double bytes;            ///< bytes of all operators, as products read them
    bb_control_loop *loop;
} bb_loop_part;

/// Loop of one pipeline; read-only to users except `no_prefetch`.
typedef struct bb_wafer_loop {
    const bb_wafer_study *study;         ///< borrowed, as are the next two
    const bb_wafer_problem *problem;     ///< problem of the study
    const bb_product_pipeline *pipeline; ///< pipeline of the study
    bb_index first;                      ///< exposure of period 0
    bb_index period_count;               ///< exposures [first, first + period_count)
    bb_index steps;                      ///< steps of a period, light and dark
    int axes;
    bb_index points; ///< outputs of an axis: largest number of scored points in a field
    int gpus;
    bb_loop_part parts[BB_LOOP_GPUS]; ///< [gpus]
    bb_coding_report coding;          ///< encoding losses of all matrices
    double device_bytes; ///< bytes of all operators on all devices, as products read them
    double field_bytes;  ///< streamed: bytes transferred for a field
    bool streamed;
    bool no_prefetch; ///< streamed: no matrices are sent while a field runs
    bb_index turn;    ///< streamed: number of scored fields started
    /// streamed: scored field in a slot or in flight; -1: none
    bb_index slot_fields[BB_FIELD_SLOTS];
    bb_index period, step; ///< current period and step; -1: none
} bb_wafer_loop;

/// Checks that the loop supports a study and its pipeline. Errors: BB_UNSUPPORTED, with the key and
/// the supported value.
BB_CHECKED bb_status bb_wafer_loop_check(const bb_wafer_study *study,
                                         const bb_product_pipeline *pipeline);

/// Encodes the rows on all threads and prepares the loop on `devices`, whose number is the study's
/// realtime.gpus. Devices are borrowed. The state is zero before exposure `first`; in streamed mode
/// the first two fields are being sent. Errors: from bb_wafer_loop_check, of the rows, of
/// bb_product_coding_encode, of the operators and of bb_control_loop_create; BB_INVALID (no scored
/// exposure from `first` on). Owner: the caller.
BB_CHECKED bb_status bb_wafer_loop_create(const bb_wafer_study *study,
                                          const bb_wafer_problem *problem,
                                          const bb_product_pipeline *pipeline,
                                          bb_device *const *devices, bb_index first,
                                          bb_wafer_loop **out);
void bb_wafer_loop_destroy(bb_wafer_loop **loop);

/// Index of a period's exposure among the scored ones, -1 for a period with heat only.
bb_index bb_wafer_loop_scored(const bb_wafer_loop *loop, bb_index period);

/// Queues setting the state of every device to zero.
BB_CHECKED bb_status bb_wafer_loop_reset(bb_wafer_loop *loop);

/// Queues the copy of the matrices of the scored period that starts next, overwriting its slot;
/// does nothing in resident mode. Errors: the stream's.
BB_CHECKED bb_status bb_wafer_loop_fetch(bb_wafer_loop *loop, bb_index period);

/// Polls until the matrices of the period that starts next are on the devices. `waited` is the time
/// in s per device: 0 if they were present, NaN if the period needs none or is resident. Errors:
/// the stream's.
BB_CHECKED bb_status bb_wafer_loop_await(bb_wafer_loop *loop, bb_index period,
                                         double waited[BB_LOOP_GPUS]);

/// Queues the start of a period on all devices, queues its next step, and polls until all queued
/// work is done. A device waits for missing matrices. Errors: from solvers/loop/control_loop.h.
BB_CHECKED bb_status bb_wafer_loop_begin(bb_wafer_loop *loop, bb_index period);
BB_CHECKED bb_status bb_wafer_loop_step(bb_wafer_loop *loop);
BB_CHECKED bb_status bb_wafer_loop_wait(bb_wafer_loop *loop);

/// Copies the outputs of the period: [axes][points]. Errors: BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_loop_outputs(bb_wafer_loop *loop, double *out);

/// Times all steps of a period back to back by the host clock, after waiting for its matrices. With
/// `each` every step is waited for before the next launch; otherwise all steps are queued and only
/// the last is waited for. Errors: the loop's.
BB_CHECKED bb_status bb_wafer_loop_time(bb_wafer_loop *loop, bb_index period, bool each,
                                        double *seconds);

#endif
