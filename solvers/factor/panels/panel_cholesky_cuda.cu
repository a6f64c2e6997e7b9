// SPDX-License-Identifier: Apache-2.0
//
// The order of the steps of panel_part_cuda.h, on one GPU or several. Panel k belongs to GPU
// k mod gpus; on every GPU three streams work at once. At step k
//     chain:  factors and inverts the diagonal block of panel k
//     bulk:   meanwhile fills panel k + gpus and gives it the updates of the panels before k,
//             then solves panel k and sends it to the other GPUs
//     ahead:  gives the diagonal block of panel k + gpus the same updates
// then every panel in work takes the update of panel k, its diagonal block first, and every GPU
// sweeps its rows of B through panel k.
#include "core/memory.h"
#include "precision/light_tiles.h"
#include "solvers/factor/panels/panel_cholesky_cuda.h"

#include <cmath>

using namespace panel;

namespace
{

bb_index owner_of(const bb_panel_cholesky *f, bb_index k)
{
    return k % f->gpus;
}

bb_status make_event(cudaEvent_t *event, bool timed)
{
    BB_CUDA_TRY(cudaEventCreateWithFlags(event, timed ? cudaEventDefault : cudaEventDisableTiming));
    return BB_OK;
}

bb_status make_events(bb_panel_cholesky *f)
{
    const bb_index blocks = f->layout.blocks;
    void *memory = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(blocks, sizeof(panel_events), &memory));
    f->events = static_cast<panel_events *>(memory);
    for (bb_index k = 0; k < blocks; ++k) {
        panel_events *e = &f->events[k];
        BB_CUDA_TRY(cudaSetDevice(f->parts[owner_of(f, k)].ordinal));
        for (cudaEvent_t *event : {&e->filled, &e->ahead, &e->inverted, &e->first, &e->solved}) {
            BB_RETURN_IF_FAILED(make_event(event, false));
        }
    }
    for (bb_index g = 0; g < f->gpus; ++g) {
        fill_marks *marks = &f->fills[g];
        BB_CUDA_TRY(cudaSetDevice(f->parts[g].ordinal));
        marks->most = 2 * blocks + 1; // panels and sides, and the scale of the sides
        BB_RETURN_IF_FAILED(bb_memory_zeroed(2 * marks->most, sizeof(cudaEvent_t), &memory));
        marks->begin = static_cast<cudaEvent_t *>(memory);
        marks->end = marks->begin + marks->most;
        for (bb_index i = 0; i < 2 * marks->most; ++i) {
            BB_RETURN_IF_FAILED(make_event(&marks->begin[i], true));
        }
        BB_RETURN_IF_FAILED(make_event(&f->begin[g], true));
        BB_RETURN_IF_FAILED(make_event(&f->end[g], true));
    }
    return BB_OK;
}

void drop_event(cudaEvent_t event)
{
    if (event != nullptr) {
        (void)cudaEventDestroy(event);
    }
}

void drop_events(bb_panel_cholesky *f)
{
    for (bb_index k = 0; f->events != nullptr && k < f->layout.blocks; ++k) {
        const panel_events &e = f->events[k];
        for (cudaEvent_t event : {e.filled, e.ahead, e.inverted, e.first, e.solved}) {
            drop_event(event);
        }
    }
    for (bb_index g = 0; g < f->gpus; ++g) {
        for (bb_index i = 0; f->fills[g].begin != nullptr && i < 2 * f->fills[g].most; ++i) {
            drop_event(f->fills[g].begin[i]);
        }
        void *marks = f->fills[g].begin;
        bb_memory_release(&marks);
        drop_event(f->begin[g]);
        drop_event(f->end[g]);
    }
    void *events = f->events;
    bb_memory_release(&events);
}

// Lets every GPU write into the others' memory.
bb_status join_memories(const bb_panel_cholesky *f)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        BB_CUDA_TRY(cudaSetDevice(f->parts[g].ordinal));
        for (bb_index other = 0; other < f->gpus; ++other) {
            if (other == g) {
                continue;
            }
            cudaError_t error = cudaDeviceEnablePeerAccess(f->parts[other].ordinal, 0);
            if (error == cudaErrorPeerAccessAlreadyEnabled) {
                (void)cudaGetLastError();
                continue;
            }
            BB_CUDA_TRY(error);
        }
    }
    return BB_OK;
}

