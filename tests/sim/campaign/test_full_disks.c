// SPDX-License-Identifier: Apache-2.0
//
// Whole runs on disks of increasing size. The output fits and is complete, or the run ends with
// exit code 3 and leaves nothing. An older file is unchanged.
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#include <dirent.h>
#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

static bool mount_disk(bb_index kilobytes)
{
    char size[32];
    (void)snprintf(size, sizeof size, "size=%tdk", kilobytes);
    (void)mkdir("disk", 0777);
    if (mount("none", "disk", "tmpfs", 0, size) != 0) {
        print_message("no tmpfs may be mounted here (%s)\n", strerror(errno));
        return false;
    }
    return true;
}

static int count_files(void)
{
    int count = 0;
    DIR *folder = opendir("disk");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    }
    (void)closedir(folder);
    return count;
}

static void check_whole(const char *path)
{
    autoptr(bb_results) results = read_results(path);
}

// Runs a study on a disk of `kilobytes`; returns whether the output fits.
static bool run_on(bb_index kilobytes, const char *dump)
{
    CALL("run", CONFIG_WAFER_SMALL, "mesh.spacing_mm=6.0", "scan.fields=[0]", "-q", "-o",
         "disk/out.h5", dump == NULL ? NULL : "--dump", dump);
    bool fitted = run.code == 0;
    if (fitted) {
        check_whole("disk/out.h5");
        assert_int_equal(count_files(), 1);
    } else {
        program_expect(&run, 3, "bitbudget: ");
        assert_int_equal(count_files(), 0);
    }
    print_message("%td kB%s: %s\n", kilobytes, dump == NULL ? "" : " with operators",
                  fitted ? "whole" : "refused, nothing left");
    return fitted;
}

// Every disk gives a complete file or none; the smallest is too small, the largest is not.
static void run_on_disks(bb_index first, bb_index last, const char *dump)
{
    int fitted = 0;
    int refused = 0;
    for (bb_index kilobytes = first; kilobytes <= last; kilobytes *= 2) {
        if (!mount_disk(kilobytes)) {
            skip();
        }
        bool fits = run_on(kilobytes, dump);
        assert_int_equal(umount("disk"), 0);
        fitted += fits;
        refused += !fits;
    }
    assert_true(fitted > 0 && refused > 0);
}

TEST(results_on_ever_larger_disks)
{
    run_on_disks(16, 2048, NULL);
}

TEST_FULL(operators_on_ever_larger_disks)
{
    run_on_disks(256, 65536, "rows");
}

// An older file of the same name survives a replacement that does not fit.
TEST(older_files_stay)
{
    if (!mount_disk(1024)) {
        skip();
    }
    assert_true(run_on(1024, NULL));
    CALL_EXPECT(3, "bitbudget: ", "run", CONFIG_WAFER_SMALL, "-q", "--force", "-o", "disk/out.h5",
                "--dump", "rows", "device=cpu");
    check_whole("disk/out.h5");
    assert_int_equal(count_files(), 1);
    assert_int_equal(umount("disk"), 0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
