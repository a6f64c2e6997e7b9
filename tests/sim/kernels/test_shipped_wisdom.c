// SPDX-License-Identifier: Apache-2.0
//
// Shipped records: files that are read, and devices to which their records apply.
#include "sim/kernels/wisdom.h"
#include "solvers/kernels/kernel_manager.h"
#include "tests/sim/fixture.h"
#include "tests/sim/kernels/best_record.h"
#include "tests/solvers/kernels/manager_program.h"

enum { RECORDS_OF_H = 3 };

static const char folder[] = "share/configs/kernels/tuned";
static program_fixture program;
static bb_wisdom_key key = {.kernel = "gemv",
                            .program = "p",
                            .types = "T=SP",
                            .device = BB_DEVICE_CUDA,
                            .report = {.name = "H", .driver = "2", .architecture = "sm_90"},
                            .compiler = "newer",
                            .sizes = {300, 300, 300, 1, 300, 1},
                            .size_count = 6};

static void append(const char *file, const char *device, bb_index columns, const char *variant,
                   bb_index code)
{
    char path[128];
    bb_index sizes[] = {columns, columns, columns, 1, columns, 1};
    bb_wisdom_record record = best_record(&key, sizes, variant);
    record.code = code;
    record.name = device;
    record.driver = "1";
    record.compiler = "older";
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    check_ok(bb_wisdom_file_append(path, &record));
}

static int begin(void)
{
    make_manager(&program, manager_of("gemv"), "SP");
    append("a.yaml", "G", 300, "group64x1", BB_EMISSION_VERSION);
    append("b.yaml", "H", 100, "group32x1", BB_EMISSION_VERSION);
    append("b.yaml", "H", 300, "group32x2", BB_EMISSION_VERSION);
    append("b.yaml", "H", 300, "group32x4-order64x512", BB_EMISSION_VERSION);
    append("b.yaml", "H", 300, "group32x8", BB_EMISSION_VERSION - 1);
    write_text("share/configs/kernels/tuned/notes.txt", "no records\n");
    return setenv("BITBUDGET_SHARE", "share", 1);
}

static void leave(void)
{
    (void)unsetenv("BITBUDGET_SHARE");
    fixture_release(&program);
}

static void check_choice(const bb_wisdom_key *wanted, const char *variant, const char *origin)
{
    autorelease(bb_wisdom_file) file = {0};
    const bb_wisdom_record *found = NULL;
    char told[BB_SHIPPED_ORIGIN_BYTES] = "";
    check_ok(bb_wisdom_read_shipped(&file));
    check_ok(bb_wisdom_choose_shipped(&file, wanted, &program.program, &found, told, NULL));
    assert_string_equal(found != NULL ? found->variant : "", variant);
    assert_string_equal(told, origin);
}

// Driver and compiler may differ, the version of the text may not; the order of summation is the
// kernel's.
TEST(records_of_the_device_come_first)
{
    bb_wisdom_key wanted = key;
    check_choice(&wanted, "group32x2", "tuned, shipped for H");
    wanted.sizes[0] = wanted.sizes[1] = 90;
    check_choice(&wanted, "group32x1", "tuned, shipped for H");
    (void)snprintf(wanted.report.name, sizeof wanted.report.name, "G");
    check_choice(&wanted, "group64x1", "tuned, shipped for G");
}

// Beyond a factor of four in any extent a record does not apply.
TEST(records_are_of_sizes_nearby)
{
    bb_wisdom_key wanted = key;
    wanted.sizes[0] = 1200;
    check_choice(&wanted, "group32x2", "tuned, shipped for H");
    wanted.sizes[0] = 1201;
    check_choice(&wanted, "", "");
    wanted.sizes[0] = 24;
    check_choice(&wanted, "", "");
    wanted.sizes[0] = 25;
    wanted.sizes[1] = wanted.sizes[2] = wanted.sizes[4] = 100;
    check_choice(&wanted, "group32x1", "tuned, shipped for H");
}