bb_index side_begin(const bb_panel_plan *plan, bb_index gpus, bb_index gpu)
{
    return plan->sides * gpu / gpus;
}

bb_status record(cudaEvent_t event, cudaStream_t stream)
{
    BB_CUDA_TRY(cudaEventRecord(event, stream));
    return BB_OK;
}

bb_status wait(cudaStream_t stream, cudaEvent_t event)
{
    BB_CUDA_TRY(cudaStreamWaitEvent(stream, event, 0));
    return BB_OK;
}

// One factorization.
struct factoring {
    bb_panel_cholesky *f;
    const bb_panel_sources *sources; // [gpus]
};

bb_status mark(fill_marks *marks, bool begins, cudaStream_t stream)
{
    if (begins) {
        return record(marks->begin[marks->count], stream);
    }
    return record(marks->end[marks->count++], stream);
}

// Panel j starts its work: filled, with the updates of the panels before `upto`.
bb_status enter(const factoring *work, bb_index j, bb_index upto)
{
    bb_panel_cholesky *f = work->f;
    const bb_index gpu = owner_of(f, j);
    bb_panel_part *part = &f->parts[gpu];
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(mark(&f->fills[gpu], true, part->bulk));
    BB_RETURN_IF_FAILED(bb_panel_part_fill(part, work->sources[gpu].matrix, j));
    BB_RETURN_IF_FAILED(mark(&f->fills[gpu], false, part->bulk));
    BB_RETURN_IF_FAILED(record(f->events[j].filled, part->bulk));
    BB_RETURN_IF_FAILED(wait(part->ahead, f->events[j].filled));
    BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(part, j, 0, upto, BB_PANEL_AHEAD));
    BB_RETURN_IF_FAILED(record(f->events[j].ahead, part->ahead));
    BB_RETURN_IF_FAILED(wait(part->chain, f->events[j].ahead));
    return bb_panel_part_update(part, j, 0, upto);
}

bb_status factor_diagonal(const factoring *work, bb_index k)
{
    bb_panel_part *part = &work->f->parts[owner_of(work->f, k)];
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->chain, work->f->events[k].ahead));
    BB_RETURN_IF_FAILED(bb_panel_part_factor_diagonal(part, k));
    return record(work->f->events[k].inverted, part->chain);
}

// The block row of the next panel first: its diagonal block waits for nothing else.
bb_status solve_and_send(const factoring *work, bb_index k)
{
    bb_panel_cholesky *f = work->f;
    bb_panel_part *part = &f->parts[owner_of(f, k)];
    bb_positions rest = bb_panel_part_below(f->layout, k);
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->bulk, f->events[k].inverted));
    BB_RETURN_IF_FAILED(bb_panel_part_ready_inverse(part, k, false));
    if (rest.begin < rest.end) {
        const bb_index next = bb_triangle_layout_position(f->layout, k + 1);
        BB_RETURN_IF_FAILED(bb_panel_part_solve(part, k, {next, next + 1}));
        rest = next == rest.begin ? bb_positions{rest.begin + 1, rest.end}
                                  : bb_positions{rest.begin, rest.end - 1};
    }
    BB_RETURN_IF_FAILED(record(f->events[k].first, part->bulk));
    BB_RETURN_IF_FAILED(bb_panel_part_solve(part, k, rest));
    for (bb_index g = 0; g < f->gpus; ++g) {
        if (&f->parts[g] != part) {
            BB_RETURN_IF_FAILED(bb_panel_part_send(part, &f->parts[g], k));
        }
    }
    return record(f->events[k].solved, part->bulk);
}

