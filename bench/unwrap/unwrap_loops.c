// SPDX-License-Identifier: Apache-2.0
#include "bench/unwrap/unwrap_peers.h"
#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"

#include <math.h>
#include <string.h>

enum { LEVELS = 32, MARGIN = 4, BINS = 1 << 16, STRIDE = 4, SMALL = 4096 };

// Fields [-MARGIN..rows + MARGIN)[stride] with zero margins; a pointer is to the point (0, 0).
typedef struct level {
    bb_index columns, rows, stride;
    float *u, *f, *wx, *wy;
    float *memory;
} level;

struct bb_unwrap_loops {
    level levels[LEVELS];
    int count;
    float *gx, *gy, *bx, *by, *sums, *counts; // size of the finest level
    float *memory;
    bb_index *bins; // [BINS]
    double scale, limit, softness;
    const double *wrapped;
    int task_level, colour; // arguments of the threads' task
};

static float wrap(float difference)
{
    const float turn = 6.2831853F;
    return difference - turn * rintf(difference / turn);
}

static bb_index field_words(const level *grid)
{
    return grid->stride * (grid->rows + 2 * MARGIN);
}

static bb_status create_fields(const level *grid, int count, float **memory, float **fields[])
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(count * field_words(grid), memory));
    for (int i = 0; i < count; ++i) {
        *fields[i] = *memory + i * field_words(grid) + MARGIN * grid->stride + MARGIN;
    }
done:
    return status;
}

bb_status bb_unwrap_loops_create(bb_index columns, bb_index rows, bb_unwrap_loops **out)
{
    bb_status status = BB_OK;
    bb_unwrap_loops *loops = NULL;
    bool is_coarsest = false;
    BB_TRY(BB_ZEROED(1, &loops));
    while (!is_coarsest) {
        level *grid = &loops->levels[loops->count++];
        *grid = (level){.columns = columns, .rows = rows, .stride = columns + 2 * MARGIN};
        BB_TRY(create_fields(grid, 4, &grid->memory,
                             (float **[]){&grid->u, &grid->f, &grid->wx, &grid->wy}));
        is_coarsest = (columns <= 2 && rows <= 2) || loops->count == LEVELS;
        columns = (columns + 1) / 2;
        rows = (rows + 1) / 2;
    }
    BB_TRY(create_fields(&loops->levels[0], 6, &loops->memory,
                         (float **[]){&loops->gx, &loops->gy, &loops->bx, &loops->by, &loops->sums,
                                      &loops->counts}));
    BB_TRY(BB_ALLOCATE(BINS, &loops->bins));
    *out = loops;
    loops = NULL;
done:
    bb_unwrap_loops_destroy(&loops);
    return status;
}

void bb_unwrap_loops_destroy(bb_unwrap_loops **loops)
{
    if (*loops == NULL) {
        return;
    }
    for (int i = 0; i < (*loops)->count; ++i) {
        BB_RELEASE(&(*loops)->levels[i].memory);
    }
    BB_RELEASE(&(*loops)->memory);
    BB_RELEASE(&(*loops)->bins);
    BB_RELEASE(loops);
}

// Runs a task over the rows of a level; small levels run on the calling thread only.
static bb_status over_rows(bb_unwrap_loops *loops, int index, bb_index rows, bb_range_task task)
{
    const level *grid = &loops->levels[index];
    loops->task_level = index;
    return grid->columns * rows <= SMALL ? task(loops, 0, rows)
                                         : bb_thread_ranges(rows, 16, task, loops);
}

BB_CLONES static void sweep_row(const level *grid, bb_index y, bb_index first)
{
    const bb_index stride = grid->stride;
    float *u = grid->u + y * stride;
    const float *f = grid->f + y * stride;
    const float *wx = grid->wx + y * stride;
    const float *wy = grid->wy + y * stride;
    for (bb_index x = first; x < grid->columns; x += 2) {
        const float pull = wx[x] * u[x + 1] + wx[x - 1] * u[x - 1] + wy[x] * u[x + stride] +
                           wy[x - stride] * u[x - stride];
        const float weight = wx[x] + wx[x - 1] + wy[x] + wy[x - stride];
        u[x] = weight > 0.0F ? (pull - f[x]) / weight : u[x];
    }
}

