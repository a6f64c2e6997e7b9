// SPDX-License-Identifier: Apache-2.0
//
// Roofline of Williams, Waterman and Patterson (2009) for the steps of the wafer experiment on this
// machine, as in Figure 4 of Bamakhrama et al. (2019): operations per byte of a step, its roof from
// read rate and peak, and the attained rate. The peak is that of this program's arithmetic,
// separate products and sums in fp32, from registers.
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"

#include <math.h>
#include <stdio.h>

enum { CHAINS = 64, TURNS = 1 << 20, ROUNDS = 5, OPERATIONS = 2 };

// Independent chains of a product and a sum, enough to hide the latency.
BB_CLONES static float run_chains(float start, bb_index turns)
{
    float chain[CHAINS];
    float sum = 0.0F;
    for (int k = 0; k < CHAINS; ++k) {
        chain[k] = start + (float)k;
    }
    for (bb_index i = 0; i < turns; ++i) {
        for (int k = 0; k < CHAINS; ++k) {
            chain[k] = chain[k] * 0.999F + 0.5F;
        }
    }
    for (int k = 0; k < CHAINS; ++k) {
        sum += chain[k];
    }
    return sum;
}

typedef struct chains {
    bb_index turns;
    float *sums; // [threads]
} chains;

static bb_status run_thread(void *context, bb_index index)
{
    const chains *task = context;
    task->sums[index] = run_chains((float)index, task->turns);
    return BB_OK;
}

// Measures the peak: operations per second of all threads.
static bb_status measure_peak(const bb_bench_setup *setup, double *out)
{
    bb_status status = BB_OK;
    bb_bench_times times = {0};
    chains task = {.turns = setup->quick ? TURNS / 64 : TURNS};
    BB_TRY(BB_ALLOCATE(setup->threads, &task.sums));
    for (int round = 0; round < ROUNDS; ++round) {
        double begin = bb_clock_seconds();
        BB_TRY(bb_thread_for(setup->threads, run_thread, &task));
        bb_bench_add(&times, bb_clock_seconds() - begin);
    }
    *out =
        OPERATIONS * CHAINS * (double)task.turns * (double)setup->threads / bb_bench_best(&times);
done:
    BB_RELEASE(&task.sums);
    return status;
}

static bb_status measure_read(double bytes, double *out)
{
    bb_status status = BB_OK;
    bb_ceiling ceiling = {0};
    bb_bench_times times = {0};
    BB_TRY(bb_ceiling_create(bytes, false, &ceiling));
    for (int round = 0; round < ROUNDS; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_ceiling_read(&ceiling, &seconds));
        bb_bench_add(&times, seconds);
    }
    *out = 8.0 * (double)ceiling.items / bb_bench_best(&times);
done:
    bb_ceiling_release(&ceiling);
    return status;
}

static bb_status measure_step(const bb_bench_setup *setup, bb_bench_step step,
                              bb_bench_outcome *out)
{
    static const bb_bench_case product = {.name = "gemv-fp32", .storage = "fp32"};
    switch (step) {
    case BB_BENCH_STEP_THERMAL:
        return bb_bench_heat(NULL, setup, out);
    case BB_BENCH_STEP_RESTRICTION:
        return bb_bench_restriction(NULL, setup, out);
    default:
        return bb_bench_gemv(&product, setup, out);
    }
}

bb_status bb_bench_roofline(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    double peak = 0.0;
    double read = 0.0;
    BB_TRY(measure_peak(setup, &peak));
    BB_TRY(measure_step(setup, (bb_bench_step)self->choice, out));
    BB_TRY(measure_read(out->bytes, &read));
    const double intensity = out->flops / out->bytes;
    const double roof = fmin(peak, intensity * read);
    const double attained = out->flops / out->best_s;
    out->peer = 1e-9 * roof;
    out->ratio = attained / roof;
    out->roof_bytes = read;
    out->roof_flops = peak;
    out->binds = intensity * read < peak ? "bytes" : "flops";
    (void)snprintf(out->detail, sizeof out->detail,
                   "%.3f operations per byte, roof %.2f GFLOP/s (read %.1f GB/s, peak %.0f "
                   "GFLOP/s, ridge %.1f), attained %.2f",
                   intensity, 1e-9 * roof, 1e-9 * read, 1e-9 * peak, peak / read, 1e-9 * attained);
done:
    return status;
}
