// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_baseline.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/schema.h"
#include "sim/config/binding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double most_spread = 0.5;

// clang-format off
static const bb_key row_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_baseline_row, name),
     .meaning = "Name of the benchmark."},
    {.name = "ratio", .kind = BB_KEY_DOUBLE, .offset = offsetof(bb_baseline_row, ratio), .maximum = 1e9,
     .exclusive_minimum = true, .meaning = "Ratio to its ceiling or peer, the best of the rounds."},
    {.name = "spread", .kind = BB_KEY_DOUBLE, .offset = offsetof(bb_baseline_row, spread), .maximum = 0.5,
     .meaning = "Difference between best and worst round, divided by the best."},
};
static const bb_schema row_schema = BB_SCHEMA("rows", bb_baseline_row, row_keys);

static const bb_key baseline_keys[] = {
    {.name = "device", .kind = BB_KEY_TEXT, .offset = offsetof(bb_bench_baseline, device),
     .meaning = "Name of the cuda device, else of the processor."},
    {.name = "rows", .kind = BB_KEY_RECORDS, .schema = &row_schema, .minimum_count = 1,
     .offset = offsetof(bb_bench_baseline, rows), .meaning = "Benchmarks, one record each."},
};
static const bb_schema baseline_schema = BB_SCHEMA("baseline", bb_bench_baseline, baseline_keys);
// clang-format on

bb_status bb_bench_baseline_read(const char *path, bb_bench_baseline *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_node *tree = NULL;
    bb_bench_baseline found = {0};
    *out = (bb_bench_baseline){0};
    BB_TRY(bb_layers_read(&out->arena, path, &out->layers, &problems, &tree));
    if (tree != NULL) {
        BB_TRY(bb_binding_bind(&out->arena, &baseline_schema, tree, "", &problems, &found));
    }
    // The message is the list of problems without its last line end, which printing adds.
    BB_REQUIRE(problems.count == 0, BB_INVALID, "%.*s", (int)problems.lines.length - 1,
               bb_text_string(&problems.lines));
    BB_REQUIRE(out->layers.count == 1, BB_INVALID, "%s: a baseline is a single file; remove base",
               path);
    out->device = found.device;
    out->rows = found.rows;
done:
    bb_problems_release(&problems);
    return status;
}

void bb_bench_baseline_release(bb_bench_baseline *baseline)
{
    bb_arena_release(&baseline->arena);
    *baseline = (bb_bench_baseline){0};
}

double bb_bench_baseline_least(const bb_baseline_row *row)
{
    return row->ratio * (1.0 - row->spread - BB_BASELINE_TOLERANCE);
}

// Runs one benchmark once; its ratio is NaN if it was skipped.
static bb_status measure(const bb_bench_setup *setup, char *name, double *ratio)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    bb_text table = {0};
    char *const names[] = {name};
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_bench_run(setup, names, 1, results, &table));
    *ratio = bb_results_find(results, "results/ratio")->numbers[0];
done:
    bb_text_release(&table);
    bb_results_destroy(&results);
    return status;
}

static bb_status compare_row(const bb_bench_setup *setup, const bb_baseline_row *row, double ratio,
                             bb_text *table, bb_index *slower)
{
    bb_status status = BB_OK;
    const double least = bb_bench_baseline_least(row);
    for (int round = 1; round < BB_BASELINE_ROUNDS && !(ratio >= least); ++round) {
        double again = NAN;
        BB_TRY(measure(setup, row->name, &again));
        ratio = fmax(ratio, again);
    }
    const bool is_slower = !(ratio >= least); // also true if skipped
    *slower += is_slower;
    BB_TRY(bb_text_add(table, "%-32s %10.4g %10.4g %+8.1f %%%s\n", row->name, row->ratio, ratio,
                       100.0 * (ratio / row->ratio - 1.0), is_slower ? "  SLOWER" : ""));
done:
    return status;
}

