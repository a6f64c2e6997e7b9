// SPDX-License-Identifier: Apache-2.0
//
// Factorization by panels with L in host memory: order of the steps of panel_part_cuda.h, with
// panels in groups of one run of the depth.
//
// A group is first filled, then updated by all groups except the previous one, whose L comes from
// the host: the group's own block rows as guests for diagonal blocks, then these and all rows below
// in chunks, each for all panels of the group. Next it is updated by the previous group, whose L is
// still in the strip. Then it is factored panel by panel, as if all of L were on the GPU, and
// replaces the strip.
//
// Pieces of the strip are copied to the host as soon as they are solved, and must have arrived when
// the next group has been factored. Copies from the host concern groups stored long before, so they
// run while the previous group is still being factored. Traffic up: n^3 / (6 run) values of each
// plane that products below the diagonal read, and n^2 / 2 of each plane for guests. Traffic down:
// n^2 / 2 of each plane.
#include "core/memory.h"
#include "solvers/factor/panels/panel_cholesky_cuda.h"
#include "solvers/factor/panels/panel_products_cuda.h"

using namespace panel;

namespace
{

const bb_index piece = 4; // panels stored together

// Panels [first, end) of a factorization; the previous group starts at panel `before`.
struct group {
    bb_panel_cholesky *f;
    const bb_panel_sources *sources;
    bb_index first, end, before;
    int parity;
};

bb_panel_part *part_of(const group &g)
{
    return &g.f->parts[0];
}

enum { EVENTS = 10 };

struct event_list {
    cudaEvent_t *items[EVENTS];
};

event_list swap_events(swap_space *swap)
{
    return {{&swap->chunk_here[0], &swap->chunk_here[1], &swap->chunk_read[0], &swap->chunk_read[1],
             &swap->guests_here, &swap->guests_read[0], &swap->guests_read[1], &swap->updated,
             &swap->stored[0], &swap->stored[1]}};
}

bb_status fill(const group &g)
{
    bb_panel_part *part = part_of(g);
    for (bb_index k = g.first; k < g.end; ++k) {
        BB_RETURN_IF_FAILED(mark(&g.f->fills[0], true, part->bulk));
        BB_RETURN_IF_FAILED(bb_panel_part_fill(part, g.sources->matrix, k));
        BB_RETURN_IF_FAILED(mark(&g.f->fills[0], false, part->bulk));
    }
    BB_RETURN_IF_FAILED(record(events_of(g.f, g.first, 0)->filled, part->bulk));
    return wait(part->ahead, events_of(g.f, g.first, 0)->filled);
}

// Copies the group's block rows, for the columns before the previous group.
bb_status fetch_guests(const group &g, bb_panel_part *chunk)
{
    swap_space *swap = &g.f->swap;
    for (cudaEvent_t event : {swap->guests_read[0], swap->guests_read[1], swap->stored[g.parity]}) {
        BB_RETURN_IF_FAILED(wait(chunk->fetch, event));
    }
    for (bb_index k = g.first; k < g.end; ++k) {
        BB_RETURN_IF_FAILED(
            bb_panel_part_fetch_row(chunk, &swap->kept, k, 0, g.before, BB_PANEL_FETCH));
    }
    BB_RETURN_IF_FAILED(record(swap->guests_here, chunk->fetch));
    BB_RETURN_IF_FAILED(wait(chunk->bulk, swap->guests_here));
    return wait(chunk->ahead, swap->guests_here);
}

// Updates the block rows [rows.begin, rows.end) of all panels of the group.
bb_status update_chunk(const group &g, bb_index slot, bb_positions rows)
{
    swap_space *swap = &g.f->swap;
    bb_panel_part chunk = bb_panel_part_chunk(part_of(g), slot, rows.begin);
    BB_RETURN_IF_FAILED(wait(chunk.fetch, swap->chunk_read[slot]));
    BB_RETURN_IF_FAILED(bb_panel_part_fetch_chunk(&chunk, &swap->kept, rows, g.before));
    BB_RETURN_IF_FAILED(record(swap->chunk_here[slot], chunk.fetch));
    BB_RETURN_IF_FAILED(wait(chunk.bulk, swap->chunk_here[slot]));
    for (bb_index k = g.first; k < g.end; ++k) {
        const bb_positions below = {rows.begin > k ? rows.begin : k + 1, rows.end};
        BB_RETURN_IF_FAILED(bb_panel_part_update_rows(&chunk, k, 0, g.before, below));
    }
    return record(swap->chunk_read[slot], chunk.bulk);
}

// Applies the updates of all groups before the previous one.
bb_status add_kept(const group &g)
{
    swap_space *swap = &g.f->swap;
    const bb_index height = bb_panel_plan_chunk(&g.f->plan);
    bb_panel_part chunk = bb_panel_part_chunk(part_of(g), 0, g.first);
    bb_index slot = 0;
    if (g.before == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(fetch_guests(g, &chunk));
    for (bb_index k = g.first; k < g.end; ++k) {
        BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(&chunk, k, 0, g.before, BB_PANEL_AHEAD));
    }
    BB_RETURN_IF_FAILED(record(swap->guests_read[0], chunk.ahead));
    for (bb_index begin = g.first; begin < g.f->blocks; begin += height) {
        const bb_index end = begin + height < g.f->blocks ? begin + height : g.f->blocks;
        BB_RETURN_IF_FAILED(update_chunk(g, slot, {begin, end}));
        slot = (slot + 1) % BB_PANEL_CHUNKS_HELD;
    }
    return record(swap->guests_read[1], chunk.bulk);
}

// Applies the updates of the previous group. The first panel applies the last one separately, as
// panels within a group do.
bb_status add_strip(const group &g)
{
    bb_panel_part *part = part_of(g);
    for (bb_index k = g.first; k < g.end; ++k) {
        const bb_index stop = k == g.first ? g.first - 1 : g.first;
        BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(part, k, g.before, stop, BB_PANEL_AHEAD));
        BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(part, k, stop, g.first, BB_PANEL_AHEAD));
        BB_RETURN_IF_FAILED(bb_panel_part_update(part, k, g.before, stop));
        BB_RETURN_IF_FAILED(bb_panel_part_update(part, k, stop, g.first));
    }
    return BB_OK;
}

