// SPDX-License-Identifier: Apache-2.0
//
// Connected parts of a mask: points connected through neighbours in rows and columns. The piston
// between two parts is free, so each is scored and fitted separately.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_PARTS_H
#define BB_SOLVERS_UNWRAP_UNWRAP_PARTS_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// Points per run and runs per group. Sums over parts add group sums, which add run sums, so that
/// no work-item adds many numbers sequentially.
enum { BB_UNWRAP_RUN = 128, BB_UNWRAP_GROUP = 128 };

typedef struct bb_unwrap_parts {
    bb_index columns, rows;
    bb_index count, group_count, run_count, point_count;
    /// Largest excess of a path within a part over the Manhattan distance of its ends, taken for
    /// the (nearly) farthest pair of points.
    bb_index detour;
    /// [rows][columns] part number of a point, in order of first points; -1 outside.
    int32_t *labels;
    int32_t *sizes; ///< [count] number of points
    /// [point_count] points as row * columns + column, by part and run; the first quarter of a run
    /// (rounded up) is every fourth of its points.
    int32_t *order;
    int32_t *starts; ///< [run_count + 1] starts of runs in `order`; a run does not cross parts
    int32_t *owners; ///< [run_count] part of a run
    int32_t *heads;  ///< [group_count + 1] first run of a group; a group does not cross parts
    int32_t *firsts; ///< [count + 1] first group of a part
} bb_unwrap_parts;

/// Finds the parts of `mask` [rows][columns], 0 outside. A mask without a point has no part.
/// Errors: BB_MEMORY, BB_UNSUPPORTED (2^31 points or more). Owner: the caller.
BB_CHECKED bb_status bb_unwrap_parts_create(const unsigned char *mask, bb_index columns,
                                            bb_index rows, bb_unwrap_parts *out);
void bb_unwrap_parts_release(bb_unwrap_parts *parts);

/// Joins the trees of two points in `parents`, in which a root is its own parent and the first
/// point of its tree. Returns true if the trees were different.
bool bb_unwrap_parts_join(int32_t *parents, int32_t one, int32_t two);

#endif