// Panel j takes the update of panel k.
bb_status follow(const factoring *work, bb_index j, bb_index k)
{
    bb_panel_cholesky *f = work->f;
    bb_panel_part *part = &f->parts[owner_of(f, j)];
    // The block row that was solved first is the next panel's.
    const bool next = j == k + 1 && owner_of(f, j) == owner_of(f, k);
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->chain, next ? f->events[k].first : f->events[k].solved));
    BB_RETURN_IF_FAILED(bb_panel_part_update_diagonal(part, j, k, k + 1, BB_PANEL_CHAIN));
    BB_RETURN_IF_FAILED(wait(part->bulk, f->events[k].solved));
    return bb_panel_part_update(part, j, k, k + 1);
}

bb_status sweep_sides(const factoring *work, bb_index gpu, bb_index k, bool ready_inverse)
{
    bb_panel_cholesky *f = work->f;
    bb_panel_part *part = &f->parts[gpu];
    const bb_panel_sources *sources = &work->sources[gpu];
    if (part->sides == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(use(part));
    BB_RETURN_IF_FAILED(wait(part->bulk, f->events[k].solved));
    if (ready_inverse) {
        BB_RETURN_IF_FAILED(bb_panel_part_ready_inverse(part, k, false));
    }
    BB_RETURN_IF_FAILED(mark(&f->fills[gpu], true, part->bulk));
    BB_RETURN_IF_FAILED(bb_panel_part_fill_sides(part, sources->side_count, sources->sides, k));
    BB_RETURN_IF_FAILED(mark(&f->fills[gpu], false, part->bulk));
    return bb_panel_part_sweep_forward(part, k);
}

bb_status run_step(const factoring *work, bb_index k)
{
    bb_panel_cholesky *f = work->f;
    const bb_index blocks = f->layout.blocks;
    BB_RETURN_IF_FAILED(factor_diagonal(work, k));
    if (k + f->gpus < blocks) {
        BB_RETURN_IF_FAILED(enter(work, k + f->gpus, k));
    }
    BB_RETURN_IF_FAILED(solve_and_send(work, k));
    for (bb_index j = k + 1; j <= k + f->gpus && j < blocks; ++j) {
        BB_RETURN_IF_FAILED(follow(work, j, k));
    }
    for (bb_index g = 0; g < f->gpus && !f->parts[0].arithmetic.light_sweeps; ++g) {
        BB_RETURN_IF_FAILED(sweep_sides(work, g, k, g != owner_of(f, k)));
    }
    return BB_OK;
}

// The forward sweep where it needs all of L to choose its products.
bb_status choose_and_sweep(const factoring *work)
{
    bb_panel_cholesky *f = work->f;
    const bb_index blocks = f->layout.blocks;
    void *energies = nullptr;
    void *light = nullptr;
    bb_status status = wait_all(f);
    status = status != BB_OK
                 ? status
                 : bb_memory_zeroed(blocks * (blocks + 1) / 2, sizeof(double), &energies);
    status = status != BB_OK ? status : bb_memory_zeroed(blocks * blocks, 1, &light);
    status = status != BB_OK ? status : use(&f->parts[0]);
    status = status != BB_OK
                 ? status
                 : bb_panel_part_energies(&f->parts[0], static_cast<double *>(energies));
    status = status != BB_OK
                 ? status
                 : bb_light_tiles(blocks, static_cast<double *>(energies), f->plan.sweep_energy,
                                  static_cast<unsigned char *>(light));
    for (bb_index g = 0; g < f->gpus && status == BB_OK; ++g) {
        status = use(&f->parts[g]);
        status = status != BB_OK
                     ? status
                     : bb_panel_part_set_light(&f->parts[g], static_cast<unsigned char *>(light));
        for (bb_index k = 0; k < blocks && status == BB_OK; ++k) {
            status = sweep_sides(work, g, k, true);
        }
    }
    bb_memory_release(&light);
    bb_memory_release(&energies);
    return status;
}

bb_status start(bb_panel_cholesky *f, const bb_panel_sources *sources, const double *scale)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        bb_panel_part *part = &f->parts[g];
        BB_RETURN_IF_FAILED(use(part));
        BB_RETURN_IF_FAILED(bb_panel_part_set_scale(part, scale));
        BB_CUDA_TRY(cudaMemset(part->breakdown, 0, sizeof(bb_breakdown_cuda)));
        BB_CUDA_TRY(cudaDeviceSynchronize());
        f->fills[g].count = 0;
        BB_RETURN_IF_FAILED(record(f->begin[g], part->bulk));
        BB_RETURN_IF_FAILED(mark(&f->fills[g], true, part->bulk));
        BB_RETURN_IF_FAILED(
            bb_panel_part_scale_sides(part, sources[g].side_count, sources[g].sides));
        BB_RETURN_IF_FAILED(mark(&f->fills[g], false, part->bulk));
    }
    return BB_OK;
}

