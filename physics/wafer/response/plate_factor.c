// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_factor.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/store.h"

#include <cblas.h>
#include <cholmod.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// One supernode: its columns, the rows below them, and their positions.
typedef struct block {
    int64_t first;
    int columns;
    int below;
    int rows;
    const int64_t *row; // [below], under the diagonal part
    const double *diagonal;
    const double *under;
} block;

static block block_at(const bb_supernodes *factor, int64_t s)
{
    int64_t columns = factor->first[s + 1] - factor->first[s];
    int64_t rows = factor->row_start[s + 1] - factor->row_start[s];
    return (block){
        .first = factor->first[s],
        .columns = (int)columns,
        .below = (int)(rows - columns),
        .rows = (int)rows,
        .row = factor->row + factor->row_start[s] + columns,
        .diagonal = factor->value + factor->value_start[s],
        .under = factor->value + factor->value_start[s] + columns,
    };
}

// Finds the supernode of a column, by bisection.
static int64_t supernode_of(const bb_supernodes *factor, int64_t column)
{
    int64_t low = 0;
    int64_t high = factor->count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (factor->first[middle] <= column) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

struct bb_narrow_factor {
    float *value; // [value_count] as those of the factor
    bb_operand_rounding round;
};

// A solve; `narrow` NULL: in fp64. Row-major [rows][width] is column-major width x rows, so that x
// is on the left of L'.
typedef struct solving {
    const bb_supernodes *factor;
    const bb_narrow_factor *narrow;
    bb_index width;
    double *part, *x;    // [largest below][width], [unknowns][width]
    float *part_f, *x_f; // the same memory in single precision
} solving;

BB_CLONES static void subtract_rows(const block *tile, bb_index width, const double *part,
                                    double *x)
{
    for (int i = 0; i < tile->below; ++i) {
        double *target = x + tile->row[i] * width;
        for (bb_index c = 0; c < width; ++c) {
            target[c] -= part[i * width + c];
        }
    }
}

BB_CLONES static void subtract_rows_f(const block *tile, bb_index width, const float *part,
                                      float *x)
{
    for (int i = 0; i < tile->below; ++i) {
        float *target = x + tile->row[i] * width;
        for (bb_index c = 0; c < width; ++c) {
            target[c] -= part[i * width + c];
        }
    }
}

// Rows of `bytes` each.
static void gather_rows(const block *tile, size_t bytes, const void *x, void *part)
{
    for (int i = 0; i < tile->below; ++i) {
        memcpy((char *)part + (size_t)i * bytes, (const char *)x + (size_t)tile->row[i] * bytes,
               bytes);
    }
}

static void sweep_forward(const solving *task, const block *tile)
{
    const int w = (int)task->width;
    double *own = task->x + tile->first * w;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, w, tile->columns,
                1.0, tile->diagonal, tile->rows, own, w);
    if (tile->below > 0) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, w, tile->below, tile->columns, 1.0,
                    own, w, tile->under, tile->rows, 0.0, task->part, w);
        subtract_rows(tile, w, task->part, task->x);
    }
}

static void sweep_backward(const solving *task, const block *tile)
{
    const int w = (int)task->width;
    double *own = task->x + tile->first * w;
    if (tile->below > 0) {
        gather_rows(tile, (size_t)w * sizeof *task->x, task->x, task->part);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, w, tile->columns, tile->below, -1.0,
                    task->part, w, tile->under, tile->rows, 1.0, own, w);
    }
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, w, tile->columns,
                1.0, tile->diagonal, tile->rows, own, w);
}

// Rounds the solved unknowns of a supernode.
static void round_own(const solving *task, const block *tile)
{
    if (task->narrow->round != NULL) {
        task->narrow->round(task->x_f + tile->first * task->width,
                            (bb_index)tile->columns * task->width);
    }
}

static void sweep_forward_narrow(const solving *task, const block *tile)
{
    const int w = (int)task->width;
    const float *diagonal = task->narrow->value + (tile->diagonal - task->factor->value);
    float *own = task->x_f + tile->first * w;
    cblas_strsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, w, tile->columns,
                1.0F, diagonal, tile->rows, own, w);
    round_own(task, tile);
    if (tile->below > 0) {
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, w, tile->below, tile->columns, 1.0F,
                    own, w, diagonal + tile->columns, tile->rows, 0.0F, task->part_f, w);
        subtract_rows_f(tile, w, task->part_f, task->x_f);
    }
}

