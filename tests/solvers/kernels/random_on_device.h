// SPDX-License-Identifier: Apache-2.0
//
// Random programs in device memory: the evaluator's bits, and no write behind an object.
#ifndef BB_TESTS_SOLVERS_KERNELS_RANDOM_ON_DEVICE_H
#define BB_TESTS_SOLVERS_KERNELS_RANDOM_ON_DEVICE_H

#include "tests/first_device.h"
#include "tests/solvers/kernels/random_check.h"

enum { RANDOM_ON_DEVICE = 50, RANDOM_ON_DEVICE_FEW = 8 };

// Objects of a case in device memory, each followed by a canary.
static inline void upload(const random_case *test, bb_device *device, void *blocks[FIXTURE_OBJECTS])
{
    for (int i = 0; i < test->fixture.program.object_count; ++i) {
        const size_t bytes = test->bytes[i] + (size_t)RANDOM_CANARY_BYTES;
        check_ok(bb_device_allocate(device, bytes, &blocks[i]));
        check_ok(bb_device_upload(device, blocks[i],
                                  test->blocks[COPY_READ_BACK][i] + RANDOM_CANARY_BYTES, bytes));
    }
    check_ok(bb_device_wait(device));
}

static inline void download(const random_case *test, bb_device *device,
                            void *blocks[FIXTURE_OBJECTS])
{
    for (int i = 0; i < test->fixture.program.object_count; ++i) {
        check_ok(bb_device_download(device, test->blocks[COPY_DEVICE][i] + RANDOM_CANARY_BYTES,
                                    blocks[i], test->bytes[i] + (size_t)RANDOM_CANARY_BYTES));
        bb_device_release(device, &blocks[i]);
    }
}

/// Variants; a program runs one that it has, selected by its number.
static const char *const random_variants[] = {
    "group8x4-points2-rows2-local",
    "group16x1-points4-blocked-split",
    "group4x4-points4-rows4-blocked",
    "group32x2-blocked-split",
    "group64x1-points2",
    "group16x2-points8-blocked",
    "group16x4-blocked",
    "group8x2-points1-rows4-blocked-local",
    "group128x1-split",
    "group8x1-points4-local",
    "group1x8",
    "group32x1-points16-blocked",
    "group8x8",
};
enum { RANDOM_VARIANTS = sizeof random_variants / sizeof random_variants[0] };

/// Loops, in every other program on a device that supports them.
static const char *const random_loops[] = {"tile16-rows2", "tile64", "tile1"};
enum { RANDOM_LOOPS = sizeof random_loops / sizeof random_loops[0] };

static inline bb_choice draw_choice(const bb_program *program, bb_device_kind kind, uint64_t seed)
{
    const int loops = seed % 2 == 1 ? RANDOM_LOOPS : 0;
    for (int i = 0; i < loops + RANDOM_VARIANTS; ++i) {
        bb_choice choice;
        char why[160];
        check_ok(bb_choice_read(
            i < loops ? random_loops[i]
                      : random_variants[(seed + (uint64_t)(i - loops)) % RANDOM_VARIANTS],
            &choice));
        if (bb_choice_is_legal(&choice, kind, program, why, sizeof why)) {
            return choice;
        }
    }
    return bb_choice_default(kind, program);
}

// The evaluated case against the device's result for the same data.
static inline bool is_equal_on(random_case *test, const bb_binding *binding, bb_device *device,
                               uint64_t seed)
{
    bb_assembled_kernel *kernel = NULL;
    void *blocks[FIXTURE_OBJECTS] = {NULL};
    char text[BB_CHOICE_TEXT_BYTES];
    const bb_choice choice = draw_choice(&test->fixture.program, bb_device_kind_of(device), seed);
    bb_choice_write(&choice, text);
    const bb_status status = bb_assembled_kernel_create(device, &test->fixture.program,
                                                        binding->is_inside, &choice, &kernel);
    if (status != BB_OK) {
        print_error("%s: %s\n", text, bb_status_message());
        return false;
    }
    upload(test, device, blocks);
    check_ok(bb_evaluation_run(binding));
    check_ok(bb_assembled_kernel_launch(kernel, binding, blocks));
    download(test, device, blocks);
    bb_assembled_kernel_destroy(&kernel);
    return random_case_equal(test, COPY_DEVICE, text);
}

// True if binding accepts it; a difference is reported and counted.
static inline bool check_one(uint64_t seed, bb_device *device, int *wrong)
{
    autocall(random_case_release) random_case test;
    autorelease(bb_binding) binding = {.program = NULL};
    bool accepted = false;
    random_case_create(seed, &test);
    if (test.fixture.problems.count == 0 && random_case_grow(&test)) {
        check_ok(bb_binding_create(&test.fixture.program, test.fixture.data,
                                   test.fixture.parameters, &test.fixture.problems, &binding));
        accepted = test.fixture.problems.count == 0;
    }
    if (accepted && !is_equal_on(&test, &binding, device, seed)) {
        ++*wrong;
        random_case_show(&test);
    }
    return accepted;
}

static inline int check_programs(bb_device *device, int count)
{
    const uint64_t first = 100000;
    int wrong = 0;
    uint64_t seed = first;
    for (int accepted = 0; accepted < count; ++seed) {
        accepted += check_one(seed, device, &wrong);
    }
    print_message("%d of %llu programs ran, %d differ\n", count, (unsigned long long)(seed - first),
                  wrong);
    return wrong;
}

/// Tests a device of a kind, skipped without one. The argument `few` runs few programs, a number
/// that many.
static inline int run_random_on(bb_device_kind kind)
{
    autoclose(bb_device) device = NULL;
    const int code = first_device_open(kind, &device);
    if (code != 0) {
        return code;
    }
    const int count = test_is_few()             ? RANDOM_ON_DEVICE_FEW
                      : test_argument_count > 0 ? atoi(test_arguments[0])
                                                : RANDOM_ON_DEVICE;
    const int wrong = check_programs(device, count);
    return wrong > 0;
}

#endif
