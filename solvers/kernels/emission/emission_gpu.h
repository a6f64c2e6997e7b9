// SPDX-License-Identifier: Apache-2.0
//
// Emission shared by texts for work-items: steps of a body, sums by teams, tiles of points.
//
// Names in the texts: `item` is the work-item's number in its team, `team` the team's in its
// work-group; x0, x1 the point; p and r the point of a work-item's tile; v the lane of a work-item.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_GPU_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_GPU_H

#include "solvers/kernels/emission/emission_steps.h"
#include "solvers/kernels/emission/emission_vectors.h"

enum { BB_EMISSION_FINISH_ITEMS = 128 }; ///< points of a work-group that finishes split sums

/// What OpenCL C and CUDA say differently.
struct bb_emission_words {
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
};

/// Appends the head of an entry of OpenCL C whose work-groups are one work-item, to its `{`.
void bb_emission_gpu_signature_opencl(bb_emission_writer *writer, const bb_emission *emission,
                                      const char *entry);

/// Appends steps of a body, iterators with theirs: by the team where an iterator has lanes and
/// there is one, else one item after another.
void bb_emission_gpu_steps(bb_emission_writer *writer, const bb_step_list *list);

/// Appends steps [begin, end) of the body.
void bb_emission_gpu_body(bb_emission_writer *writer, int begin, int end);

/// Appends c0 and e0, the chunk of the only iterator that a work-group of a split sum takes.
void bb_emission_gpu_chunk(bb_emission_writer *writer);

/// Appends `ranges[k]`, "1" beyond the space's dimensions, as n0 and n1.
void bb_emission_gpu_ranges(bb_emission_writer *writer);

// Sums whose lanes a team of work-items shares out (emission_team_sum.c): of an iterator of a
// point, of a chunk of the space, of parts that were summed before. A work-item keeps its lanes in
// registers, adds whole rows of lanes one after another, and the team joins them by halves.

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
bb_index bb_emission_team_sum_lanes(const bb_emission_writer *writer,
                                    const bb_reduction *reduction);

/// Lane of a work-item's lane v: "item + 32 * v" or "item * 4 + v".
void bb_emission_team_sum_lane(const bb_emission_writer *writer, const bb_reduction *reduction,
                               char text[BB_EMISSION_NAME_BYTES]);

/// Opens a loop over lanes v, to be unrolled.
void bb_emission_team_sum_open(bb_emission_writer *writer, bb_index lanes);

/// Joins acc<number>[v]; the total is then in acc<number>[0] of every work-item.
void bb_emission_team_sum_join(bb_emission_writer *writer, const bb_emission_team_sum *sum);

/// Declares acc<number> and sums items begin ... end - 1 in a chunk's order; the total is then in
/// acc<number>[0] of every work-item. `first` says where lane 0 starts from ICFInit; NULL: nowhere.
void bb_emission_team_sum_print(bb_emission_writer *writer, const bb_emission_team_sum *sum,
                                const char *begin, const char *end, const char *first);

// Sums by teams (emission_gpu_teams.c)

/// Appends functions that sums by the team call.
void bb_emission_gpu_team_functions(bb_emission_writer *writer, const bb_reduction *reduction,
                                    int number);

/// Appends an iterator's sum; every work-item of the team has its outputs.
void bb_emission_gpu_team_iterator(bb_emission_writer *writer, int number);

/// Bodies of entries. Points with sums by lanes, a team each; a chunk of the space's ICF, a team
/// each; and what joins the parts of those and goes on: one team for the space, one a point of
/// split sums.
void bb_emission_gpu_lanes(bb_emission_writer *writer);
void bb_emission_gpu_space(bb_emission_writer *writer);
void bb_emission_gpu_space_finish(bb_emission_writer *writer);
void bb_emission_gpu_lanes_finish(bb_emission_writer *writer);

// Tiles of points (emission_gpu_tiles.c)

/// Bodies of entries: tiles of points, a work-item each, and what joins the parts of their split
/// sums, a point each.
void bb_emission_gpu_tiles(bb_emission_writer *writer);
void bb_emission_gpu_tiles_finish(bb_emission_writer *writer);

// Tiles of points of a work-item (emission_tile.c): a row of them without tests, neighbours by
// vectors, and the tests that come before.

typedef struct bb_emission_tile {
    int points, rows;
    bool blocked;
    bool has_rows;                         ///< the space has a second dimension
    bb_index steps[BB_PROGRAM_DIMENSIONS]; ///< from a point of a work-item to its next
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

/// Appends what `print` prints of each point of a row that needs no test; accesses of `list` go by
/// vectors where the tile is blocked.
void bb_emission_tile_row(bb_emission_writer *writer, const bb_emission_tile *tile,
                          const bb_step_list *list, bb_emission_print_point *print,
                          const void *context);

/// Likewise of all rows. What goes by vectors is read for all of them before the first is at work:
/// compilers move no load over the branches that a division takes.
void bb_emission_tile_rows(bb_emission_writer *writer, const bb_emission_tile *tile,
                           const bb_step_list *list, bb_emission_print_point *print,
                           const void *context);

/// Clears `aligned` where the vectors of the steps are not, and `inside` where an access of the
/// points from (column, row) on leaves its object.
void bb_emission_tile_accesses(bb_emission_writer *writer, const bb_emission_tile *tile,
                               const char *column, const char *row, bb_index points, bb_index rows);

/// Declares `inside` and `aligned`: all points lie in the space, their accesses in their objects;
/// and vectors begin where they may.
void bb_emission_tile_tests(bb_emission_writer *writer, const bb_emission_tile *tile);

/// Appends the body with its iterators around the tile (emission_tile_sums.c); of a split sum its
/// parts alone.
void bb_emission_tile_sums(bb_emission_writer *writer, const bb_emission_tile *tile);

#endif
