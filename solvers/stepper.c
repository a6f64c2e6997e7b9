// SPDX-License-Identifier: Apache-2.0
#include "solvers/stepper.h"

#include "core/memory.h"
#include "core/thread.h"

struct bb_stepper {
    const bb_csr *a;
    const double *b;
    const double *u;
    bb_index inputs;
    double *state; // [n]
    double *next;  // [n]
};

bb_status bb_stepper_create(const bb_csr *a, const double *b, bb_index inputs, bb_stepper **out)
{
    bb_status status = BB_OK;
    bb_stepper *stepper = NULL;
    *out = NULL;
    BB_REQUIRE(a->rows == a->columns && inputs <= a->rows, BB_INVALID,
               "stepping matrix %td x %td with %td inputs, expected square and no more inputs",
               a->rows, a->columns, inputs);
    BB_TRY(BB_ZEROED(1, &stepper));
    *stepper = (bb_stepper){.a = a, .b = b, .inputs = inputs};
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

static bb_status add_input(void *context, bb_index begin, bb_index end)
{
    bb_stepper *stepper = context;
    for (bb_index i = begin; i < end; ++i) {
        stepper->next[i] += stepper->b[i] * stepper->u[i];
    }
    return BB_OK;
}

bb_status bb_stepper_step(bb_stepper *stepper, const double *u)
{
    BB_RETURN_IF_FAILED(bb_csr_multiply(stepper->a, stepper->state, stepper->next));
    if (u != NULL) {
        stepper->u = u;
        BB_RETURN_IF_FAILED(bb_parallel_ranges(stepper->inputs, 16384, add_input, stepper));
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
