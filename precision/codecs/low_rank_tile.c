// SPDX-License-Identifier: Apache-2.0
#include "precision/codecs/low_rank_tile.h"

#include "core/memory.h"
#include "core/random.h"
#include "precision/format.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

// FIRST: columns of the first sketch. TOP: largest magnitudes of a stored vector are 2^TOP to
// 2^(TOP + 1), which leaves fp16 22 binades below at full precision. TRIES: attempts, each with a
// smaller error budget.
enum { FIRST = 8, TOP = 8, TRIES = 6 };

static bb_index least(bb_index a, bb_index b)
{
    return a < b ? a : b;
}

bb_index bb_low_rank_tile_most_terms(bb_index rows, bb_index cells)
{
    return least(least(rows, cells), rows * cells / (rows + cells) + FIRST);
}

// Takes `count` doubles from the workspace, rounded up to cache lines.
static double *carve(double **next, bb_index count)
{
    double *out = *next;
    *next += (count + 7) / 8 * 8;
    return out;
}

bb_low_rank_room bb_low_rank_room_in(void *memory, bb_index rows, bb_index cells)
{
    double *next = memory;
    const bb_index rank = bb_low_rank_tile_most_terms(rows, cells);
    return (bb_low_rank_room){.rows = rows,
                              .cells = cells,
                              .rank = rank,
                              .tile = carve(&next, rows * cells),
                              .rest = carve(&next, rows * cells),
                              .q = carve(&next, rows * rank),
                              .b = carve(&next, cells * rank),
                              .left = carve(&next, rows * rank),
                              .right = carve(&next, cells * rank),
                              .core = carve(&next, rank * rank),
                              .sigma = carve(&next, rank),
                              .rounding = carve(&next, rank),
                              .tau = carve(&next, rank),
                              .work = carve(&next, 2 * (rows + cells)),
                              .live = carve(&next, cells)};
}

size_t bb_low_rank_room_bytes(bb_index rows, bb_index cells)
{
    enum { ARRAYS = 12, LINE = 8 };
    const bb_index rank = bb_low_rank_tile_most_terms(rows, cells);
    return sizeof(double) * (size_t)(2 * rows * cells + (2 * rank + 2) * (rows + cells) +
                                     rank * (rank + 3) + cells + ARRAYS * LINE);
}

void bb_low_rank_form_release(bb_low_rank_form *form)
{
    BB_RELEASE(&form->v);
    BB_RELEASE(&form->u_wide);
    BB_RELEASE(&form->u_narrow);
    BB_RELEASE(&form->scale);
}

void bb_low_rank_tile_gaussians(bb_index count, double *out)
{
    for (bb_index i = 0; i < count; i += 2) {
        double pair[2];
        bb_random_normal_pair(0, BB_STREAM_RANGE_FINDER, (uint64_t)(i / 2), pair);
        out[i] = pair[0];
        if (i + 1 < count) {
            out[i + 1] = pair[1];
        }
    }
}

static double norm(const double *values, bb_index count)
{
    return cblas_dnrm2((int)count, values, 1);
}

// A tile being compressed. LAPACK's column-major n x m is row-major [m][n] here.
typedef struct task {
    bb_low_rank_room *room;
    const double *gaussians;
    int m, n;         // rows, cells
    int rank;         // columns of Q so far
    double limit;     // bound on the error's Frobenius norm
    double remainder; // norm of the remainder, weighted
    double count;     // of columns that are not all zero
    bool all_wide;
} task;

static void find_live(task *work)
{
    double *live = work->room->live;
    memset(live, 0, (size_t)work->n * sizeof *live);
    for (int i = 0; i < work->m; ++i) {
        const double *row = work->room->tile + (bb_index)i * work->n;
        for (int j = 0; j < work->n; ++j) {
            live[j] = row[j] != 0.0 ? 1.0 : live[j];
        }
    }
    work->count = 0.0;
    for (int j = 0; j < work->n; ++j) {
        work->count += live[j];
    }
}

// Multiplies the mean over the nonzero columns by `factor`.
static void scale_mean(const task *work, double factor, double *row)
{
    const double *live = work->room->live;
    double sum = 0.0;
    for (int j = 0; j < work->n; ++j) {
        sum += live[j] * row[j];
    }
    double step = (factor - 1.0) * sum / work->count;
    for (int j = 0; j < work->n; ++j) {
        row[j] += live[j] * step;
    }
}

