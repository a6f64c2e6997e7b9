// SPDX-License-Identifier: Apache-2.0
//
// What texts for work-items share: steps of a body, sums by teams of work-items, tiles of points.
//
// Names in the texts: `item` is the work-item's number in its team, `team` the team's in its
// work-group; x0, x1 the point; p and r the point of a work-item's tile; v the lane of a work-item.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_GPU_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_GPU_H

#include "solvers/kernels/emission/emission_points.h"
#include "solvers/kernels/emission/emission_sums.h"
#include "solvers/kernels/emission/emission_vectors.h"

enum { BB_EMISSION_FINISH_ITEMS = 128 }; ///< points of a work-group that finishes split sums

/// What OpenCL C and CUDA say differently.
typedef struct bb_emission_words {
    const char *global;  ///< before a pointer to the device's memory
    const char *local;   ///< before an array that a work-group shares
    const char *pointer; ///< before a pointer to one
    const char *restricted;
    const char *barrier;                     ///< of the work-group and its memory
    const char *fence;                       ///< the same, and of the device's memory
    const char *item[BB_PROGRAM_DIMENSIONS]; ///< of the work-group
    const char *group[BB_PROGRAM_DIMENSIONS];
    bb_index finish_items; ///< of the work-group that joins the parts of the space's sum
    bool shuffles;         ///< work-items of a warp hand values to each other everywhere
    const char *helpers;   ///< functions that the texts call
} bb_emission_words;

/// Work-items that share a sum.
typedef struct bb_emission_team {
    bb_index items;
    bb_index teams; ///< of a work-group
    bb_distribution distribution;
} bb_emission_team;

typedef struct bb_emission_gpu {
    bb_emission_writer *base;
    const bb_emission_words *words;
    bb_emission_team team; ///< items 0: a work-item is alone
    bool is_guarded;       ///< `active` says whether the point is one of the space
    bb_text *local;        ///< declarations of the work-group's memory, for the head of the entry
    bool *is_shared;       ///< [iterator_count + 1] sums for which a work-group shares memory
} bb_emission_gpu;

/// `for (...) {` and its end.
BB_CHECKED bb_status bb_emission_gpu_open(bb_emission_gpu *writer, const char *line);
BB_CHECKED bb_status bb_emission_gpu_close(bb_emission_gpu *writer);

/// Appends the head of an entry of OpenCL C whose work-groups are one work-item, to its `{`.
BB_CHECKED bb_status bb_emission_gpu_signature_opencl(bb_emission_writer *writer,
                                                      const bb_emission *emission,
                                                      const char *entry);

/// Appends steps of a body, iterators with theirs: by the team where an iterator has lanes and
/// there is one, else one item after another.
BB_CHECKED bb_status bb_emission_gpu_steps(bb_emission_gpu *writer, const bb_step_list *list);

/// Appends steps [begin, end) of the body.
BB_CHECKED bb_status bb_emission_gpu_body(bb_emission_gpu *writer, int begin, int end);

/// Appends `ranges[k]`, "1" beyond the space's dimensions, as n0 and n1.
BB_CHECKED bb_status bb_emission_gpu_ranges(bb_emission_gpu *writer);

// Sums by teams (emission_gpu_teams.c)

/// Appends functions that sums by the team call.
BB_CHECKED bb_status bb_emission_gpu_team_functions(bb_emission_gpu *writer,
                                                    const bb_reduction *reduction, int number);

/// Appends an iterator's sum; every work-item of the team has its outputs.
BB_CHECKED bb_status bb_emission_gpu_team_iterator(bb_emission_gpu *writer, int iterator);

/// Bodies of entries. Points with sums by lanes, a team each; a chunk of the space's ICF, a team
/// each; and what joins the parts of those and goes on: one team for the space, one a point of
/// split sums.
BB_CHECKED bb_status bb_emission_gpu_lanes(bb_emission_gpu *writer);
BB_CHECKED bb_status bb_emission_gpu_space(bb_emission_gpu *writer);
BB_CHECKED bb_status bb_emission_gpu_space_finish(bb_emission_gpu *writer);
BB_CHECKED bb_status bb_emission_gpu_lanes_finish(bb_emission_gpu *writer);

// Tiles of points (emission_gpu_tiles.c)

/// Bodies of entries: tiles of points, a work-item each, and what joins the parts of their split
/// sums, a point each.
BB_CHECKED bb_status bb_emission_gpu_tiles(bb_emission_gpu *writer);
BB_CHECKED bb_status bb_emission_gpu_tiles_finish(bb_emission_gpu *writer);

#endif
