// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/wavefront.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/zernike.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>

// A compensated sum (Kahan).
typedef struct long_sum {
    double sum, lost;
    bb_index count;
} long_sum;

static void add(long_sum *sum, double value)
{
    const double corrected = value - sum->lost;
    const double total = sum->sum + corrected;
    sum->lost = (total - sum->sum) - corrected;
    sum->sum = total;
    ++sum->count;
}

// Returns the phase of a pixel, minus the truth if given.
static double value_at(const double *phase, const double *truth, bb_index i)
{
    return truth == NULL ? phase[i] : phase[i] - truth[i];
}

static bb_status sum_parts(bb_index pixels, const double *phase, const double *truth,
                           const int32_t *labels, bb_index parts, long_sum *sums, bb_index *missing)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < pixels; ++i) {
        const bb_index part = labels == NULL ? 0 : labels[i];
        BB_REQUIRE(part < parts, BB_INVALID, "pixel %td has label %td, expected less than %td", i,
                   part, parts);
        const double value = value_at(phase, truth, i);
        if (part >= 0 && isfinite(value)) {
            add(&sums[part], value);
        } else if (part >= 0 && !isfinite(phase[i]) && (truth == NULL || !isnan(truth[i]))) {
            ++*missing;
        }
    }
done:
    return status;
}

bb_status bb_wavefront_measure(bb_index pixels, const double *phase, const double *truth,
                               const int32_t *labels, bb_index parts, double rad_per_nm,
                               bb_wavefront *out)
{
    bb_status status = BB_OK;
    long_sum *sums = NULL;
    long_sum squares = {0};
    double least = INFINITY;
    double greatest = -INFINITY;
    *out = (bb_wavefront){.rms_nm = NAN, .pv_nm = NAN};
    BB_REQUIRE(labels != NULL || parts == 1, BB_INVALID, "%td parts without labels, expected 1",
               parts);
    BB_TRY(BB_ZEROED(parts, &sums));
    BB_TRY(sum_parts(pixels, phase, truth, labels, parts, sums, &out->missing));
    for (bb_index i = 0; i < pixels; ++i) {
        const bb_index part = labels == NULL ? 0 : labels[i];
        const double value = value_at(phase, truth, i);
        if (part >= 0 && isfinite(value)) {
            const double rest = value - sums[part].sum / (double)sums[part].count;
            add(&squares, rest * rest);
            least = fmin(least, rest);
            greatest = fmax(greatest, rest);
        }
    }
    out->pixels = squares.count;
    if (squares.count > 0) {
        out->rms_nm = sqrt(squares.sum / (double)squares.count) / rad_per_nm;
        out->pv_nm = (greatest - least) / rad_per_nm;
    }
done:
    BB_RELEASE(&sums);
    return status;
}

enum { BLOCKS = 16, POINTS = 512 };

typedef struct fit {
    bb_index columns, rows, terms;
    double radius, scale; // in pixels; nm per radian
    const double *phase;
    double *normal; // [BLOCKS][terms][terms], lower triangles
    double *right;  // [BLOCKS][terms]
    bb_index pixels[BLOCKS];
} fit;

// Points waiting to be accumulated, and their polynomials.
typedef struct batch {
    bb_index count;
    double x[POINTS], y[POINTS], height[POINTS];
    double values[]; // [terms][POINTS]
} batch;

static void count_batch(fit *f, bb_index block, batch *b)
{
    const int terms = (int)f->terms;
    const int count = (int)b->count;
    bb_zernike_fill(f->terms, b->count, b->x, b->y, POINTS, b->values);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, terms, count, 1.0, b->values, POINTS, 1.0,
                f->normal + block * f->terms * f->terms, terms);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, terms, count, 1.0, b->values, POINTS, b->height, 1,
                1.0, f->right + block * f->terms, 1);
    f->pixels[block] += b->count;
    b->count = 0;
}

static void count_row(fit *f, bb_index block, bb_index row, batch *b)
{
    const double y = ((double)row - 0.5 * (double)(f->rows - 1)) / f->radius;
    for (bb_index c = 0; c < f->columns; ++c) {
        const double x = ((double)c - 0.5 * (double)(f->columns - 1)) / f->radius;
        const double value = f->phase[row * f->columns + c];
        if (x * x + y * y > 1.0 || !isfinite(value)) {
            continue;
        }
        b->x[b->count] = x;
        b->y[b->count] = y;
        b->height[b->count] = f->scale * value;
        if (++b->count == POINTS) {
            count_batch(f, block, b);
        }
    }
}

