// SPDX-License-Identifier: Apache-2.0
#include "solvers/step/stepper.h"
#include "tests/need.h"

enum { N = 5000 };

TEST(a_stepper_takes_what_it_says)
{
    bb_triplets list = {0};
    autorelease(bb_csr) matrix = {0};
    bb_stepper *stepper = NULL;
    autofree double *diagonal = new_array(double, N);
    need_start();
    for (bb_index i = 0; i < N; ++i) {
        diagonal[i] = 1.0;
        check_ok(bb_triplets_add(&list, i, i, 2.0));
        check_ok(bb_triplets_add(&list, i, (i + 1) % N, -1.0));
        check_ok(bb_triplets_add(&list, (i + 1) % N, i, -1.0));
    }
    check_ok(bb_csr_assemble(N, N, &list, &matrix));
    need_stop();
    bb_triplets_release(&list);
    need_hold("csr", bb_csr_assemble_need(N, 3.0 * N), NEED_LOOSENESS);
    need_stop_held();
    need_hold("csr, held", bb_csr_resident(N, 3.0 * N), NEED_LOOSENESS);
    for (int implicit = 0; implicit <= 1; ++implicit) {
        need_start();
        check_ok(implicit ? bb_stepper_create_implicit(&matrix, diagonal, 0.1, &stepper)
                          : bb_stepper_create(&matrix, diagonal, &stepper));
        check_ok(bb_stepper_step(stepper, 0, NULL, NULL));
        need_stop();
        need_hold(implicit ? "stepper, implicit" : "stepper", bb_stepper_need(N, implicit),
                  NEED_LOOSENESS);
        bb_stepper_destroy(&stepper);
    }
}
