// SPDX-License-Identifier: Apache-2.0
//
// Prebuilt kernels: used without a compiler, with the same bits as compiled ones; damaged ones, and
// those of another text or processor, are rejected with a message.
#include "core/device/build_ops.h"
#include "core/device/host_compiler.h"
#include "core/device/prebuilt.h"
#include "tests/core/device/counted_compiler.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/bitbudget-test-XXXXXX";
static char forms[48], script[48], calls[48];
static bb_device *cpu;

// Sensitive to contraction, summation order and fast division.
static const char number_text[] =
    "#include <math.h>\n#include <stdint.h>\n"
    "void numbers(const void *const *a, int64_t begin, int64_t end) {\n"
    "  float *y = (float *)a[0]; const float *x = a[1];\n"
    "  for (int64_t i = begin; i < end; ++i) {\n"
    "    float sum = 0.1F;\n"
    "    for (int k = 0; k < 16; ++k) sum = sum * x[i] + x[(i + k) % end] / 3.0F;\n"
    "    y[i] = fmaf(sum, x[i], sqrtf(fabsf(sum)));\n"
    "  }\n}\n";
static const char other_text[] = "void other(const void *const *a, long b, long e) {}\n";

static int ready(void **state)
{
    (void)state;
    char command[160];
    (void)snprintf(command, sizeof command, "rm -rf %s %s", forms, calls);
    assert_int_equal(system(command), 0);
    bb_prebuilt_set_processor(true);
    bb_build_cpu_discard_unused();
    return setenv("BB_CC", script, 1) || setenv("BITBUDGET_PREBUILT", forms, 1);
}

static bb_status build(const char *text, bb_build **out)
{
    bb_build_cpu_discard_unused();
    return bb_build_create(cpu, text, NULL, out);
}

static void make(const char *text)
{
    bb_build *made = NULL;
    check_ok(bb_prebuilt_start_making(forms));
    check_ok(build(text, &made));
    assert_non_null(strstr(bb_build_compiler(made), "prebuilt, "));
    bb_build_destroy(&made);
    bb_build_cpu_discard_unused(); // a loaded object must not be truncated
    bb_prebuilt_stop_making();
}

static void expect_refusal(const char *text, bb_status code, const char *message)
{
    bb_build *built = NULL;
    check_fails(build(text, &built), code, message);
    assert_null(built);
}

enum { COUNT = 10007 };

// Builds the text, which reports its compiler, and runs it.
static void compute(const char *maker, float y[COUNT])
{
    static float x[COUNT];
    autoptr(bb_build) built = NULL;
    const bb_launch_argument arguments[] = {{.block = y}, {.block = x}};
    fill_array(x, COUNT, i, sinf((float)i));
    check_ok(build(number_text, &built));
    assert_int_equal(strncmp(bb_build_compiler(built), maker, strlen(maker)), 0);
    check_ok(bb_build_launch(built, "numbers", (bb_launch_shape){{COUNT, 1}, {1, 1}, COUNT},
                             arguments, 2));
}

TEST(forms_have_the_bits_of_what_is_compiled, .setup_func = ready)
{
    static float compiled[COUNT], prebuilt[COUNT];
    char maker[80];
    autoptr(bb_build) built = NULL;
    make(number_text);
    (void)snprintf(maker, sizeof maker, "%s, ", script);
    compute(maker, compiled); // with a compiler it is compiled
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    compute("prebuilt, ", prebuilt);
    assert_memory_equal(compiled, prebuilt, sizeof compiled);
    check_ok(build(number_text, &built));
    assert_non_null(strstr(bb_build_compiler(built), bb_host_compiler_baseline()));
    assert_null(strstr(bb_build_compiler(built), "native"));
    bb_build_destroy(&built);
    // A text that is already loaded reports it again.
    check_ok(bb_build_create(cpu, number_text, NULL, &built));
    assert_non_null(strstr(bb_build_compiler(built), "prebuilt, "));
}

TEST(damaged_forms_are_refused, .setup_func = ready)
{
    char name[300];
    struct stat about;
    make(other_text);
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    assert_int_equal(counted_compiler_files(forms, name), 1);
    assert_int_equal(stat(name, &about), 0);
    const off_t offsets[] = {0, about.st_size / 2, about.st_size - 24, about.st_size - 1};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0];
         ++i) { // the third: of the seal's mark
        const off_t offset = offsets[i];
        for (int pass = 0; pass < 2; ++pass) { // changed, and restored
            const int file = open(name, O_RDWR);
            char byte = 0;
            bb_build *built = NULL;
            assert_int_equal(pread(file, &byte, 1, offset), 1);
            byte = (char)(byte ^ 1);
            assert_int_equal(pwrite(file, &byte, 1, offset), 1);
            assert_int_equal(close(file), 0);
            if (pass == 0) {
                expect_refusal(other_text, BB_IO, "is damaged, or was made for another source");
            } else {
                check_ok(build(other_text, &built));
                bb_build_destroy(&built);
            }
        }
    }
    bb_build_cpu_discard_unused();
    const off_t sizes[] = {about.st_size - 1, 4096, 32, 31, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        assert_int_equal(truncate(name, sizes[i]), 0);
        expect_refusal(other_text, BB_IO, name);
        assert_int_equal(counted_compiler_files(forms, name),
                         1); // not to be removed by this program
    }
}

