// SPDX-License-Identifier: Apache-2.0
//
// Parts of a mask: points that neighbours in rows and columns connect. The piston between two parts
// is free, so each is scored and fitted alone.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_PARTS_H
#define BB_SOLVERS_UNWRAP_UNWRAP_PARTS_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// Points of a run and runs of a group: sums over parts are of groups, those of runs, so that no
/// work-item adds many numbers one after another.
enum { BB_UNWRAP_RUN = 128, BB_UNWRAP_GROUP = 128 };

typedef struct bb_unwrap_parts {
    bb_index columns, rows;
    bb_index count, group_count, run_count, point_count;
    /// Most steps by which a way within a part exceeds the distance of its ends, the points of the
    /// part that are farthest from each other, or nearly so.
    bb_index detour;
    int32_t *labels; ///< [rows][columns] part of a point, in order of first points; -1 outside
    int32_t *sizes;  ///< [count] points
    /// [point_count] points, row * columns + column, part by part and run by run; the first quarter
    /// of a run (rounded up) is every fourth of its points.
    int32_t *order;
    int32_t *starts; ///< [run_count + 1] of runs in `order`, none across two parts
    int32_t *owners; ///< [run_count] part of a run
    int32_t *heads;  ///< [group_count + 1] first run of a group, none across two parts
    int32_t *firsts; ///< [count + 1] first group of a part
} bb_unwrap_parts;

/// Parts of `mask` [rows][columns], 0 outside. A mask without a point has no part. Errors:
/// BB_MEMORY, BB_UNSUPPORTED (2^31 points or more). Owner: the caller.
BB_CHECKED bb_status bb_unwrap_parts_create(const unsigned char *mask, bb_index columns,
                                            bb_index rows, bb_unwrap_parts *out);
void bb_unwrap_parts_release(bb_unwrap_parts *parts);

/// Joins the trees of two points in `parents`, where a root is its own parent and the first point
/// of its tree. Returns whether they were two.
bool bb_unwrap_parts_join(int32_t *parents, int32_t one, int32_t two);

#endif