// Moves the strip to the current group once its previous contents are no longer read. The second
// plane is zeroed, because blocks that leave it empty may replace blocks that did not.
bb_status move_strip(const group &g)
{
    bb_panel_part *part = part_of(g);
    swap_space *swap = &g.f->swap;
    BB_RETURN_IF_FAILED(record(swap->updated, part->ahead));
    BB_RETURN_IF_FAILED(wait(part->bulk, swap->updated));
    BB_RETURN_IF_FAILED(wait(part->bulk, swap->stored[1 - g.parity]));
    part->layout.origin = g.first * part->plan.block;
    if (part->arithmetic.half_tiles && part->triangle_lo != nullptr) {
        const bb_index items =
            bb_triangle_layout_rows(part->layout) * bb_triangle_layout_columns(part->layout);
        BB_CUDA_TRY(cudaMemsetAsync(part->triangle_lo, 0,
                                    static_cast<size_t>(items) * sizeof(__half), part->bulk));
    }
    BB_RETURN_IF_FAILED(record(events_of(g.f, g.first, 0)->ahead, part->ahead));
    return wait(part->chain, events_of(g.f, g.first, 0)->ahead);
}

// Updates panel k by the group's panels before `stop`.
bb_status update_panel(const group &g, bb_index k, bb_index stop)
{
    bb_panel_part *part = part_of(g);
    const panel_events *events = events_of(g.f, k, 0);
    if (stop > g.first) {
        BB_RETURN_IF_FAILED(wait(part->ahead, events_of(g.f, stop - 1, 0)->solved));
    }
    BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(part, k, g.first, stop, BB_PANEL_AHEAD));
    BB_RETURN_IF_FAILED(record(events->ahead, part->ahead));
    BB_RETURN_IF_FAILED(wait(part->chain, events->ahead));
    return bb_panel_part_update(part, k, g.first, stop);
}

