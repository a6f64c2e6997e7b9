// SPDX-License-Identifier: Apache-2.0
//
// Correct variants of every kernel pass on the CPU. Wrong numbers, a write beyond an object and a
// source that does not match the choice are found.
#include "solvers/kernels/tuning/manager_subject.h"
#include "solvers/kernels/tuning/verification.h"
#include "tests/cpu_device.h"
#include "tests/solvers/kernels/manager_program.h"

// Verifies the program of `text` (NULL: the manager's own) as if it were the manager's.
static void verify(const char *name, const char *type, const char *text, const char *variant,
                   bb_trial *out)
{
    autocall(fixture_release) program_fixture other;
    const bb_kernel_manager *manager = manager_of(name);
    bb_choice choice;
    bool is_inside[16];
    autoptr(bb_manager_subject) subject = new_object(bb_manager_subject, manager, type);
    const bb_program *program = bb_manager_subject_table(subject)->program;
    if (text != NULL) {
        fixture_make(&other, text, "T", type);
    } else {
        make_manager(&other, manager, type);
    }
    assert_true(other.program.step_count <= 16 && program->step_count <= 16);
    for (int i = 0; i < 16; ++i) {
        // A claim that only an inconsistent source can make.
        is_inside[i] =
            text != NULL && i < program->step_count && program->steps[i].kind <= BB_STEP_WRITE;
    }
    choice = bb_choice_default(BB_DEVICE_CPU, program);
    if (variant != NULL) {
        check_ok(bb_choice_read(variant, &choice));
    }
    autoptr(bb_verification) verification =
        new_object(bb_verification, bb_manager_subject_table(subject));
    autoptr(bb_assembled_kernel) kernel =
        new_object(bb_assembled_kernel, cpu, &other.program, is_inside, &choice);
    check_ok(bb_verification_check(verification, cpu, &choice, is_inside, kernel, out));
}

TEST(every_kernel_is_right)
{
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    for (int i = 0; i < count; ++i) {
        bb_trial trial;
        verify(managers[i].name, i % 2 == 0 ? "SP" : "DP", NULL, NULL, &trial);
        if (trial.status != BB_TRIAL_RIGHT) {
            print_error("%s: %s\n", managers[i].name, trial.why);
        }
        assert_int_equal(trial.status, BB_TRIAL_RIGHT);
    }
}

TEST(another_order_of_sums_has_its_own_bits)
{
    bb_trial trial;
    verify("gemv", "SP", NULL, "tile16-order32x2048", &trial);
    assert_int_equal(trial.status, BB_TRIAL_RIGHT);
    verify("l2norm", "DP", NULL, "group1x1-order16x1024", &trial);
    assert_int_equal(trial.status, BB_TRIAL_RIGHT);
}

TEST(other_numbers_are_wrong)
{
    bb_trial trial;
    verify("add", "SP",
           "kernel Add (A, B, C: matrix T)\nfor x in C.columns, y in C.rows\n"
           "  C[x, y] = A[x, y] - B[x, y]\n",
           NULL, &trial);
    assert_int_equal(trial.status, BB_TRIAL_WRONG);
    assert_non_null(strstr(trial.why, "C[0] is "));
    // A sum in another order than the choice states.
    verify("gemv", "SP",
           "kernel MV (A: matrix T; b, c: vector T)\nfor row in c.size\n"
           "  s = sum (k in A.columns) A[A.columns - 1 - k, row] * b[A.columns - 1 - k]\n"
           "  c[row] = s\n",
           NULL, &trial);
    assert_int_equal(trial.status, BB_TRIAL_WRONG);
}

TEST(what_lies_beside_an_object_is_seen)
{
    bb_trial trial;
    verify("add", "DP",
           "kernel Add (A, B, C: matrix T)\nfor x in C.columns, y in C.rows\n"
           "  C[x + 1, y | clamp] = A[x, y] + B[x, y]\n",
           NULL, &trial);
    assert_int_equal(trial.status, BB_TRIAL_WRONG);
    assert_non_null(strstr(trial.why, "writes outside C"));
    verify("add", "SP",
           "kernel Add (A, B, C: matrix T)\nfor x in C.columns, y in C.rows\n"
           "  C[x, y] = A[x - 1, y | clamp] + B[x, y]\n",
           NULL, &trial);
    assert_int_equal(trial.status, BB_TRIAL_WRONG);
}

TEST(elements_are_compared_to_the_bit)
{
    const float zero[] = {1.0F, 0.0F, NAN};
    const float minus[] = {1.0F, -0.0F, NAN};
    const float nan[] = {1.0F, 0.0F, -NAN};
    bb_index first = -1;
    assert_true(bb_verification_equal(BB_ELEMENT_SP, zero, zero, 3, &first));
    assert_true(bb_verification_equal(BB_ELEMENT_SP, zero, nan, 3, &first));
    assert_int_equal(first, -1);
    assert_false(bb_verification_equal(BB_ELEMENT_SP, zero, minus, 3, &first));
    assert_int_equal(first, 1);
    assert_true(bb_verification_equal(BB_ELEMENT_SP, zero, minus, 1, &first));
}

TEST(failures_of_the_host_are_none_of_a_variant)
{
    bb_trial trial = {.status = BB_TRIAL_RIGHT};
    assert_false(bb_trial_is_failure(BB_MEMORY, &trial));
    assert_false(bb_trial_is_failure(BB_IO, &trial));
    assert_int_equal(trial.status, BB_TRIAL_RIGHT);
    assert_true(bb_trial_is_failure(BB_INTERNAL, &trial));
    assert_int_equal(trial.status, BB_TRIAL_COMPILE);
    assert_true(bb_trial_is_failure(BB_UNSUPPORTED, &trial));
    assert_int_equal(trial.status, BB_TRIAL_LIMIT);
    assert_true(bb_trial_is_failure(BB_DEVICE, &trial));
    assert_int_equal(trial.status, BB_TRIAL_RUN);
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu, .threads = 2);
