// SPDX-License-Identifier: Apache-2.0
//
// Foreign, truncated and bit-flipped files: an error message, never a crash, a hang or wrong data.
#include "core/file.h"
#include "core/isolation.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/reader.h"
#include "tests/sim/fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MUTANTS = 400 };

static unsigned char *image;
static bb_index image_bytes;
static char digest[BB_DIGEST_BYTES];

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    autoptr(bb_results) results = fixture_results();
    check_ok(bb_provenance_end(results));
    check_ok(bb_results_digest(results, false, digest));
    check_ok(bb_image_build(results, &image, &image_bytes));
    return 0;
}

static void leave(void)
{
    BB_RELEASE(&image);
}

// In a child process: reads m.h5 and, if it can be read, verifies the digest.
static bb_status read_mutant(void *context)
{
    bb_status status = BB_OK;
    autoptr(bb_results) results = NULL;
    char got[BB_DIGEST_BYTES];
    (void)context;
    BB_TRY(bb_reader_read_all("m.h5", "", &results));
    BB_TRY(bb_results_digest(results, false, got));
    BB_REQUIRE(strcmp(got, digest) == 0, BB_INTERNAL, "results changed in silence");
done:
    return status;
}

static void check_mutant(const unsigned char *bytes, bb_index count, bb_index *refused)
{
    check_ok(bb_file_write("m.h5", true, bytes, count));
    bb_status status = bb_isolation_run("m.h5", 1, read_mutant, NULL);
    if (status != BB_OK && status != BB_IO && status != BB_MEMORY) {
        print_error("status %d: %s\n", (int)status, bb_status_message());
        fail();
    }
    *refused += status != BB_OK;
}

TEST(truncated_files_are_refused)
{
    bb_index refused = 0;
    for (int i = 0; i < 40; ++i) {
        check_mutant(image, 1 + image_bytes * i / 41, &refused);
    }
    assert_int_equal(refused, 40);
}

TEST_FULL(flipped_bits_are_seen_or_harmless)
{
    bb_index refused = 0;
    unsigned char *mutant = new_array(unsigned char, image_bytes);
    for (uint64_t i = 0; i < MUTANTS; ++i) {
        uint32_t words[4];
        memcpy(mutant, image, (size_t)image_bytes);
        bb_random_words(11, BB_STREAM_SELF_TEST, i, words);
        // Half of them in the first bytes, which contain the structure of the file.
        uint32_t range = i % 2 == 0 ? (uint32_t)image_bytes : 4096;
        for (int flips = 0; flips < 1 + (int)(words[2] % 4); ++flips) {
            mutant[(words[0] + (uint32_t)flips * words[3]) % range] ^=
                (unsigned char)(1u << ((words[1] >> flips) % 8));
        }
        check_mutant(mutant, image_bytes, &refused);
    }
    BB_RELEASE(&mutant);
    print_message("%td of %d mutants refused, the rest unharmed\n", refused, MUTANTS);
    assert_true(refused > MUTANTS / 10);
}

TEST(foreign_files_are_refused)
{
    bb_results *results = NULL;
    check_ok(bb_file_write("text.h5", false, "just a text", 11));
    check_fails(bb_reader_read("text.h5", &results), BB_IO, "not an HDF5 file");
    check_ok(bb_file_write("empty.h5", false, "", 0));
    check_fails(bb_reader_read("empty.h5", &results), BB_IO, "not an HDF5 file");
    check_fails(bb_reader_read("none.h5", &results), BB_IO, "No such file");
    check_fails(bb_reader_read(".", &results), BB_IO, "not a regular file");
    // HDF5, but not of this program.
    check_ok(bb_results_create(&results));
    check_ok(bb_results_note(results, "", "title", "someone else's"));
    write_results(results, "foreign.h5");
    bb_results_destroy(&results);
    check_fails(bb_reader_read("foreign.h5", &results), BB_IO, "not a result file of bitbudget");
    assert_null(results);
}

