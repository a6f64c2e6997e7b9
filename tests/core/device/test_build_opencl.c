// SPDX-License-Identifier: Apache-2.0
//
// The opencl device and its builds, on the first OpenCL device of this host; skipped without one.
#include "tests/core/device/build_conformance.h"
#include "tests/core/device/device_conformance.h"
#include "tests/first_device.h"

static const build_dialect opencl_texts = {
    .entries =
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        "__kernel void axpy(__global float *y, __global const float *x, float a, int count) {\n"
        "  size_t i = get_global_id(0);\n"
        "  if (i < count) y[i] = a * x[i] + y[i];\n"
        "}\n"
        "__kernel void axpy_wide(__global double *y, __global const double *x, double a,\n"
        "                        int count) {\n"
        "  size_t i = get_global_id(0);\n"
        "  if (i < count) y[i] = a * x[i] + y[i];\n"
        "}\n"
        "__kernel void copy(__global int *target, __global const int *source, long columns,\n"
        "                   long rows) {\n"
        "  long c = get_global_id(0), r = get_global_id(1);\n"
        "  if (c < columns && r < rows) target[c * rows + r] = source[r * columns + c];\n"
        "}\n"
        "__kernel void scalars(__global double *out, int a, long b, float c, double d) {\n"
        "  out[0] = a; out[1] = b; out[2] = c; out[3] = d;\n"
        "}\n"
        "__kernel void quotient(__global float *out, __global const float *x,\n"
        "                       __global const float *y, int count) {\n"
        "  size_t i = get_global_id(0);\n"
        "  if (i < count) out[i] = x[i] / y[i] + sqrt(x[i]);\n"
        "}\n",
    .broken = "__constant int first = unknown_name;\n__constant int second = second_unknown;\n",
    .error = "unknown_name",
};

static bb_device *opencl;

TEST(arguments_are_checked)
{
    const float narrow = 1.0F;
    const double wide = 1.0;
    const int32_t count = 1;
    autoptr(bb_build) build = new_object(bb_build, opencl, opencl_texts.entries, NULL);
    void *block = allocate_on(opencl, 64);
    const bb_launch_argument arguments[][5] = {
        {{.block = block}, {.block = block}, SCALAR(wide), SCALAR(count)},
        {{.block = block}, {.block = block}, SCALAR(narrow), SCALAR(count), SCALAR(count)}};
    const bb_launch_shape shape = {{1, 1}, {1, 1}, 1};
    check_fails(bb_build_launch(build, "axpy", shape, arguments[0], 4), BB_INVALID,
                "argument 2 is invalid: a scalar of 8 bytes");
    check_fails(bb_build_launch(build, "axpy", shape, arguments[1], 5), BB_INVALID,
                "argument 4 is invalid: a scalar of 4 bytes");
    bb_build_destroy(&build);
    check_ok(bb_build_create(opencl, opencl_texts.entries, NULL, &build));
    check_fails(bb_build_launch(build, "axpy", shape, arguments[0], 2), BB_INVALID,
                "has more than 2 arguments");
    bb_device_release(opencl, &block);
}

TEST(a_part_of_a_name_chooses)
{
    char reason[256] = "";
    bb_device_report report;
    check_ok(bb_device_describe(opencl, &report));
    // The environment may already select a device.
    char given[256] = "";
    if (getenv("BB_OPENCL_DEVICE") != NULL) {
        (void)snprintf(given, sizeof given, "%s", getenv("BB_OPENCL_DEVICE"));
    }
    const bb_index count = bb_device_count(BB_DEVICE_OPENCL, NULL, 0);
    report.name[strlen(report.name) / 2 + 1] = '\0'; // a part of the name
    assert_int_equal(setenv("BB_OPENCL_DEVICE", report.name, 1), 0);
    const bb_index part = bb_device_count(BB_DEVICE_OPENCL, NULL, 0);
    assert_true(part >= 1 && part <= count);
    assert_int_equal(setenv("BB_OPENCL_DEVICE", "no such device", 1), 0);
    assert_int_equal(bb_device_count(BB_DEVICE_OPENCL, reason, sizeof reason), 0);
    assert_non_null(strstr(reason, "BB_OPENCL_DEVICE is 'no such device', available: "));
    assert_non_null(strstr(reason, report.name));
    bb_device *device = NULL;
    check_fails(bb_device_open(BB_DEVICE_OPENCL, 0, &device), BB_DEVICE, "available: ");
    assert_int_equal(
        given[0] == '\0' ? unsetenv("BB_OPENCL_DEVICE") : setenv("BB_OPENCL_DEVICE", given, 1), 0);
    assert_int_equal(bb_device_count(BB_DEVICE_OPENCL, NULL, 0), count);
}

static bb_status count_items(bb_queue *queue, bb_index begin, bb_index end, void *arguments)
{
    *(bb_index *)arguments = queue == NULL ? -1 : end - begin;
    return BB_OK;
}

TEST(kernels_have_their_own_forms)
{
    uint64_t found = 0;
    bb_index items = 0;
    void *block = allocate_on(opencl, 64);
    check_fails(bb_non_finite_count(opencl, block, BB_F64, 8, &found), BB_UNSUPPORTED,
                "kernel non_finite is not implemented on device opencl");
    bb_device_release(opencl, &block);
    const bb_kernel kernel = {.name = "count", .run[BB_DEVICE_OPENCL] = count_items};
    check_ok(bb_device_launch(opencl, &kernel, 17, &items));
    assert_int_equal(items, 17);
}

TEST(what_is_held_is_not_free)
{
    bb_device_report before, meanwhile, after;
    check_ok(bb_device_describe(opencl, &before));
    void *block = allocate_on(opencl, 1 << 20);
    check_ok(bb_device_describe(opencl, &meanwhile));
    bb_device_release(opencl, &block);
    check_ok(bb_device_describe(opencl, &after));
    assert_int_equal(before.free_memory_bytes - meanwhile.free_memory_bytes, 1 << 20);
    assert_int_equal(after.free_memory_bytes, before.free_memory_bytes);
}

// Two devices open at once each have their own memory.
TEST(opened_devices_are_apart)
{
    autoclose(bb_device) other = open_device(BB_DEVICE_OPENCL);
    void *block = allocate_on(other, 0);
    assert_null(block);
}

static int begin(void)
{
    // PoCL's cache of compiled sources stays out of the home folder.
    (void)setenv("POCL_CACHE_DIR", BB_BINARY_DIR "/tests/pocl", 0);
    const int code = device_tests_begin(BB_DEVICE_OPENCL);
    if (code != 0) {
        return code;
    }
    opencl = device_under_test;
    bb_device_report report;
    if (bb_device_describe(opencl, &report) == BB_OK) {
        print_message("%s, %s, %s\n", report.name, report.architecture, report.driver);
    }
    return build_tests_begin(opencl, &opencl_texts);
}

static void end(void)
{
    bb_build_destroy(&entries);
    device_tests_end();
}

TEST_GROUP(.begin = begin, .end = end);
