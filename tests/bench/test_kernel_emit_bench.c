// SPDX-License-Identifier: Apache-2.0
//
// The longest of all shipped kernels is told. What it takes is not looked at.
#include "bench/bench.h"
#include "solvers/kernels/kernel_manager.h"
#include "tests/check.h"

#include <dirent.h>

static int count_files(void)
{
    int count = 0;
    DIR *folder = opendir(BB_SOURCE_DIR "/configs/kernels");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += strchr(entry->d_name, '.') > entry->d_name; // not the folder of tuned variants
    }
    (void)closedir(folder);
    return count;
}

TEST(all_shipped_kernels_are_printed)
{
    bb_bench_outcome outcome = {.ratio = NAN};
    char expected[64];
    check_ok(bb_bench_kernel_emit(NULL, &(bb_bench_setup){.quick = true}, &outcome));
    (void)snprintf(expected, sizeof expected, "; longest of %d kernels", count_files());
    assert_non_null(strstr(outcome.detail, expected));
    assert_non_null(strstr(outcome.detail, "P, for "));
    assert_true(outcome.best_s > 0.0 && outcome.median_s >= outcome.best_s && outcome.bytes > 0.0);
    assert_true(outcome.ratio == 20e-3 / outcome.best_s);
}

TEST(files_end_after_the_last)
{
    const int count = count_files();
    assert_null(bb_kernel_manager_shipped(-1));
    assert_null(bb_kernel_manager_shipped(count));
    for (int i = 0; i < count; ++i) {
        assert_true(strlen(bb_kernel_manager_text(bb_kernel_manager_shipped(i))) > 0);
    }
}