static bb_status sweep_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    for (bb_index y = begin; y < end; ++y) {
        sweep_row(&loops->levels[loops->task_level], y, (y + loops->colour) % 2);
    }
    return BB_OK;
}

static bb_status sweep(bb_unwrap_loops *loops, int index, int sweeps, int first)
{
    bb_status status = BB_OK;
    for (int i = 0; i < 2 * sweeps; ++i) {
        loops->colour = (first + i) % 2;
        BB_TRY(over_rows(loops, index, loops->levels[index].rows, sweep_rows));
    }
done:
    return status;
}

static float residual_of(const level *grid, bb_index p)
{
    const float *u = grid->u;
    const bb_index stride = grid->stride;
    return grid->f[p] - grid->wx[p] * (u[p + 1] - u[p]) - grid->wx[p - 1] * (u[p - 1] - u[p]) -
           grid->wy[p] * (u[p + stride] - u[p]) - grid->wy[p - stride] * (u[p - stride] - u[p]);
}

// Restricts residuals by summation and sets corrections to zero. Values beyond an odd edge are
// zero.
BB_CLONES static void restrict_row(const level *fine, const level *coarse, bb_index y)
{
    for (bb_index x = 0; x < coarse->columns; ++x) {
        const bb_index p = 2 * y * fine->stride + 2 * x;
        coarse->f[y * coarse->stride + x] = residual_of(fine, p) + residual_of(fine, p + 1) +
                                            residual_of(fine, p + fine->stride) +
                                            residual_of(fine, p + fine->stride + 1);
    }
    memset(coarse->u + y * coarse->stride, 0, (size_t)coarse->columns * sizeof(float));
}

static bb_status restrict_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *coarse = &loops->levels[loops->task_level];
    for (bb_index y = begin; y < end; ++y) {
        restrict_row(coarse - 1, coarse, y);
    }
    return BB_OK;
}

// Computes the weights of coarse edges: half the sum of the two fine ones.
BB_CLONES static bb_status coarsen_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *coarse = &loops->levels[loops->task_level];
    const level *fine = coarse - 1;
    for (bb_index y = begin; y < end; ++y) {
        for (bb_index x = 0; x < coarse->columns; ++x) {
            const bb_index p = 2 * y * fine->stride + 2 * x + fine->stride + 1;
            coarse->wx[y * coarse->stride + x] = 0.5F * (fine->wx[p - fine->stride] + fine->wx[p]);
            coarse->wy[y * coarse->stride + x] = 0.5F * (fine->wy[p - 1] + fine->wy[p]);
        }
    }
    return BB_OK;
}

// Interpolates one row bilinearly from the nearer and the farther coarse row.
BB_CLONES static void prolong_row(const float *nearer, const float *farther, bb_index columns,
                                  bb_index coarse_columns, float *u)
{
    const bb_index last = coarse_columns - 1;
    for (bb_index x = 0; x < coarse_columns; ++x) {
        const bb_index before = x > 0 ? x - 1 : 0;
        const bb_index after = x < last ? x + 1 : last;
        u[2 * x] +=
            (9.0F * nearer[x] + 3.0F * nearer[before] + 3.0F * farther[x] + farther[before]) *
            0.0625F;
        if (2 * x + 1 < columns) {
            u[2 * x + 1] +=
                (9.0F * nearer[x] + 3.0F * nearer[after] + 3.0F * farther[x] + farther[after]) *
                0.0625F;
        }
    }
}

static bb_status prolong_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *fine = &loops->levels[loops->task_level];
    const level *coarse = fine + 1;
    for (bb_index y = begin; y < end; ++y) {
        bb_index far_row = y / 2 + 2 * (y % 2) - 1;
        far_row = far_row < 0 ? 0 : far_row < coarse->rows ? far_row : coarse->rows - 1;
        prolong_row(coarse->u + y / 2 * coarse->stride, coarse->u + far_row * coarse->stride,
                    fine->columns, coarse->columns, fine->u + y * fine->stride);
    }
    return BB_OK;
}

