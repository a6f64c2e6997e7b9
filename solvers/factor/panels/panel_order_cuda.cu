// SPDX-License-Identifier: Apache-2.0
//
// Order of the steps of panel_part_cuda.h, on one part or several. Part k mod parts owns block row
// k of L with its diagonal block; every part works on its rows of every panel. On each part four
// streams work concurrently. At step k
//     chain:  the owner of block row k factors and inverts its diagonal block, the others copy the
//             inverse
//     bulk:   meanwhile panel k + 1 is filled and updated by the panels before k, then panel k is
//             solved, block row k + 1 first, whose last block the others copy
//     ahead:  the owner of block row k + 1 applies the same updates to its diagonal block
//     fetch:  the other parts copy the known blocks of block row k + 2
// Then panel k + 1 is updated by panel k, its diagonal block first, and every part sweeps its rows
// of B through panel k. Copies thus overlap with the long product of the previous panel, and the
// sums have the same order as on one part.
//
// An event must be recorded before anything waits for it, so the host queues producers first.
#include "core/memory.h"
#include "precision/light_tiles.h"
#include "solvers/factor/panels/panel_cholesky_cuda.h"
#include "solvers/factor/panels/panel_products_cuda.h"

using namespace panel;

namespace
{

// One factorization.
struct factoring {
    bb_panel_cholesky *f;
    const bb_panel_sources *sources; // [gpus]
};

bb_index holder_of(const bb_panel_cholesky *f, bb_index k)
{
    return k % f->gpus;
}

} // namespace

bb_status panel::factor_diagonal(bb_panel_cholesky *f, bb_index k)
{
    const bb_index holder = holder_of(f, k);
    bb_panel_part *part = &f->parts[holder];
    const panel_events *events = events_of(f, k, holder);
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->chain, events->ahead));
    BB_RETURN_IF_FAILED(bb_panel_part_factor_diagonal(part, k));
    return record(events->inverted, part->chain);
}

// Solves the block row of the next panel first, because its diagonal block depends on nothing else.
bb_status panel::solve(bb_panel_cholesky *f, bb_index k, bb_index g)
{
    bb_panel_part *part = &f->parts[g];
    const panel_events *events = events_of(f, k, g);
    bb_positions rest = bb_panel_part_below(part, k);
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->bulk, holds(part, k) ? events->inverted : events->inverse));
    BB_RETURN_IF_FAILED(bb_panel_part_ready_inverse(part, k, false));
    if (k + 1 < f->blocks && holds(part, k + 1)) {
        const bb_index next = bb_triangle_layout_position(part->layout, k + 1);
        BB_RETURN_IF_FAILED(bb_panel_part_solve(part, k, {next, next + 1}));
        BB_RETURN_IF_FAILED(record(events->first, part->bulk));
        rest = next == rest.begin ? bb_positions{rest.begin + 1, rest.end}
                                  : bb_positions{rest.begin, rest.end - 1};
    }
    BB_RETURN_IF_FAILED(bb_panel_part_solve(part, k, rest));
    return record(events->solved, part->bulk);
}

// Updates panel k by panel k - 1.
bb_status panel::follow(bb_panel_cholesky *f, bb_index k, bb_index g)
{
    bb_panel_part *part = &f->parts[g];
    if (k >= f->blocks) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(use(part));
    if (holds(part, k)) {
        BB_RETURN_IF_FAILED(wait(part->chain, events_of(f, k - 1, g)->first));
        BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(part, k, k - 1, k, BB_PANEL_CHAIN));
    } else {
        BB_RETURN_IF_FAILED(wait(part->bulk, events_of(f, k, g)->last));
    }
    BB_RETURN_IF_FAILED(bb_panel_part_update(part, k, k - 1, k));
    return record(events_of(f, k, g)->read, part->bulk);
}

