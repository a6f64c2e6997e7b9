// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/learn/learn_triangle.h"

#include "core/memory.h"
#include "core/outcome.h"
#include "core/thread.h"
#include "physics/ao/learn/learn_block.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

// One block of all columns, below the triangle of the blocks before.
typedef struct stack {
    bb_learn_block block;
    const bb_matrix_source *const *columns;
    bb_index count, height; // height: of the stack, triangle and block
    double *values;         // [height][count], column-major
} stack;

static bb_status fill_column(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const stack *s = context;
    double *scratch = NULL;
    BB_TRY(BB_ALLOCATE(bb_learn_block_scratch(&s->block), &scratch));
    BB_TRY(bb_learn_block_reduce(&s->block, s->columns[index], scratch,
                                 s->values + index * s->height + s->count));
done:
    BB_RELEASE(&scratch);
    return status;
}

static void move_triangle(bb_index count, const double *source, bb_index from_height,
                          double *target, bb_index to_height)
{
    for (bb_index j = 0; j < count; ++j) {
        for (bb_index i = 0; i < count; ++i) {
            target[j * to_height + i] = i <= j ? source[j * from_height + i] : 0.0;
        }
    }
}

bb_status bb_learn_triangle_make(const bb_sensor_array *guides, bb_index count,
                                 const bb_matrix_source *const *columns, double *t, double *rows)
{
    bb_status status = BB_OK;
    stack s = {.columns = columns, .count = count};
    double *reflectors = NULL;
    BB_TRY(BB_ALLOCATE(count, &reflectors));
    memset(t, 0, (size_t)(count * count) * sizeof *t);
    *rows = 0.0;
    for (bb_index b = 0; b < bb_learn_block_count(guides); ++b) {
        s.block = bb_learn_block_at(guides, b);
        s.height = count + bb_learn_block_values(&s.block);
        *rows += (double)(s.height - count);
        BB_RELEASE(&s.values);
        BB_TRY(BB_ALLOCATE(s.height * count, &s.values));
        move_triangle(count, t, count, s.values, s.height);
        BB_TRY(bb_thread_for(count, fill_column, &s));
        if (bb_outcome_first_non_finite(s.values, s.height * count) >= 0) {
            memset(t, 0, (size_t)(count * count) * sizeof *t);
            *rows = NAN;
            goto done;
        }
        const lapack_int info =
            LAPACKE_dgeqrf(LAPACK_COL_MAJOR, (lapack_int)s.height, (lapack_int)count, s.values,
                           (lapack_int)s.height, reflectors);
        BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgeqrf of %td x %td values: info %d", s.height,
                   count, (int)info);
        move_triangle(count, s.values, s.height, t, count);
    }
done:
    BB_RELEASE(&s.values);
    BB_RELEASE(&reflectors);
    return status;
}

bb_status bb_learn_triangle_least_squares(bb_index rows, bb_index unknowns, const double *a,
                                          const double *b, double *x)
{
    bb_status status = BB_OK;
    double *copy = NULL;
    double *side = NULL;
    if (unknowns == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(rows * unknowns, &copy));
    BB_TRY(BB_ALLOCATE(rows, &side));
    memcpy(copy, a, (size_t)(rows * unknowns) * sizeof *a);
    memcpy(side, b, (size_t)rows * sizeof *b);
    const lapack_int info =
        LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', (lapack_int)rows, (lapack_int)unknowns, 1, copy,
                      (lapack_int)rows, side, (lapack_int)rows);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgels of %td unknowns: info %d", unknowns,
               (int)info);
    memcpy(x, side, (size_t)unknowns * sizeof *x);
done:
    BB_RELEASE(&copy);
    BB_RELEASE(&side);
    return status;
}

// The state of Lawson and Hanson's iteration.
typedef struct active {
    bb_index rows, unknowns, free_count;
    const double *a, *b;
    bool *is_free;    // [unknowns] may be positive
    double *x;        // [unknowns]
    double *residual; // [rows] b - A x
    double *part;     // [rows][free] the free columns
    double *solution; // [free]
} active;

static void find_residual(active *s)
{
    memcpy(s->residual, s->b, (size_t)s->rows * sizeof *s->b);
    for (bb_index j = 0; j < s->unknowns; ++j) {
        for (bb_index i = 0; i < s->rows; ++i) {
            s->residual[i] -= s->x[j] * s->a[j * s->rows + i];
        }
    }
}

