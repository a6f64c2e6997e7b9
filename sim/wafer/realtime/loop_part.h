// SPDX-License-Identifier: Apache-2.0
//
// One device's share of the wafer's loop (wafer_loop.h): some of the axes, their matrices, and a
// control loop of its own with the whole thermal state, which every device computes alike.
//
// Resident: a set of operators for each scored field. Streamed: a set for each slot, and an image
// of each scored field in pinned memory of the host, which crosses while the field before is
// exposed (solvers/loop/field_stream.h).
#ifndef BB_SIM_WAFER_REALTIME_LOOP_PART_H
#define BB_SIM_WAFER_REALTIME_LOOP_PART_H

#include "sim/pipelines/product_pipeline.h"
#include "solvers/loop/control_loop.h"
#include "solvers/loop/field_stream.h"

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

#endif
