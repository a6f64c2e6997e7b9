// SPDX-License-Identifier: Apache-2.0
//
// Each allocation of a run fails once, from the configuration to the file: no crash, no leak, and
// no file under the final name.
#include "core/file.h"
#include "core/memory.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/reader.h"
#include "sim/output/summary.h"
#include "tests/sim/fixture.h"

static bb_status whole_run(const char *path, bb_problems *problems)
{
    bb_status status = BB_OK;
    autoptr(bb_config) config = NULL;
    autoptr(bb_results) results = NULL;
    unsigned char *image = NULL;
    bb_index bytes = 0;
    autorelease(bb_text) table = {0};
    char program[] = "bitbudget";
    char *arguments[] = {program};
    BB_TRY(bb_experiment_load(&bb_experiments, BB_SOURCE_DIR "/tests/configs/good/wafer.yaml", NULL,
                              0, problems, &config));
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_provenance_begin(results, config, bb_config_study(config), 1, arguments, 1));
    BB_TRY(fixture_fill(results));
    BB_TRY(bb_provenance_end(results));
    BB_TRY(bb_summary_write_full(bb_experiments.rows[0], results, 1.0, &table));
    BB_TRY(bb_file_check(path, false, false, 0.0, NULL));
    BB_TRY(bb_image_build(results, &image, &bytes));
    BB_TRY(bb_file_write(path, false, image, bytes));
done:
    BB_RELEASE(&image);
    return status;
}

TEST_FULL(every_allocation_of_a_run_fails_once)
{
    bb_index k = 1;
    for (;; ++k) {
        bb_problems problems = {0};
        bb_memory_fail_at(k);
        bb_status status = whole_run("run.h5", &problems);
        bool happened = bb_memory_failure_happened() != 0;
        bb_memory_fail_at(0);
        bb_problems_release(&problems);
        assert_int_equal(bb_memory_blocks(), 0);
        if (!happened) {
            assert_int_equal(status, BB_OK);
            break;
        }
        // Only syncing the folder may fail without an error: the file is complete by then.
        bool written = access("run.h5", F_OK) == 0;
        assert_int_equal(status, written ? BB_OK : BB_MEMORY);
        if (written) {
            assert_int_equal(unlink("run.h5"), 0);
        }
    }
    print_message("%td allocations\n", k - 1);
    assert_true(k > 200);
}

TEST(every_allocation_of_reading_fails_once)
{
    bb_problems problems = {0};
    (void)unlink("run.h5");
    check_ok(whole_run("run.h5", &problems));
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autoptr(bb_results) results = NULL;
        status = bb_reader_read("run.h5", &results);
    }
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
