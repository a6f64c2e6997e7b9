// SPDX-License-Identifier: Apache-2.0
//
// Builds of a cuda device: NVRTC only, which needs no GPU, then the conformance tests on the first
// GPU; skipped without one.
#include "core/device/nvrtc_cuda.h"
#include "tests/core/device/build_conformance.h"
#include "tests/first_device.h"

static const build_dialect cuda_texts = {
    .entries = "#define ENTRY extern \"C\" __global__ void\n"
               "__device__ long long place(unsigned b, unsigned n, unsigned t) {\n"
               "  return (long long)b * n + t;\n}\n"
               "#define X place(blockIdx.x, blockDim.x, threadIdx.x)\n"
               "#define Y place(blockIdx.y, blockDim.y, threadIdx.y)\n"
               "ENTRY axpy(float *y, const float *x, float a, int count) {\n"
               "  if (X < count) y[X] = a * x[X] + y[X];\n"
               "}\n"
               "ENTRY axpy_wide(double *y, const double *x, double a, int count) {\n"
               "  if (X < count) y[X] = a * x[X] + y[X];\n"
               "}\n"
               "ENTRY copy(int *target, const int *source, long long columns, long long rows) {\n"
               "  if (X < columns && Y < rows) target[X * rows + Y] = source[Y * columns + X];\n"
               "}\n"
               "ENTRY scalars(double *out, int a, long long b, float c, double d) {\n"
               "  out[0] = a; out[1] = b; out[2] = c; out[3] = d;\n"
               "}\n"
               "ENTRY quotient(float *out, const float *x, const float *y, int count) {\n"
               "  if (X < count) out[X] = x[X] / y[X] + sqrtf(x[X]);\n"
               "}\n",
    .broken = "int first = unknown_name;\nint second = second_unknown;\n",
    .error = "source.cu(1): error: identifier \"unknown_name\" is undefined",
};

static bb_device *gpu;

TEST(nvrtc_needs_no_gpu)
{
    static const char elf[] = {0x7f, 'E', 'L', 'F'};
    autorelease(bb_text) log = {0};
    char *image = NULL;
    char version[32];
    check_ok(bb_nvrtc_compile(cuda_texts.entries, "sm_90", &log, &image));
    assert_non_null(image);
    assert_memory_equal(image, elf, sizeof elf);
    assert_int_equal(log.length, 0);
    BB_RELEASE(&image);
    bb_nvrtc_describe(version, sizeof version);
    assert_true(strncmp(version, "NVRTC 1", 7) == 0);
    print_message("%s\n", version);
    check_fails(bb_nvrtc_compile(cuda_texts.broken, "sm_90", &log, &image), BB_INVALID,
                cuda_texts.error);
    assert_null(image);
    assert_non_null(strstr(bb_text_string(&log), "second_unknown"));
    check_fails(bb_nvrtc_compile(cuda_texts.entries, "sm_1", &log, &image), BB_UNSUPPORTED,
                "does not compile for sm_1");
    assert_null(image);
}

// Functions without an execution space are device functions.
TEST(nvrtc_functions_are_the_devices)
{
    autorelease(bb_text) log = {0};
    autofree char *image = NULL;
    check_ok(bb_nvrtc_compile("double twice(double x) { return x + x; }\n"
                              "extern \"C\" __global__ void f(double *x) { *x = twice(*x); }\n",
                              "sm_90", &log, &image));
}

TEST(every_allocation_of_nvrtc_may_fail)
{
    const bb_index blocks = bb_memory_blocks();
    bool failed = true;
    for (bb_index k = 1; failed; ++k) {
        bb_text log = {0};
        char *image = NULL;
        bb_memory_fail_at(k);
        const bb_status status = bb_nvrtc_compile(cuda_texts.broken, "sm_90", &log, &image);
        failed = bb_memory_failure_happened();
        bb_memory_fail_at(0);
        assert_int_equal(status, failed ? BB_MEMORY : BB_INVALID);
        bb_text_release(&log);
        assert_int_equal(bb_memory_blocks(), blocks);
        assert_true(k < 100);
    }
}

