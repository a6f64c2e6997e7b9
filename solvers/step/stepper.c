// SPDX-License-Identifier: Apache-2.0
#include "solvers/step/stepper.h"

#include "core/memory.h"
#include "solvers/step/shifted_cg.h"

#include <string.h>

static const double TOLERANCE = 1e-13;

struct bb_stepper {
    const bb_csr *matrix; // A, or S of implicit steps
    const double *b;      // B of explicit steps
    const double *m;      // M of implicit steps, else NULL
    double step;
    bb_shifted_cg *solver;
    double *state;    // [n]
    double *next;     // [n]
    double *diagonal; // [n] M + g/2 of implicit steps
    double *right;    // [n]
};

static bb_status create(const bb_stepper *like, bb_stepper **out)
{
    bb_status status = BB_OK;
    bb_stepper *stepper = NULL;
    const bb_csr *matrix = like->matrix;
    *out = NULL;
    BB_REQUIRE(matrix->rows == matrix->columns, BB_INVALID,
               "stepping matrix %td x %td, expected square", matrix->rows, matrix->columns);
    BB_TRY(BB_ZEROED(1, &stepper));
    *stepper = *like;
    BB_TRY(BB_ZEROED(matrix->rows, &stepper->state));
    BB_TRY(BB_ZEROED(matrix->rows, &stepper->next));
    if (like->m != NULL) {
        BB_TRY(BB_ALLOCATE(matrix->rows, &stepper->diagonal));
        BB_TRY(BB_ALLOCATE(matrix->rows, &stepper->right));
        memcpy(stepper->diagonal, like->m, (size_t)matrix->rows * sizeof *like->m);
        BB_TRY(bb_shifted_cg_create(matrix, 0.5 * like->step, &stepper->solver));
    }
    *out = stepper;
    stepper = NULL;
done:
    bb_stepper_destroy(&stepper);
    return status;
}

bb_status bb_stepper_create(const bb_csr *a, const double *b, bb_stepper **out)
{
    return create(&(bb_stepper){.matrix = a, .b = b}, out);
}

bb_status bb_stepper_create_implicit(const bb_csr *s, const double *m, double step,
                                     bb_stepper **out)
{
    return create(&(bb_stepper){.matrix = s, .m = m, .step = step}, out);
}

void bb_stepper_destroy(bb_stepper **stepper)
{
    if (*stepper != NULL) {
        bb_shifted_cg_destroy(&(*stepper)->solver);
        BB_RELEASE(&(*stepper)->state);
        BB_RELEASE(&(*stepper)->next);
        BB_RELEASE(&(*stepper)->diagonal);
        BB_RELEASE(&(*stepper)->right);
        BB_RELEASE(stepper);
    }
}

// T_i - T_out, or T_i + T_j - T_out.
static double excess(const bb_stepper_input *in, bb_index i, const double *at)
{
    return in->partner == 0 ? at[i] - in->outside : at[i] + at[i + in->partner] - in->outside;
}

static bb_status step_explicit(bb_stepper *stepper, const bb_stepper_input *in)
{
    bb_status status = BB_OK;
    BB_TRY(bb_csr_multiply(stepper->matrix, stepper->state, stepper->next));
    for (bb_index i = 0; i < in->count; ++i) {
        stepper->next[in->where[i]] += stepper->b[in->where[i]] * in->u[i];
    }
    for (bb_index i = 0; i < in->exchange_count; ++i) {
        int32_t at = in->exchange_where[i];
        double above = excess(in, at, stepper->state);
        stepper->next[at] -= stepper->b[at] * in->exchange[i] * above;
        if (in->partner != 0) {
            const bb_index other = at + in->partner;
            stepper->next[other] -= stepper->b[other] * in->exchange[i] * above;
        }
    }
    double *start = stepper->state;
    stepper->state = stepper->next;
    stepper->next = start;
done:
    return status;
}

// right <- u - dt S T - g (T - T_out) at the temperatures `at`.
static bb_status gain(bb_stepper *stepper, const bb_stepper_input *in, const double *at)
{
    bb_status status = BB_OK;
    double *right = stepper->right;
    BB_TRY(bb_csr_multiply(stepper->matrix, at, right));
    for (bb_index i = 0; i < stepper->matrix->rows; ++i) {
        right[i] *= -stepper->step;
    }
    for (bb_index i = 0; i < in->count; ++i) {
        right[in->where[i]] += in->u[i];
    }
    for (bb_index i = 0; i < in->exchange_count; ++i) {
        int32_t where = in->exchange_where[i];
        const double lost = in->exchange[i] * excess(in, where, at);
        right[where] -= lost;
        if (in->partner != 0) {
            right[where + in->partner] -= lost;
        }
    }
done:
    return status;
}

static bb_status step_implicit(bb_stepper *stepper, const bb_stepper_input *in)
{
    bb_status status = BB_OK;
    const bb_index n = stepper->matrix->rows;
    double *middle = stepper->next;
    for (bb_index i = 0; i < in->exchange_count; ++i) {
        stepper->diagonal[in->exchange_where[i]] += 0.5 * in->exchange[i];
        if (in->partner != 0) {
            stepper->diagonal[in->exchange_where[i] + in->partner] += 0.5 * in->exchange[i];
        }
    }
    BB_TRY(gain(stepper, in, stepper->state));
    BB_TRY(
        bb_shifted_cg_solve(stepper->solver, stepper->diagonal, stepper->right, TOLERANCE, middle));
    for (bb_index i = 0; i < n; ++i) {
        middle[i] = stepper->state[i] + 0.5 * middle[i];
    }
    BB_TRY(gain(stepper, in, middle));
    for (bb_index i = 0; i < n; ++i) {
        stepper->state[i] += stepper->right[i] / stepper->m[i];
    }
done:
    for (bb_index i = 0; i < in->exchange_count; ++i) {
        const bb_index at = in->exchange_where[i];
        stepper->diagonal[at] = stepper->m[at];
        stepper->diagonal[at + in->partner] = stepper->m[at + in->partner];
    }
    return status;
}

bb_status bb_stepper_advance(bb_stepper *stepper, const bb_stepper_input *input)
{
    return stepper->m == NULL ? step_explicit(stepper, input) : step_implicit(stepper, input);
}

bb_status bb_stepper_step(bb_stepper *stepper, bb_index count, const int32_t *where,
                          const double *u)
{
    return bb_stepper_advance(stepper, &(bb_stepper_input){.count = count, .where = where, .u = u});
}

void bb_stepper_set(bb_stepper *stepper, bb_index first, bb_index count, const double *values)
{
    memcpy(stepper->state + first, values, (size_t)count * sizeof *values);
}

const double *bb_stepper_state(const bb_stepper *stepper)
{
    return stepper->state;
}

const double *bb_stepper_exchanged(const bb_stepper *stepper)
{
    return stepper->next;
}