static bb_status run_cycle(bb_unwrap_loops *loops)
{
    bb_status status = BB_OK;
    const int coarsest = loops->count - 1;
    for (int i = 0; i < coarsest; ++i) {
        BB_TRY(sweep(loops, i, 2, 0));
        BB_TRY(over_rows(loops, i + 1, loops->levels[i + 1].rows, restrict_rows));
    }
    BB_TRY(sweep(loops, coarsest, 4, 0));
    for (int i = coarsest - 1; i >= 0; --i) {
        BB_TRY(over_rows(loops, i, loops->levels[i].rows, prolong_rows));
        BB_TRY(sweep(loops, i, 1, 1));
    }
done:
    return status;
}

BB_CLONES static bb_status gradient_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *grid = &loops->levels[0];
    for (bb_index y = begin; y < end; ++y) {
        const double *row = loops->wrapped + y * grid->columns;
        const bb_index p = y * grid->stride;
        for (bb_index x = 0; x + 1 < grid->columns; ++x) {
            loops->gx[p + x] = wrap((float)(row[x + 1] - row[x]));
            grid->wx[p + x] = 1.0F;
        }
        for (bb_index x = 0; x < grid->columns && y + 1 < grid->rows; ++x) {
            loops->gy[p + x] = wrap((float)(row[x + grid->columns] - row[x]));
            grid->wy[p + x] = 1.0F;
        }
        memset(grid->u + p, 0, (size_t)grid->columns * sizeof(float));
    }
    return BB_OK;
}

// Sums over nine neighbours of a row; `colour` is the axis.
BB_CLONES static bb_status sum_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *grid = &loops->levels[0];
    const float *g = loops->colour == 0 ? loops->gx : loops->gy;
    const float *w = loops->colour == 0 ? grid->wx : grid->wy;
    for (bb_index y = begin; y < end; ++y) {
        for (bb_index x = 0; x < grid->columns; ++x) {
            const bb_index p = y * grid->stride + x;
            float sum = 0.0F, count = 0.0F;
            for (int i = -4; i <= 4; ++i) {
                sum += g[p + i];
                count += w[p + i];
            }
            loops->sums[p] = sum;
            loops->counts[p] = count;
        }
    }
    return BB_OK;
}

// Computes the residual of gradients relative to the means, in bx and by.
BB_CLONES static bb_status residual_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *grid = &loops->levels[0];
    const float *g = loops->colour == 0 ? loops->gx : loops->gy;
    const float *w = loops->colour == 0 ? grid->wx : grid->wy;
    float *out = loops->colour == 0 ? loops->bx : loops->by;
    for (bb_index y = begin; y < end; ++y) {
        for (bb_index x = 0; x < grid->columns; ++x) {
            const bb_index p = y * grid->stride + x;
            float sum = 0.0F, count = 0.0F;
            for (bb_index i = -4; i <= 4; ++i) {
                sum += loops->sums[p + i * grid->stride];
                count += loops->counts[p + i * grid->stride];
            }
            out[p] = w[p] > 0.0F ? g[p] - sum / count : 0.0F;
        }
    }
    return BB_OK;
}

// Computes the limit from the median magnitude of residuals, in every fourth row and column.
static void find_limit(bb_unwrap_loops *loops)
{
    const level *grid = &loops->levels[0];
    bb_index edges = 0, passed = 0, bin = 0;
    memset(loops->bins, 0, BINS * sizeof *loops->bins);
    for (bb_index y = 0; y < grid->rows; y += STRIDE) {
        for (bb_index x = 0; x < grid->columns; x += STRIDE) {
            const bb_index p = y * grid->stride + x;
            const float sizes[2] = {fabsf(loops->bx[p]), fabsf(loops->by[p])};
            const bool held[2] = {grid->wx[p] > 0.0F, grid->wy[p] > 0.0F};
            for (int axis = 0; axis < 2; ++axis) {
                const float place = sizes[axis] * (float)(BINS / 6.2832);
                loops->bins[place < BINS - 1 ? (bb_index)place : BINS - 1] += held[axis];
                edges += held[axis];
            }
        }
    }
    for (; bin < BINS - 1 && 2 * (passed += loops->bins[bin]) < edges; ++bin) {
    }
    loops->scale = 1.4826 * ((double)bin + 0.5) * 6.2832 / BINS;
    loops->limit = fmin(fmax(3.0 * loops->scale, 1.0), 1.3);
}

