// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_panels.h"

#include "core/clock.h"
#include "core/memory.h"
#include "solvers/factor/tiles/tile_store.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>

// Tiles of a column that are read early, in addition to its heads.
enum { EARLY = 2 };

// Bytes of columns [first, end): their tiles, plus `times` the heads and `others` more tiles of the
// earlier column that needs most.
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
        size_t row_bytes = 0; // tiles of the sweeps
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

enum { NAP_NS = 50000, TURNS = 200 };

typedef struct mark {
    atomic_ptrdiff_t panel;
} mark;

struct bb_tile_stream {
    bb_tile_stream_work work;
    bb_tile_store *store;
    mark *ready;             // [tiles] 1 + the last panel for which a tile was read
    atomic_ptrdiff_t waited; // nanoseconds, summed over all threads
    pthread_t thread;
    bb_status failure; // error of the thread
    bb_status_record record;
};

static bb_index index_of(bb_index row, bb_index column)
{
    return row * (row + 1) / 2 + column;
}

static bool is_stopped(const bb_tile_stream *stream)
{
    return atomic_load_explicit(stream->work.stopped, memory_order_relaxed);
}

static void nap(void)
{
    (void)bb_clock_sleep_until(bb_clock_ns() + NAP_NS);
}

// `*going` becomes false if the work stops first.
static bb_status load_tile(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column,
                           bool *going)
{
    bb_status status = BB_OK;
    const bb_tile_panels *panels = stream->work.panels;
    const bb_index tile = index_of(row, column);
    const bool is_target = column >= panels->first[p];
    const bb_index uses = bb_tile_panels_uses(panels, p, row, column) + (is_target ? 1 : 0);
    bool held = false;
    *going = true;
    while (!held && *going) {
        BB_TRY(bb_tile_store_acquire(stream->store, tile, is_target ? BB_TILE_CHANGE : BB_TILE_READ,
                                     uses, &held));
        *going = !is_stopped(stream);
        if (!held && *going) {
            nap();
        }
    }
    if (*going && !is_target) {
        *going = stream->work.arrived(stream->work.context, panels->stage[p] + column, row, column);
    }
    if (*going) {
        atomic_store_explicit(&stream->ready[tile].panel, p + 1, memory_order_release);
    }
done:
    return status;
}

// Loads the tiles of panel p in row `row`.
static bb_status load_row(bb_tile_stream *stream, bb_index p, bb_index row, bool *going)
{
    const bb_tile_panels *panels = stream->work.panels;
    for (bb_index column = panels->first[p];
         column < panels->first[p + 1] && column <= row && *going; ++column) {
        BB_RETURN_IF_FAILED(load_tile(stream, p, row, column, going));
    }
    return BB_OK;
}

// Loads all tiles of panel p in the order of its tasks: its own tiles together with the first
// column that updates them; without such a column, column by column.
static bb_status load_panel(bb_tile_stream *stream, bb_index p, bool *going)
{
    const bb_tile_panels *panels = stream->work.panels;
    const bb_index first = panels->first[p];
    for (bb_index column = 0; first == 0 && column < panels->first[1]; ++column) {
        for (bb_index row = column; row < panels->tile_rows && *going; ++row) {
            BB_RETURN_IF_FAILED(load_tile(stream, p, row, column, going));
        }
    }
    for (bb_index k = 0; k < first; ++k) {
        for (bb_index row = first; row < panels->tile_rows && *going; ++row) {
            BB_RETURN_IF_FAILED(load_tile(stream, p, row, k, going));
            if (k == 0) {
                BB_RETURN_IF_FAILED(load_row(stream, p, row, going));
            }
        }
    }
    return BB_OK;
}

static void *run(void *context)
{
    bb_tile_stream *stream = context;
    bb_status status = BB_OK;
    bool going = true;
    for (bb_index p = 0; p < stream->work.panels->count && going && status == BB_OK; ++p) {
        status = load_panel(stream, p, &going);
    }
    if (status != BB_OK) {
        bb_status_save(&stream->record);
        stream->failure = status;
        atomic_store(stream->work.stopped, true);
    }
    return NULL;
}

// The worker threads tell the store the next use of each tile as a stage number.
static void expect_all(const bb_tile_stream *stream)
{
    const bb_tile_panels *panels = stream->work.panels;
    for (bb_index row = 0; row < panels->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_index p = bb_tile_panels_of_column(panels, column);
            bb_tile_store_set_next_use(stream->store, index_of(row, column), panels->stage[p]);
        }
    }
}

bb_status bb_tile_stream_create(const bb_tile_stream_work *work, bb_tile_stream **out)
{
    bb_status status = BB_OK;
    bb_tile_stream *stream = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &stream));
    stream->work = *work;
    stream->store = work->matrix->store;
    BB_TRY(BB_ZEROED(index_of(work->panels->tile_rows, 0), &stream->ready));
    expect_all(stream);
    BB_REQUIRE(pthread_create(&stream->thread, NULL, run, stream) == 0, BB_MEMORY,
               "the thread that reads tiles could not be created");
    *out = stream;
    stream = NULL;
done:
    if (stream != NULL) {
        BB_RELEASE(&stream->ready);
    }
    BB_RELEASE(&stream);
    return status;
}

bool bb_tile_stream_await(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column)
{
    atomic_ptrdiff_t *ready = &stream->ready[index_of(row, column)].panel;
    if (atomic_load_explicit(ready, memory_order_acquire) > p) {
        return true;
    }
    const int64_t start = bb_clock_ns();
    for (int turns = 0; atomic_load_explicit(ready, memory_order_acquire) <= p; ++turns) {
        if (is_stopped(stream)) {
            return false;
        }
        if (turns < TURNS) {
            (void)sched_yield();
        } else {
            nap();
        }
    }
    atomic_fetch_add_explicit(&stream->waited, bb_clock_ns() - start, memory_order_relaxed);
    return true;
}

void bb_tile_stream_drop(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column)
{
    bb_tile_store_release(stream->store, index_of(row, column),
                          bb_tile_panels_next_use(stream->work.panels, p, row, column));
}

bb_status bb_tile_stream_finish(bb_tile_stream **stream, double *waited)
{
    bb_status status = BB_OK;
    if (*stream == NULL) {
        return BB_OK;
    }
    (void)pthread_join((*stream)->thread, NULL);
    *waited = 1e-9 * (double)atomic_load(&(*stream)->waited);
    status = (*stream)->failure;
    if (status != BB_OK) {
        bb_status_restore(&(*stream)->record);
    }
    if (is_stopped(*stream)) {
        bb_tile_store_release_all((*stream)->store);
    }
    BB_RELEASE(&(*stream)->ready);
    BB_RELEASE(stream);
    return status;
}

bb_need bb_tile_stream_need(bb_index tile_rows)
{
    const double tiles = 0.5 * (double)tile_rows * (double)(tile_rows + 1);
    return (bb_need){.host_bytes = (double)sizeof(bb_tile_stream) + tiles * sizeof(mark)};
}
