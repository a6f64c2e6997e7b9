// SPDX-License-Identifier: Apache-2.0
//
// Local caching (Beier): boxes of objects that the points of a work-group read more than once,
// cached in its local memory. Selectors determine these reads: neighbours of points (stencils), and
// reads of an iterator that are the same for all points of a line or column.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_LOCALS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_LOCALS_H

#include "solvers/kernels/emission/emission_steps.h"

enum { BB_EMISSION_LOCAL_STEPS = 16 }; ///< number of iterations whose boxes are cached at a time

/// Location of a read in a box.
typedef struct bb_emission_local {
    int leader;                      ///< step that gives the box its name; -1: no box
    int axes[BB_PROGRAM_DIMENSIONS]; ///< positions with coefficient one in the coordinates; -1:
                                     ///< none
    int64_t offsets[BB_PROGRAM_DIMENSIONS]; ///< offset of point 0's element in the box
    /// For a leader: by how much the box exceeds the points.
    int64_t surplus[BB_PROGRAM_DIMENSIONS];
} bb_emission_local;

struct bb_emission_locals {
    const bb_step_list *list;
    int position;             ///< position of the iterator that owns the steps; -1: the body
    bb_emission_local *reads; ///< [step_count]
    bool any;
};

/// Finds the boxes of the reads of a list; the caller sets `list` and `position`. Accesses that
/// need a boundary according to `writer` (NULL: none do) have no box. Errors: BB_MEMORY. Release
/// with bb_emission_locals_release.
BB_CHECKED bb_status bb_emission_locals_find(const bb_program *program,
                                             const bb_emission_writer *writer,
                                             bb_emission_locals *locals);
void bb_emission_locals_release(bb_emission_locals *locals);

/// True if a program has boxes for some sizes: of its only iterator, or of a body without
/// iterators.
bool bb_emission_locals_exist(const bb_program *program);

/// Appends the boxes' declarations to those of the work-group's memory.
void bb_emission_locals_declare(bb_emission_writer *writer, const bb_emission_locals *locals);

/// Appends declarations of the box elements that work-item `item` of a group loads.
void bb_emission_locals_begin(bb_emission_writer *writer, const bb_emission_locals *locals);

/// Appends the loads of these elements: `X` and `Y` are the first point of the group, `iteration`
/// the text of the first iteration.
void bb_emission_locals_fetch(bb_emission_writer *writer, const bb_emission_locals *locals,
                              const char *iteration);

/// Appends the stores of these elements to the boxes.
void bb_emission_locals_store(bb_emission_writer *writer, const bb_emission_locals *locals);

#endif
