// SPDX-License-Identifier: Apache-2.0
//
// Unwrapping of a noisy phase, from host memory to host memory: kernels of the language against
// least squares by one cosine transform and against the same steps in C, both on the cpu, in the
// same rounds. Also as in a stream, from the wrapped phase on the device to the phase there, with
// as many cycles and reweightings, by the device's clock.
#include "bench/bench.h"
#include "bench/unwrap/unwrap_peers.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/random.h"
#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/unwrap/unwrap.h"

#include <math.h>
#include <stdio.h>

enum { SIZE = 1024, QUICK_SIZE = 96, ROUNDS = 12, SEED = 5, TURNS = 1024 };

static const double two_pi = 6.283185307179586;
static const double noise_rad = 0.3;

typedef struct unwrap_run {
    bb_index size, points;
    double *truth, *wrapped, *phase;         // [size][size]
    double *transformed_phase, *loops_phase; // results of the peers
    unsigned char *mask;
    bb_device *device;
    bb_kernel_context *context;
    bb_unwrap *unwrap, *streamed;
    bb_device_graph *graph; // graph of the streamed run
    bb_unwrap_dct *dct;
    bb_unwrap_loops *loops;
    bb_unwrap_counts counts;
    bb_unwrap_report report;
    bb_bench_times total, solve, queued; // times of the kernels
    bb_bench_times dct_whole, loops_whole;
} unwrap_run;

// Fills a phase with hill, dip and saddle, lower if there are fewer points, plus noise.
static bb_status make_phase(unwrap_run *run)
{
    bb_status status = BB_OK;
    double **const fields[] = {&run->truth, &run->wrapped, &run->phase, &run->transformed_phase,
                               &run->loops_phase};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        BB_TRY(BB_ZEROED(run->points, fields[i]));
    }
    BB_TRY(BB_ALLOCATE(run->points, &run->mask));
    for (bb_index p = 0; p < run->points; ++p) {
        const bb_index row = p / run->size;
        const double x = 2.0 * (double)(p - row * run->size) / (double)run->size - 1.0;
        const double y = 2.0 * (double)row / (double)run->size - 1.0;
        const double hill = (x - 0.2) * (x - 0.2) + (y + 0.3) * (y + 0.3);
        const double dip = (x + 0.4) * (x + 0.4) + (y - 0.2) * (y - 0.2);
        const double height =
            40.0 * exp(-3.0 * hill) - 25.0 * exp(-6.0 * dip) + 6.0 * x * y + 10.0 * x;
        run->truth[p] = height * (double)run->size / SIZE +
                        noise_rad * bb_random_normal(SEED, BB_STREAM_SELF_TEST, (uint64_t)p);
        run->wrapped[p] = run->truth[p] - two_pi * rint(run->truth[p] / two_pi);
        run->mask[p] = 1;
    }
done:
    return status;
}

// Counts the points whose cycle is not the most frequent one.
static bb_index count_wrong(const unwrap_run *run, const double *phase)
{
    bb_index found[TURNS] = {0};
    bb_index largest = 0;
    for (bb_index p = 0; p < run->points; ++p) {
        const double turns = rint((phase[p] - run->truth[p]) / two_pi) + TURNS / 2.0;
        if (turns >= 0.0 && turns < TURNS) {
            ++found[(bb_index)turns];
        }
    }
    for (int k = 0; k < TURNS; ++k) {
        largest = found[k] > largest ? found[k] : largest;
    }
    return run->points - largest;
}

static bb_status queue(void *unwrap)
{
    return bb_unwrap_queue(unwrap);
}

// Prepares an unwrapper without data-dependent decisions, and a phase for it on the device.
static bb_status prepare_stream(unwrap_run *run, bb_unwrap_config config)
{
    bb_status status = BB_OK;
    float *words = NULL;
    config.method.cycles = run->counts.cycles;
    config.method.reweight = run->counts.reweighted;
    BB_TRY(
        bb_unwrap_create(run->context, &config, run->mask, run->size, run->size, &run->streamed));
    BB_TRY(BB_ALLOCATE(run->points, &words));
    for (bb_index p = 0; p < run->points; ++p) {
        words[p] = (float)run->wrapped[p];
    }
    const bb_unwrap_field *field = bb_unwrap_wrapped(run->streamed);
    BB_TRY(bb_device_upload(run->device, field->block, words, field->bytes));
    BB_TRY(bb_device_graph_create(run->device, queue, run->streamed, &run->graph));
    BB_TRY(bb_device_wait(run->device));
done:
    BB_RELEASE(&words);
    return status;
}