static void sweep_backward_narrow(const solving *task, const block *tile)
{
    const int w = (int)task->width;
    const float *diagonal = task->narrow->value + (tile->diagonal - task->factor->value);
    float *own = task->x_f + tile->first * w;
    if (tile->below > 0) {
        gather_rows(tile, (size_t)w * sizeof *task->x_f, task->x_f, task->part_f);
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, w, tile->columns, tile->below, -1.0F,
                    task->part_f, w, diagonal + tile->columns, tile->rows, 1.0F, own, w);
    }
    cblas_strsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, w, tile->columns,
                1.0F, diagonal, tile->rows, own, w);
    round_own(task, tile);
}

bb_need bb_supernodes_solve_need(double nodes, double unknowns, bb_index width)
{
    static const double lines = 4.0;
    const double below = lines * sqrt(4.0 / M_PI * nodes) * unknowns;
    return (bb_need){.host_bytes =
                         below * (double)width * sizeof(double) + nodes * unknowns}; // and marks
}

// Sweeps forward over the supernodes marked in `reached` and those that they reach, then backward
// over all.
static void run_passes(const solving *task, bool all, unsigned char *reached)
{
    const bb_supernodes *factor = task->factor;
    for (int64_t s = 0; s < factor->count; ++s) {
        if (!all && !reached[s]) {
            continue;
        }
        const block tile = block_at(factor, s);
        (task->narrow == NULL ? sweep_forward : sweep_forward_narrow)(task, &tile);
        if (tile.below > 0) {
            reached[supernode_of(factor, tile.row[0])] = 1; // its parent
        }
    }
    for (int64_t s = factor->count - 1; s >= 0; --s) {
        const block tile = block_at(factor, s);
        (task->narrow == NULL ? sweep_backward : sweep_backward_narrow)(task, &tile);
    }
}

static bb_status solve(solving *task, bb_index touched_count, const int64_t *touched)
{
    bb_status status = BB_OK;
    const bb_supernodes *factor = task->factor;
    unsigned char *reached = NULL;
    int limit = 1;
    for (int64_t s = 0; s < factor->count; ++s) {
        int below = block_at(factor, s).below;
        limit = below > limit ? below : limit;
    }
    BB_TRY(BB_ALLOCATE(limit * task->width, &task->part));
    task->part_f = (float *)(void *)task->part;
    BB_TRY(BB_ZEROED(factor->count, &reached));
    for (bb_index i = 0; i < touched_count; ++i) {
        reached[supernode_of(factor, touched[i])] = 1;
    }
    run_passes(task, touched == NULL, reached);
done:
    BB_RELEASE(&task->part);
    BB_RELEASE(&reached);
    return status;
}

bb_status bb_supernodes_solve(const bb_supernodes *factor, bb_index width, bb_index touched_count,
                              const int64_t *touched, double *x)
{
    solving task = {.factor = factor, .width = width, .x = x};
    return solve(&task, touched_count, touched);
}

bb_status bb_narrow_factor_create(const bb_supernodes *factor, bb_operand_rounding round,
                                  bb_narrow_factor **out)
{
    bb_status status = BB_OK;
    bb_narrow_factor *narrow = NULL;
    const bb_index count = (bb_index)factor->value_count;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &narrow));
    narrow->round = round;
    BB_TRY(BB_ALLOCATE(count, &narrow->value));
    for (bb_index i = 0; i < count; ++i) {
        narrow->value[i] = (float)factor->value[i];
        BB_REQUIRE(isfinite(narrow->value[i]), BB_UNSUPPORTED,
                   "value %td of the stiffness factor is %g, outside the range of single precision",
                   i, factor->value[i]);
    }
    if (round != NULL) {
        round(narrow->value, count);
    }
    *out = narrow;
    narrow = NULL;
done:
    bb_narrow_factor_destroy(&narrow);
    return status;
}

void bb_narrow_factor_destroy(bb_narrow_factor **factor)
{
    if (*factor != NULL) {
        BB_RELEASE(&(*factor)->value);
        BB_RELEASE(factor);
    }
}

enum { CHUNK = 512 };

