// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_stream.h"

#include "core/clock.h"
#include "core/memory.h"
#include "solvers/factor/tiles/tile_store.h"

#include <pthread.h>
#include <sched.h>

enum { NAP_NS = 50000, TURNS = 200 };

typedef struct mark {
    atomic_ptrdiff_t panel;
} mark;

struct bb_tile_stream {
    bb_tile_stream_work work;
    bb_tile_store *store;
    mark *ready;             // [tiles] 1 + the last panel that a tile was brought for
    atomic_ptrdiff_t waited; // nanoseconds of all threads
    pthread_t thread;
    bb_status failure; // the thread's
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

// `*going` is false where the work was stopped first.
static bb_status bring(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column,
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
        BB_TRY(bb_tile_store_hold(stream->store, tile, is_target ? BB_TILE_CHANGE : BB_TILE_READ,
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

// The tiles of panel p in row `row`.
static bb_status bring_row(bb_tile_stream *stream, bb_index p, bb_index row, bool *going)
{
    const bb_tile_panels *panels = stream->work.panels;
    for (bb_index column = panels->first[p];
         column < panels->first[p + 1] && column <= row && *going; ++column) {
        BB_RETURN_IF_FAILED(bring(stream, p, row, column, going));
    }
    return BB_OK;
}

// All that panel p takes, in the order of its tasks: its own tiles with the first column that
// updates them; where there is none, column by column.
static bb_status bring_panel(bb_tile_stream *stream, bb_index p, bool *going)
{
    const bb_tile_panels *panels = stream->work.panels;
    const bb_index first = panels->first[p];
    for (bb_index column = 0; first == 0 && column < panels->first[1]; ++column) {
        for (bb_index row = column; row < panels->tile_rows && *going; ++row) {
            BB_RETURN_IF_FAILED(bring(stream, p, row, column, going));
        }
    }
    for (bb_index k = 0; k < first; ++k) {
        for (bb_index row = first; row < panels->tile_rows && *going; ++row) {
            BB_RETURN_IF_FAILED(bring(stream, p, row, k, going));
            if (k == 0) {
                BB_RETURN_IF_FAILED(bring_row(stream, p, row, going));
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
        status = bring_panel(stream, p, &going);
    }
    if (status != BB_OK) {
        bb_status_save(&stream->record);
        stream->failure = status;
        atomic_store(stream->work.stopped, true);
    }
    return NULL;
}

// The work tells the store when tiles are used, in stages.
static void expect_all(const bb_tile_stream *stream)
{
    const bb_tile_panels *panels = stream->work.panels;
    for (bb_index row = 0; row < panels->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_index p = bb_tile_panels_of_column(panels, column);
            bb_tile_store_expect(stream->store, index_of(row, column), panels->stage[p]);
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
               "cannot start the thread that reads tiles");
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
