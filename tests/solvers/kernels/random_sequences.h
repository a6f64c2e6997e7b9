// SPDX-License-Identifier: Apache-2.0
//
// Random programs as steps of one source: the evaluator's bits, and no write behind an object.
#ifndef BB_TESTS_SOLVERS_KERNELS_RANDOM_SEQUENCES_H
#define BB_TESTS_SOLVERS_KERNELS_RANDOM_SEQUENCES_H

#include "solvers/kernels/assembled_sequence.h"
#include "tests/first_device.h"
#include "tests/solvers/kernels/random_on_device.h"

enum { RANDOM_STEPS = 16, RANDOM_SEQUENCES = 8 };

typedef struct random_step {
    random_case test;
    bb_binding binding;
    void *blocks[FIXTURE_OBJECTS];
} random_step;

static inline void random_step_release(random_step *step)
{
    bb_binding_release(&step->binding);
    random_case_release(&step->test);
}

// True if program `seed` may be a step.
static inline bool random_step_create(uint64_t seed, random_step *out)
{
    random_case *test = &out->test;
    out->binding = (bb_binding){.program = NULL};
    random_case_create(seed, test);
    if (test->fixture.problems.count == 0 && random_case_grow(test)) {
        check_ok(bb_binding_create(&test->fixture.program, test->fixture.data,
                                   test->fixture.parameters, &test->fixture.problems,
                                   &out->binding));
    }
    if (out->binding.program != NULL && bb_assembled_sequence_supports(&out->binding)) {
        return true;
    }
    random_step_release(out);
    return false;
}

// Runs all steps in one launch; returns the number that differ from the evaluator.
static inline int check_sequence(bb_device *device, random_step steps[RANDOM_STEPS])
{
    bb_assembled_step assembled[RANDOM_STEPS];
    int wrong = 0;
    for (int i = 0; i < RANDOM_STEPS; ++i) {
        upload(&steps[i].test, device, steps[i].blocks);
        check_ok(bb_evaluation_run(&steps[i].binding));
        assembled[i] = (bb_assembled_step){&steps[i].binding, steps[i].blocks};
    }
    autoptr(bb_assembled_sequence) sequence =
        new_object(bb_assembled_sequence, device, assembled, RANDOM_STEPS);
    autoptr(bb_build) build =
        new_object(bb_build, device, bb_assembled_sequence_source(sequence), NULL);
    check_ok(bb_assembled_sequence_launch(sequence, build, 0, RANDOM_STEPS));
    for (int i = 0; i < RANDOM_STEPS; ++i) {
        download(&steps[i].test, device, steps[i].blocks);
        if (!random_case_equal(&steps[i].test, COPY_DEVICE, "joined")) {
            ++wrong;
            random_case_show(&steps[i].test);
        }
    }
    return wrong;
}

static inline void steps_give_the_bits_of_the_evaluator(void **state)
{
    static random_step steps[RANDOM_STEPS];
    uint64_t seed = 0;
    int wrong = 0;
    for (int round = 0; round < RANDOM_SEQUENCES; ++round) {
        for (int i = 0; i < RANDOM_STEPS; ++seed) {
            i += random_step_create(seed, &steps[i]);
        }
        wrong += check_sequence(*state, steps);
        for (int i = 0; i < RANDOM_STEPS; ++i) {
            random_step_release(&steps[i]);
        }
    }
    print_message("%d of %llu programs were steps, %d differ\n", RANDOM_SEQUENCES * RANDOM_STEPS,
                  (unsigned long long)seed, wrong);
    assert_int_equal(wrong, 0);
}

/// A test program on the first device of a kind; skipped without one.
static inline int run_random_sequences_on(bb_device_kind kind)
{
    autoclose(bb_device) device = NULL;
    const int absent = first_device_open(kind, &device);
    if (absent != 0) {
        return absent;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(steps_give_the_bits_of_the_evaluator, device),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed;
}

#endif
