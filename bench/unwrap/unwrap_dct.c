// SPDX-License-Identifier: Apache-2.0
#include "bench/unwrap/unwrap_peers.h"
#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"

#include <fftw3.h>
#include <math.h>

enum { GRAIN = 16 };

static const double two_pi = 6.283185307179586;

struct bb_unwrap_dct {
    bb_index columns, rows;
    float *field, *spectrum;            // [rows][columns]
    float *across_shares, *down_shares; // [columns], [rows] eigenvalues along the two axes
    fftwf_plan forward, backward;
    bb_index threads;      // number of threads of the plans
    const double *wrapped; // input of the run
};

// Partial sums of a thread over whole rows.
typedef struct congruence {
    const double *wrapped;
    const float *solution;
    bb_index stride, columns;
    double *phase;
    double piston;
    double *cosines, *sines; // [rows]
} congruence;

static float wrap(float difference)
{
    const float turn = 6.2831853F;
    return difference - turn * rintf(difference / turn);
}

BB_CLONES static void add_row(const double *wrapped, const float *solution, double piston,
                              bb_index columns, double *cosine, double *sine)
{
    double c = 0.0, s = 0.0;
    for (bb_index x = 0; x < columns; ++x) {
        const double turns = (wrapped[x] - (double)solution[x] - piston) / two_pi;
        const double d = turns - rint(turns);
        c += 1.0 - 4.0 * fabs(d);
        s += fabs(d) <= 0.25 ? 4.0 * d : d > 0.0 ? 2.0 - 4.0 * d : -2.0 - 4.0 * d;
    }
    *cosine = c;
    *sine = s;
}

static bb_status add_rows(void *context, bb_index begin, bb_index end)
{
    congruence *work = context;
    for (bb_index y = begin; y < end; ++y) {
        add_row(work->wrapped + y * work->columns, work->solution + y * work->stride, work->piston,
                work->columns, &work->cosines[y], &work->sines[y]);
    }
    return BB_OK;
}

BB_CLONES static void turn_row(const double *wrapped, const float *solution, double piston,
                               bb_index columns, double *phase)
{
    for (bb_index x = 0; x < columns; ++x) {
        const double turns = ((double)solution[x] + piston - wrapped[x]) / two_pi;
        phase[x] = wrapped[x] + two_pi * rint(turns);
    }
}

static bb_status turn_rows(void *context, bb_index begin, bb_index end)
{
    const congruence *work = context;
    for (bb_index y = begin; y < end; ++y) {
        turn_row(work->wrapped + y * work->columns, work->solution + y * work->stride, work->piston,
                 work->columns, work->phase + y * work->columns);
    }
    return BB_OK;
}

bb_status bb_unwrap_peers_congruent(const double *wrapped, const float *solution, bb_index stride,
                                    bb_index columns, bb_index rows, double *phase)
{
    bb_status status = BB_OK;
    congruence work = {.wrapped = wrapped,
                       .solution = solution,
                       .stride = stride,
                       .columns = columns,
                       .phase = phase};
    BB_TRY(BB_ALLOCATE(rows, &work.cosines));
    BB_TRY(BB_ALLOCATE(rows, &work.sines));
    for (int step = 0; step < 3; ++step) {
        double cosine = 0.0, sine = 0.0;
        BB_TRY(bb_thread_ranges(rows, GRAIN, add_rows, &work));
        for (bb_index y = 0; y < rows; ++y) {
            cosine += work.cosines[y];
            sine += work.sines[y];
        }
        work.piston += atan2(sine, cosine);
    }
    BB_TRY(bb_thread_ranges(rows, GRAIN, turn_rows, &work));
done:
    BB_RELEASE(&work.cosines);
    BB_RELEASE(&work.sines);
    return status;
}

// Sets the number of threads for the next plans and returns it.
static bb_index plan_threads(void)
{
#ifdef BB_HAVE_FFTW_THREADS
    if (fftwf_init_threads() != 0) {
        fftwf_plan_with_nthreads((int)bb_threads_count());
        return bb_threads_count();
    }
#endif
    return 1;
}

