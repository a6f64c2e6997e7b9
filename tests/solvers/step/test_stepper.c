// SPDX-License-Identifier: Apache-2.0
#include "solvers/step/stepper.h"
#include "tests/check.h"

// T1' = T1 / 2 + u, T2' = T1 + T2: by hand over three steps.
TEST(steps_by_hand)
{
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) a;
    double b[2] = {2.0, 7.0};
    double u[1] = {3.0};
    int32_t where[1] = {0};
    check_ok(bb_triplets_add(&list, 0, 0, 0.5));
    check_ok(bb_triplets_add(&list, 1, 0, 1.0));
    check_ok(bb_triplets_add(&list, 1, 1, 1.0));
    check_ok(bb_csr_assemble(2, 2, &list, &a));
    bb_stepper *stepper = new_object(bb_stepper, &a, b);
    check_ok(bb_stepper_step(stepper, 1, where, u));
    check_ok(bb_stepper_step(stepper, 1, where, u));
    check_ok(bb_stepper_step(stepper, 0, NULL, NULL));
    assert_true(bb_stepper_state(stepper)[0] == 4.5);
    assert_true(bb_stepper_state(stepper)[1] == 15.0);
    bb_stepper_destroy(&stepper);
    assert_null(stepper);
}

TEST(wrong_shapes_are_refused)
{
    bb_triplets list = {0};
    autorelease(bb_csr) a;
    bb_stepper *stepper = NULL;
    double b[3] = {1.0, 1.0, 1.0};
    check_ok(bb_csr_assemble(2, 3, &list, &a));
    check_fails(bb_stepper_create(&a, b, &stepper), BB_INVALID,
                "stepping matrix is 2 x 3; it must be square");
}