bb_status seconds_between(cudaEvent_t begin, cudaEvent_t end, double *seconds)
{
    float milliseconds = 0.0F;
    BB_CUDA_TRY(cudaEventElapsedTime(&milliseconds, begin, end));
    *seconds += 1e-3 * static_cast<double>(milliseconds);
    return BB_OK;
}

// The slowest GPU's time, without its fills.
bb_status time_factor(const bb_panel_cholesky *f, bb_panel_times *times)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        double total = 0.0;
        double fill = 0.0;
        BB_RETURN_IF_FAILED(use(&f->parts[g]));
        BB_RETURN_IF_FAILED(seconds_between(f->begin[g], f->end[g], &total));
        for (bb_index i = 0; i < f->fills[g].count; ++i) {
            BB_RETURN_IF_FAILED(seconds_between(f->fills[g].begin[i], f->fills[g].end[i], &fill));
        }
        times->fill_s = std::fmax(times->fill_s, fill);
        times->factor_s = std::fmax(times->factor_s, total - fill);
    }
    return BB_OK;
}

bb_status read_breakdown(const bb_panel_cholesky *f, bb_outcome *outcome)
{
    bb_breakdown_cuda found = {};
    for (bb_index g = 0; g < f->gpus; ++g) {
        bb_breakdown_cuda here = {};
        BB_RETURN_IF_FAILED(use(&f->parts[g]));
        BB_CUDA_TRY(cudaMemcpy(&here, f->parts[g].breakdown, sizeof here, cudaMemcpyDeviceToHost));
        if (here.row != 0 && (found.row == 0 || here.row < found.row)) {
            found = here; // what broke later, broke by it
        }
    }
    const bb_index row = found.row - 1;
    const bb_index block = row / f->plan.block;
    if (found.row != 0 && found.non_finite != 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "block (%td, %td), row %td: not finite",
                       block, block, row);
    } else if (found.row != 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD, "block (%td, %td), row %td: pivot not positive",
                       block, block, row);
    }
    return BB_OK;
}

bb_status check_sources(const bb_panel_cholesky *f, const bb_panel_sources *sources)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        bb_index rows = 0;
        for (bb_index s = 0; s < sources[g].side_count; ++s) {
            rows += sources[g].sides[s]->rows;
        }
        if (sources[g].matrix->rows != f->plan.n || rows != f->plan.sides) {
            return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                                 "sources of %td rows with %td right-hand sides, expected %td and "
                                 "%td",
                                 sources[g].matrix->rows, rows, f->plan.n, f->plan.sides);
        }
    }
    return BB_OK;
}

bb_status create_parts(bb_panel_cholesky *f, bb_device *const *devices)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        const bb_index first = side_begin(&f->plan, f->gpus, g);
        const bb_index sides = side_begin(&f->plan, f->gpus, g + 1) - first;
        BB_RETURN_IF_FAILED(
            bb_panel_part_create(devices[g], &f->plan, f->gpus, first, sides, &f->parts[g]));
    }
    BB_RETURN_IF_FAILED(join_memories(f));
    return make_events(f);
}

} // namespace

bb_status bb_panel_plan_check(const bb_panel_plan *plan)
{
    bb_panel_arithmetic arithmetic;
    BB_RETURN_IF_FAILED(bb_panel_arithmetic_of(plan, &arithmetic));
    BB_RETURN_IF_FAILED(bb_square_factor_supported());
    if (arithmetic.storage == BB_PANEL_HALVES) {
        return bb_split_product_supported();
    }
    return BB_OK;
}