// Replaces gradients beyond the limit by their neighbours' mean with almost zero weight; bx and by
// become the initial values of the reweighting.
BB_CLONES static bb_status reject_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *grid = &loops->levels[0];
    const float limit = (float)loops->limit;
    const float scale = (float)fmax(loops->scale, 0.1);
    for (int axis = 0; axis < 2; ++axis) {
        float *g = axis == 0 ? loops->gx : loops->gy;
        float *w = axis == 0 ? grid->wx : grid->wy;
        float *b = axis == 0 ? loops->bx : loops->by;
        for (bb_index y = begin; y < end; ++y) {
            for (bb_index p = y * grid->stride; p < y * grid->stride + grid->columns; ++p) {
                const bool is_beyond = fabsf(b[p]) > limit;
                const float share = b[p] / scale;
                g[p] = is_beyond ? g[p] - b[p] : g[p];
                b[p] = w[p] / (1.0F + share * share);
                w[p] = is_beyond ? 0.001F : w[p];
            }
        }
    }
    return BB_OK;
}

BB_CLONES static bb_status reweight_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *grid = &loops->levels[0];
    const float d = (float)loops->softness;
    const float *u = grid->u;
    for (bb_index y = begin; y < end; ++y) {
        for (bb_index p = y * grid->stride; p < y * grid->stride + grid->columns; ++p) {
            grid->wx[p] = loops->bx[p] * d / (d + fabsf(u[p + 1] - u[p] - loops->gx[p]));
            grid->wy[p] = loops->by[p] * d / (d + fabsf(u[p + grid->stride] - u[p] - loops->gy[p]));
        }
    }
    return BB_OK;
}

BB_CLONES static bb_status divergence_rows(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_loops *loops = context;
    const level *grid = &loops->levels[0];
    const float *gx = loops->gx, *gy = loops->gy;
    for (bb_index y = begin; y < end; ++y) {
        for (bb_index p = y * grid->stride; p < y * grid->stride + grid->columns; ++p) {
            const bb_index above = p - grid->stride;
            grid->f[p] = grid->wx[p] * gx[p] - grid->wx[p - 1] * gx[p - 1] + grid->wy[p] * gy[p] -
                         grid->wy[above] * gy[above];
        }
    }
    return BB_OK;
}

static bb_status solve(bb_unwrap_loops *loops, bb_index cycles)
{
    bb_status status = BB_OK;
    for (int i = 1; i < loops->count; ++i) {
        BB_TRY(over_rows(loops, i, loops->levels[i].rows, coarsen_rows));
    }
    BB_TRY(over_rows(loops, 0, loops->levels[0].rows, divergence_rows));
    for (bb_index i = 0; i < cycles; ++i) {
        BB_TRY(run_cycle(loops));
    }
done:
    return status;
}

bb_status bb_unwrap_loops_run(bb_unwrap_loops *loops, const bb_unwrap_counts *counts,
                              const double *wrapped, double *phase)
{
    bb_status status = BB_OK;
    const level *grid = &loops->levels[0];
    loops->wrapped = wrapped;
    BB_TRY(over_rows(loops, 0, grid->rows, gradient_rows));
    for (loops->colour = 0; loops->colour < 2; ++loops->colour) {
        BB_TRY(over_rows(loops, 0, grid->rows, sum_rows));
        BB_TRY(over_rows(loops, 0, grid->rows, residual_rows));
    }
    find_limit(loops);
    BB_TRY(over_rows(loops, 0, grid->rows, reject_rows));
    BB_TRY(solve(loops, counts->cycles));
    for (bb_index i = 0; i < counts->reweighted; ++i) {
        loops->softness = ldexp(0.3, -(int)i);
        BB_TRY(over_rows(loops, 0, grid->rows, reweight_rows));
        BB_TRY(solve(loops, counts->reweight_cycles));
    }
    BB_TRY(bb_unwrap_peers_congruent(wrapped, grid->u, grid->stride, grid->columns, grid->rows,
                                     phase));
done:
    return status;
}