bb_status bb_unwrap_dct_create(bb_index columns, bb_index rows, bb_unwrap_dct **out)
{
    bb_status status = BB_OK;
    bb_unwrap_dct *dct = NULL;
    BB_TRY(BB_ZEROED(1, &dct));
    dct->columns = columns;
    dct->rows = rows;
    BB_TRY(BB_ZEROED(columns * rows, &dct->field));
    BB_TRY(BB_ZEROED(columns * rows, &dct->spectrum));
    BB_TRY(BB_ALLOCATE(columns, &dct->across_shares));
    BB_TRY(BB_ALLOCATE(rows, &dct->down_shares));
    for (bb_index x = 0; x < columns; ++x) {
        dct->across_shares[x] =
            (float)(2.0 * cos(0.5 * two_pi * (double)x / (double)columns) - 2.0);
    }
    for (bb_index y = 0; y < rows; ++y) {
        dct->down_shares[y] = (float)(2.0 * cos(0.5 * two_pi * (double)y / (double)rows) - 2.0);
    }
    dct->threads = plan_threads();
    dct->forward = fftwf_plan_r2r_2d((int)rows, (int)columns, dct->field, dct->spectrum,
                                     FFTW_REDFT10, FFTW_REDFT10, FFTW_MEASURE);
    dct->backward = fftwf_plan_r2r_2d((int)rows, (int)columns, dct->spectrum, dct->field,
                                      FFTW_REDFT01, FFTW_REDFT01, FFTW_MEASURE);
    BB_REQUIRE(dct->forward != NULL && dct->backward != NULL, BB_MEMORY,
               "cannot plan a cosine transform of %td x %td", columns, rows);
    *out = dct;
    dct = NULL;
done:
    bb_unwrap_dct_destroy(&dct);
    return status;
}

bb_index bb_unwrap_dct_threads(const bb_unwrap_dct *dct)
{
    return dct->threads;
}

void bb_unwrap_dct_destroy(bb_unwrap_dct **dct)
{
    if (*dct == NULL) {
        return;
    }
    fftwf_destroy_plan((*dct)->forward);
    fftwf_destroy_plan((*dct)->backward);
    BB_RELEASE(&(*dct)->field);
    BB_RELEASE(&(*dct)->spectrum);
    BB_RELEASE(&(*dct)->across_shares);
    BB_RELEASE(&(*dct)->down_shares);
    BB_RELEASE(dct);
}

// Computes the divergence of a row: outgoing minus incoming gradients; the flux over the border is
// zero.
BB_CLONES static void diverge_row(const double *row, const double *above, const double *below,
                                  bb_index columns, float *out)
{
    for (bb_index x = 0; x < columns; ++x) {
        const float outward = below != NULL ? wrap((float)(below[x] - row[x])) : 0.0F;
        const float inward = above != NULL ? wrap((float)(row[x] - above[x])) : 0.0F;
        out[x] = outward - inward;
    }
    for (bb_index x = 0; x + 1 < columns; ++x) {
        const float across = wrap((float)(row[x + 1] - row[x]));
        out[x] += across;
        out[x + 1] -= across;
    }
}

static bb_status diverge(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_dct *dct = context;
    for (bb_index y = begin; y < end; ++y) {
        const double *row = dct->wrapped + y * dct->columns;
        diverge_row(row, y > 0 ? row - dct->columns : NULL,
                    y + 1 < dct->rows ? row + dct->columns : NULL, dct->columns,
                    dct->field + y * dct->columns);
    }
    return BB_OK;
}

BB_CLONES static void divide_row(const float *across, float down, float scale, bb_index columns,
                                 float *row)
{
    for (bb_index x = 0; x < columns; ++x) {
        const float share = across[x] + down;
        row[x] = share < 0.0F ? scale * row[x] / share : 0.0F; // the mean is undetermined
    }
}

static bb_status divide(void *context, bb_index begin, bb_index end)
{
    const bb_unwrap_dct *dct = context;
    const float scale = (float)(0.25 / (double)(dct->columns * dct->rows));
    for (bb_index y = begin; y < end; ++y) {
        divide_row(dct->across_shares, dct->down_shares[y], scale, dct->columns,
                   dct->spectrum + y * dct->columns);
    }
    return BB_OK;
}

bb_status bb_unwrap_dct_run(bb_unwrap_dct *dct, const double *wrapped, double *phase)
{
    bb_status status = BB_OK;
    dct->wrapped = wrapped;
    BB_TRY(bb_thread_ranges(dct->rows, GRAIN, diverge, dct));
    fftwf_execute(dct->forward);
    BB_TRY(bb_thread_ranges(dct->rows, GRAIN, divide, dct));
    fftwf_execute(dct->backward);
    BB_TRY(bb_unwrap_peers_congruent(wrapped, dct->field, dct->columns, dct->columns, dct->rows,
                                     phase));
done:
    return status;
}
