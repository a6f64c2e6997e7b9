// SPDX-License-Identifier: Apache-2.0
//
// Emission shared by texts for work-items: steps of a body, sums by teams, tiles of points.
//
// Names in the texts: `item` is the work-item's index in its team, `team` the team's index in its
// work-group; x0, x1 the point; p and r the point within a work-item's tile; v the lane of a
// work-item.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_GPU_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_GPU_H

#include "solvers/kernels/emission/emission_steps.h"
#include "solvers/kernels/emission/emission_vectors.h"

enum { BB_EMISSION_FINISH_ITEMS = 128 }; ///< points per work-group that finishes split sums

/// Differences between OpenCL C and CUDA.
struct bb_emission_words {
    const char *global;  ///< qualifier of a pointer to device memory
    const char *local;   ///< qualifier of a work-group array
    const char *pointer; ///< qualifier of a pointer to such an array
    const char *restricted;
    const char *barrier;                     ///< barrier of the work-group and its local memory
    const char *fence;                       ///< barrier that includes device memory
    const char *item[BB_PROGRAM_DIMENSIONS]; ///< index within the work-group
    const char *group[BB_PROGRAM_DIMENSIONS];
    /// Size of the work-group that joins the parts of the sum over the space.
    bb_index finish_items;
    bool shuffles;       ///< shuffles within a warp are always available
    const char *helpers; ///< functions called by the texts
};

/// Appends the head of an OpenCL C entry with one work-item per work-group, up to its `{`.
void bb_emission_gpu_signature_opencl(bb_emission_writer *writer, const bb_emission *emission,
                                      const char *entry);

/// Appends steps of a body including iterators: computed by the team if an iterator has lanes and
/// there is one, otherwise item after item.
void bb_emission_gpu_steps(bb_emission_writer *writer, const bb_step_list *list);

/// Appends steps [begin, end) of the body.
void bb_emission_gpu_body(bb_emission_writer *writer, int begin, int end);

/// Appends c0 and e0, the chunk of the only iterator that belongs to a work-group of a split sum.
void bb_emission_gpu_chunk(bb_emission_writer *writer);

/// Appends `ranges[k]` as n0 and n1, with "1" beyond the space's dimensions.
void bb_emission_gpu_ranges(bb_emission_writer *writer);

// Sums whose lanes are distributed over a team of work-items (emission_team_sum.c): sums of an
// iterator of a point, of a chunk of the space, and of parts. A work-item keeps its lanes in
// registers and adds whole rows of lanes one after another; the team joins them in a binary tree.

/// Items of a sum.
typedef enum bb_emission_item {
    BB_EMISSION_ITERATION,
    BB_EMISSION_POINT,
    BB_EMISSION_PART
} bb_emission_item;

typedef struct bb_emission_team_sum {
    const bb_reduction *reduction;
    int number; ///< as for bb_emission_sum
    bb_emission_item kind;
    char position[BB_EMISSION_NAME_BYTES]; ///< name of an item's index
    const bb_step_list *steps;
    int value; ///< value of the position; -1: none
} bb_emission_team_sum;

/// Lanes per work-item.
bb_index bb_emission_team_sum_lanes(const bb_emission_writer *writer,
                                    const bb_reduction *reduction);

/// Index of lane v of a work-item: "item + 32 * v" or "item * 4 + v".
void bb_emission_team_sum_lane(const bb_emission_writer *writer, const bb_reduction *reduction,
                               char text[BB_EMISSION_NAME_BYTES]);

/// Opens an unrolled loop over lanes v.
void bb_emission_team_sum_open(bb_emission_writer *writer, bb_index lanes);

/// Joins acc<number>[v] of the team; the total is then in acc<number>[0] of every work-item.
void bb_emission_team_sum_join(bb_emission_writer *writer, const bb_emission_team_sum *sum);

/// Declares acc<number> and sums items begin ... end - 1 in the order of a chunk; the total is then
/// in acc<number>[0] of every work-item. `first` is the condition under which lane 0 starts from
/// ICFInit; NULL: never.
void bb_emission_team_sum_print(bb_emission_writer *writer, const bb_emission_team_sum *sum,
                                const char *begin, const char *end, const char *first);

// Sums by teams (emission_gpu_teams.c)

/// Appends the functions called by sums of the team.
void bb_emission_gpu_team_functions(bb_emission_writer *writer, const bb_reduction *reduction,
                                    int number);

/// Appends an iterator's sum; every work-item of the team has its outputs.
void bb_emission_gpu_team_iterator(bb_emission_writer *writer, int number);

/// Bodies of entries: points with sums by lanes, one team per point; chunks of the reduction over
/// the space, one team per chunk; and the joining of parts with the steps that follow, one team for
/// the space, or one per point of split sums.
void bb_emission_gpu_lanes(bb_emission_writer *writer);
void bb_emission_gpu_space(bb_emission_writer *writer);
void bb_emission_gpu_space_finish(bb_emission_writer *writer);
void bb_emission_gpu_lanes_finish(bb_emission_writer *writer);

// Tiles of points (emission_gpu_tiles.c)

/// Bodies of entries: tiles of points, one per work-item, and the joining of the parts of their
/// split sums, one point per work-item.
void bb_emission_gpu_tiles(bb_emission_writer *writer);
void bb_emission_gpu_tiles_finish(bb_emission_writer *writer);

// Tiles of points of a work-item (emission_tile.c): rows without tests, neighbours in vectors, and
// the preceding tests.

typedef struct bb_emission_tile {
    int points, rows;
    bool blocked;
    bool has_rows;                         ///< true if the space has a second dimension
    bb_index steps[BB_PROGRAM_DIMENSIONS]; ///< distance between a work-item's points
} bb_emission_tile;

bb_emission_tile bb_emission_tile_of(const bb_emission_writer *writer);

/// Declares b and y, the first point.
void bb_emission_tile_first(bb_emission_writer *writer, const bb_emission_tile *tile);

/// Opens loops over rows r and points p, with x1 and x0.
void bb_emission_tile_open_rows(bb_emission_writer *writer, const bb_emission_tile *tile,
                                bool unrolled);
void bb_emission_tile_open_points(bb_emission_writer *writer, const bb_emission_tile *tile,
                                  bool unrolled);

typedef void bb_emission_print_point(bb_emission_writer *writer, const void *context);

/// Appends the output of `print` for each point of a row that needs no test; accesses of `list` are
/// vectors if the tile is blocked.
void bb_emission_tile_row(bb_emission_writer *writer, const bb_emission_tile *tile,
                          const bb_step_list *list, bb_emission_print_point *print,
                          const void *context);

/// Appends the output for all rows. Vectors of all rows are loaded before the first row is
/// computed, because compilers do not move loads across the branches of a division.
void bb_emission_tile_rows(bb_emission_writer *writer, const bb_emission_tile *tile,
                           const bb_step_list *list, bb_emission_print_point *print,
                           const void *context);

/// Clears `aligned` if the vectors of the steps are not aligned, and `inside` if an access of the
/// points from (column, row) on leaves its object.
void bb_emission_tile_accesses(bb_emission_writer *writer, const bb_emission_tile *tile,
                               const char *column, const char *row, bb_index points, bb_index rows);

/// Declares `inside` (all points are in the space and their accesses inside the objects) and
/// `aligned` (all vectors are aligned).
void bb_emission_tile_tests(bb_emission_writer *writer, const bb_emission_tile *tile);

/// Appends the body with its iterators around the tile (emission_tile_sums.c); for a split sum only
/// its parts.
void bb_emission_tile_sums(bb_emission_writer *writer, const bb_emission_tile *tile);

#endif