// Adds `count` columns to Q and B and subtracts their part from the remainder.
static bb_status widen(task *work, int count)
{
    bb_status status = BB_OK;
    bb_low_rank_room *room = work->room;
    const int m = work->m;
    const int n = work->n;
    const int k = work->rank;
    double *q = room->q + (bb_index)k * m;
    double *b = room->b + (bb_index)k * n;
    const double *sample = work->gaussians + (bb_index)k * room->cells;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, count, n, 1.0, room->rest, n, sample,
                (int)room->cells, 0.0, q, m);
    if (k > 0) {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, k, count, m, 1.0, room->q, m, q, m,
                    0.0, room->core, k);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, count, k, -1.0, room->q, m,
                    room->core, k, 1.0, q, m);
    }
    lapack_int info = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, count, q, m, room->tau);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgeqrf failed for a tile: info %d", (int)info);
    info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, m, count, count, q, m, room->tau);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dorgqr failed for a tile: info %d", (int)info);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, count, m, 1.0, room->rest, n, q, m,
                0.0, b, n);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, m, count, -1.0, b, n, q, m, 1.0,
                room->rest, n);
    work->rank = k + count;
    work->remainder = norm(room->rest, (bb_index)m * n);
done:
    return status;
}

// Computes E L for `count` rows in place.
static void apply_norm(const task *work, bb_index count, double *rows)
{
    const bb_low_rank_norm *norms = &work->room->norm;
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)count,
                (int)norms->columns, 1.0, norms->factor, (int)norms->stride, rows, work->n);
}

// Computes the norm of the errors [m][n] that the tolerance bounds; overwrites them.
static double error_of(const task *work, double *errors)
{
    if (work->room->norm.factor != NULL) {
        apply_norm(work, work->m, errors);
    }
    return norm(errors, (bb_index)work->m * work->n);
}

static void apply_weights(const task *work)
{
    double *rest = work->room->rest;
    if (work->room->norm.factor != NULL) {
        apply_norm(work, work->m, rest);
        return;
    }
    for (bb_index i = 0; i < work->m; ++i) {
        scale_mean(work, sqrt(work->count), rest + i * work->n);
    }
}

// Removes the weights from the right vectors.
static void remove_weights(const task *work)
{
    const bb_low_rank_norm *norms = &work->room->norm;
    double *right = work->room->right;
    if (norms->factor != NULL) {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, work->rank,
                    (int)norms->columns, 1.0, norms->factor, (int)norms->stride, right, work->n);
        return;
    }
    for (bb_index i = 0; i < work->rank; ++i) {
        scale_mean(work, 1.0 / sqrt(work->count), right + i * work->n);
    }
}

static bb_status find_range(task *work)
{
    bb_status status = BB_OK;
    int limit = (int)least(least(work->m, work->n), work->room->rank);
    double enough = work->limit;
    work->rank = 0;
    memcpy(work->room->rest, work->room->tile, (size_t)work->m * (size_t)work->n * sizeof(double));
    apply_weights(work);
    work->remainder = norm(work->room->rest, (bb_index)work->m * work->n);
    for (int step = FIRST; work->rank < limit && work->remainder > enough;) {
        enough = 0.125 * work->limit;
        BB_TRY(widen(work, (int)least(step, limit - work->rank)));
        step = work->rank;
    }
done:
    return status;
}

// Computes left vectors [rank][m], right ones [rank][n] and singular values of Q B.
static bb_status order_terms(task *work)
{
    bb_status status = BB_OK;
    bb_low_rank_room *room = work->room;
    const int k = work->rank;
    lapack_int info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', work->n, k, room->b, work->n,
                                     room->sigma, room->right, work->n, room->core, k);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgesdd failed for a tile: info %d", (int)info);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, work->m, k, k, 1.0, room->q, work->m,
                room->core, k, 0.0, room->left, work->m);
    remove_weights(work);
done:
    return status;
}

// Returns the exponent e for which the largest of 2^e values lies in [2^TOP, 2^(TOP + 1)).
static int balance(const double *values, bb_index count)
{
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        largest = fmax(largest, fabs(values[i]));
    }
    return largest > 0.0 ? TOP - ilogb(largest) : 0;
}

// Stores `factor` * values at 2^e in fp16 or fp32; `decoded` gets the stored values without 2^e and
// `exact` the intended ones. Returns the squared difference.
static double store(const double *values, bb_index count, double factor, bb_format format,
                    void *words, double *decoded, int *e)
{
    double sum = 0.0;
    *e = balance(values, count);
    double up = ldexp(factor, *e);
    double down = ldexp(1.0, -*e);
    for (bb_index i = 0; i < count; ++i) {
        decoded[i] = values[i] * up;
    }
    (void)bb_format_encode(format, decoded, count, words);
    bb_format_decode(format, words, count, decoded);
    for (bb_index i = 0; i < count; ++i) {
        decoded[i] *= down;
        double difference = decoded[i] - factor * values[i];
        sum += difference * difference;
    }
    return sum;
}