// Converts doubles to floats at the start of the same memory, in order, and back in reverse order:
// every location is read before it is overwritten. By memcpy, since the memory changes its type.
static void narrow_in_place(bb_index count, double *x)
{
    for (bb_index first = 0; first < count; first += CHUNK) {
        const bb_index items = count - first < CHUNK ? count - first : CHUNK;
        double wide[CHUNK];
        float narrow[CHUNK];
        memcpy(wide, x + first, (size_t)items * sizeof *wide);
        for (bb_index i = 0; i < items; ++i) {
            narrow[i] = (float)wide[i];
        }
        memcpy((char *)x + (size_t)first * sizeof *narrow, narrow, (size_t)items * sizeof *narrow);
    }
}

static void widen_in_place(bb_index count, double *x)
{
    for (bb_index first = (count - 1) / CHUNK * CHUNK; first >= 0; first -= CHUNK) {
        const bb_index items = count - first < CHUNK ? count - first : CHUNK;
        double wide[CHUNK];
        float narrow[CHUNK];
        memcpy(narrow, (char *)x + (size_t)first * sizeof *narrow, (size_t)items * sizeof *narrow);
        for (bb_index i = 0; i < items; ++i) {
            wide[i] = (double)narrow[i];
        }
        memcpy(x + first, wide, (size_t)items * sizeof *wide);
    }
}

bb_status bb_narrow_factor_solve(const bb_narrow_factor *narrow, const bb_supernodes *factor,
                                 bb_index width, bb_index touched_count, const int64_t *touched,
                                 double *x)
{
    bb_status status = BB_OK;
    const bb_index count = (bb_index)factor->unknowns * width;
    solving task = {factor, narrow, width, NULL, x, NULL, (float *)(void *)x};
    if (narrow != NULL) {
        narrow_in_place(count, x);
    }
    BB_TRY(solve(&task, touched_count, touched));
    if (narrow != NULL) {
        widen_in_place(count, x);
    }
done:
    return status;
}

static bb_status check_block(const bb_supernodes *factor, int64_t s)
{
    bb_status status = BB_OK;
    int64_t columns = factor->first[s + 1] - factor->first[s];
    int64_t rows = factor->row_start[s + 1] - factor->row_start[s];
    int64_t values = factor->value_start[s + 1] - factor->value_start[s];
    BB_REQUIRE(columns > 0 && rows >= columns && rows <= factor->unknowns && rows <= INT32_MAX &&
                   factor->first[s + 1] <= factor->unknowns && values == rows * columns &&
                   factor->row_start[s + 1] <= factor->row_count &&
                   factor->value_start[s + 1] <= factor->value_count,
               BB_INVALID, "supernode %lld of the factor is inconsistent", (long long)s);
    const int64_t *row = factor->row + factor->row_start[s];
    for (int64_t i = 0; i < rows; ++i) {
        bool right = i < columns ? row[i] == factor->first[s] + i
                                 : row[i] > row[i - 1] && row[i] < factor->unknowns;
        BB_REQUIRE(right, BB_INVALID, "row %lld of supernode %lld of the factor is out of order",
                   (long long)i, (long long)s);
    }
done:
    return status;
}

bb_status bb_supernodes_check(const bb_supernodes *factor)
{
    bb_status status = BB_OK;
    BB_REQUIRE(factor->unknowns > 0 && factor->count > 0 && factor->count <= factor->unknowns &&
                   factor->first[0] == 0 && factor->first[factor->count] == factor->unknowns &&
                   factor->row_start[0] == 0 && factor->value_start[0] == 0,
               BB_INVALID, "the factor's supernodes do not cover its unknowns");
    for (int64_t s = 0; s < factor->count; ++s) {
        BB_TRY(check_block(factor, s));
    }
    for (int64_t i = 0; i < factor->unknowns; ++i) {
        BB_REQUIRE(factor->permutation[i] >= 0 && factor->permutation[i] < factor->unknowns,
                   BB_INVALID, "entry %lld of the factor's permutation is out of range",
                   (long long)i);
    }
done:
    return status;
}

_Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "CHOLMOD's long has 64 bits");

enum { PARTS = 6 };

struct bb_plate_factor {
    bb_supernodes view;
    int64_t *place;                   // [unknowns]
    struct bb_cholmod_parts *cholmod; // owner of the viewed arrays, or NULL for the next member
    void *parts[PARTS];               // first, row_start, value_start, row, permutation, value
};

// CHOLMOD objects; a factor read from a file has none.
struct bb_cholmod_parts {
    cholmod_common common;
    cholmod_factor *factor;
};

