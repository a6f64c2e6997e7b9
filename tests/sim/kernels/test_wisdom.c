// SPDX-License-Identifier: Apache-2.0
//
// Files of measured variants: records read back unchanged, incomplete and hostile files, two
// concurrent writers, and the selected record.
#include "core/memory.h"
#include "tests/sim/kernels/best_record.h"
#include "tests/solvers/kernels/manager_program.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITES = 100 };

static char folder[] = "/tmp/bb_wisdom_XXXXXX";
static char path[64];
static program_fixture fixture;
static bb_index sizes[6] = {1024, 64, 1024, 64, 1024, 64};
static const bb_wisdom_key key = {.kernel = "add",
                                  .program = "p",
                                  .types = "T=SP",
                                  .device = BB_DEVICE_CUDA,
                                  .report = {.name = "H", .driver = "1", .architecture = "sm_90"},
                                  .compiler = "c",
                                  .sizes = {1024, 64, 1024, 64, 1024, 64},
                                  .size_count = 6};

static bb_wisdom_record record_of(const char *variant, bb_trial_status status, double seconds)
{
    bb_wisdom_record record = best_record(&key, sizes, variant);
    record.status = (int)status;
    record.least_s = record.median_s = seconds;
    check_ok(bb_choice_read(variant, &record.choice));
    return record;
}

static void append(const bb_wisdom_record *record)
{
    check_ok(bb_wisdom_file_append(path, record));
}

static bb_index count_records(void)
{
    autorelease(bb_wisdom_file) file = {0};
    check_ok(bb_wisdom_file_read(path, &file));
    const bb_index count = file.count;
    return count;
}

TEST(records_come_back)
{
    autorelease(bb_wisdom_file) file = {0};
    bb_wisdom_record failed = record_of("group32x8", BB_TRIAL_COMPILE, NAN);
    bb_wisdom_record best = record_of("group256x1-points4-blocked", BB_TRIAL_BEST, 1.0 / 3.0);
    (void)unlink(path);
    failed.why = "error: \"x\": 'y'\n  # no\\";
    failed.driver = NULL;
    failed.program = "123";
    best.candidates = 28;
    best.reordered = 12;
    assert_int_equal(count_records(), 0);
    append(&failed);
    append(&best);
    check_ok(bb_wisdom_file_read(path, &file));
    assert_int_equal(file.count, 2);
    assert_string_equal(file.records[0].why, failed.why);
    assert_null(file.records[0].driver);
    assert_string_equal(file.records[0].program, "123");
    assert_int_equal(file.records[0].status, BB_TRIAL_COMPILE);
    assert_true(isnan(file.records[0].least_s));
    const bb_wisdom_record *second = &file.records[1];
    assert_true(second->least_s == best.least_s && second->reordered == 12);
    assert_int_equal(second->device, BB_DEVICE_CUDA);
    assert_int_equal(second->candidates, 28);
    assert_string_equal(second->compiler, "c");
    assert_string_equal(second->date, best.date);
    assert_true(bb_choice_equal(&second->choice, &best.choice));
    assert_true(bb_wisdom_record_is_of(second, &key));
}

