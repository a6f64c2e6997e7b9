// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: an edited result file of the program, read and printed by `show`. If only the
// digest is wrong, it is corrected, to reach the tables. The file is refused, or printed as text.
//
// Input: index of the edited seed file (BB_FUZZ_SEEDS/show-N.h5), then the edits.
#include "sim/input/hdf5_library.h"
#include "sim/output/reader.h"
#include "sim/output/summary.h"
#include "tests/fuzz/hdf5_edit.h"

enum { SEEDS = 3 }; // ao, wafer, reconstructor

static uint8_t *seeds[SEEDS];
static size_t sizes[SEEDS];
static char path[300];

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    char name[512];
    (void)count;
    (void)arguments;
    fuzz_demand(bb_hdf5_library_start() == BB_OK, "HDF5");
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    (void)snprintf(path, sizeof path, "%s", fuzz_path(".h5"));
    for (int i = 0; i < SEEDS; ++i) {
        (void)snprintf(name, sizeof name, "%s/show-%d.h5", BB_FUZZ_SEEDS, i);
        sizes[i] = fuzz_read(name, &seeds[i]);
    }
    return 0;
}

static bb_status show(const bb_results *results)
{
    bb_status status = BB_OK;
    bb_text table = {0};
    const bb_experiment *experiment =
        bb_experiment_find(&bb_experiments, bb_results_note_text(results, "", "experiment"));
    if (experiment != NULL) {
        BB_TRY(bb_summary_write_full(experiment, results, 0.5, &table));
        if (experiment->report != NULL) {
            BB_TRY(experiment->report(results, &table));
        }
    }
done:
    bb_text_release(&table);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    bb_results *results = NULL;
    const uint8_t chosen = fuzz_take(&in) % SEEDS;
    fuzz_write(path, seeds[chosen], sizes[chosen]);
    edit_file(path, &in);
    bb_status status = bb_reader_read(path, &results);
    if (status != BB_OK && edit_mend(path, ".", "results_digest")) {
        bb_status_clear();
        status = bb_reader_read(path, &results);
    }
    if (status == BB_OK) {
        status = show(results);
    }
    bb_results_destroy(&results);
    fuzz_demand(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0, "everything closed");
    fuzz_settle(status);
    return 0;
}
