// SPDX-License-Identifier: Apache-2.0
//
// Neighbouring points (or lanes) of one work-item: elements that their reads share are loaded once,
// by vectors where the place in memory allows, and what they write is stored likewise.
//
// A window is what the points of reads of one object in one line take together: u[x - 1], u[x] and
// u[x + 1] of 4 points are 6 elements of which 4 are one vector.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_VECTORS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_VECTORS_H

#include "solvers/kernels/emission/emission_steps.h"

/// Where a step takes its elements.
typedef struct bb_emission_window {
    int leader;      ///< step after which the window is named; -1: none
    bool by_vector;  ///< where its points' own elements stand aligned
    int64_t place;   ///< of point 0's element, counted from the position
    bb_index offset; ///< of that element in the window
} bb_emission_window;

struct bb_emission_vectors {
    const bb_step_list *list;
    int position;                ///< value along which points are neighbours
    bb_index width;              ///< points
    const char *base;            ///< text of point 0's position
    const char *point;           ///< text of the number of a point, from 0
    const char *row;             ///< "[r]" where windows of several rows stand side by side; ""
    const char *space;           ///< before a pointer to the device's memory
    bb_emission_window *windows; ///< [step_count]
};

/// Finds the windows of the reads and writes of a list of steps whose neighbouring elements
/// neighbouring points take. `is_line` says that values of the body are the same for all points.
/// The fields before `windows` are set by the caller. Errors: BB_MEMORY. Release with
/// bb_emission_vectors_release.
BB_CHECKED bb_status bb_emission_vectors_find(const bb_emission_writer *writer, bool is_line,
                                              bb_emission_vectors *vectors);
void bb_emission_vectors_release(bb_emission_vectors *vectors);

/// Appends lines that clear `aligned`, an int, where point 0 at the base stands where no vector
/// begins. What the lists' selectors take must not vary after it but by multiples of the width in
/// columns, and by any number of rows.
void bb_emission_vectors_test(bb_emission_writer *writer, const bb_emission_vectors *vectors);

/// Appends declarations of the windows; `rows` is what stands between name and length, as "[4]".
void bb_emission_vectors_declare(bb_emission_writer *writer, const bb_emission_vectors *vectors,
                                 const char *rows);

/// Appends what fills the windows of reads; vectors are taken to be aligned.
void bb_emission_vectors_load(bb_emission_writer *writer, const bb_emission_vectors *vectors);

/// Appends the stores of what the points have written into windows.
void bb_emission_vectors_store(bb_emission_writer *writer, const bb_emission_vectors *vectors);

#endif