// sigma = significand 2^exponent, significand in [1, 2); u is multiplied by the significand.
static double split(double sigma, int *exponent)
{
    *exponent = sigma > 0.0 ? ilogb(sigma) : 0;
    return ldexp(sigma, -*exponent);
}

// Computes the squared error of a row in the norm; overwrites `decoded`.
static double row_error(const task *work, const double *exact, double *decoded)
{
    for (int j = 0; j < work->n; ++j) {
        decoded[j] -= exact[j];
    }
    apply_norm(work, 1, decoded);
    const double price = norm(decoded, work->n);
    return price * price;
}

// Computes the squared error that each term would have in fp16.
static void estimate_rounding(const task *work)
{
    const bb_low_rank_room *room = work->room;
    uint16_t *words = (uint16_t *)(void *)(room->work + room->rows + room->cells);
    for (int i = 0; i < work->rank; ++i) {
        int exponent = 0;
        int unused = 0;
        double significand = split(room->sigma[i], &exponent);
        double of_u = store(room->left + (bb_index)i * work->m, work->m, significand,
                            BB_FORMAT_FP16, words, room->work, &unused);
        double of_v = store(room->right + (bb_index)i * work->n, work->n, 1.0, BB_FORMAT_FP16,
                            words, room->work, &unused);
        if (room->norm.factor != NULL) {
            of_v = row_error(work, room->right + (bb_index)i * work->n, room->work);
        }
        room->rounding[i] = ldexp(of_u + significand * significand * of_v, 2 * exponent);
    }
}

// Finds the cheapest number of terms and of wide terms with a squared error of `room`; false: none.
static bool choose(const task *work, double budget, int *terms, int *wide)
{
    const double *sigma = work->room->sigma;
    const double *rounding = work->room->rounding;
    int best = 2 * work->rank + 1;
    double tail = 0.0;
    for (int k = work->rank; k > 0; --k) {
        double lost = tail;
        int w = 0;
        for (int i = 0; i < k; ++i) {
            lost += rounding[i];
        }
        while (w < k && (lost > budget || work->all_wide)) {
            lost += 0x1p-48 * sigma[w] * sigma[w] - rounding[w];
            ++w;
        }
        if (lost <= budget && k + w <= best) {
            best = k + w;
            *terms = k;
            *wide = w;
        }
        tail += sigma[k - 1] * sigma[k - 1];
    }
    return best <= 2 * work->rank;
}

static bb_status allocate_form(bb_index m, bb_index n, bb_low_rank_form *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE((4 * out->wide + 2 * out->narrow) * n, &out->v));
    BB_TRY(BB_ALLOCATE(out->wide + out->narrow, &out->scale));
    if (!out->dense) {
        BB_TRY(BB_ALLOCATE(out->wide * m, &out->u_wide));
        BB_TRY(BB_ALLOCATE(out->narrow * m, &out->u_narrow));
    }
done:
    if (status != BB_OK) {
        bb_low_rank_form_release(out);
    }
    return status;
}

// Returns row i of a form's V.
static void *row_of_v(const bb_low_rank_form *form, bb_index i, bb_index n)
{
    return form->v + (i < form->wide ? 4 * i : 4 * form->wide + 2 * (i - form->wide)) * n;
}

// Rounds the terms; subtracts their decoded sum from the exact tile to compute the error.
static bb_status round_terms(const task *work, int terms, int wide, bb_low_rank_form *out)
{
    bb_status status = BB_OK;
    bb_low_rank_room *room = work->room;
    const int m = work->m;
    const int n = work->n;
    *out = (bb_low_rank_form){.wide = wide, .narrow = terms - wide};
    BB_TRY(allocate_form(m, n, out));
    for (bb_index i = 0; i < terms; ++i) {
        int exponent = 0;
        int of_u = 0;
        int of_v = 0;
        bb_format format = i < wide ? BB_FORMAT_FP32 : BB_FORMAT_FP16;
        void *u = i < wide ? (void *)(out->u_wide + i * m) : out->u_narrow + (i - wide) * m;
        double significand = split(room->sigma[i], &exponent);
        double *remainder = room->q + i * m;
        (void)store(room->left + i * m, m, significand, format, u, remainder, &of_u);
        (void)store(room->right + i * n, n, 1.0, format, row_of_v(out, i, n), room->b + i * n,
                    &of_v);
        out->scale[i] = (float)ldexp(1.0, exponent - of_u - of_v);
        cblas_dscal(m, ldexp(1.0, exponent), remainder, 1);
    }
    memcpy(room->rest, room->tile, (size_t)m * (size_t)n * sizeof(double));
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, m, terms, -1.0, room->b, n, room->q, m,
                1.0, room->rest, n);
    out->error = error_of(work, room->rest);
