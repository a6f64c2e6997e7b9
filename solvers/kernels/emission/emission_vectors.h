// SPDX-License-Identifier: Apache-2.0
//
// Neighbouring points (or lanes) of one work-item: elements shared by their reads are loaded once,
// as vectors if they are aligned, and their writes are stored likewise.
//
// A window is the set of elements that the points access in one line of one object: u[x - 1], u[x]
// and u[x + 1] of 4 points are 6 elements, of which 4 form one vector.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_VECTORS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_VECTORS_H

#include "solvers/kernels/emission/emission_steps.h"

/// Window of a step.
typedef struct bb_emission_window {
    int leader;      ///< step that gives the window its name; -1: no window
    bool by_vector;  ///< the points' own elements are aligned
    int64_t place;   ///< place of point 0's element, relative to the position
    bb_index offset; ///< place of that element in the window
} bb_emission_window;

struct bb_emission_vectors {
    const bb_step_list *list;
    int position;                ///< value along which points are neighbours
    bb_index width;              ///< number of points
    const char *base;            ///< text of point 0's position
    const char *point;           ///< text of the index of a point, from 0
    const char *row;             ///< "[r]" for windows of several rows; otherwise ""
    const char *space;           ///< qualifier of a pointer to device memory
    bb_emission_window *windows; ///< [step_count]
};

/// Finds the windows of the steps of a list whose elements neighbouring points share. `is_line`:
/// values of the body are the same for all points. The caller sets the members before `windows`.
/// Errors: BB_MEMORY. Release with bb_emission_vectors_release.
BB_CHECKED bb_status bb_emission_vectors_find(const bb_emission_writer *writer, bool is_line,
                                              bb_emission_vectors *vectors);
void bb_emission_vectors_release(bb_emission_vectors *vectors);

/// Appends lines that clear `aligned`, an int, if point 0 at the base is not aligned to a vector.
/// Later operands of the lists' selectors may vary only by multiples of the width in columns, and
/// by any number of rows.
void bb_emission_vectors_test(bb_emission_writer *writer, const bb_emission_vectors *vectors);

/// Appends declarations of the windows; `rows` is inserted between name and length, such as "[4]".
void bb_emission_vectors_declare(bb_emission_writer *writer, const bb_emission_vectors *vectors,
                                 const char *rows);

/// Appends the loads of the windows of reads; vectors are assumed to be aligned.
void bb_emission_vectors_load(bb_emission_writer *writer, const bb_emission_vectors *vectors);

/// Appends the stores of the windows that the points have written.
void bb_emission_vectors_store(bb_emission_writer *writer, const bb_emission_vectors *vectors);

#endif
