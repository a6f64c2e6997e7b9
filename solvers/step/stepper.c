// SPDX-License-Identifier: Apache-2.0
#include "solvers/step/stepper.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-13;

struct bb_stepper {
    const bb_csr *matrix; // A, or S for implicit steps
    const double *b;      // B for explicit steps
    const double *m;      // M for implicit steps, else NULL
    double step;
    bb_shifted_cg *solver;
    bb_narrow_formats formats; // format and scale of narrow steps
    bb_narrow_matrix *narrow;  // A for narrow steps, else NULL
    double *state;             // [n]
    double *next;              // [n]
    double *diagonal;          // [n] M + g/2 for implicit steps
    double *right;             // [n]
};

static bb_status create(const bb_stepper *like, bb_stepper **out)
{
    bb_status status = BB_OK;
    bb_stepper *stepper = NULL;
    const bb_csr *matrix = like->matrix;
    *out = NULL;
    BB_REQUIRE(matrix->rows == matrix->columns, BB_INVALID,
               "stepping matrix is %td x %td; it must be square", matrix->rows, matrix->columns);
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

bb_status bb_stepper_create_narrow(const bb_csr *a, const double *b,
                                   const bb_narrow_formats *formats, bb_stepper **out)
{
    bb_status status = BB_OK;
    BB_TRY(create(&(bb_stepper){.matrix = a, .b = b, .formats = *formats}, out));
    BB_TRY(bb_narrow_matrix_create(a, formats, &(*out)->narrow));
done:
    if (status != BB_OK) {
        bb_stepper_destroy(out);
    }
    return status;
}

bb_status bb_stepper_create_implicit(const bb_csr *s, const double *m, double step,
                                     bb_stepper **out)
{
    return create(&(bb_stepper){.matrix = s, .m = m, .step = step}, out);
}

bb_need bb_stepper_need(double unknowns, bool implicit)
{
    const bb_need object = {.host_bytes = sizeof(bb_stepper) +
                                          (implicit ? 4.0 : 2.0) * unknowns * sizeof(double)};
    return implicit ? bb_need_together(object, bb_shifted_cg_need(unknowns)) : object;
}

bb_need bb_stepper_step_need(double unknowns, bool implicit, double threads)
{
    static const double updates_per_second = 1.0e8;
    const double updates = implicit ? 20.0 : 1.0; // about twelve products with the matrix
    return (bb_need){.seconds = updates * unknowns / (updates_per_second * threads)};
}

void bb_stepper_destroy(bb_stepper **stepper)
{
    if (*stepper != NULL) {
        bb_shifted_cg_destroy(&(*stepper)->solver);
        bb_narrow_matrix_destroy(&(*stepper)->narrow);
        BB_RELEASE(&(*stepper)->state);
        BB_RELEASE(&(*stepper)->next);
        BB_RELEASE(&(*stepper)->diagonal);
        BB_RELEASE(&(*stepper)->right);
        BB_RELEASE(stepper);
    }
}

// Temperature difference that drives the exchange: T_i - T_out, or T_i + T_j - T_out with a partner
// j.
static double excess(const bb_stepper_input *input, bb_index i, const double *cursor)
{
    return input->partner == 0 ? cursor[i] - input->outside
                               : cursor[i] + cursor[i + input->partner] - input->outside;
}

static bb_status step_explicit(bb_stepper *stepper, const bb_stepper_input *input)
{
    bb_status status = BB_OK;
    BB_TRY(bb_csr_multiply(stepper->matrix, stepper->state, stepper->next));
    for (bb_index i = 0; i < input->count; ++i) {
        stepper->next[input->where[i]] += stepper->b[input->where[i]] * input->u[i];
    }
    for (bb_index i = 0; i < input->exchange_count; ++i) {
        int32_t index = input->exchange_where[i];
        double above = excess(input, index, stepper->state);
        stepper->next[index] -= stepper->b[index] * input->exchange[i] * above;
        if (input->partner != 0) {
            const bb_index other = index + input->partner;
            stepper->next[other] -= stepper->b[other] * input->exchange[i] * above;
        }
    }
    double *start = stepper->state;
    stepper->state = stepper->next;
    stepper->next = start;
done:
    return status;
}

// Returns next[i] + change in the format of sums.
static void add_narrow(bb_stepper *stepper, bb_index i, double change)
{
    stepper->next[i] = bb_narrow_formats_add(&stepper->formats, stepper->next[i], change);
}

static bb_status step_narrow(bb_stepper *stepper, const bb_stepper_input *input)
{
    bb_status status = BB_OK;
    const bb_narrow_formats *formats = &stepper->formats;
    BB_TRY(bb_narrow_matrix_multiply(stepper->narrow, stepper->state, stepper->next));
    for (bb_index i = 0; i < input->count; ++i) {
        const int32_t index = input->where[i];
        add_narrow(stepper, index,
                   bb_narrow_formats_operand(formats, stepper->b[index] * input->u[i]));
    }
    for (bb_index i = 0; i < input->exchange_count; ++i) {
        const int32_t index = input->exchange_where[i];
        const double above =
            bb_narrow_formats_operand(formats, excess(input, index, stepper->state));
        for (bb_index k = 0; k < (input->partner == 0 ? 1 : 2); ++k) {
            const bb_index unknown = index + k * input->partner;
            const double share = bb_narrow_matrix_coefficient(
                stepper->narrow, stepper->b[unknown] * input->exchange[i]);
            add_narrow(stepper, unknown, -bb_narrow_formats_multiply(formats, share, above));
        }
    }
    BB_TRY(bb_narrow_formats_store_all(formats, stepper->matrix->rows, stepper->next));
    double *start = stepper->state;
    stepper->state = stepper->next;
    stepper->next = start;
done:
    return status;
}

// right <- u - dt S T - g (T - T_out), with T = `at`.
static bb_status gain(bb_stepper *stepper, const bb_stepper_input *input, const double *cursor)
{
    bb_status status = BB_OK;
    double *right = stepper->right;
    BB_TRY(bb_csr_multiply(stepper->matrix, cursor, right));
    for (bb_index i = 0; i < stepper->matrix->rows; ++i) {
        right[i] *= -stepper->step;
    }
    for (bb_index i = 0; i < input->count; ++i) {
        right[input->where[i]] += input->u[i];
    }
    for (bb_index i = 0; i < input->exchange_count; ++i) {
        int32_t where = input->exchange_where[i];
        const double lost = input->exchange[i] * excess(input, where, cursor);
        right[where] -= lost;
        if (input->partner != 0) {
            right[where + input->partner] -= lost;
        }
    }
done:
    return status;
}

static bb_status step_implicit(bb_stepper *stepper, const bb_stepper_input *input)
{
    bb_status status = BB_OK;
    const bb_index n = stepper->matrix->rows;
    double *middle = stepper->next;
    for (bb_index i = 0; i < input->exchange_count; ++i) {
        stepper->diagonal[input->exchange_where[i]] += 0.5 * input->exchange[i];
        if (input->partner != 0) {
            stepper->diagonal[input->exchange_where[i] + input->partner] +=
                0.5 * input->exchange[i];
        }
    }
    BB_TRY(gain(stepper, input, stepper->state));
    BB_TRY(
        bb_shifted_cg_solve(stepper->solver, stepper->diagonal, stepper->right, TOLERANCE, middle));
    for (bb_index i = 0; i < n; ++i) {
        middle[i] = stepper->state[i] + 0.5 * middle[i];
    }
    BB_TRY(gain(stepper, input, middle));
    for (bb_index i = 0; i < n; ++i) {
        stepper->state[i] += stepper->right[i] / stepper->m[i];
    }
done:
    for (bb_index i = 0; i < input->exchange_count; ++i) {
        const bb_index index = input->exchange_where[i];
        stepper->diagonal[index] = stepper->m[index];
        stepper->diagonal[index + input->partner] = stepper->m[index + input->partner];
    }
    return status;
}

bb_status bb_stepper_advance(bb_stepper *stepper, const bb_stepper_input *input)
{
    return stepper->narrow != NULL ? step_narrow(stepper, input)
           : stepper->m == NULL    ? step_explicit(stepper, input)
                                   : step_implicit(stepper, input);
}

bb_status bb_stepper_step(bb_stepper *stepper, bb_index count, const int32_t *where,
                          const double *u)
{
    return bb_stepper_advance(stepper, &(bb_stepper_input){.count = count, .where = where, .u = u});
}

void bb_stepper_set(bb_stepper *stepper, bb_index first, bb_index count, const double *values)
{
    memcpy(stepper->state + first, values, (size_t)count * sizeof *values);
    for (bb_index i = first; stepper->narrow != NULL && i < first + count; ++i) {
        stepper->state[i] = bb_narrow_formats_store(&stepper->formats, stepper->state[i]);
    }
}

const double *bb_stepper_state(const bb_stepper *stepper)
{
    return stepper->state;
}

const double *bb_stepper_exchanged(const bb_stepper *stepper)
{
    return stepper->next;
}

enum { GRAIN = 4096, MOST_ITERATIONS = 10000 };

struct bb_shifted_cg {
    const bb_csr *matrix;
    double scale;
    double *matrix_diagonal; // [n] diagonal of S
    double *inverse;         // [n] preconditioner
    double *r, *p, *q;       // [n] each
    double *parts;           // [ranges] partial sums
    const double *diagonal;  // D of the current solve
    double *x;               // solution of the current solve
    double alpha, beta;
    bb_index iterations;
};

bb_status bb_shifted_cg_create(const bb_csr *matrix, double scale, bb_shifted_cg **out)
{
    bb_status status = BB_OK;
    bb_shifted_cg *solver = NULL;
    const bb_index n = matrix->rows;
    *out = NULL;
    BB_REQUIRE(n == matrix->columns, BB_INVALID, "system matrix is %td x %td; it must be square", n,
               matrix->columns);
    BB_TRY(BB_ZEROED(1, &solver));
    solver->matrix = matrix;
    solver->scale = scale;
    BB_TRY(BB_ZEROED(n, &solver->matrix_diagonal));
    BB_TRY(BB_ALLOCATE(n, &solver->inverse));
    BB_TRY(BB_ALLOCATE(n, &solver->r));
    BB_TRY(BB_ALLOCATE(n, &solver->p));
    BB_TRY(BB_ALLOCATE(n, &solver->q));
    BB_TRY(BB_ALLOCATE((n + GRAIN - 1) / GRAIN, &solver->parts));
    for (bb_index row = 0; row < n; ++row) {
        for (bb_index i = matrix->row_start[row]; i < matrix->row_start[row + 1]; ++i) {
            if (matrix->column[i] == row) {
                solver->matrix_diagonal[row] = matrix->value[i];
            }
        }
    }
    *out = solver;
    solver = NULL;
done:
    bb_shifted_cg_destroy(&solver);
    return status;
}

bb_need bb_shifted_cg_need(double unknowns)
{
    return (bb_need){.host_bytes = sizeof(bb_shifted_cg) +
                                   (5.0 * unknowns + ceil(unknowns / GRAIN)) * sizeof(double)};
}

void bb_shifted_cg_destroy(bb_shifted_cg **solver)
{
    if (*solver != NULL) {
        BB_RELEASE(&(*solver)->matrix_diagonal);
        BB_RELEASE(&(*solver)->inverse);
        BB_RELEASE(&(*solver)->r);
        BB_RELEASE(&(*solver)->p);
        BB_RELEASE(&(*solver)->q);
        BB_RELEASE(&(*solver)->parts);
        BB_RELEASE(solver);
    }
}

// p <- M^-1 r + beta p.
static bb_status turn(void *context, bb_index begin, bb_index end)
{
    bb_shifted_cg *s = context;
    for (bb_index i = begin; i < end; ++i) {
        s->p[i] = s->inverse[i] * s->r[i] + s->beta * s->p[i];
    }
    return BB_OK;
}

// q <- D p + s q, where q contains S p; p q by ranges.
static bb_status shift(void *context, bb_index begin, bb_index end)
{
    bb_shifted_cg *s = context;
    double sum = 0.0;
    for (bb_index i = begin; i < end; ++i) {
        s->q[i] = s->diagonal[i] * s->p[i] + s->scale * s->q[i];
        sum += s->p[i] * s->q[i];
    }
    s->parts[begin / GRAIN] = sum;
    return BB_OK;
}

// x <- x + alpha p, r <- r - alpha q, and r M^-1 r by ranges.
static bb_status move(void *context, bb_index begin, bb_index end)
{
    bb_shifted_cg *s = context;
    double sum = 0.0;
    for (bb_index i = begin; i < end; ++i) {
        s->x[i] += s->alpha * s->p[i];
        s->r[i] -= s->alpha * s->q[i];
        sum += s->r[i] * s->inverse[i] * s->r[i];
    }
    s->parts[begin / GRAIN] = sum;
    return BB_OK;
}

static double sum_parts(const bb_shifted_cg *solver)
{
    double sum = 0.0;
    for (bb_index i = 0; i < (solver->matrix->rows + GRAIN - 1) / GRAIN; ++i) {
        sum += solver->parts[i];
    }
    return sum;
}

static void start(bb_shifted_cg *solver, const double *diagonal, const double *b, double *x)
{
    solver->diagonal = diagonal;
    solver->x = x;
    solver->alpha = 0.0;
    solver->beta = 0.0;
    for (bb_index i = 0; i < solver->matrix->rows; ++i) {
        solver->inverse[i] = 1.0 / (diagonal[i] + solver->scale * solver->matrix_diagonal[i]);
        solver->r[i] = b[i];
        solver->p[i] = solver->q[i] = x[i] = 0.0;
    }
}

bb_status bb_shifted_cg_solve(bb_shifted_cg *solver, const double *diagonal, const double *b,
                              double tolerance, double *x)
{
    bb_status status = BB_OK;
    const bb_index n = solver->matrix->rows;
    start(solver, diagonal, b, x);
    BB_TRY(bb_thread_ranges(n, GRAIN, move, solver));
    double rho = sum_parts(solver);
    const double target = tolerance * tolerance * rho;
    for (int count = 0; !(rho >= 0.0 && rho <= target); ++count) {
        BB_REQUIRE(isfinite(rho), BB_INVALID, "implicit step: a value is not finite");
        BB_REQUIRE(count < MOST_ITERATIONS, BB_INVALID,
                   "implicit step: no convergence in %d iterations, residual %.1e of %.1e", count,
                   sqrt(rho), sqrt(target));
        BB_TRY(bb_thread_ranges(n, GRAIN, turn, solver));
        BB_TRY(bb_csr_multiply(solver->matrix, solver->p, solver->q));
        BB_TRY(bb_thread_ranges(n, GRAIN, shift, solver));
        double curvature = sum_parts(solver);
        BB_REQUIRE(curvature > 0.0 && rho > 0.0, BB_INVALID,
                   "implicit step: the system is not positive definite: %g, %g", curvature, rho);
        solver->alpha = rho / curvature;
        BB_TRY(bb_thread_ranges(n, GRAIN, move, solver));
        double before = rho;
        rho = sum_parts(solver);
        solver->beta = rho / before;
        ++solver->iterations;
    }
done:
    return status;
}

bb_index bb_shifted_cg_iterations(const bb_shifted_cg *solver)
{
    return solver->iterations;
}
