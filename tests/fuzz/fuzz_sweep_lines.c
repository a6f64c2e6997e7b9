// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as the lines of a shard. They are refused, or every point has a
// class and the collected results are readable.
#include "sim/run/experiment.h"
#include "sim/sweep/collection.h"
#include "tests/fuzz/fuzz_input.h"

#include <sys/stat.h>

enum { PATH_BYTES = 400 };

static const char study[] = FUZZ_STUDY "sweep: {seeds: 1..4, shards: 2}\n";
static char folder[PATH_BYTES];
static char lines[PATH_BYTES + 32];
static char head[128]; // the first line

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    char path[PATH_BYTES];
    bb_problems problems = {0};
    bb_sweep_plan *plan = NULL;
    (void)count;
    (void)arguments;
    (void)snprintf(path, sizeof path, "%s", fuzz_path(".yaml"));
    (void)snprintf(folder, sizeof folder, "%s", fuzz_path(""));
    fuzz_write(path, study, sizeof study - 1);
    const bb_sweep_plan_request request = {.path = path, .threads = 1};
    fuzz_demand(bb_sweep_plan_make(&bb_experiments, &request, &problems, &plan) == BB_OK &&
                    bb_sweep_plan_write(plan, folder) == BB_OK,
                "a plan");
    (void)snprintf(head, sizeof head, "{\"plan\":\"%s\",\"shard\":1}\n", plan->id);
    (void)snprintf(lines, sizeof lines, "%s/shards", folder);
    (void)mkdir(lines, 0777);
    (void)snprintf(lines, sizeof lines, "%s/shards/1.local.0.0.jsonl", folder);
    bb_sweep_plan_destroy(&plan);
    bb_problems_release(&problems);
    return 0;
}

static void read_all(const bb_collection *collection)
{
    for (bb_index d = 0; d < collection->dataset_count; ++d) {
        const bb_collected *dataset = &collection->datasets[d];
        for (bb_index slot = 0; slot < collection->slot_count; ++slot) {
            for (bb_index p = 0; p < collection->pipeline_count; ++p) {
                (void)bb_collection_number(collection, dataset->name, slot, p);
                (void)bb_collection_text(collection, dataset->name, slot, p);
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bb_status status = BB_OK;
    bb_sweep_plan *plan = NULL;
    bb_collection *collection = NULL;
    bb_sweep_progress progress = {0};
    FILE *file = fopen(lines, "wb");
    fuzz_demand(file != NULL && fputs(head, file) >= 0 && fwrite(data, 1, size, file) == size &&
                    fclose(file) == 0,
                "a file in memory");
    BB_TRY(bb_sweep_plan_open(&bb_experiments, folder, &plan));
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    for (bb_index p = 0; p < progress.point_count; ++p) {
        fuzz_demand(progress.points[p].class >= BB_POINT_OPEN &&
                        progress.points[p].class < BB_POINT_CLASSES,
                    "a class of every point");
    }
    BB_TRY(bb_collection_read(plan, &progress, &collection));
    read_all(collection);
done:
    bb_collection_destroy(&collection);
    bb_sweep_progress_release(&progress);
    bb_sweep_plan_destroy(&plan);
    fuzz_settle(status);
    return 0;
}
