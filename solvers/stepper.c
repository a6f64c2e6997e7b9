// SPDX-License-Identifier: Apache-2.0
#include "solvers/stepper.h"

#include "core/memory.h"

struct bb_stepper {
    const bb_csr *a;
    const double *b;
    double *state; // [n]
    double *next;  // [n]
};

bb_status bb_stepper_create(const bb_csr *a, const double *b, bb_stepper **out)
{
    bb_status status = BB_OK;
    bb_stepper *stepper = NULL;
    *out = NULL;
    BB_REQUIRE(a->rows == a->columns, BB_INVALID, "stepping matrix %td x %td, expected square",
               a->rows, a->columns);
    BB_TRY(BB_ZEROED(1, &stepper));
    *stepper = (bb_stepper){.a = a, .b = b};
    BB_TRY(BB_ZEROED(a->rows, &stepper->state));
    BB_TRY(BB_ZEROED(a->rows, &stepper->next));
    *out = stepper;
    stepper = NULL;
done:
    bb_stepper_destroy(&stepper);
    return status;
}

void bb_stepper_destroy(bb_stepper **stepper)
{
    if (*stepper != NULL) {
        BB_RELEASE(&(*stepper)->state);
        BB_RELEASE(&(*stepper)->next);
        BB_RELEASE(stepper);
    }
}

bb_status bb_stepper_step(bb_stepper *stepper, bb_index count, const int32_t *where,
                          const double *u)
{
    BB_RETURN_IF_FAILED(bb_csr_multiply(stepper->a, stepper->state, stepper->next));
    for (bb_index i = 0; i < count; ++i) {
        stepper->next[where[i]] += stepper->b[where[i]] * u[i];
    }
    double *done = stepper->state;
    stepper->state = stepper->next;
    stepper->next = done;
    return BB_OK;
}

const double *bb_stepper_state(const bb_stepper *stepper)
{
    return stepper->state;
}