TEST(a_torn_line_is_dropped_and_taken_away)
{
    bb_wisdom_record record = record_of("group64x4", BB_TRIAL_RIGHT, 1.0);
    (void)unlink(path);
    append(&record);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs("- {version: 1, kern", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(count_records(), 1);
    append(&record);
    assert_int_equal(count_records(), 2);
    write_text(path, "- {versi");
    append(&record);
    assert_int_equal(count_records(), 1);
}

// A file above the reader's limit would be lost as a whole.
TEST(a_file_grows_as_far_as_it_is_read)
{
    const bb_wisdom_record record = record_of("group64x4", BB_TRIAL_RIGHT, 1.0);
    autorelease(bb_wisdom_file) file = {0};
    autorelease(bb_text) line = {0};
    struct stat about;
    check_ok(bb_wisdom_record_write(&record, &line));
    for (int more = 0; more < 2; ++more) {
        const off_t size = BB_WISDOM_FILE_BYTES - line.length + more;
        write_text(path, "#");
        assert_int_equal(truncate(path, size - 1), 0); // one long comment
        FILE *end = fopen(path, "a");
        assert_non_null(end);
        assert_true(fputs("\n", end) >= 0);
        assert_int_equal(fclose(end), 0);
        if (more == 0) {
            append(&record);
            assert_int_equal(count_records(), 1);
        } else {
            check_fails(bb_wisdom_file_append(path, &record), BB_IO,
                        "would exceed the limit of 64 MB");
        }
        assert_int_equal(stat(path, &about), 0);
        assert_true(about.st_size == (more == 0 ? BB_WISDOM_FILE_BYTES : size));
    }
    check_ok(bb_wisdom_file_read(path, &file));
}

TEST(a_text_without_an_end_that_is_no_record_is_left)
{
    static const char *const texts[] = {"notes", "- {a: 3}", "# Variants of nothing"};
    const bb_wisdom_record record = record_of("group64x4", BB_TRIAL_RIGHT, 1.0);
    for (int i = 0; i < 3; ++i) {
        char kept_text[64] = "";
        bb_wisdom_file file = {0};
        write_text(path, texts[i]);
        check_fails(bb_wisdom_file_append(path, &record), BB_INVALID, "kernels.yaml");
        if (texts[i][0] != '#') {
            check_fails(bb_wisdom_file_read(path, &file), BB_INVALID, "kernels.yaml:1");
        }
        bb_wisdom_file_release(&file);
        FILE *kept = fopen(path, "r");
        assert_non_null(kept);
        assert_int_equal(fread(kept_text, 1, sizeof kept_text - 1, kept), strlen(texts[i]));
        assert_int_equal(fclose(kept), 0);
        assert_string_equal(kept_text, texts[i]);
    }
}

TEST(what_is_no_record_is_told_with_its_line)
{
    static const char *const cases[][2] = {
        {"# ok\n\n- [1]\n", "kernels.yaml:3: not a record"},
        {"kernel: add\n", "kernels.yaml:1: not a record"},
        {" # a comment that begins late\n", "kernels.yaml:1: not a record"},
        {"- {version: 2, other: 1}\n", "kernels.yaml:1: a record of version 2, expected 1"},
        {"- {version: 1}\n", "kernels.yaml:1: kernel"},
        {"- {version: 1, kernel: [}\n", "kernels.yaml:1: not YAML"},
        {"- {version: 1, kernel: add, program: p, code: 2, types: t, device: gpu}\n", "device"},
        {"- &a {version: 1}\n", "kernels.yaml:1"},
    };
    bb_wisdom_record record = record_of("group64x4", BB_TRIAL_RIGHT, 1.0);
    autorelease(bb_wisdom_file) file = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        write_text(path, cases[i][0]);
        check_fails(bb_wisdom_file_read(path, &file), BB_INVALID, cases[i][1]);
        bb_wisdom_file_release(&file);
    }
    (void)unlink(path);
    record.variant = "group64";
    append(&record);
    check_fails(bb_wisdom_file_read(path, &file), BB_INVALID, "kernels.yaml:2: variant: 'group64'");
    bb_wisdom_file_release(&file);
    (void)unlink(path);
    record.variant = "group64x4";
    record.least_s = NAN;
    append(&record);
    check_fails(bb_wisdom_file_read(path, &file), BB_INVALID, "status right needs least_s");
    bb_wisdom_file_release(&file);
    check_fails(bb_wisdom_file_read(folder, &file), BB_IO, folder);
}

TEST(two_writers_lose_nothing)
{
    const bb_wisdom_record record = record_of("group64x4", BB_TRIAL_RIGHT, 1.0);
    int code = 0;
    (void)unlink(path);
    const pid_t child = fork();
    assert_true(child >= 0);
    for (int i = 0; i < WRITES; ++i) {
        if (bb_wisdom_file_append(path, &record) != BB_OK && child == 0) {
            _exit(1);
        }
    }
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_int_equal(count_records(), 2 * WRITES);
}

// Checks the variant selected from these records, "" for none.
static void expect_choice(const bb_wisdom_record *records, int count, bool may_reorder,
                          const char *variant, bool exact)
{
    bb_wisdom_file file = {.records = (bb_wisdom_record *)(uintptr_t)records, .count = count};
    const bb_wisdom_record *found = NULL;
    bool is_exact = false;
    check_ok(bb_wisdom_choose(&file, &key, &fixture.program, may_reorder, &found, &is_exact, NULL));
    assert_string_equal(found != NULL ? found->variant : "", variant);
    assert_int_equal(is_exact, exact);
}