// Checks the status of CHOLMOD after `step`.
static bb_status cholmod_status(const cholmod_common *common, const char *step)
{
    bb_status status = BB_OK;
    BB_REQUIRE(common->status != CHOLMOD_OUT_OF_MEMORY, BB_MEMORY,
               "out of memory in %s of the plate", step);
    BB_REQUIRE(common->status != CHOLMOD_NOT_POSDEF, BB_INVALID,
               "the plate's stiffness is not positive definite in fp64: stiffer springs or a "
               "coarser mesh are needed");
    BB_REQUIRE(common->status >= CHOLMOD_OK, BB_INTERNAL, "CHOLMOD status %d in %s of the plate",
               common->status, step);
done:
    return status;
}

static bb_status view_parts(bb_plate_factor *out)
{
    bb_status status = BB_OK;
    const cholmod_factor *factor = out->cholmod->factor;
    BB_REQUIRE(factor->is_super && factor->xtype == CHOLMOD_REAL, BB_INTERNAL,
               "CHOLMOD computed a simplicial factor of the plate");
    out->view = (bb_supernodes){
        .unknowns = (int64_t)factor->n,
        .count = (int64_t)factor->nsuper,
        .row_count = (int64_t)factor->ssize,
        .value_count = (int64_t)factor->xsize,
        .first = factor->super,
        .row_start = factor->pi,
        .value_start = factor->px,
        .row = factor->s,
        .value = factor->x,
        .permutation = factor->Perm,
    };
done:
    return status;
}

static bb_status fill_places(bb_plate_factor *factor)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(factor->view.unknowns, &factor->place));
    for (int64_t i = 0; i < factor->view.unknowns; ++i) {
        factor->place[factor->view.permutation[i]] = i;
    }
done:
    return status;
}

// CHOLMOD requests four OpenMP threads in loops of microseconds, whatever the number of processors:
// on two a third of the time is spent waking them. With zero active levels its regions run on the
// caller. CHOLMOD chooses the runtime, so its functions are looked up; without them only time is
// lost. Returns the previous level, -1 if unknown.
static int limit_openmp(int levels)
{
    void *get = dlsym(RTLD_DEFAULT, "omp_get_max_active_levels");
    void *set = dlsym(RTLD_DEFAULT, "omp_set_max_active_levels");
    if (get == NULL || set == NULL || levels < 0) {
        return -1;
    }
    int before = ((int (*)(void))get)();
    ((void (*)(int))set)(levels);
    return before;
}

bb_status bb_plate_factor_create(const bb_upper_triangle *matrix, const int64_t *order,
                                 bb_plate_factor **out)
{
    bb_status status = BB_OK;
    bb_plate_factor *factor = NULL;
    cholmod_sparse sparse = {.nrow = (size_t)matrix->unknowns,
                             .ncol = (size_t)matrix->unknowns,
                             .nzmax = (size_t)matrix->start[matrix->unknowns],
                             .p = matrix->start,
                             .i = matrix->row,
                             .x = matrix->value,
                             .stype = 1,
                             .itype = CHOLMOD_LONG,
                             .xtype = CHOLMOD_REAL,
                             .dtype = CHOLMOD_DOUBLE,
                             .sorted = 1,
                             .packed = 1};
    BB_TRY(BB_ZEROED(1, &factor));
    BB_TRY(BB_ZEROED(1, &factor->cholmod));
    cholmod_common *common = &factor->cholmod->common;
    (void)cholmod_l_start(common);
    common->supernodal = CHOLMOD_SUPERNODAL;
    common->nmethods = 1;
    common->method[0].ordering = CHOLMOD_GIVEN;
    common->print = 0;
    // CHOLMOD takes the permutation without const and only reads it.
    factor->cholmod->factor =
        cholmod_l_analyze_p(&sparse, (SuiteSparse_long *)(uintptr_t)order, NULL, 0, common);
    BB_TRY(cholmod_status(common, "analysis"));
    int levels = limit_openmp(0);
    (void)cholmod_l_factorize(&sparse, factor->cholmod->factor, common);
    (void)limit_openmp(levels);
    BB_TRY(cholmod_status(common, "factorisation"));
    BB_TRY(view_parts(factor));
    BB_TRY(fill_places(factor));
    *out = factor;
    factor = NULL;
done:
    bb_plate_factor_destroy(&factor);
    return status;
}

