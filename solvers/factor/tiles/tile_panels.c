// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_panels.h"

#include "core/memory.h"
#include "solvers/factor/tiles/tile_store.h"

#include <math.h>

// Tiles of a column that come early, beside its heads.
enum { EARLY = 2 };

// Bytes that columns [first, end) take: their tiles, and of a column before (that where it is most)
// the heads `times` and `others` tiles more.
static size_t panel_bytes(bb_index tile_rows, bb_tile_panels_measure measure, const void *context,
                          bb_index first, bb_index end, size_t times, size_t others)
{
    size_t bytes = 0;
    size_t streamed_bytes = 0;
    for (bb_index row = first; row < tile_rows; ++row) {
        for (bb_index column = first; column < end && column <= row; ++column) {
            bytes += measure(context, row, column);
        }
    }
    for (bb_index k = 0; k < first; ++k) {
        size_t heads = 0;
        size_t largest = 0;
        for (bb_index row = first; row < tile_rows; ++row) {
            const size_t item = measure(context, row, k);
            heads += row < end ? item : 0;
            largest = item > largest ? item : largest;
        }
        const size_t streamed = times * heads + others * largest;
        streamed_bytes = streamed > streamed_bytes ? streamed : streamed_bytes;
    }
    return bytes + streamed_bytes;
}

size_t bb_tile_panels_least(bb_index tile_rows, bb_tile_panels_measure measure, const void *context)
{
    size_t least = 0;
    for (bb_index column = 0; column < tile_rows; ++column) {
        const size_t bytes = panel_bytes(tile_rows, measure, context, column, column + 1, 1, 1);
        size_t row_bytes = 0; // of the sweeps
        for (bb_index j = 0; j <= column; ++j) {
            row_bytes += measure(context, column, j);
        }
        least = bytes > least ? bytes : least;
        least = row_bytes > least ? row_bytes : least;
    }
    return least;
}

bb_status bb_tile_panels_create(bb_index tile_rows, size_t limit, bb_tile_panels_measure measure,
                                const void *context, bb_tile_panels *out)
{
    bb_status status = BB_OK;
    bb_tile_panels panels = {.tile_rows = tile_rows};
    bb_index column = 0;
    *out = (bb_tile_panels){0};
    BB_TRY(BB_ZEROED(tile_rows + 1, &panels.first));
    BB_TRY(BB_ZEROED(tile_rows + 1, &panels.stage));
    while (column < tile_rows) {
        bb_index end = limit == 0 ? tile_rows : column + 1;
        while (end < tile_rows &&
               panel_bytes(tile_rows, measure, context, column, end + 1, 2, EARLY) <= limit) {
            ++end;
        }
        panels.first[panels.count + 1] = end;
        panels.stage[panels.count + 1] = panels.stage[panels.count] + end;
        ++panels.count;
        column = end;
    }
    *out = panels;
    panels = (bb_tile_panels){0};
done:
    bb_tile_panels_release(&panels);
    return status;
}

void bb_tile_panels_release(bb_tile_panels *panels)
{
    BB_RELEASE(&panels->first);
    BB_RELEASE(&panels->stage);
}

static bb_index place_among(const bb_index *starts, bb_index count, bb_index item)
{
    bb_index p = 0;
    while (p + 1 < count && item >= starts[p + 1]) {
        ++p;
    }
    return p;
}

bb_index bb_tile_panels_of_column(const bb_tile_panels *panels, bb_index column)
{
    return place_among(panels->first, panels->count, column);
}

bb_index bb_tile_panels_of_stage(const bb_tile_panels *panels, bb_index stage)
{
    return place_among(panels->stage, panels->count, stage);
}

bb_index bb_tile_panels_cells(bb_index rows, bb_index width)
{
    return width * (width + 1) / 2 + (rows - width) * width;
}

void bb_tile_panels_cell(bb_index t, bb_index width, bb_index *row, bb_index *column)
{
    const bb_index triangle = width * (width + 1) / 2;
    bb_index r = width + (width > 0 ? (t - triangle) / width : 0);
    if (t >= triangle) {
        *row = r;
        *column = t - triangle - (r - width) * width;
        return;
    }
    r = (bb_index)((sqrt(8.0 * (double)t + 1.0) - 1.0) / 2.0);
    r -= r * (r + 1) / 2 > t;
    r += (r + 1) * (r + 2) / 2 <= t;
    *row = r;
    *column = t - r * (r + 1) / 2;
}

bb_index bb_tile_panels_updates(const bb_tile_panels *panels, bb_index p, bb_index k)
{
    const bb_index end = panels->first[p + 1];
    const bb_index begin = k < panels->first[p] ? panels->first[p] : k + 1;
    return bb_tile_panels_cells(panels->tile_rows - begin, end - begin);
}

bb_index bb_tile_panels_uses(const bb_tile_panels *panels, bb_index p, bb_index row,
                             bb_index column)
{
    const bb_index end = panels->first[p + 1];
    const bb_index begin = column < panels->first[p] ? panels->first[p] : column + 1;
    const bb_index below = panels->tile_rows - 1 - row;
    if (row == column) {
        return below;
    }
    return row < end ? row - begin + 1 + below : end - begin;
}

bb_index bb_tile_panels_next_use(const bb_tile_panels *panels, bb_index p, bb_index row,
                                 bb_index column)
{
    const bool again = p + 1 < panels->count && row >= panels->first[p + 1];
    return again ? panels->stage[p + 1] + column : BB_TILE_STORE_NEVER;
}

bb_need bb_tile_panels_need(bb_index tile_rows)
{
    return (bb_need){.host_bytes = 2.0 * (double)(tile_rows + 1) * sizeof(bb_index)};
}