TEST(grids_beyond_the_limits_are_refused)
{
    const float a = 1.0F;
    const int32_t count = 0;
    autoptr(bb_build) build = new_object(bb_build, gpu, cuda_texts.entries, NULL);
    void *block = allocate_on(gpu, 64);
    const bb_launch_argument arguments[] = {
        {.block = block}, {.block = block}, SCALAR(a), SCALAR(count)};
    const bb_launch_shape tall = {{1, 65536}, {1, 1}, 1};
    const bb_launch_shape wide = {{(bb_index)1 << 31, 1}, {1, 1}, 1};
    const bb_launch_shape widest = {{((bb_index)1 << 31) - 1, 1}, {1, 1}, 1};
    check_fails(bb_build_launch(build, "axpy", tall, arguments, 4), BB_UNSUPPORTED, "1 x 65536");
    check_fails(bb_build_launch(build, "axpy", wide, arguments, 4), BB_UNSUPPORTED,
                "2147483648 x 1 work-groups");
    check_ok(bb_build_launch(build, "axpy", widest, arguments, 4));
    bb_build_limits limits;
    check_ok(bb_build_find_limits(build, "axpy", &limits));
    assert_true(limits.group_items >= 256 && limits.group_items <= 1024);
    assert_true(limits.local_bytes >= 49152);
    check_ok(bb_device_wait(gpu));
    bb_device_release(gpu, &block);
}

// Two open devices of a GPU share a compiled module; one continues when the other is closed.
TEST(what_is_shared_outlives_the_first_user)
{
    enum { N = 100 };
    bb_device *devices[2] = {NULL, NULL};
    bb_build *builds[2] = {NULL, NULL};
    void *memory[2] = {NULL, NULL};
    const float a = 0.0F;
    const int32_t count = N;
    const bb_launch_shape shape = {{1, 1}, {128, 1}, 1};
    for (int i = 0; i < 2; ++i) {
        check_ok(bb_device_open(BB_DEVICE_CUDA, 0, &devices[i]));
        check_ok(bb_build_create(devices[i], cuda_texts.entries, NULL, &builds[i]));
        check_ok(bb_device_allocate(devices[i], N * sizeof(float), &memory[i]));
        check_ok(bb_device_zero(devices[i], memory[i], N * sizeof(float)));
    }
    bb_build_destroy(&builds[0]);
    const bb_launch_argument arguments[] = {
        {.block = memory[1]}, {.block = memory[1]}, SCALAR(a), SCALAR(count)};
    check_ok(bb_build_launch(builds[1], "axpy", shape, arguments, 4));
    check_ok(bb_device_wait(devices[1]));
    bb_build_destroy(&builds[1]);
    check_ok(bb_build_create(devices[0], cuda_texts.entries, NULL, &builds[0])); // loaded again
    check_ok(bb_build_launch(builds[0], "axpy", shape, arguments, 4));
    check_ok(bb_device_wait(devices[0]));
    bb_build_destroy(&builds[0]);
    for (int i = 0; i < 2; ++i) {
        bb_device_release(devices[i], &memory[i]);
        bb_device_close(&devices[i]);
    }
}

// If the driver reports an entry's arguments.
TEST(arguments_are_checked)
{
    const double wide = 1.0;
    const float narrow = 1.0F;
    const int32_t count = 0;
    const bb_launch_shape shape = {{1, 1}, {1, 1}, 1};
    autoptr(bb_build) build = new_object(bb_build, gpu, cuda_texts.entries, NULL);
    void *block = allocate_on(gpu, 64);
    const bb_launch_argument arguments[][5] = {
        {{.block = block}, {.block = block}, SCALAR(wide), SCALAR(count)},
        {{.block = block}, {.block = block}, SCALAR(narrow), SCALAR(count), SCALAR(count)}};
    check_fails(bb_build_launch(build, "axpy", shape, arguments[0], 4), BB_INVALID,
                "argument 2 is invalid: a scalar of 8 bytes");
    check_fails(bb_build_launch(build, "axpy", shape, arguments[1], 5), BB_INVALID,
                "argument 4 is invalid: a scalar of 4 bytes");
    check_fails(bb_build_launch(build, "axpy", shape, arguments[1], 3), BB_INVALID,
                "has more than 3 arguments");
    bb_device_release(gpu, &block);
}

// Tests of NVRTC need no GPU; the others are skipped without one.
static int begin(void)
{
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) == 0) {
        cmocka_set_test_filter("*nvrtc*");
        return 0;
    }
    return bb_device_open(BB_DEVICE_CUDA, 0, &gpu) == BB_OK ? build_tests_begin(gpu, &cuda_texts)
                                                            : 1;
}

static void end(void)
{
    bb_build_destroy(&entries);
    bb_device_close(&gpu);
}

TEST_GROUP(.begin = begin, .end = end);