bb_need bb_plate_factor_resident(double unknowns, double per_unknown)
{
    const double values = per_unknown * unknowns * log2(unknowns);
    return (bb_need){.host_bytes = values * sizeof(double)};
}

bb_need bb_plate_factor_need(double unknowns, double per_unknown, double matrix_values)
{
    static const double rate = 8.0e7; // unknowns^1.5 per second, on one core
    const bb_need copies = {.host_bytes = 2.0 * matrix_values * (sizeof(int64_t) + sizeof(double)),
                            .seconds = pow(unknowns, 1.5) / rate};
    return bb_need_together(bb_plate_factor_resident(unknowns, per_unknown), copies);
}

double bb_plate_factor_peak_bytes(const bb_plate_factor *factor)
{
    return factor->cholmod == NULL ? 0.0 : (double)factor->cholmod->common.memory_usage;
}

const bb_supernodes *bb_plate_factor_supernodes(const bb_plate_factor *factor)
{
    return &factor->view;
}

const int64_t *bb_plate_factor_places(const bb_plate_factor *factor)
{
    return factor->place;
}

void bb_plate_factor_destroy(bb_plate_factor **factor)
{
    bb_plate_factor *plate_factor = factor == NULL ? NULL : *factor;
    if (plate_factor == NULL) {
        return;
    }
    if (plate_factor->cholmod != NULL) {
        (void)cholmod_l_free_factor(&plate_factor->cholmod->factor, &plate_factor->cholmod->common);
        (void)cholmod_l_finish(&plate_factor->cholmod->common);
        BB_RELEASE(&plate_factor->cholmod);
    }
    for (int i = 0; i < PARTS; ++i) {
        BB_RELEASE(&plate_factor->parts[i]);
    }
    BB_RELEASE(&plate_factor->place);
    BB_RELEASE(factor);
}

// A stored factor consists of the five index arrays and the values.

static const char KIND[] = "factor";

bb_status bb_plate_factor_store(const bb_plate_factor *factor, const char *folder, const char *key)
{
    const bb_supernodes *view = &factor->view;
    const bb_index starts = 8 * (view->count + 1);
    const bb_store_piece pieces[PARTS] = {
        {view->first, starts},
        {view->row_start, starts},
        {view->value_start, starts},
        {view->row, 8 * view->row_count},
        {view->permutation, 8 * view->unknowns},
        {view->value, 8 * view->value_count},
    };
    return bb_store_save(folder, KIND, key, pieces, PARTS);
}

static bb_status read_parts(bb_store *file, int64_t unknowns, bb_plate_factor *out)
{
    bb_status status = BB_OK;
    bb_index bytes[PARTS];
    for (int i = 0; i < PARTS; ++i) {
        BB_TRY(bb_store_read_new(file, &out->parts[i], &bytes[i]));
        BB_REQUIRE(bytes[i] > 0 && bytes[i] % 8 == 0, BB_INVALID,
                   "array %d has %td bytes, expected a positive multiple of 8", i, bytes[i]);
    }
    out->view = (bb_supernodes){
        .unknowns = unknowns,
        .count = bytes[0] / 8 - 1,
        .row_count = bytes[3] / 8,
        .value_count = bytes[5] / 8,
        .first = out->parts[0],
        .row_start = out->parts[1],
        .value_start = out->parts[2],
        .row = out->parts[3],
        .permutation = out->parts[4],
        .value = out->parts[5],
    };
    BB_REQUIRE(out->view.count > 0 && out->view.count <= unknowns && bytes[1] == bytes[0] &&
                   bytes[2] == bytes[0] && bytes[4] == 8 * unknowns,
               BB_INVALID, "the sizes of its arrays are inconsistent");
    BB_TRY(bb_supernodes_check(&out->view));
    BB_TRY(fill_places(out));
done:
    return status;
}

bb_status bb_plate_factor_load(const char *folder, const char *key, int64_t unknowns,
                               bb_plate_factor **out)
{
    bb_status status = BB_OK;
    bb_store *file = NULL;
    *out = NULL;
    BB_TRY(bb_store_load(folder, KIND, key, &file));
    if (file == NULL) {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, out));
    status = read_parts(file, unknowns, *out);
    if (status != BB_OK) {
        bb_plate_factor_destroy(out);
    }
    if (status != BB_OK && status != BB_MEMORY) {
        bb_store_reject(&file);
        status = BB_OK;
    }
done:
    bb_store_close(&file);
    return status;
}