static bb_status prepare(unwrap_run *run, const bb_bench_case *self)
{
    bb_status status = BB_OK;
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    config.method.reweight = self->storage == NULL ? 0 : config.method.reweight;
    BB_TRY(make_phase(run));
    BB_TRY(bb_kernel_context_create(run->device, &run->context));
    BB_TRY(bb_unwrap_create(run->context, &config, run->mask, run->size, run->size, &run->unwrap));
    BB_TRY(bb_unwrap_dct_create(run->size, run->size, &run->dct));
    BB_TRY(bb_unwrap_loops_create(run->size, run->size, &run->loops));
    BB_TRY(
        bb_unwrap_run(run->unwrap, run->wrapped, run->phase, &run->report)); // compiles the kernels
    run->counts = (bb_unwrap_counts){.reweighted = run->report.reweighted,
                                     .reweight_cycles = config.method.reweight_cycles};
    run->counts.cycles =
        run->report.cycles - run->report.reweighted * config.method.reweight_cycles;
    BB_TRY(prepare_stream(run, config));
done:
    return status;
}

static bb_status measure(unwrap_run *run, int rounds)
{
    bb_status status = BB_OK;
    for (int round = 0; round < rounds; ++round) {
        double seconds = 0.0;
        double begin = bb_clock_seconds();
        BB_TRY(bb_unwrap_run(run->unwrap, run->wrapped, run->phase, &run->report));
        bb_bench_add(&run->total, bb_clock_seconds() - begin);
        bb_bench_add(&run->solve, run->report.cycle_seconds);
        BB_TRY(bb_device_timer_start(run->device));
        BB_TRY(bb_device_graph_replay(run->graph));
        BB_TRY(bb_device_timer_stop(run->device, &seconds));
        bb_bench_add(&run->queued, seconds);
        begin = bb_clock_seconds();
        BB_TRY(bb_unwrap_dct_run(run->dct, run->wrapped, run->transformed_phase));
        bb_bench_add(&run->dct_whole, bb_clock_seconds() - begin);
        begin = bb_clock_seconds();
        BB_TRY(bb_unwrap_loops_run(run->loops, &run->counts, run->wrapped, run->loops_phase));
        bb_bench_add(&run->loops_whole, bb_clock_seconds() - begin);
    }
done:
    return status;
}

static void release(unwrap_run *run)
{
    bb_device_graph_destroy(&run->graph);
    bb_unwrap_destroy(&run->streamed);
    bb_unwrap_destroy(&run->unwrap);
    bb_kernel_context_destroy(&run->context);
    bb_unwrap_dct_destroy(&run->dct);
    bb_unwrap_loops_destroy(&run->loops);
    BB_RELEASE(&run->truth);
    BB_RELEASE(&run->wrapped);
    BB_RELEASE(&run->phase);
    BB_RELEASE(&run->transformed_phase);
    BB_RELEASE(&run->loops_phase);
    BB_RELEASE(&run->mask);
}

// Writes `detail`: times in ms of the stream on the device, of the solve and in total, and wrong
// points, for the kernels, the transforms and the loops.
static void describe_outcome(const unwrap_run *run, bb_bench_outcome *out)
{
    (void)snprintf(out->detail, sizeof out->detail,
                   "%td wrong, on the device %.3g ms, solve %.3g, %td cycles; DCT %.3g ms on %td "
                   "threads, %td wrong; C loops %.3g ms, %td wrong",
                   count_wrong(run, run->phase), 1e3 * bb_bench_best(&run->queued),
                   1e3 * bb_bench_best(&run->solve), run->report.cycles,
                   1e3 * bb_bench_best(&run->dct_whole), bb_unwrap_dct_threads(run->dct),
                   count_wrong(run, run->transformed_phase), 1e3 * bb_bench_best(&run->loops_whole),
                   count_wrong(run, run->loops_phase));
}

bb_status bb_bench_unwrap(const bb_bench_case *self, const bb_bench_setup *setup,
                          bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    unwrap_run run = {.size = setup->quick ? QUICK_SIZE : SIZE, .device = setup->device};
    run.points = run.size * run.size;
    BB_TRY(prepare(&run, self));
    BB_TRY(measure(&run, setup->quick ? 1 : ROUNDS));
    out->best_s = bb_bench_best(&run.total);
    out->median_s = bb_bench_median(&run.total);
    out->ratio =
        bb_bench_best(self->storage == NULL ? &run.dct_whole : &run.loops_whole) / out->best_s;
    describe_outcome(&run, out);
done:
    release(&run);
    return status;
}
