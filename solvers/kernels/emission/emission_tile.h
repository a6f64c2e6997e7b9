// SPDX-License-Identifier: Apache-2.0
//
// Tiles of points of a work-item: a row of them without tests, neighbours by vectors, and the tests
// that come before.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_TILE_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_TILE_H

#include "solvers/kernels/emission/emission_gpu.h"

typedef struct bb_emission_tile {
    int points, rows;
    bool blocked;
    bool has_rows;                         ///< the space has a second dimension
    bb_index steps[BB_PROGRAM_DIMENSIONS]; ///< from a point of a work-item to its next
} bb_emission_tile;

bb_emission_tile bb_emission_tile_of(const bb_emission_gpu *writer);

/// Declares b and y, the first point.
BB_CHECKED bb_status bb_emission_tile_first(bb_emission_gpu *writer, const bb_emission_tile *tile);

/// Opens loops over rows r and points p, with x1 and x0.
BB_CHECKED bb_status bb_emission_tile_open_rows(bb_emission_gpu *writer,
                                                const bb_emission_tile *tile, bool unrolled);
BB_CHECKED bb_status bb_emission_tile_open_points(bb_emission_gpu *writer,
                                                  const bb_emission_tile *tile, bool unrolled);

typedef bb_status bb_emission_print_point(bb_emission_gpu *writer, const void *context);

/// Appends what `print` prints of each point of a row that needs no test; accesses of `list` go by
/// vectors where the tile is blocked.
BB_CHECKED bb_status bb_emission_tile_row(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                          const bb_step_list *list, bb_emission_print_point *print,
                                          const void *context);

/// Likewise of all rows. What goes by vectors is read for all of them before the first is at work:
/// compilers move no load over the branches that a division takes.
BB_CHECKED bb_status bb_emission_tile_rows(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                           const bb_step_list *list, bb_emission_print_point *print,
                                           const void *context);

/// Clears `aligned` where the vectors of a list of steps are not.
BB_CHECKED bb_status bb_emission_tile_aligned(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                              const bb_step_list *list);

/// Clears `inside` where an access of the points from (column, row) on leaves its object.
BB_CHECKED bb_status bb_emission_tile_inside(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                             const char *column, const char *row, bb_index points,
                                             bb_index rows);

/// Declares `inside` and `aligned`: all points lie in the space, their accesses in their objects;
/// and vectors begin where they may.
BB_CHECKED bb_status bb_emission_tile_tests(bb_emission_gpu *writer, const bb_emission_tile *tile);

/// Appends the body with its iterators around the tile (emission_tile_sums.c); of a split sum its
/// parts alone.
BB_CHECKED bb_status bb_emission_tile_sums(bb_emission_gpu *writer, const bb_emission_tile *tile);

#endif