TEST(the_nearest_best_is_taken)
{
    bb_index near[6] = {2048, 64, 2048, 64, 2048, 64};
    bb_index far[6] = {64, 64, 64, 64, 64, 64};
    bb_wisdom_record records[] = {
        record_of("group64x1", BB_TRIAL_BEST, 1.0),   record_of("group128x1", BB_TRIAL_BEST, 2.0),
        record_of("group256x1", BB_TRIAL_RIGHT, 0.5), record_of("group512x1", BB_TRIAL_WRONG, NAN),
        record_of("group32x1", BB_TRIAL_SLOW, 9.0),
    };
    expect_choice(records, 5, false, "group128x1", true); // the last winner
    expect_choice(records, 0, false, "", false);
    records[0].sizes.items = far;
    records[1].sizes.items = near;
    expect_choice(records, 2, false, "group128x1", false);
    records[2].sizes.items = near;
    expect_choice(records + 2, 3, false, "group256x1", false);
    expect_choice(records + 3, 2, false, "", false);
}

TEST(a_later_failure_takes_a_variant_back)
{
    const bb_wisdom_record records[] = {
        record_of("group64x1", BB_TRIAL_RIGHT, 1.0),
        record_of("group128x1", BB_TRIAL_RIGHT, 0.5),
        record_of("group128x1", BB_TRIAL_WRONG, NAN),
    };
    expect_choice(records, 2, false, "group128x1", true);
    expect_choice(records, 3, false, "group64x1", true);
}

TEST(records_of_other_things_do_not_count)
{
    bb_wisdom_record record = record_of("group64x1", BB_TRIAL_BEST, 1.0);
    assert_int_equal(bb_wisdom_record_fit(&record, &key), BB_WISDOM_FITS);
    record.program = "q";
    assert_int_equal(bb_wisdom_record_fit(&record, &key), BB_WISDOM_OTHER_PROGRAM);
    record = record_of("group64x1", BB_TRIAL_BEST, 1.0);
    record.types = "T=DP";
    assert_int_equal(bb_wisdom_record_fit(&record, &key), BB_WISDOM_OTHER_TYPES);
    record = record_of("group64x1", BB_TRIAL_BEST, 1.0);
    record.device = BB_DEVICE_OPENCL;
    assert_int_equal(bb_wisdom_record_fit(&record, &key), BB_WISDOM_OTHER_DEVICE);
    record = record_of("group64x1", BB_TRIAL_BEST, 1.0);
    record.architecture = "sm_80";
    assert_int_equal(bb_wisdom_record_fit(&record, &key), BB_WISDOM_OTHER_DEVICE);
    record = record_of("group64x1", BB_TRIAL_BEST, 1.0);
    record.code = BB_EMISSION_VERSION - 1;
    assert_int_equal(bb_wisdom_record_fit(&record, &key), BB_WISDOM_OTHER_CODE);
    static const char *const stale[][3] = {{"G", "1", "c"}, {"H", "2", "c"}, {"H", "1", "d"}};
    for (int i = 0; i < 3; ++i) {
        record = record_of("group64x1", BB_TRIAL_BEST, 1.0);
        record.name = stale[i][0];
        record.driver = stale[i][1];
        record.compiler = stale[i][2];
        assert_int_equal(bb_wisdom_record_fit(&record, &key), BB_WISDOM_STALE);
        expect_choice(&record, 1, true, "", false);
    }
    record = record_of("tile64", BB_TRIAL_BEST, 1.0); // none for cuda
    expect_choice(&record, 1, true, "", false);
}

TEST(other_orders_need_leave)
{
    program_fixture own = fixture;
    bb_wisdom_record records[] = {
        record_of("group128x1", BB_TRIAL_BEST, 1.0),
        record_of("group32x1-order32x2048", BB_TRIAL_BEST, 0.5),
    };
    make_manager(&fixture, manager_of("gemv"), "SP");
    expect_choice(records, 2, false, "group128x1", true);
    expect_choice(records, 2, true, "group32x1-order32x2048", true);
    records[1].least_s = 2.0;
    expect_choice(records, 2, true, "group128x1", true);
    expect_choice(records + 1, 1, false, "", false);
    fixture_release(&fixture);
    fixture = own;
}