static bb_status task_block(void *context, bb_index block)
{
    bb_status status = BB_OK;
    fit *f = context;
    batch *b = NULL;
    const size_t bytes = sizeof *b + (size_t)f->terms * POINTS * sizeof(double);
    BB_TRY(bb_memory_zeroed(1, bytes, (void **)&b));
    for (bb_index row = block * f->rows / BLOCKS; row < (block + 1) * f->rows / BLOCKS; ++row) {
        count_row(f, block, row, b);
    }
    if (b->count > 0) {
        count_batch(f, block, b);
    }
done:
    BB_RELEASE(&b);
    return status;
}

// Sums the blocks into the first one, per pixel; returns the number of pixels.
static bb_index sum_blocks(fit *f)
{
    const bb_index square = f->terms * f->terms;
    bb_index pixels = f->pixels[0];
    for (bb_index block = 1; block < BLOCKS; ++block) {
        pixels += f->pixels[block];
        for (bb_index i = 0; i < square; ++i) {
            f->normal[i] += f->normal[block * square + i];
        }
        for (bb_index t = 0; t < f->terms; ++t) {
            f->right[t] += f->right[block * f->terms + t];
        }
    }
    for (bb_index i = 0; i < square && pixels > 0; ++i) {
        f->normal[i] /= (double)pixels;
    }
    for (bb_index t = 0; t < f->terms && pixels > 0; ++t) {
        f->right[t] /= (double)pixels;
    }
    return pixels;
}

// Solves in place. Returns NULL, or the reason why the pixels do not determine the polynomials.
static const char *solve(fit *f, bb_index pixels)
{
    const lapack_int terms = (lapack_int)f->terms;
    double condition = 0.0;
    if (pixels < f->terms) {
        return "fewer pixels than polynomials";
    }
    const double norm = LAPACKE_dlansy(LAPACK_ROW_MAJOR, '1', 'L', terms, f->normal, terms);
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', terms, f->normal, terms) != 0 ||
        LAPACKE_dpocon(LAPACK_ROW_MAJOR, 'L', terms, f->normal, terms, norm, &condition) != 0 ||
        !(condition >= 1e-10)) {
        return "the pixels do not determine the polynomials";
    }
    if (LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', terms, 1, f->normal, terms, f->right, 1) != 0) {
        return "the normal equations have no solution";
    }
    return NULL;
}

bb_status bb_wavefront_fit(bb_index columns, bb_index rows, double radius_px, const double *phase,
                           double rad_per_nm, bb_index terms, double *coefficients_nm,
                           const char **reason)
{
    bb_status status = BB_OK;
    fit f = {.columns = columns,
             .rows = rows,
             .terms = terms,
             .radius = radius_px,
             .scale = 1.0 / rad_per_nm,
             .phase = phase};
    BB_REQUIRE(terms >= 1 && terms <= BB_WAVEFRONT_TERMS, BB_INVALID,
               "%td polynomials, expected 1..%d", terms, BB_WAVEFRONT_TERMS);
    BB_TRY(BB_ZEROED(BLOCKS * terms * terms, &f.normal));
    BB_TRY(BB_ZEROED(BLOCKS * terms, &f.right));
    BB_TRY(bb_thread_for(BLOCKS, task_block, &f));
    *reason = solve(&f, sum_blocks(&f));
    for (bb_index t = 0; t < terms; ++t) {
        coefficients_nm[t] = *reason == NULL ? f.right[t] : NAN;
    }
done:
    BB_RELEASE(&f.normal);
    BB_RELEASE(&f.right);
    return status;
}

bb_need bb_wavefront_need(bb_index columns, bb_index rows, bb_index terms)
{
    const double count = (double)terms;
    const double pixels = (double)columns * (double)rows;
    const double threads = (double)(bb_threads_count() < BLOCKS ? bb_threads_count() : BLOCKS);
    const double words = BLOCKS * count * (count + 1.0) +
                         threads * ((double)sizeof(batch) / sizeof(double) + count * POINTS);
    return (bb_need){.host_bytes = (double)sizeof(double) * words,
                     .seconds = pixels * (count * 1e-8 + count * count / BB_NEED_FP64_RATE)};
}