// The bound unknown along which the residual falls most, -1 where none does by more than rounding.
static bb_index steepest(const active *s)
{
    bb_index best = -1;
    double maximum = 0.0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        double slope = 0.0;
        double size = 0.0;
        for (bb_index i = 0; i < s->rows; ++i) {
            slope += s->a[j * s->rows + i] * s->residual[i];
            size += fabs(s->a[j * s->rows + i] * s->b[i]);
        }
        if (!s->is_free[j] && slope > 1e-14 * size && slope > maximum) {
            best = j;
            maximum = slope;
        }
    }
    return best;
}

static bb_status solve_free(active *s)
{
    bb_index count = 0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        if (s->is_free[j]) {
            memcpy(s->part + count++ * s->rows, s->a + j * s->rows, (size_t)s->rows * sizeof *s->a);
        }
    }
    s->free_count = count;
    return bb_learn_triangle_least_squares(s->rows, count, s->part, s->b, s->solution);
}

// Goes from x towards the solution until an unknown would turn negative, and binds it; true when
// the solution was reached.
static bool step(active *s)
{
    double share = 1.0;
    bb_index tightest = -1;
    bb_index k = 0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        if (!s->is_free[j]) {
            continue;
        }
        const double end = s->solution[k++];
        if (end <= 0.0 && (tightest < 0 || s->x[j] / (s->x[j] - end) < share)) {
            share = s->x[j] > end ? s->x[j] / (s->x[j] - end) : 0.0;
            tightest = j;
        }
    }
    k = 0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        if (s->is_free[j]) {
            s->x[j] += share * (s->solution[k++] - s->x[j]);
        }
    }
    if (tightest >= 0) {
        s->x[tightest] = 0.0;
        s->is_free[tightest] = false;
    }
    return tightest < 0;
}

bb_status bb_learn_triangle_non_negative(bb_index rows, bb_index unknowns, const double *a,
                                         const double *b, double *x, double *residual)
{
    bb_status status = BB_OK;
    active s = {.rows = rows, .unknowns = unknowns, .a = a, .b = b, .x = x};
    BB_TRY(BB_ZEROED(unknowns, &s.is_free));
    BB_TRY(BB_ALLOCATE(rows, &s.residual));
    BB_TRY(BB_ALLOCATE(rows * unknowns, &s.part));
    BB_TRY(BB_ALLOCATE(unknowns, &s.solution));
    memset(x, 0, (size_t)unknowns * sizeof *x);
    find_residual(&s);
    // Each round frees one unknown and ends; rounding may only cut the last ones short.
    for (bb_index round = 0; round < 3 * unknowns; ++round) {
        const bb_index freed = steepest(&s);
        if (freed < 0) {
            break;
        }
        s.is_free[freed] = true;
        do {
            BB_TRY(solve_free(&s));
        } while (!step(&s));
        find_residual(&s);
    }
    double sum = 0.0;
    for (bb_index i = 0; i < rows; ++i) {
        sum += s.residual[i] * s.residual[i];
    }
    *residual = sqrt(sum);
done:
    BB_RELEASE(&s.is_free);
    BB_RELEASE(&s.residual);
    BB_RELEASE(&s.part);
    BB_RELEASE(&s.solution);
    return status;
}

bb_status bb_learn_triangle_condition(bb_index rows, bb_index unknowns, const double *a,
                                      double *inverse_diagonal, double *condition)
{
    bb_status status = BB_OK;
    double *copy = NULL;
    double *values = NULL;
    double *modes = NULL; // V^T [unknowns][unknowns], column-major
    double *rest = NULL;
    double unused = 0.0;
    BB_TRY(BB_ALLOCATE(rows * unknowns, &copy));
    BB_TRY(BB_ALLOCATE(unknowns, &values));
    BB_TRY(BB_ALLOCATE(unknowns * unknowns, &modes));
    BB_TRY(BB_ALLOCATE(unknowns, &rest));
    memcpy(copy, a, (size_t)(rows * unknowns) * sizeof *a);
    const lapack_int n = (lapack_int)unknowns;
    const lapack_int info = LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'A', (lapack_int)rows, n, copy,
                                           (lapack_int)rows, values, &unused, 1, modes, n, rest);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgesvd of %td columns: info %d", unknowns,
               (int)info);
    const double ratio = values[0] / values[unknowns - 1];
    *condition = ratio * ratio;
    for (bb_index j = 0; j < unknowns; ++j) {
        inverse_diagonal[j] = 0.0;
        for (bb_index k = 0; k < unknowns; ++k) {
            const double part = modes[j * unknowns + k] / values[k];
            inverse_diagonal[j] += part * part;
        }
    }
done:
    BB_RELEASE(&copy);
    BB_RELEASE(&values);
    BB_RELEASE(&modes);
    BB_RELEASE(&rest);
    return status;
}