bb_status bb_panel_cholesky_create(bb_index gpus, bb_device *const *devices,
                                   const bb_panel_plan *plan, bb_panel_cholesky **out)
{
    bb_panel_arithmetic arithmetic;
    void *memory = nullptr;
    *out = nullptr;
    BB_RETURN_IF_FAILED(bb_panel_arithmetic_of(plan, &arithmetic));
    if (gpus < 1 || gpus > BB_PANEL_GPUS) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__, "%td GPUs, expected 1 to %d", gpus,
                             BB_PANEL_GPUS);
    }
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(bb_panel_cholesky), &memory));
    bb_panel_cholesky *f = static_cast<bb_panel_cholesky *>(memory);
    f->plan = *plan;
    f->layout = bb_triangle_layout_make(plan->n, plan->block);
    f->gpus = gpus;
    bb_status status = create_parts(f, devices);
    if (status != BB_OK) {
        bb_panel_cholesky_destroy(&f);
        return status;
    }
    *out = f;
    return BB_OK;
}

void bb_panel_cholesky_destroy(bb_panel_cholesky **factor)
{
    if (*factor == nullptr) {
        return;
    }
    (void)wait_all(*factor); // of an attempt that an error cut short
    drop_events(*factor);
    for (bb_panel_part &part : (*factor)->parts) {
        bb_panel_part_release(&part);
    }
    void *memory = *factor;
    bb_memory_release(&memory);
    *factor = nullptr;
}

bb_status bb_panel_cholesky_factor(bb_panel_cholesky *factor, const bb_panel_sources *sources,
                                   const double *scale, bb_outcome *outcome, bb_panel_times *times)
{
    const factoring work = {factor, sources};
    *times = bb_panel_times{};
    BB_RETURN_IF_FAILED(check_sources(factor, sources));
    BB_RETURN_IF_FAILED(start(factor, sources, scale));
    for (bb_index j = 0; j < factor->gpus && j < factor->layout.blocks; ++j) {
        BB_RETURN_IF_FAILED(enter(&work, j, 0));
    }
    for (bb_index k = 0; k < factor->layout.blocks; ++k) {
        BB_RETURN_IF_FAILED(run_step(&work, k));
    }
    if (factor->parts[0].arithmetic.light_sweeps && factor->plan.sides > 0) {
        BB_RETURN_IF_FAILED(choose_and_sweep(&work));
    }
    for (bb_index g = 0; g < factor->gpus; ++g) {
        BB_RETURN_IF_FAILED(use(&factor->parts[g]));
        BB_RETURN_IF_FAILED(record(factor->end[g], factor->parts[g].bulk));
    }
    BB_RETURN_IF_FAILED(wait_all(factor));
    BB_RETURN_IF_FAILED(time_factor(factor, times));
    return read_breakdown(factor, outcome);
}

bb_status bb_panel_cholesky_sweep(bb_panel_cholesky *factor, bb_panel_times *times)
{
    for (bb_index g = 0; g < factor->gpus; ++g) {
        bb_panel_part *part = &factor->parts[g];
        BB_RETURN_IF_FAILED(use(part));
        BB_RETURN_IF_FAILED(record(factor->begin[g], part->bulk));
        for (bb_index k = factor->layout.blocks - 1; k >= 0; --k) {
            BB_RETURN_IF_FAILED(bb_panel_part_sweep_backward(part, k));
        }
        BB_RETURN_IF_FAILED(record(factor->end[g], part->bulk));
    }
    BB_RETURN_IF_FAILED(wait_all(factor));
    times->backward_s = 0.0;
    for (bb_index g = 0; g < factor->gpus; ++g) {
        double own = 0.0;
        BB_RETURN_IF_FAILED(use(&factor->parts[g]));
        BB_RETURN_IF_FAILED(seconds_between(factor->begin[g], factor->end[g], &own));
        times->backward_s = std::fmax(times->backward_s, own);
    }
    return BB_OK;
}