// The fixture with two more groups, an operator, and a text longer than any buffer.
static bb_results *write_groups(const char *path)
{
    static const double matrix[6] = {1, 2, 3, 4, 5, 6};
    static const double kept[2] = {1.0, 0.0};
    static const char *const typed[] = {"title: é\n", "base: x\n"};
    static double copy[6];
    static char flags[6000];
    memcpy(copy, matrix, sizeof copy);
    memset(flags, 'f', sizeof flags - 1);
    const bb_view view = bb_view_matrix(copy, 2, 3);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "C", "m/K");
    bb_results *results = fixture_results();
    check_ok(results_text_axis(results, "provenance/config_file", "files", 2, typed));
    check_ok(results_texts(results, "provenance/config_as_typed", "texts", "config_file", typed));
    check_ok(bb_results_note(results, "provenance", "flags", flags));
    check_ok(bb_results_note(results, "provenance", "empty", ""));
    check_ok(results_axis(results, "search/trial", "1", "trial", 2, kept));
    check_ok(results_measured(results, "search/time_s", "s", "times", "trial", kept));
    check_ok(results_values(results, "search/by", "1", "shared", "trial, wavelength", NULL));
    check_ok(bb_results_operator(results, "C", "rows for a test", &source));
    check_ok(bb_provenance_end(results));
    check_ok(bb_file_write_by(path, true, fixture_write, results));
    return results;
}

static void check_same_dataset(const bb_dataset *got, const bb_dataset *expected)
{
    assert_non_null(got);
    assert_string_equal(got->unit, expected->unit);
    assert_string_equal(got->long_name, expected->long_name);
    assert_int_equal(got->is_axis, expected->is_axis);
    assert_int_equal(got->is_text, expected->is_text);
    assert_int_equal(got->measured, expected->measured);
    assert_int_equal(got->rank, expected->rank);
    assert_int_equal(got->count, expected->count);
    for (int a = 0; a < got->rank; ++a) {
        assert_string_equal(got->axes[a], expected->axes[a]);
    }
    for (bb_index i = 0; i < got->count && got->is_text; ++i) {
        assert_string_equal(got->texts[i], expected->texts[i]);
    }
    if (!got->is_text) {
        assert_memory_equal(got->numbers, expected->numbers, (size_t)got->count * sizeof(double));
    }
}

TEST(every_group_comes_back)
{
    char path[128];
    int seeds = 0;
    autoptr(bb_results) written = write_groups("groups.h5");
    autoptr(bb_results) results = read_all_results("groups.h5", NULL);
    assert_int_equal(bb_results_count(results), bb_results_count(written));
    for (bb_index i = 0; i < bb_results_count(written); ++i) {
        const bb_dataset *expected = bb_results_dataset(written, i);
        (void)snprintf(path, sizeof path, "%s%s%s", expected->group,
                       expected->group[0] == '\0' ? "" : "/", expected->name);
        check_same_dataset(bb_results_find(results, path), expected);
    }
    assert_int_equal(bb_results_note_count(results), bb_results_note_count(written));
    for (bb_index i = 0; i < bb_results_note_count(written); ++i) {
        const bb_attribute *expected = bb_results_attribute(written, i);
        const char *text = bb_results_note_text(results, expected->owner, expected->name);
        assert_int_equal(text == NULL, expected->text == NULL);
        if (text != NULL) {
            assert_string_equal(text, expected->text);
        }
        seeds += bb_results_attribute(results, i)->number == 1.0;
    }
    assert_int_equal(seeds, 1);
    bb_results_destroy(&results);
    results = read_all_results("groups.h5", "");
    const bb_dataset *matrix = dataset_at(results, "operators/C");
    assert_string_equal(matrix->axes[1], "C_column");
    assert_true(matrix->shape[0] == 2 && matrix->shape[1] == 3 && matrix->numbers[5] == 6.0);
    bb_results_destroy(&results);
    results = read_all_results("groups.h5", "D");
    assert_null(bb_results_find(results, "operators/C"));
    assert_non_null(bb_results_find(results, "provenance/config_as_typed"));
    bb_results_destroy(&results);
    check_ok(bb_reader_read("groups.h5", &results));
    assert_null(bb_results_find(results, "provenance/config_as_typed"));
    assert_null(bb_results_find(results, "search/by"));
}

