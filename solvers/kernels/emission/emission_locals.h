// SPDX-License-Identifier: Apache-2.0
//
// Local caching (seed 002): boxes of objects that the points of a work-group read more than once,
// kept in its local memory. Which reads those are follows from their selectors: neighbours of
// points (stencils), and what an iterator reads for all points of a line or of a column alike.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_LOCALS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_LOCALS_H

#include "solvers/kernels/emission/emission_steps.h"

enum { BB_EMISSION_LOCAL_STEPS = 16 }; ///< iterations whose boxes are kept at a time

/// Where a read finds its element.
typedef struct bb_emission_local {
    int leader;                             ///< step after which the box is named; -1: none
    int axes[BB_PROGRAM_DIMENSIONS];        ///< positions that the coordinates follow; -1: none
    int64_t offsets[BB_PROGRAM_DIMENSIONS]; ///< of point 0's element in the box
    int64_t surplus[BB_PROGRAM_DIMENSIONS]; ///< a leader: by how much the box exceeds the points
} bb_emission_local;

struct bb_emission_locals {
    const bb_step_list *list;
    int position;             ///< of the iterator whose steps they are; -1: of the body
    bb_emission_local *reads; ///< [step_count]
    bool any;
};

/// Finds the boxes of the reads of a list; `list` and `position` are set by the caller. Accesses of
/// which `writer` (NULL: all stay inside) says that they need a boundary have none. Errors:
/// BB_MEMORY. Release with bb_emission_locals_release.
BB_CHECKED bb_status bb_emission_locals_find(const bb_program *program,
                                             const bb_emission_writer *writer,
                                             bb_emission_locals *locals);
void bb_emission_locals_release(bb_emission_locals *locals);

/// Whether a program has boxes for some sizes: of its only iterator, or of a body without any.
bool bb_emission_locals_exist(const bb_program *program);

/// Appends the boxes' declarations to those of the work-group's memory.
void bb_emission_locals_declare(bb_emission_writer *writer, const bb_emission_locals *locals);

/// Appends declarations of what a work-item, number `item` of its group, fetches of the boxes.
void bb_emission_locals_begin(bb_emission_writer *writer, const bb_emission_locals *locals);

/// Appends its fetching from the objects: `X` and `Y` are the first point of the group, `iteration`
/// the text of the first iteration.
void bb_emission_locals_fetch(bb_emission_writer *writer, const bb_emission_locals *locals,
                              const char *iteration);

/// Appends its storing in the boxes.
void bb_emission_locals_store(bb_emission_writer *writer, const bb_emission_locals *locals);

#endif