static const bb_baseline_row *find_row(const bb_bench_baseline *baseline, const char *name)
{
    const bb_baseline_row *rows = baseline->rows.items;
    for (bb_index i = 0; i < baseline->rows.count; ++i) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

bb_status bb_bench_baseline_compare(const bb_bench_setup *setup, const bb_bench_baseline *baseline,
                                    char *const *names, bb_index count, bb_results *results,
                                    bb_text *table, bb_index *slower)
{
    bb_status status = BB_OK;
    const bb_baseline_row *rows = baseline->rows.items;
    const bb_index wanted = count == 0 ? baseline->rows.count : count;
    char **own = NULL; // [wanted] names
    bb_device_report device;
    bool is_cuda = false;
    *slower = 0;
    BB_TRY(BB_ALLOCATE(wanted, &own));
    for (bb_index i = 0; i < wanted; ++i) {
        own[i] = count == 0 ? rows[i].name : names[i];
        BB_REQUIRE(find_row(baseline, own[i]) != NULL, BB_INVALID, "the baseline has no row '%s'",
                   own[i]);
    }
    BB_TRY(bb_bench_describe(setup, &is_cuda, &device));
    BB_REQUIRE(strcmp(device.name, baseline->device) == 0, BB_INVALID,
               "the baseline was measured on '%s', this device is '%s'", baseline->device,
               device.name);
    BB_TRY(bb_bench_run(setup, own, wanted, results, table));
    const bb_dataset *ratios = bb_results_find(results, "results/ratio");
    BB_TRY(
        bb_text_add(table, "\n%-32s %10s %10s %10s\n", "benchmark", "baseline", "ratio", "change"));
    for (bb_index i = 0; i < wanted; ++i) {
        BB_TRY(compare_row(setup, find_row(baseline, own[i]), ratios->numbers[i], table, slower));
    }
done:
    BB_RELEASE(&own);
    return status;
}

// Computes the best and worst ratios of [count] benchmarks over the rounds; `results` receives the
// last run.
static bb_status run_rounds(const bb_bench_setup *setup, char *const *names, bb_index count,
                            bb_results *results, double *best, double *worst)
{
    bb_status status = BB_OK;
    bb_results *earlier = NULL;
    bb_text table = {0};
    for (int round = 0; round < BB_BASELINE_ROUNDS; ++round) {
        bb_results_destroy(&earlier);
        BB_TRY(round + 1 < BB_BASELINE_ROUNDS ? bb_results_create(&earlier) : BB_OK);
        bb_results *run = earlier != NULL ? earlier : results;
        BB_TRY(bb_bench_run(setup, names, count, run, &table));
        const double *ratios = bb_results_find(run, "results/ratio")->numbers;
        for (bb_index i = 0; i < count; ++i) {
            best[i] = round == 0 ? ratios[i] : fmax(best[i], ratios[i]);
            worst[i] = round == 0 ? ratios[i] : fmin(worst[i], ratios[i]);
        }
    }
done:
    bb_text_release(&table);
    bb_results_destroy(&earlier);
    return status;
}

bb_status bb_bench_baseline_record(const bb_bench_setup *setup, char *const *names, bb_index count,
                                   bb_results *results, bb_text *out)
{
    bb_status status = BB_OK;
    bb_device_report device;
    bool is_cuda = false;
    double *best = NULL, *worst = NULL; // [count]
    BB_REQUIRE(count > 0, BB_INVALID, "--record needs the names of the benchmarks");
    BB_TRY(bb_bench_describe(setup, &is_cuda, &device));
    BB_TRY(BB_ALLOCATE(count, &best));
    BB_TRY(BB_ALLOCATE(count, &worst));
    BB_TRY(run_rounds(setup, names, count, results, best, worst));
    BB_TRY(bb_text_add(out, "device: \"%s\"\nrows:\n", device.name));
    const bb_index empty = out->length;
    for (bb_index i = 0; i < count; ++i) {
        if (!(best[i] > 0.0)) {
            bb_log_warning("%s is omitted: it has no ratio on this machine", names[i]);
            continue;
        }
        BB_TRY(bb_text_add(out, "  - {name: %s, ratio: %.4g, spread: %.2g}\n", names[i], best[i],
                           fmin(1.0 - worst[i] / best[i], most_spread)));
    }
    BB_REQUIRE(out->length > empty, BB_INVALID,
               "--record: no benchmark has a ratio on this machine");
done:
    BB_RELEASE(&worst);
    BB_RELEASE(&best);
    return status;
}