static bb_status crash(void *context)
{
    (void)context;
    (void)raise(SIGSEGV);
    return BB_OK;
}

static bb_status hang(void *context)
{
    (void)context;
    while (pause() == -1) {
    }
    return BB_OK;
}

static bb_status refuse(void *context)
{
    bb_status status = BB_OK;
    BB_FAIL(BB_IO, "a message of %s", (const char *)context);
done:
    return status;
}

static bb_status print(void *context)
{
    (void)context;
    for (int i = 0; i < 100000; ++i) {
        (void)puts("a line of a table");
    }
    return BB_OK;
}

// Runs the task with stdout at `end` in a separate process; returns its wait status.
static int run_printing(int end)
{
    int how = 0;
    (void)fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGPIPE, SIG_DFL);
        (void)dup2(end, STDOUT_FILENO);
        bb_status status = bb_isolation_run("x.h5", 5, print, NULL);
        bool told = strstr(bb_status_message(), "cannot write to stdout") != NULL;
        _exit(status == BB_IO && told ? 3 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return how;
}

// bitbudget show FILE | head: a closed pipe is not a damaged file.
static void caught(int number)
{
    (void)number;
}

// Ended by SIGTERM, because no handler of the parent handles it; SIGHUP remains ignored.
static bb_status end(void *context)
{
    (void)context;
    (void)raise(SIGHUP);
    (void)raise(SIGTERM);
    return BB_OK;
}

TEST(handlers_stay_with_the_parent)
{
    (void)signal(SIGTERM, caught);
    (void)signal(SIGHUP, SIG_IGN);
    check_fails(bb_isolation_run("x.h5", 5, end, NULL), BB_IO, "died of signal 15");
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
}

TEST(what_cannot_be_printed_is_not_blamed_on_the_file)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[0]);
    int how = run_printing(ends[1]);
    (void)close(ends[1]);
    assert_true(WIFSIGNALED(how));
    assert_int_equal(WTERMSIG(how), SIGPIPE);
    int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
        how = run_printing(full);
        (void)close(full);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 3);
    }
}

TEST(crashes_and_hangs_become_errors)
{
    char who[] = "the child";
    check_fails(bb_isolation_run("x.h5", 5, crash, NULL), BB_IO, "died of signal 11");
    check_fails(bb_isolation_run("x.h5", 1, hang, NULL), BB_IO, "more than 1 s");
    check_fails(bb_isolation_run("x.h5", 5, refuse, who), BB_IO, "a message of the child");
}

// A file with a correct digest whose names are numbers: commands must not access missing texts.
TEST(names_are_texts)
{
    static const char *const paths[] = {"results/pipeline", "results/status"};
    for (int i = 0; i < 2; ++i) {
        char expected[64];
        autoptr(bb_results) results = empty_results();
        bb_results *back = NULL;
        if (i == 0) {
            check_ok(results_axis(results, paths[0], "1", "names", 2, NULL));
        } else {
            check_ok(results_values(results, paths[1], "1", "how it ended", "", NULL));
        }
        check_ok(bb_results_note(results, "", "experiment", "wafer"));
        check_ok(bb_provenance_end(results));
        check_ok(bb_file_write_by("m.h5", true, fixture_write, results));
        (void)snprintf(expected, sizeof expected, "'/%s' has numbers, expected texts", paths[i]);
        check_fails(bb_reader_read("m.h5", &back), BB_IO, expected);
    }
}

TEST_GROUP(.has_folder = true, .begin = begin, .end = leave);