// Stores solved panels in pieces.
bb_status store(const group &g, bb_index k)
{
    bb_panel_part *part = part_of(g);
    swap_space *swap = &g.f->swap;
    const bb_index done = k + 1 - g.first;
    const bb_index rest = done % piece;
    const bb_index panels = rest == 0 ? piece : rest;
    if (rest != 0 && k + 1 < g.end) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(wait(part->store, events_of(g.f, k, 0)->solved));
    BB_RETURN_IF_FAILED(bb_panel_part_store(part, &swap->kept, k + 1 - panels, k + 1));
    return record(swap->stored[g.parity], part->store);
}

bb_status factor(const group &g)
{
    bb_panel_part *part = part_of(g);
    for (bb_index k = g.first; k < g.end; ++k) {
        BB_RETURN_IF_FAILED(factor_diagonal(g.f, k));
        if (k + 1 < g.end) {
            BB_RETURN_IF_FAILED(update_panel(g, k + 1, k));
        }
        BB_RETURN_IF_FAILED(solve(g.f, k, 0));
        if (k + 1 < g.end) {
            BB_RETURN_IF_FAILED(follow(g.f, k + 1, 0));
        }
        BB_RETURN_IF_FAILED(store(g, k));
    }
    return part->arithmetic.light_sweeps ? bb_panel_part_find_energies(part, g.first, g.end)
                                         : BB_OK;
}

} // namespace

bb_status panel::create_swap(bb_panel_cholesky *f)
{
    swap_space *swap = &f->swap;
    bb_panel_part *part = &f->parts[0];
    const size_t bytes = static_cast<size_t>(bb_panel_plan_swap_bytes(&f->plan));
    BB_RETURN_IF_FAILED(use(part));
    const int planes = part->triangle_lo != nullptr ? 2 : 1;
    for (int p = 0; p < planes; ++p) {
        bb_status status = bb_memory_allocate(static_cast<bb_index>(bytes), 1, &swap->planes[p]);
        if (status == BB_OK) {
            status = bb_device_host_lock(part->device, swap->planes[p], bytes);
        }
        if (status == BB_MEMORY) {
            return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                                 "host memory: L of n = %td needs %.1f GB of pinned memory",
                                 f->plan.n,
                                 1e-9 * static_cast<double>(planes) * static_cast<double>(bytes));
        }
        BB_RETURN_IF_FAILED(status);
    }
    for (cudaEvent_t *event : swap_events(swap).items) {
        BB_CUDA_TRY(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    swap->kept = *part;
    swap->kept.layout = bb_triangle_layout_make(f->plan.n, f->plan.block);
    swap->kept.triangle = swap->planes[0];
    swap->kept.triangle_lo = swap->planes[1];
    return BB_OK;
}

void panel::destroy_swap(bb_panel_cholesky *f)
{
    swap_space *swap = &f->swap;
    for (cudaEvent_t *event : swap_events(swap).items) {
        if (*event != nullptr) {
            (void)cudaEventDestroy(*event);
        }
    }
    for (void **plane : {&swap->planes[0], &swap->planes[1]}) {
        bb_device_host_unlock(f->parts[0].device, *plane);
        bb_memory_release(plane);
    }
}

bb_status panel::run_groups(bb_panel_cholesky *f, const bb_panel_sources *sources)
{
    bb_panel_part *part = &f->parts[0];
    group g = {f, sources, 0, 0, 0, 0};
    BB_RETURN_IF_FAILED(use(part));
    part->reads_guests = false;
    part->layout.origin = 0;
    for (; g.first < f->blocks; g.before = g.first, g.first = g.end, g.parity = 1 - g.parity) {
        g.end = g.first + part->width < f->blocks ? g.first + part->width : f->blocks;
        BB_RETURN_IF_FAILED(fill(g));
        if (g.first > 0) {
            BB_RETURN_IF_FAILED(add_kept(g));
            BB_RETURN_IF_FAILED(add_strip(g));
        }
        BB_RETURN_IF_FAILED(move_strip(g));
        BB_RETURN_IF_FAILED(factor(g));
    }
    part->reads_guests = true;
    return wait(part->bulk, f->swap.stored[1 - g.parity]);
}
