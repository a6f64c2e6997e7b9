// SPDX-License-Identifier: Apache-2.0
//
// bitbudget rerun: a study from its result file alone, held to what the file says of its inputs.
#include "core/memory.h"
#include "sim/hdf5_library.h"
#include "sim/output/file.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/reader.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#include <sys/stat.h>

static program_run run;
static const char study_file[] = CONFIG_WAFER_SMALL;

// rows.h5 holds dumped rows, study.h5 the results of a study that reads them.
static int enter(void **state)
{
    (void)state;
    if (bb_hdf5_library_start() != BB_OK || fixture_enter(NULL) != 0) {
        return -1;
    }
    CALL("run", study_file, "-q", "-o", "rows.h5", "--dump", "rows");
    if (run.code == 0) {
        CALL("run", study_file, "response.generator=file", "response.file=rows.h5",
             "title='again: é # 1'", "seed=random", "-q", "-o", "study.h5");
    }
    return run.code;
}

TEST(a_file_is_enough)
{
    char expected[64 + BB_DIGEST_BYTES];
    bb_results *results = NULL;
    check_ok(bb_reader_read_all("study.h5", NULL, &results));
    (void)snprintf(expected, sizeof expected, "to the bit (digest %s)",
                   bb_results_note_text(results, "", "reproducible_digest"));
    assert_string_equal(bb_results_find(results, "provenance/input")->texts[0], "response.file");
    assert_int_equal(bb_results_find(results, "provenance/input_file")->texts[0][0], '/');
    bb_results_destroy(&results);
    // From another folder, without the configuration's.
    assert_int_equal(mkdir("elsewhere", 0777), 0);
    assert_int_equal(chdir("elsewhere"), 0);
    CALL("rerun", "../study.h5", "--verify", "-q");
    program_expect(&run, 0, expected);
    assert_int_not_equal(access("outputs", F_OK), 0);
    // What is written under the default name is not written over.
    CALL("rerun", "../study.h5", "-q");
    program_expect(&run, 0, "results: outputs/study-rerun.h5");
    CALL("rerun", "../study.h5", "-q");
    program_expect(&run, 3, "'outputs/study-rerun.h5' exists");
    CALL("rerun", "outputs/study-rerun.h5", "--verify", "-q", "-o", "third.h5");
    program_expect(&run, 0, "results: third.h5");
    program_expect(&run, 0, expected);
    assert_int_equal(chdir(".."), 0);
}

TEST(what_differs_is_told)
{
    CALL("rerun", "study.h5", "--verify", "-q", "pipelines.1.storage=e4m3");
    program_expect(&run, 1, "different:\n");
    program_expect(&run, 1, ": overlay_error_x_nm ");
    program_expect(&run, 1, "compression_ratio: 1 of ");
    program_expect(&run, 1, "likely causes");
    program_expect(&run, 1, "  pipelines.fp64 again.storage.codec: fp64 in the file, e4m3 in this");
    assert_null(strstr(run.printed, "solve_time_s"));
    assert_null(strstr(run.printed, "bitbudget:"));
    // Its pipelines are asked for by name: order is no difference of prices.
    CALL("rerun", "study.h5", "--verify", "-q", "pipelines.1.name=other");
    program_expect(&run, 1, "  other: only in this run\n");
}

TEST_FULL(inputs_are_held_to_their_digests)
{
    assert_int_equal(rename("rows.h5", "moved.h5"), 0);
    CALL("rerun", "study.h5", "--verify", "-q");
    program_expect(&run, 3, "/rows.h5': No such file");
    program_expect(&run, 3, "1 file that its study names is gone or changed; name another");
    CALL("rerun", "study.h5", "--verify", "-q", "response.file=moved.h5");
    program_expect(&run, 0, "equal: ");
    CALL("run", study_file, "response.grid.columns=41", "-q", "-o", "rows.h5", "--force", "--dump",
         "rows");
    program_expect(&run, 0, "results: ");
    CALL("rerun", "study.h5", "-q");
    program_expect(&run, 3, "response.file: '");
    program_expect(&run, 3, "' has changed: digest ");
    assert_int_equal(rename("moved.h5", "rows.h5"), 0);
}

TEST(other_files_are_refused)
{
    unsigned char *image = NULL;
    bb_index bytes = 0;
    bb_results *results = fixture_results();
    check_ok(bb_provenance_end(results));
    check_ok(bb_image_build(results, &image, &bytes));
    check_ok(bb_file_write("bare.h5", false, image, bytes));
    BB_RELEASE(&image);
    bb_results_destroy(&results);
    CALL("rerun", "bare.h5");
    program_expect(&run, 3, "cannot rerun 'bare.h5': no file of 'bitbudget run'");
    CALL("rerun", "none.h5");
    program_expect(&run, 3, "cannot rerun 'none.h5': No such file");
    CALL("rerun", study_file);
    program_expect(&run, 3, "not an HDF5 file");
    CALL("rerun", "study.h5", "nonsense=1");
    program_expect(&run, 2, "nonsense");
}

TEST_GROUP(.enter = enter, .leave = driver_leave_folder);