namespace
{

// Waits for the slot of a block row or column: the slot is free when the block row or column of
// panel `before`, if any, has been read.
bb_status wait_for_slot(const bb_panel_cholesky *f, bb_index before, bb_index g,
                        cudaStream_t stream)
{
    return before >= 0 && before < f->blocks ? wait(stream, events_of(f, before, g)->read) : BB_OK;
}

bb_status wait_for_diagonal_slot(const bb_panel_cholesky *f, bb_index before, bb_index g,
                                 cudaStream_t stream)
{
    return before >= 0 && before < f->blocks ? wait(stream, events_of(f, before, g)->used) : BB_OK;
}

// Copies block row k except for its last two blocks, which panels k - 2 and k - 1 produce.
bb_status fetch_row_begin(bb_panel_cholesky *f, bb_index k, bb_index g)
{
    bb_panel_part *part = &f->parts[g];
    const bb_index holder = holder_of(f, k);
    if (k >= f->blocks || g == holder) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait_for_slot(f, k - part->guests, g, part->fetch));
    if (k <= 2) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(wait(part->fetch, events_of(f, k - 3, holder)->solved));
    return bb_panel_part_fetch_row(part, &f->parts[holder], k, 0, k - 2, BB_PANEL_FETCH);
}

// Copies block (k, k - 2).
bb_status fetch_row_rest(bb_panel_cholesky *f, bb_index k, bb_index g)
{
    bb_panel_part *part = &f->parts[g];
    const bb_index holder = holder_of(f, k);
    if (k >= f->blocks || g == holder) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->fetch, events_of(f, k - 2, holder)->solved));
    BB_RETURN_IF_FAILED(
        bb_panel_part_fetch_row(part, &f->parts[holder], k, k - 2, k - 1, BB_PANEL_FETCH));
    return record(events_of(f, k, g)->row, part->fetch);
}

// Copies block (k, k - 1), which is urgent.
bb_status fetch_row_last(bb_panel_cholesky *f, bb_index k, bb_index g)
{
    bb_panel_part *part = &f->parts[g];
    const bb_index holder = holder_of(f, k);
    if (k >= f->blocks || g == holder) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait_for_slot(f, k - part->guests, g, part->chain));
    BB_RETURN_IF_FAILED(wait(part->chain, events_of(f, k - 1, holder)->first));
    BB_RETURN_IF_FAILED(
        bb_panel_part_fetch_row(part, &f->parts[holder], k, k - 1, k, BB_PANEL_CHAIN));
    return record(events_of(f, k, g)->last, part->chain);
}

bb_status fetch_inverse(bb_panel_cholesky *f, bb_index k, bb_index g)
{
    bb_panel_part *part = &f->parts[g];
    const bb_index holder = holder_of(f, k);
    if (g == holder) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->chain, events_of(f, k, holder)->inverted));
    BB_RETURN_IF_FAILED(wait_for_diagonal_slot(f, k - 2, g, part->chain));
    BB_RETURN_IF_FAILED(bb_panel_part_fetch_inverse(part, &f->parts[holder], k, BB_PANEL_CHAIN));
    BB_RETURN_IF_FAILED(bb_panel_part_fetch_diagonal(part, &f->parts[holder], k, BB_PANEL_CHAIN));
    return record(events_of(f, k, g)->inverse, part->chain);
}

// Starts panel k: fills it and applies the updates of the panels before `stop`.
bb_status start_panel(const factoring *work, bb_index k, bb_index stop, bb_index g)
{
    bb_panel_cholesky *f = work->f;
    bb_panel_part *part = &f->parts[g];
    const panel_events *events = events_of(f, k, g);
    if (k >= f->blocks) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(mark(&f->fills[g], true, part->bulk));
    BB_RETURN_IF_FAILED(bb_panel_part_fill(part, work->sources[g].matrix, k));
    BB_RETURN_IF_FAILED(mark(&f->fills[g], false, part->bulk));
    if (holds(part, k)) {
        BB_RETURN_IF_FAILED(record(events->filled, part->bulk));
        BB_RETURN_IF_FAILED(wait(part->ahead, events->filled));
        BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(part, k, 0, stop, BB_PANEL_AHEAD));
        BB_RETURN_IF_FAILED(record(events->ahead, part->ahead));
        BB_RETURN_IF_FAILED(wait(part->chain, events->ahead));
    } else if (stop > 0) {
        BB_RETURN_IF_FAILED(wait(part->bulk, events->row));
    }
    return bb_panel_part_update(part, k, 0, stop);
}

