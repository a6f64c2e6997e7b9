// SPDX-License-Identifier: Apache-2.0
//
// Sums in their declared order, as text: the same functions for every back end.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_SUMS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_SUMS_H

#include "solvers/kernels/emission/emission_steps.h"

/// Appends, for reduction `number` (an iterator's, or iterator_count for the main space's), over
/// `width` neighbouring points at once:
///   bb_neutral<number>(k), bb_first<number>(k)   what accumulator k starts from
///   bb_join<number>(a, b)                        joins part b into part a
///   bb_sum<number>                               lanes and parts, `lane[level][lane][point][k]`
///   bb_clear<number>(s), bb_start<number>(s, level, points), bb_begin<number>(s, points)
///   bb_tree<number>(s, level, points)            joins the lanes of a level into lane 0
///   bb_push<number>(s, level, points)            hands lane 0 of a level up, as a part
///   bb_total<number>(s, points)                  leaves the total in lane[0][0]
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_emission_sum(bb_emission_writer *writer, const bb_reduction *reduction,
                                     int number, bb_index width);

/// Appends `const T s<value> = u<number>.lane[0][0][point][k];` for every accumulator.
BB_CHECKED bb_status bb_emission_sum_outputs(bb_emission_writer *writer,
                                             const bb_reduction *reduction, int number,
                                             const char *point);

/// Opens a loop over the chunks of iterator `number`: items c<number> ... e<number> - 1 of each; a
/// block of all items where there are no chunks, of two ranges with c<number> alone. The caller
/// closes it.
BB_CHECKED bb_status bb_emission_chunks(bb_emission_writer *writer, int number);

/// Appends what every source begins with: the dialect's helpers, boundaries, names.
BB_CHECKED bb_status bb_emission_prologue(bb_emission_writer *writer);

#endif
