// SPDX-License-Identifier: Apache-2.0
//
// Creation and timing of a factorization by panels, on the parts of one or several GPUs.
#include "core/memory.h"
#include "solvers/factor/panels/panel_cholesky_cuda.h"
#include "solvers/gpu/peer_memory_cuda.h"

#include <cmath>

using namespace panel;

namespace
{

bb_status create_event(cudaEvent_t *event, bool timed)
{
    BB_CUDA_TRY(cudaEventCreateWithFlags(event, timed ? cudaEventDefault : cudaEventDisableTiming));
    return BB_OK;
}

bb_status create_events(bb_panel_cholesky *f)
{
    const bb_index blocks = f->blocks;
    void *memory = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(blocks * f->gpus, sizeof(panel_events), &memory));
    f->events = static_cast<panel_events *>(memory);
    for (bb_index item = 0; item < blocks * f->gpus; ++item) {
        panel_events *e = &f->events[item];
        BB_CUDA_TRY(cudaSetDevice(f->parts[item % f->gpus].ordinal));
        for (cudaEvent_t *event : {&e->filled, &e->ahead, &e->inverted, &e->first, &e->solved,
                                   &e->row, &e->last, &e->inverse, &e->read, &e->used}) {
            BB_RETURN_IF_FAILED(create_event(event, false));
        }
    }
    for (bb_index g = 0; g < f->gpus; ++g) {
        fill_marks *marks = &f->fills[g];
        BB_CUDA_TRY(cudaSetDevice(f->parts[g].ordinal));
        marks->most = 2 * blocks + 1; // one event per panel and side, and one for the scale of the
                                      // sides
        BB_RETURN_IF_FAILED(bb_memory_zeroed(2 * marks->most, sizeof(cudaEvent_t), &memory));
        marks->begin = static_cast<cudaEvent_t *>(memory);
        marks->end = marks->begin + marks->most;
        for (bb_index i = 0; i < 2 * marks->most; ++i) {
            BB_RETURN_IF_FAILED(create_event(&marks->begin[i], true));
        }
        BB_RETURN_IF_FAILED(create_event(&f->begin[g], true));
        BB_RETURN_IF_FAILED(create_event(&f->end[g], true));
    }
    return BB_OK;
}

void destroy_event(cudaEvent_t event)
{
    if (event != nullptr) {
        (void)cudaEventDestroy(event);
    }
}

void destroy_events(bb_panel_cholesky *f)
{
    for (bb_index item = 0; f->events != nullptr && item < f->blocks * f->gpus; ++item) {
        const panel_events &e = f->events[item];
        for (cudaEvent_t event : {e.filled, e.ahead, e.inverted, e.first, e.solved, e.row, e.last,
                                  e.inverse, e.read, e.used}) {
            destroy_event(event);
        }
    }
    for (bb_index g = 0; g < f->gpus; ++g) {
        for (bb_index i = 0; f->fills[g].begin != nullptr && i < 2 * f->fills[g].most; ++i) {
            destroy_event(f->fills[g].begin[i]);
        }
        void *marks = f->fills[g].begin;
        bb_memory_release(&marks);
        destroy_event(f->begin[g]);
        destroy_event(f->end[g]);
    }
    void *events = f->events;
    bb_memory_release(&events);
}

bb_status join_memories(const bb_panel_cholesky *f)
{
    int ordinals[BB_PANEL_GPUS];
    for (bb_index g = 0; g < f->gpus; ++g) {
        ordinals[g] = f->parts[g].ordinal;
    }
    return bb_peer_memory_join(f->gpus, ordinals);
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
        f->traffic[g] = bb_panel_traffic{};
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

// Returns the time of the slowest GPU, without its fills.
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
            found = here; // report the first breakdown: later ones are consequences
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
            return bb_status_set(
                BB_INVALID, __FILE__, __LINE__,
                "sources have %td rows and %td right-hand sides, expected %td and %td",
                sources[g].matrix->rows, rows, f->plan.n, f->plan.sides);
        }
    }
    return BB_OK;
}

bb_status create_parts(bb_panel_cholesky *f, bb_device *const *devices)
{
    for (bb_index g = 0; g < f->gpus; ++g) {
        BB_RETURN_IF_FAILED(bb_panel_part_create(devices[g], &f->plan, f->gpus, g, &f->parts[g]));
        f->parts[g].traffic = &f->traffic[g];
    }
    BB_RETURN_IF_FAILED(join_memories(f));
    BB_RETURN_IF_FAILED(f->plan.swapped ? create_swap(f) : BB_OK);
    return create_events(f);
}

} // namespace

bb_status bb_panel_plan_check(const bb_panel_plan *plan)
{
    bb_panel_arithmetic arithmetic;
    BB_RETURN_IF_FAILED(bb_panel_arithmetic_of(plan, &arithmetic));
    BB_RETURN_IF_FAILED(bb_square_factor_supported());
    if (arithmetic.storage == BB_PANEL_HALVES || arithmetic.split_sides) {
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
                             static_cast<int>(BB_PANEL_GPUS));
    }
    if (plan->swapped && gpus > 1) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "L in host memory needs a single GPU, got %td GPUs", gpus);
    }
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(bb_panel_cholesky), &memory));
    bb_panel_cholesky *f = static_cast<bb_panel_cholesky *>(memory);
    f->plan = *plan;
    f->blocks = bb_triangle_layout_make(plan->n, plan->block).blocks;
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
    (void)wait_all(*factor); // wait for work of an earlier failed attempt
    destroy_events(*factor);
    destroy_swap(*factor);
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
    *times = bb_panel_times{};
    BB_RETURN_IF_FAILED(check_sources(factor, sources));
    BB_RETURN_IF_FAILED(start(factor, sources, scale));
    BB_RETURN_IF_FAILED(run_factor(factor, sources));
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
        BB_RETURN_IF_FAILED(use(&factor->parts[g]));
        BB_RETURN_IF_FAILED(record(factor->begin[g], factor->parts[g].bulk));
    }
    BB_RETURN_IF_FAILED(run_backward(factor));
    for (bb_index g = 0; g < factor->gpus; ++g) {
        BB_RETURN_IF_FAILED(use(&factor->parts[g]));
        BB_RETURN_IF_FAILED(record(factor->end[g], factor->parts[g].bulk));
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

bb_panel_traffic bb_panel_cholesky_traffic(const bb_panel_cholesky *factor)
{
    bb_panel_traffic sum = {};
    for (const bb_panel_traffic &part : factor->traffic) {
        sum.device_to_device_bytes += part.device_to_device_bytes;
        sum.host_to_device_bytes += part.host_to_device_bytes;
        sum.device_to_host_bytes += part.device_to_host_bytes;
    }
    return sum;
}