TEST(reasons_are_told)
{
    autorelease(bb_text) reasons = {0};
    const bb_wisdom_record *found = NULL;
    bool is_exact = false;
    bb_wisdom_record records[] = {
        record_of("group64x1", BB_TRIAL_BEST, 1.0),   record_of("group128x1", BB_TRIAL_WRONG, NAN),
        record_of("group256x1", BB_TRIAL_BEST, 1.0),  record_of("group512x1", BB_TRIAL_BEST, 1.0),
        record_of("group32x1", BB_TRIAL_RIGHT, 2e-3),
    };
    bb_wisdom_file file = {.records = records, .count = 5};
    records[0].types = "T=DP";
    records[1].why = "C[0] is 1";
    records[2].driver = "0";
    check_ok(bb_wisdom_choose(&file, &key, &fixture.program, false, &found, &is_exact, &reasons));
    const char *text = bb_text_string(&reasons);
    assert_non_null(strstr(text, "wrong: C[0] is 1\n"));
    assert_non_null(strstr(text, "stale, to be measured again: another driver\n"));
    assert_non_null(strstr(text, "taken\n"));
    assert_non_null(strstr(text, "     2.000 ms  not a winner\n"));
    assert_non_null(strstr(text, "  1 record for other types\n"));
    assert_null(strstr(text, "group64x1"));
}

TEST(keys_follow_from_content)
{
    char digest[2][BB_WISDOM_DIGEST_BYTES];
    char types[BB_WISDOM_TYPES_BYTES];
    char name[64];
    char *const words[] = {(char[]){"U=DP"}, (char[]){"T=SP"}};
    program_fixture other;
    fixture_make(&other,
                 "// The same.\n\nkernel Add (A, B, C: matrix T)\n"
                 "for x in C.columns, y in C.rows\n    C[x, y] = A[x, y] + B[x, y] // sum\n",
                 "T", "DP");
    check_ok(bb_wisdom_program(&fixture.description, digest[0]));
    check_ok(bb_wisdom_program(&other.description, digest[1]));
    assert_string_equal(digest[0], digest[1]);
    assert_int_equal(strlen(digest[0]), 32);
    fixture_release(&other);
    make_manager(&other, manager_of("max"), "SP");
    check_ok(bb_wisdom_program(&other.description, digest[1]));
    assert_string_not_equal(digest[0], digest[1]);
    fixture_release(&other);
    check_ok(bb_wisdom_types(words, 2, types));
    assert_string_equal(types, "T=SP U=DP");
    bb_wisdom_name("/a/gemv_transposed.kernel", name);
    assert_string_equal(name, "gemv-transposed");
}

TEST(the_place_is_the_users)
{
    char *place = NULL;
    (void)setenv("XDG_CONFIG_HOME", "/x", 1);
    check_ok(bb_wisdom_file_place(NULL, &place));
    assert_string_equal(place, "/x/bitbudget/kernels.yaml");
    BB_RELEASE(&place);
    (void)setenv("XDG_CONFIG_HOME", "relative", 1);
    (void)setenv("HOME", "/h", 1);
    check_ok(bb_wisdom_file_place(NULL, &place));
    assert_string_equal(place, "/h/.config/bitbudget/kernels.yaml");
    BB_RELEASE(&place);
    check_ok(bb_wisdom_file_place("own.yaml", &place));
    assert_string_equal(place, "own.yaml");
    BB_RELEASE(&place);
    (void)unsetenv("HOME");
    check_fails(bb_wisdom_file_place(NULL, &place), BB_IO, "--wisdom FILE");
}

static int begin(void)
{
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/sub/kernels.yaml", folder);
    make_manager(&fixture, manager_of("add"), "SP");
    const bb_wisdom_record first = record_of("group64x1", BB_TRIAL_RIGHT, 1.0);
    return bb_wisdom_file_append(path, &first) == BB_OK ? 0 : 1;
}

static void end(void)
{
    fixture_release(&fixture);
    (void)unlink(path);
    path[strlen(folder) + 4] = '\0';
    (void)rmdir(path);
    (void)rmdir(folder);
}

TEST_GROUP(.is_quiet = true, .begin = begin, .end = end);