bb_status sweep_sides(const factoring *work, bb_index k, bb_index g)
{
    bb_panel_cholesky *f = work->f;
    bb_panel_part *part = &f->parts[g];
    const bb_panel_sources *sources = &work->sources[g];
    if (part->sides > 0) {
        BB_RETURN_IF_FAILED(mark(&f->fills[g], true, part->bulk));
        BB_RETURN_IF_FAILED(bb_panel_part_fill_sides(part, sources->side_count, sources->sides, k));
        BB_RETURN_IF_FAILED(mark(&f->fills[g], false, part->bulk));
        BB_RETURN_IF_FAILED(bb_panel_part_sweep_forward(part, k));
    }
    BB_RETURN_IF_FAILED(record(events_of(f, k, g)->read, part->bulk));
    return record(events_of(f, k, g)->used, part->bulk);
}

// Ends step k on a part.
bb_status finish(const factoring *work, bb_index k, bb_index g)
{
    bb_panel_part *part = &work->f->parts[g];
    BB_RETURN_IF_FAILED(use(part));
    return part->arithmetic.light_sweeps ? record(events_of(work->f, k, g)->used, part->bulk)
                                         : sweep_sides(work, k, g);
}

bb_status run_step(const factoring *work, bb_index k)
{
    bb_panel_cholesky *f = work->f;
    const bb_index gpus = f->gpus;
    for (bb_index g = 0; g < gpus; ++g) {
        BB_RETURN_IF_FAILED(fetch_row_begin(f, k + 2, g));
    }
    BB_RETURN_IF_FAILED(factor_diagonal(f, k));
    for (bb_index g = 0; g < gpus; ++g) {
        BB_RETURN_IF_FAILED(fetch_inverse(f, k, g));
    }
    for (bb_index g = 0; g < gpus; ++g) {
        BB_RETURN_IF_FAILED(start_panel(work, k + 1, k, g));
    }
    for (bb_index g = 0; g < gpus; ++g) {
        BB_RETURN_IF_FAILED(solve(f, k, g));
    }
    for (bb_index g = 0; g < gpus; ++g) {
        BB_RETURN_IF_FAILED(fetch_row_last(f, k + 1, g));
        BB_RETURN_IF_FAILED(follow(f, k + 1, g));
        BB_RETURN_IF_FAILED(fetch_row_rest(f, k + 2, g));
        BB_RETURN_IF_FAILED(finish(work, k, g));
    }
    return BB_OK;
}

// Selects the light blocks of L from the energies of all parts.
bb_status choose_light(bb_panel_cholesky *f, double *energies, unsigned char *light)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        // Energies were computed during the factorization.
        const bb_index stop = f->plan.swapped ? 0 : f->blocks;
        BB_RETURN_IF_FAILED(use(&f->parts[g]));
        BB_RETURN_IF_FAILED(bb_panel_part_find_energies(&f->parts[g], 0, stop));
        BB_RETURN_IF_FAILED(bb_panel_part_energies(&f->parts[g], energies));
    }
    BB_RETURN_IF_FAILED(bb_light_tiles(f->blocks, energies, f->plan.sweep_energy, light));
    for (bb_index g = 0; g < f->gpus; ++g) {
        BB_RETURN_IF_FAILED(use(&f->parts[g]));
        BB_RETURN_IF_FAILED(bb_panel_part_set_light(&f->parts[g], light));
    }
    return BB_OK;
}