TEST(another_device_takes_those_of_its_architecture)
{
    bb_wisdom_key wanted = key;
    (void)snprintf(wanted.report.name, sizeof wanted.report.name, "K");
    wanted.sizes[0] = wanted.sizes[1] = 90;
    check_choice(&wanted, "group32x1", "tuned, shipped for H");
    (void)snprintf(wanted.report.architecture, sizeof wanted.report.architecture, "sm_80");
    check_choice(&wanted, "", "");
    wanted = key;
    wanted.device = BB_DEVICE_OPENCL;
    check_choice(&wanted, "", "");
    wanted = key;
    (void)snprintf(wanted.types, sizeof wanted.types, "T=DP");
    check_choice(&wanted, "", "");
}

TEST(records_of_a_device_are_counted)
{
    autorelease(bb_wisdom_file) file = {0};
    bb_wisdom_key wanted = key;
    bb_index count = 0;
    check_ok(bb_wisdom_read_shipped(&file));
    assert_string_equal(bb_wisdom_shipped_device(&file, &wanted, &count), "H");
    assert_int_equal(count, RECORDS_OF_H);
    (void)snprintf(wanted.report.name, sizeof wanted.report.name, "K");
    assert_string_equal(bb_wisdom_shipped_device(&file, &wanted, &count), "G");
    assert_int_equal(count, 1);
    (void)snprintf(wanted.report.architecture, sizeof wanted.report.architecture, "sm_80");
    assert_null(bb_wisdom_shipped_device(&file, &wanted, &count));
    assert_int_equal(count, 0);
}

// Files of the working folder replace those of the same name in the share folder.
TEST(the_working_folder_comes_first)
{
    assert_int_equal(system("mkdir -p configs/kernels && cp -r share/configs/kernels/tuned "
                            "configs/kernels && : > configs/kernels/tuned/b.yaml"),
                     0);
    check_choice(&key, "group64x1", "tuned, shipped for G");
    assert_int_equal(system("rm -r configs"), 0);
}

TEST(a_damaged_file_is_left_out)
{
    write_text("share/configs/kernels/tuned/c.yaml", "no records\n");
    check_choice(&key, "group32x2", "tuned, shipped for H");
    assert_int_equal(unlink("share/configs/kernels/tuned/c.yaml"), 0);
}

// Every record of the current version belongs to a shipped kernel in its present form and is a
// winner.
TEST(shipped_files_are_current)
{
    autorelease(bb_wisdom_file) file = {0};
    assert_int_equal(setenv("BITBUDGET_SHARE", BB_SOURCE_DIR, 1), 0);
    check_ok(bb_wisdom_read_shipped(&file));
    assert_true(file.count > 0);
    for (bb_index i = 0; i < file.count; ++i) {
        const bb_wisdom_record *record = &file.records[i];
        autocall(fixture_release) program_fixture current;
        char digest[BB_WISDOM_DIGEST_BYTES];
        char why[160] = "";
        const char *type = strrchr(record->types, '=') + 1;
        type = strncmp(record->types, "FACTOR=SP", 9) == 0 ? "SP" : type;
        make_manager(&current, manager_of(record->kernel), type);
        check_ok(bb_wisdom_program(&current.description, digest));
        if (record->status != BB_TRIAL_BEST || record->choice.order.lanes != 0 ||
            (record->code == BB_EMISSION_VERSION &&
             (strcmp(record->program, digest) != 0 ||
              !bb_choice_is_legal(&record->choice, (bb_device_kind)record->device, &current.program,
                                  why, sizeof why)))) {
            fail_msg("%s %s of %s, set %s: outdated%s%s", record->kernel, record->types,
                     record->name, record->set, why[0] != '\0' ? ": " : "", why);
        }
    }
    assert_int_equal(setenv("BITBUDGET_SHARE", "share", 1), 0);
}

TEST_GROUP(.has_folder = true, .is_quiet = true, .begin = begin, .end = leave);