TEST(forms_are_of_one_text, .setup_func = ready)
{
    char name[300], other[300];
    make(other_text);
    assert_int_equal(counted_compiler_files(forms, name), 1);
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    expect_refusal(
        number_text, BB_UNSUPPORTED,
        "no C compiler: /nowhere/cc is not there; no prebuilt kernel for this source in '");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(setenv("BB_CC", script, 1), 0);
    make(number_text);
    assert_int_equal(counted_compiler_files(forms, other), 1);
    assert_string_not_equal(name, other);
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    assert_int_equal(rename(other, name), 0); // intact, under the other's name
    expect_refusal(other_text, BB_IO, "was made for another source");
}

TEST(absent_folders_are_named, .setup_func = ready)
{
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    expect_refusal(other_text, BB_UNSUPPORTED, "/nowhere/cc is not there; no prebuilt kernel");
    assert_non_null(strstr(bb_status_message(), forms));
    assert_int_equal(unsetenv("BITBUDGET_PREBUILT"), 0);
    expect_refusal(other_text, BB_UNSUPPORTED, "for this source in '/");
    assert_non_null(strstr(bb_status_message(), "kernels'"));
    assert_null(strstr(bb_status_message(), forms));
}

TEST(processors_without_the_baseline_are_told, .setup_func = ready)
{
    make(other_text);
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    bb_prebuilt_set_processor(false);
    expect_refusal(other_text, BB_UNSUPPORTED, "need a processor with");
    assert_non_null(strstr(bb_status_message(), bb_host_compiler_instructions));
    bb_prebuilt_set_processor(true);
    autoptr(bb_build) built = NULL;
    check_ok(build(other_text, &built));
}

TEST(what_stands_there_is_not_made_again, .setup_func = ready)
{
    char name[300];
    for (int i = 0; i < 2; ++i) {
        make(other_text);
        assert_int_equal(counted_compiler_calls(calls), 1);
    }
    assert_int_equal(counted_compiler_files(forms, name), 1);
    assert_int_equal(truncate(name, 100), 0);
    make(other_text); // a damaged one is
    assert_int_equal(counted_compiler_calls(calls), 2);
    make(number_text);
    assert_int_equal(counted_compiler_files(forms, name), 2);
    expect_refusal("int broken = missing;\n", BB_INVALID, "missing");
    check_ok(bb_prebuilt_start_making(forms));
    check_fails(bb_prebuilt_start_making("/nowhere/forms"), BB_IO, "folder '/nowhere/forms'");
    check_fails(bb_prebuilt_start_making(script), BB_IO, "is not a folder");
    assert_false(bb_prebuilt_is_making());
}

// A folder or file that others could have changed is ignored; an installation's group may write.
TEST(forms_of_others_are_refused, .setup_func = ready)
{
    autoptr(bb_build) built = NULL;
    char name[300];
    make(number_text);
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    assert_int_equal(counted_compiler_files(forms, name), 1);
    assert_int_equal(chmod(forms, 0775), 0);
    check_ok(build(number_text, &built));
    bb_build_destroy(&built);
    assert_int_equal(chmod(forms, 0777), 0);
    check_fails(build(number_text, &built), BB_UNSUPPORTED, "is writable by other users");
    assert_int_equal(chmod(forms, 0755), 0);
    assert_int_equal(chmod(name, 0666), 0);
    check_fails(build(number_text, &built), BB_UNSUPPORTED, "is writable by other users");
    assert_int_equal(chmod(name, 0644), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(name, 12345, 12345), 0);
        check_fails(build(number_text, &built), BB_UNSUPPORTED, "is owned by user 12345");
        assert_int_equal(chown(name, 0, 0), 0);
        assert_int_equal(chown(forms, 12345, 12345), 0);
        check_fails(build(number_text, &built), BB_UNSUPPORTED, "is owned by user 12345");
        assert_int_equal(chown(forms, 0, 0), 0);
    }
    check_ok(build(number_text, &built));
}

// As in package trees.
TEST(forms_may_be_links, .setup_func = ready)
{
    char name[300], moved[64];
    bb_build *built = NULL;
    make(other_text);
    assert_int_equal(counted_compiler_files(forms, name), 1);
    (void)snprintf(moved, sizeof moved, "%s/moved", root);
    assert_int_equal(rename(name, moved), 0);
    assert_int_equal(symlink(moved, name), 0);
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    check_ok(build(other_text, &built));
    bb_build_destroy(&built);
    assert_int_equal(unlink(moved), 0);
}

// For each allocation, when a kernel is written and when it is read.
TEST(allocations_that_fail_leave_nothing, .setup_func = ready)
{
    for (int pass = 0; pass < 2; ++pass) {
        failing_allocation walk = {0};
        bb_status status = BB_OK;
        while (fail_next(&walk, status)) {
            autoptr(bb_build) built = NULL;
            status = pass == 0 ? bb_prebuilt_start_making(forms) : BB_OK;
            status = status == BB_OK ? build(other_text, &built) : status;
            bb_prebuilt_stop_making();
        }
        assert_true(walk.k > 5);
        assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    }
}

static int begin(void)
{
    if (mkdtemp(root) == NULL || setenv("BITBUDGET_CACHE", "off", 1) != 0 ||
        bb_device_open(BB_DEVICE_CPU, 0, &cpu) != BB_OK) {
        return 1;
    }
    (void)snprintf(forms, sizeof forms, "%s/forms", root);
    (void)snprintf(script, sizeof script, "%s/compiler", root);
    (void)snprintf(calls, sizeof calls, "%s/calls", root);
    counted_compiler_write(script, calls);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    bb_device_close(&cpu);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

TEST_GROUP(.begin = begin, .leave = leave, .threads = 2, .commands = "cc");