// Copies the remote blocks that the sweep of panel k on a part reads, once all of L is known.
bb_status fetch_for_sweep(bb_panel_cholesky *f, bb_index k, bb_index g, bool backward)
{
    bb_panel_part *part = &f->parts[g];
    const bb_index holder = holder_of(f, k);
    const panel_events *events = events_of(f, k, g);
    if ((f->gpus == 1 && !f->plan.swapped) || part->sides == 0) {
        return BB_OK;
    }
    const bb_index guests = backward ? -part->guests : part->guests;
    BB_RETURN_IF_FAILED(wait_for_slot(f, k - guests, g, part->fetch));
    BB_RETURN_IF_FAILED(wait_for_diagonal_slot(f, backward ? k + 2 : k - 2, g, part->fetch));
    if (backward) {
        for (bb_index source = 0; source < f->gpus; ++source) {
            BB_RETURN_IF_FAILED(bb_panel_part_fetch_column(part, source_of(f, source), k));
        }
    } else {
        BB_RETURN_IF_FAILED(
            bb_panel_part_fetch_row(part, source_of(f, holder), k, 0, k, BB_PANEL_FETCH));
    }
    if (part->arithmetic.keeps_inverses) {
        BB_RETURN_IF_FAILED(
            bb_panel_part_fetch_inverse(part, &f->parts[holder], k, BB_PANEL_FETCH));
    }
    BB_RETURN_IF_FAILED(bb_panel_part_fetch_diagonal(part, &f->parts[holder], k, BB_PANEL_FETCH));
    BB_RETURN_IF_FAILED(record(events->row, part->fetch));
    return wait(part->bulk, events->row);
}

// Selects the products of light sweeps, which needs all of L.
bb_status choose(bb_panel_cholesky *f)
{
    const bb_index blocks = f->blocks;
    void *energies = nullptr;
    void *light = nullptr;
    bb_status status = bb_memory_zeroed(blocks * (blocks + 1) / 2, sizeof(double), &energies);
    status = status != BB_OK ? status : bb_memory_zeroed(blocks * blocks, 1, &light);
    status = status != BB_OK ? status
                             : choose_light(f, static_cast<double *>(energies),
                                            static_cast<unsigned char *>(light));
    bb_memory_release(&light);
    bb_memory_release(&energies);
    return status;
}

// Forward sweep after L is complete.
bb_status sweep_forward(const factoring *work)
{
    bb_panel_cholesky *f = work->f;
    BB_RETURN_IF_FAILED(wait_all(f));
    if (f->parts[0].arithmetic.light_sweeps) {
        BB_RETURN_IF_FAILED(choose(f));
    }
    for (bb_index item = 0; item < f->blocks * f->gpus; ++item) {
        const bb_index k = item / f->gpus;
        const bb_index g = item % f->gpus;
        BB_RETURN_IF_FAILED(use(&f->parts[g]));
        BB_RETURN_IF_FAILED(fetch_for_sweep(f, k, g, false));
        BB_RETURN_IF_FAILED(bb_panel_part_ready_inverse(&f->parts[g], k, false));
        BB_RETURN_IF_FAILED(sweep_sides(work, k, g));
    }
    return BB_OK;
}

bb_status run_steps(const factoring *work)
{
    for (bb_index g = 0; g < work->f->gpus; ++g) {
        BB_RETURN_IF_FAILED(start_panel(work, 0, 0, g));
    }
    for (bb_index k = 0; k < work->f->blocks; ++k) {
        BB_RETURN_IF_FAILED(run_step(work, k));
    }
    return BB_OK;
}

} // namespace

bb_status panel::run_factor(bb_panel_cholesky *f, const bb_panel_sources *sources)
{
    const factoring work = {f, sources};
    const bool late = f->parts[0].arithmetic.light_sweeps || f->plan.swapped;
    BB_RETURN_IF_FAILED(f->plan.swapped ? run_groups(f, sources) : run_steps(&work));
    return late && f->plan.sides > 0 ? sweep_forward(&work) : BB_OK;
}

bb_status panel::run_backward(bb_panel_cholesky *f)
{
    for (bb_index k = f->blocks - 1; k >= 0; --k) {
        for (bb_index g = 0; g < f->gpus; ++g) {
            bb_panel_part *part = &f->parts[g];
            BB_RETURN_IF_FAILED(use(part));
            BB_RETURN_IF_FAILED(fetch_for_sweep(f, k, g, true));
            BB_RETURN_IF_FAILED(bb_panel_part_sweep_backward(part, k));
            BB_RETURN_IF_FAILED(record(events_of(f, k, g)->read, part->bulk));
            BB_RETURN_IF_FAILED(record(events_of(f, k, g)->used, part->bulk));
        }
    }
    return BB_OK;
}
