// SPDX-License-Identifier: Apache-2.0
//
// Sums whose lanes a team of work-items shares out: of an iterator of a point, of a chunk of the
// space, of parts that were summed before. A work-item keeps its lanes in registers, adds
// whole rows of lanes one after another, and the team joins them by halves.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_TEAM_SUM_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_TEAM_SUM_H

#include "solvers/kernels/emission/emission_gpu.h"

/// Items of a sum.
typedef enum bb_emission_item {
    BB_EMISSION_ITERATION,
    BB_EMISSION_POINT,
    BB_EMISSION_PART
} bb_emission_item;

typedef struct bb_emission_team_sum {
    const bb_reduction *reduction;
    int number; ///< as of bb_emission_sum
    bb_emission_item kind;
    char position[BB_EMISSION_NAME_BYTES]; ///< name of an item's number
    const bb_step_list *steps;
    int value; ///< of the position; -1: none
} bb_emission_team_sum;

/// Lanes of a work-item.
bb_index bb_emission_team_sum_lanes(const bb_emission_gpu *writer, const bb_reduction *reduction);

/// Lane of a work-item's lane v: "item + 32 * v" or "item * 4 + v".
void bb_emission_team_sum_lane(const bb_emission_gpu *writer, const bb_reduction *reduction,
                               char text[BB_EMISSION_NAME_BYTES]);

/// Opens a loop over lanes v, to be unrolled.
BB_CHECKED bb_status bb_emission_team_sum_open(bb_emission_gpu *writer, bb_index lanes);

/// Joins acc<number>[v]; the total is then in acc<number>[0] of every work-item.
BB_CHECKED bb_status bb_emission_team_sum_join(bb_emission_gpu *writer,
                                               const bb_emission_team_sum *sum);

/// Declares acc<number> and sums items begin ... end - 1 in a chunk's order; the total is then in
/// acc<number>[0] of every work-item. `first` says where lane 0 starts from ICFInit; NULL: nowhere.
BB_CHECKED bb_status bb_emission_team_sum_print(bb_emission_gpu *writer,
                                                const bb_emission_team_sum *sum, const char *begin,
                                                const char *end, const char *first);

#endif
