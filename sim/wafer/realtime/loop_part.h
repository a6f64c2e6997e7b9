// SPDX-License-Identifier: Apache-2.0
//
// One device's share of the wafer's loop (wafer_loop.h): some of the axes, their matrices, and a
// control loop of its own with the whole thermal state, which every device computes alike.
//
// Resident: a set of operators for each scored field. Streamed: a set for each slot, and an image
// of each scored field in pinned memory of the host, which crosses while the field before is
// exposed (solvers/loop/field_stream.h).
//
// Its matrices are the coded responses of the scored fields, and a period of its control loop
// (solvers/loop/control_loop.h) is an exposure: nodes that get heat in each light step, windows of
// the slit, and dose-weighted displacements of the scored points.
#ifndef BB_SIM_WAFER_REALTIME_LOOP_PART_H
#define BB_SIM_WAFER_REALTIME_LOOP_PART_H

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

/// Zero-initialise, then bb_loop_part_open.
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

/// Readies a part for matrices of `fields` scored fields and `axes` axes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_loop_part_open(bb_device *device, bool streamed, int axes, bb_index fields,
                                       bb_loop_part *out);
void bb_loop_part_close(bb_loop_part *part);

/// Takes the matrix of a field and of one of the part's axes over, which becomes NULL: fields
/// ascend, a field's axes too. Errors: those of the operators and of solvers/loop/field_stream.h.
BB_CHECKED bb_status bb_loop_part_take(bb_loop_part *part, const bb_product_pipeline *pipeline,
                                       bb_index field, int axis, bb_coded_matrix **matrix);

/// Bytes of a field's image, 0 where matrices are resident.
double bb_loop_part_image_bytes(const bb_loop_part *part);

/// A period, and what it borrows while it is added.
typedef struct bb_loop_part_period {
    bb_loop_period period;
    bb_exposure *exposure;
    double *energy;       ///< [covered nodes] of a step
    int32_t *input_begin; ///< [light_steps + 1]
    int32_t *input_where;
    double *input;
    int32_t *window; ///< [light_steps]
    int32_t *output_begin;
    bb_loop_output *output;
} bb_loop_part_period;

/// Of exposure `field`, which is number `scored` of the scored ones and multiplied with `set`, or,
/// with `scored` -1, has heat alone. Errors: BB_MEMORY. Release with bb_loop_part_period_release.
BB_CHECKED bb_status bb_loop_part_period_make(const bb_wafer_problem *problem, bb_index field,
                                              bb_index scored, bb_index set,
                                              bb_loop_part_period *out);
void bb_loop_part_period_release(bb_loop_part_period *data);

#endif
