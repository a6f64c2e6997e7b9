// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/slope_ends.h"

#include "core/memory.h"

// Marks the edges in use on the grid of all edges across the axis, then numbers them in order.
static void number_edges(int axis, bb_index lenslets, bb_index subapertures, const bb_index *column,
                         const bb_index *row, bb_index *grid, bb_slope_ends *ends)
{
    const bb_index wide = axis == BB_AXIS_X ? lenslets + 1 : lenslets;
    const bb_index step = axis == BB_AXIS_X ? 1 : wide;
    for (bb_index i = 0; i < subapertures; ++i) {
        const bb_index edge = row[i] * wide + column[i];
        grid[edge] = 1;
        grid[edge + step] = 1;
    }
    for (bb_index edge = 0; edge < lenslets * (lenslets + 1); ++edge) {
        ends->count += grid[edge];
        grid[edge] = ends->count - 1;
    }
    for (bb_index i = 0; i < subapertures; ++i) {
        const bb_index edge = row[i] * wide + column[i];
        ends->minus[i] = grid[edge];
        ends->plus[i] = grid[edge + step];
    }
}

// Positions come from integers, so that both owners of an edge see the same point.
static void place_ends(int axis, bb_index lenslets, bb_index subapertures, const bb_index *column,
                       const bb_index *row, bb_slope_ends *ends)
{
    for (bb_index i = 0; i < subapertures; ++i) {
        for (bb_index side = -1; side <= 1; side += 2) {
            const bb_index point = side < 0 ? ends->minus[i] : ends->plus[i];
            const bb_index x = 2 * column[i] + 1 - lenslets + (axis == BB_AXIS_X ? side : 0);
            const bb_index y = 2 * row[i] + 1 - lenslets + (axis == BB_AXIS_Y ? side : 0);
            ends->x[point] = (int)x;
            ends->y[point] = (int)y;
        }
    }
}

bb_status bb_slope_ends_create(int axis, bb_index lenslets, bb_index subapertures,
                               const bb_index *column, const bb_index *row, bb_index layers,
                               bb_slope_ends *out)
{
    bb_status status = BB_OK;
    bb_slope_ends ends = {0};
    bb_index *grid = NULL;
    BB_TRY(BB_ZEROED(lenslets * (lenslets + 1), &grid));
    BB_TRY(BB_ALLOCATE(subapertures, &ends.minus));
    BB_TRY(BB_ALLOCATE(subapertures, &ends.plus));
    number_edges(axis, lenslets, subapertures, column, row, grid, &ends);
    BB_TRY(BB_ALLOCATE(ends.count, &ends.x));
    BB_TRY(BB_ALLOCATE(ends.count, &ends.y));
    place_ends(axis, lenslets, subapertures, column, row, &ends);
    BB_TRY(BB_ALLOCATE(layers * ends.count, &ends.layer_x_m));
    BB_TRY(BB_ALLOCATE(layers * ends.count, &ends.layer_y_m));
    *out = ends;
    ends = (bb_slope_ends){0};
done:
    BB_RELEASE(&grid);
    bb_slope_ends_release(&ends);
    return status;
}

void bb_slope_ends_release(bb_slope_ends *ends)
{
    BB_RELEASE(&ends->minus);
    BB_RELEASE(&ends->plus);
    BB_RELEASE(&ends->x);
    BB_RELEASE(&ends->y);
    BB_RELEASE(&ends->layer_x_m);
    BB_RELEASE(&ends->layer_y_m);
    ends->count = 0;
}

bb_status bb_slope_ends_part_create(const bb_slope_ends *ends, bb_index first, bb_index slopes,
                                    bb_slope_ends_part *out)
{
    bb_status status = BB_OK;
    bb_slope_ends_part part = {0};
    const bb_index *minus = ends->minus + first;
    const bb_index *plus = ends->plus + first;
    BB_TRY(BB_ALLOCATE(2 * slopes, &part.point));
    BB_TRY(BB_ALLOCATE(slopes, &part.minus));
    BB_TRY(BB_ALLOCATE(slopes, &part.plus));
    // Merges the two increasing lists.
    for (bb_index i = 0, j = 0; j < slopes; ++part.count) {
        const bb_index next = i < slopes && minus[i] < plus[j] ? minus[i] : plus[j];
        part.point[part.count] = next;
        if (i < slopes && minus[i] == next) {
            part.minus[i++] = part.count;
        }
        if (plus[j] == next) {
            part.plus[j++] = part.count;
        }
    }
    *out = part;
    part = (bb_slope_ends_part){0};
done:
    bb_slope_ends_part_release(&part);
    return status;
}

void bb_slope_ends_part_release(bb_slope_ends_part *part)
{
    BB_RELEASE(&part->point);
    BB_RELEASE(&part->minus);
    BB_RELEASE(&part->plus);
    part->count = 0;
}