done:
    return status;
}

static bb_status factorise(task *work, bool *held, bb_low_rank_form *out)
{
    bb_status status = BB_OK;
    int terms = 0;
    int wide = 0;
    *held = false;
    BB_TRY(find_range(work));
    double budget = work->limit * work->limit - work->remainder * work->remainder;
    if (work->rank == 0) { // the whole tile is below the tolerance
        memcpy(work->room->rest, work->room->tile,
               (size_t)work->m * (size_t)work->n * sizeof(double));
        out->error = error_of(work, work->room->rest);
        *held = true;
    }
    if (work->rank == 0 || !(budget > 0.0)) {
        goto done;
    }
    BB_TRY(order_terms(work));
    estimate_rounding(work);
    for (int i = 0; i < TRIES && !*held && choose(work, 0.99 * budget, &terms, &wide); ++i) {
        bb_low_rank_form_release(out);
        BB_TRY(round_terms(work, terms, wide, out));
        *held = out->error <= work->limit;
        budget *= 0.8;
    }
done:
    return status;
}

static bb_status store_dense(const task *work, bb_format format, bb_low_rank_form *out)
{
    bb_status status = BB_OK;
    const bb_low_rank_room *room = work->room;
    const bool wide = format == BB_FORMAT_FP32;
    double squared = 0.0;
    *out =
        (bb_low_rank_form){.dense = true, .wide = wide ? work->m : 0, .narrow = wide ? 0 : work->m};
    BB_TRY(allocate_form(work->m, work->n, out));
    for (bb_index i = 0; i < work->m; ++i) {
        int e = 0;
        const double *row = room->tile + i * work->n;
        const double plain =
            store(row, work->n, 1.0, format, row_of_v(out, i, work->n), room->work, &e);
        squared += room->norm.factor == NULL ? plain : row_error(work, row, room->work);
        out->scale[i] = (float)ldexp(1.0, -e);
    }
    out->error = sqrt(squared);
done:
    return status;
}

// Builds the dense form, where it is cheaper or the only one available.
static bb_status compare_with_dense(const task *work, bool held, bb_low_rank_form *out)
{
    bb_status status = BB_OK;
    bb_low_rank_form dense = {0};
    const double values = (double)work->m * (double)work->n;
    const double cost = (double)(2 * out->wide + out->narrow) * (double)(work->m + work->n);
    bool narrow_pays = !work->all_wide && (!held || cost >= values);
    bool wide_pays = !held || cost >= 2.0 * values;
    if (narrow_pays) {
        BB_TRY(store_dense(work, BB_FORMAT_FP16, &dense));
        wide_pays = wide_pays && dense.error > work->limit;
        narrow_pays = dense.error <= work->limit;
    }
    if (wide_pays) {
        bb_low_rank_form_release(&dense);
        BB_TRY(store_dense(work, BB_FORMAT_FP32, &dense));
    }
    if (narrow_pays || wide_pays) {
        bb_low_rank_form_release(out);
        *out = dense;
        dense = (bb_low_rank_form){0};
    }
done:
    bb_low_rank_form_release(&dense);
    return status;
}

bb_status bb_low_rank_tile_compress(bb_low_rank_room *room, const double *gaussians, bb_index rows,
                                    bb_index cells, bb_index values, double tolerance,
                                    bool all_wide, bb_low_rank_form *out)
{
    bb_status status = BB_OK;
    bool held = false;
    task work = {.room = room,
                 .gaussians = gaussians,
                 .m = (int)rows,
                 .n = (int)cells,
                 .limit = tolerance * sqrt((double)rows * (double)values),
                 .all_wide = all_wide};
    *out = (bb_low_rank_form){0};
    find_live(&work);
    if (work.count == 0.0) {
        goto done;
    }
    BB_TRY(factorise(&work, &held, out));
    BB_TRY(compare_with_dense(&work, held, out));
done:
    if (status != BB_OK) {
        bb_low_rank_form_release(out);
    }
    return status;
}
