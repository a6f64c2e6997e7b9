// SPDX-License-Identifier: Apache-2.0
//
// Patches of lenslets: the division of a block's slopes on a device, in scalar code shared by the
// kernels and their host test.
//
// Consecutive slopes of one sensor and axis are a band of lenslet rows, ragged at both ends. The
// band is cut into patches of at most BB_PATCH_EDGE x BB_PATCH_EDGE lenslets, all of about one
// size. Slopes of a patch share their ends along either axis: 64 slopes have 72 ends, whereas 64
// consecutive y slopes of a wide grid have 128.
#ifndef BB_PHYSICS_AO_COVARIANCE_SLOPE_PATCH_CORE_H
#define BB_PHYSICS_AO_COVARIANCE_SLOPE_PATCH_CORE_H

#include "core/portable.h"

#include <stdint.h>

enum {
    BB_PATCH_EDGE = 8,
    BB_PATCH_SLOPES = BB_PATCH_EDGE * BB_PATCH_EDGE,
    BB_PATCH_ENDS = BB_PATCH_EDGE * (BB_PATCH_EDGE + 1)
};

/// Consecutive slopes of one sensor along one axis (BB_AXIS_X is 0). Plain value.
typedef struct bb_slope_segment {
    const int32_t *subaperture; ///< [lenslets][lenslets] index of a lenslet, -1 if it is invalid
    int lenslets;
    int axis;
    int first, count;           ///< subapertures
    int column, row;            ///< the band's first lenslet
    int columns, rows;          ///< size of the band
    int wide, high;             ///< size of a patch
    int patch_columns, patches; ///< patches per row, and in total
} bb_slope_segment;

/// Lenslets [column, column + columns) x [row, row + rows).
typedef struct bb_slope_patch {
    int column, row, columns, rows;
} bb_slope_patch;

BB_DEVICE_FUNCTION
int bb_slope_patch_even(int multiple)
{
    const int parts = (multiple + BB_PATCH_EDGE - 1) / BB_PATCH_EDGE;
    return (multiple + parts - 1) / parts;
}

/// `first_site` and `last_site` are (2 lenslets - 1) row + column of the outer subapertures.
BB_DEVICE_FUNCTION
bb_slope_segment bb_slope_segment_make(const int32_t *subaperture, int lenslets, int axis,
                                       int first, int count, int first_site, int last_site)
{
    const int stride = 2 * lenslets - 1;
    bb_slope_segment s;
    s.subaperture = subaperture;
    s.lenslets = lenslets;
    s.axis = axis;
    s.first = first;
    s.count = count;
    s.row = first_site / stride;
    s.rows = last_site / stride - s.row + 1;
    s.column = s.rows == 1 ? first_site % stride : 0;
    s.columns = s.rows == 1 ? last_site % stride - s.column + 1 : lenslets;
    s.wide = bb_slope_patch_even(s.columns);
    s.high = bb_slope_patch_even(s.rows);
    s.patch_columns = (s.columns + s.wide - 1) / s.wide;
    s.patches = s.patch_columns * ((s.rows + s.high - 1) / s.high);
    return s;
}

BB_DEVICE_FUNCTION
bb_slope_patch bb_slope_patch_at(const bb_slope_segment *s, int number)
{
    const int rest = number % s->patch_columns * s->wide;
    const int low = number / s->patch_columns * s->high;
    bb_slope_patch p;
    p.column = s->column + rest;
    p.row = s->row + low;
    p.columns = s->columns - rest < s->wide ? s->columns - rest : s->wide;
    p.rows = s->rows - low < s->high ? s->rows - low : s->high;
    return p;
}

/// Returns the slope of the segment at lenslet (i, j) of the patch, -1 if there is none.
BB_DEVICE_FUNCTION
int bb_slope_patch_slope(const bb_slope_segment *s, const bb_slope_patch *p, int i, int j)
{
    if (i < 0 || j < 0 || i >= p->columns || j >= p->rows) {
        return -1;
    }
    const int found = s->subaperture[(p->row + j) * s->lenslets + p->column + i];
    const int slope = found - s->first;
    return found >= 0 && slope >= 0 && slope < s->count ? slope : -1;
}

/// Counts the end positions: an end lies between two lenslets along the axis. At most
/// BB_PATCH_ENDS.
BB_DEVICE_FUNCTION
int bb_slope_patch_places(const bb_slope_segment *s, const bb_slope_patch *p)
{
    return s->axis == 0 ? (p->columns + 1) * p->rows : p->columns * (p->rows + 1);
}

/// Returns the position of the lower end of lenslet (i, j); the upper one is `*step` further.
BB_DEVICE_FUNCTION
int bb_slope_patch_lower(const bb_slope_segment *s, const bb_slope_patch *p, int i, int j,
                         int *step)
{
    *step = s->axis == 0 ? 1 : p->columns;
    return j * (s->axis == 0 ? p->columns + 1 : p->columns) + i;
}

/// Returns whether any slope of the segment ends at a position, and sets its point on the sensor's
/// grid in half lenslets from the centre.
BB_DEVICE_FUNCTION
int bb_slope_patch_end(const bb_slope_segment *s, const bb_slope_patch *p, int place, int *x,
                       int *y)
{
    const int along_x = s->axis == 0 ? 1 : 0;
    const int width = p->columns + along_x;
    const int i = place % width;
    const int j = place / width;
    *x = 2 * (p->column + i) + 1 - along_x - s->lenslets;
    *y = 2 * (p->row + j) + along_x - s->lenslets;
    return bb_slope_patch_slope(s, p, i, j) >= 0 ||
           bb_slope_patch_slope(s, p, i - along_x, j - 1 + along_x) >= 0;
}

/// Counts the set flags before `place`: the index of the position among those in use.
BB_DEVICE_FUNCTION
int bb_slope_patch_rank(const uint8_t *flags, int place)
{
    int rank = 0;
    for (int k = 0; k < place; ++k) {
        rank += flags[k];
    }
    return rank;
}

#endif
