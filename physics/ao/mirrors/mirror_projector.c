// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/mirror_projector.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, GROUP = 64, SOLVED = 128 };

// A block in tridiagonal form, stored for its eigenvectors.
typedef struct tridiagonal {
    bb_index size;
    double *reflected; // [size][size]
    double *diagonal;  // [size], beside [size], reflections [size]
    double *off_diagonal;
    double *reflections;
    bb_index first;          // offset in the inversion's values
    bb_index dropped, found; // modes
    bb_index row;            // row of its first dropped mode
    bb_index weak_row;       // row of the first requested mode that is not dropped
} tridiagonal;

// Modes are coordinates in the parity basis, zero outside the block of their parity.
typedef struct inversion {
    bb_index slopes, actuators;
    double condition, margin;
    double *interaction; // [slopes][actuators]; after the solve the projector's transpose
    bool *moved;         // [groups of slopes][blocks of actuators] whether any entry is nonzero
    double *gram;        // D^T D [actuators][actuators], until it is split into blocks
    bb_parity_basis basis;
    double *blocks[BB_PARITIES]; // [size][size] of D^T D, then their factors
    double *values;              // [actuators] s^2, block after block, increasing in each
    double largest;              // of the values
    bb_index dropped;
    bb_index found;  // requested modes, the dropped ones first
    double *modes;   // Q, [found][actuators]
    double *squares; // [found] s^2 of them
    tridiagonal forms[BB_PARITIES];
    double *projector;
} inversion;

static bb_index least(bb_index a, bb_index b)
{
    return a < b ? a : b;
}

static bb_index blocks_of(bb_index actuators)
{
    return (actuators + BLOCK - 1) / BLOCK;
}

// Marks the blocks of actuators that move any slope of begin..end.
static bb_status mark(void *context, bb_index begin, bb_index end)
{
    const inversion *work = context;
    bool *moved = work->moved + begin / GROUP * blocks_of(work->actuators);
    for (bb_index s = begin; s < end; ++s) {
        for (bb_index a = 0; a < work->actuators; ++a) {
            if (work->interaction[s * work->actuators + a] != 0.0) {
                moved[a / BLOCK] = true;
            }
        }
    }
    return BB_OK;
}

// Finds the next run of slopes, from `begin` on, moved by both blocks of actuators; empty: none.
static bb_index find_run(const inversion *work, bb_index row, bb_index column, bb_index *begin)
{
    const bb_index blocks = blocks_of(work->actuators);
    const bb_index groups = (work->slopes + GROUP - 1) / GROUP;
    bb_index group = (*begin + GROUP - 1) / GROUP;
    while (group < groups &&
           !(work->moved[group * blocks + row] && work->moved[group * blocks + column])) {
        ++group;
    }
    *begin = least(GROUP * group, work->slopes);
    while (group < groups && work->moved[group * blocks + row] &&
           work->moved[group * blocks + column]) {
        ++group;
    }
    return least(GROUP * group, work->slopes);
}

// Computes a block row of the lower triangle of D^T D, and its mirror image. D is sparse: an
// actuator moves few slopes.
static bb_status multiply(void *context, bb_index tile)
{
    const inversion *work = context;
    const int k = (int)work->actuators;
    bb_index row = 0;
    while ((row + 1) * (row + 2) / 2 <= tile) {
        ++row;
    }
    const bb_index column = tile - row * (row + 1) / 2;
    const bb_index i = BLOCK * row;
    const bb_index j = BLOCK * column;
    const bb_index height = least(BLOCK, k - i);
    const bb_index width = least(BLOCK, k - j);
    for (bb_index begin = 0, end; (end = find_run(work, row, column, &begin)) > begin;
         begin = end) {
        const double *slopes = work->interaction + begin * k;
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)height, (int)width,
                    (int)(end - begin), 1.0, slopes + i, k, slopes + j, k, 1.0,
                    work->gram + i * k + j, k);
    }
    for (bb_index a = i; a < i + height; ++a) {
        for (bb_index b = j; b < j + width && i != j; ++b) {
            work->gram[b * k + a] = work->gram[a * k + b];
        }
    }
    return BB_OK;
}

static bb_status check_info(lapack_int info, const char *name, bb_index k)
{
    bb_status status = BB_OK;
    BB_REQUIRE(
        info == 0,
        info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR ? BB_MEMORY
                                                                                  : BB_INTERNAL,
        "pseudo-inverse of a mirror of %td actuators: %s failed: info %d", k, name, (int)info);
done:
    return status;
}

// OpenBLAS's dsymv for SSE2 reads past the end of its vectors and matrix: without padding this
// faults if they end at a mapped page.
enum { READ_AHEAD = 16 };

static void release_forms(inversion *work)
{
    for (int b = 0; b < BB_PARITIES; ++b) {
        tridiagonal *form = &work->forms[b];
        BB_RELEASE(&form->reflected);
        BB_RELEASE(&form->diagonal);
        BB_RELEASE(&form->off_diagonal);
        BB_RELEASE(&form->reflections);
    }
}

// Computes the tridiagonal form and the eigenvalues of one block.
static bb_status reduce(void *context, bb_index block)
{
    bb_status status = BB_OK;
    inversion *work = context;
    tridiagonal *form = &work->forms[block];
    const bb_index n = bb_parity_basis_size(&work->basis, (int)block);
    const lapack_int k = (lapack_int)n;
    double *copy = NULL; // [n]
    form->size = n;
    form->first = work->basis.first[block];
    double *values = work->values + form->first;
    if (n == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(n * n + READ_AHEAD, &form->reflected));
    BB_TRY(BB_ALLOCATE(n + READ_AHEAD, &form->diagonal));
    BB_TRY(BB_ALLOCATE(n + READ_AHEAD, &form->off_diagonal));
    BB_TRY(BB_ALLOCATE(n + READ_AHEAD, &form->reflections));
    BB_TRY(BB_ALLOCATE(n, &copy));
    memcpy(form->reflected, work->blocks[block], (size_t)(n * n) * sizeof *form->reflected);
    BB_TRY(check_info(LAPACKE_dsytrd(LAPACK_COL_MAJOR, 'L', k, form->reflected, k, form->diagonal,
                                     form->off_diagonal, form->reflections),
                      "dsytrd", n));
    memcpy(values, form->diagonal, (size_t)n * sizeof *values);
    memcpy(copy, form->off_diagonal, (size_t)n * sizeof *copy);
    BB_TRY(check_info(LAPACKE_dsterf(k, values, copy), "dsterf", n));
done:
    BB_RELEASE(&copy);
    return status;
}

// Counts the dropped modes of each block and the other modes to compute, and assigns their
// positions.
static void choose(inversion *work)
{
    const double least_kept = work->largest / (work->condition * work->condition);
    const double least_left = work->margin * work->margin * least_kept;
    for (int b = 0; b < work->basis.blocks; ++b) {
        tridiagonal *form = &work->forms[b];
        const double *values = work->values + form->first;
        while (form->dropped < form->size && values[form->dropped] < least_kept) {
            ++form->dropped;
        }
        form->found = form->dropped;
        while (form->found < form->size && values[form->found] < least_left) {
            ++form->found;
        }
        form->row = work->dropped;
        work->dropped += form->dropped;
    }
    work->found = work->dropped;
    for (int b = 0; b < work->basis.blocks; ++b) {
        work->forms[b].weak_row = work->found;
        work->found += work->forms[b].found - work->forms[b].dropped;
    }
}

// Computes the modes of one block, into their rows.
static bb_status find_modes(void *context, bb_index block)
{
    bb_status status = BB_OK;
    const inversion *work = context;
    const tridiagonal *form = &work->forms[block];
    const bb_index n = form->size;
    const lapack_int k = (lapack_int)n;
    const lapack_int wanted = (lapack_int)form->found;
    lapack_int found = 0;
    lapack_logical precise = 1;
    double *modes = NULL;  // [wanted][n]
    double *values = NULL; // [n]
    lapack_int *support = NULL;
    if (wanted == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(n * form->found, &modes));
    BB_TRY(BB_ALLOCATE(n, &values));
    BB_TRY(BB_ALLOCATE(2 * form->found, &support));
    BB_TRY(check_info(LAPACKE_dstemr(LAPACK_COL_MAJOR, 'V', 'I', k, form->diagonal,
                                     form->off_diagonal, 0.0, 0.0, 1, wanted, &found, values, modes,
                                     k, wanted, support, &precise),
                      "dstemr", n));
    BB_TRY(check_info(LAPACKE_dormtr(LAPACK_COL_MAJOR, 'L', 'L', 'N', k, wanted, form->reflected, k,
                                     form->reflections, modes, k),
                      "dormtr", n));
    for (bb_index q = 0; q < form->found; ++q) {
        const bb_index row = q < form->dropped ? form->row + q : form->weak_row + q - form->dropped;
        memcpy(work->modes + row * work->actuators + form->first, modes + q * n,
               (size_t)n * sizeof *modes);
        work->squares[row] = work->values[form->first + q];
    }
done:
    BB_RELEASE(&modes);
    BB_RELEASE(&values);
    BB_RELEASE(&support);
    return status;
}

// Raises the dropped modes of a block of D^T D to its largest eigenvalue, and factors it.
static bb_status factor(void *context, bb_index block)
{
    const inversion *work = context;
    const tridiagonal *form = &work->forms[block];
    const int k = (int)form->size;
    double *matrix = work->blocks[block];
    if (k == 0) {
        return BB_OK;
    }
    for (bb_index q = 0; q < form->dropped; ++q) {
        cblas_dsyr(CblasColMajor, CblasLower, k, work->largest - work->values[form->first + q],
                   work->modes + (form->row + q) * work->actuators + form->first, 1, matrix, k);
    }
    return check_info(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', k, matrix, k), "dpotrf", k);
}

// Splits D^T D into blocks of parities; a single block is D^T D itself.
static bb_status fold(const bb_actuator_places *places, inversion *work)
{
    bb_status status = BB_OK;
    BB_TRY(bb_parity_basis_create(work->actuators, places, work->gram, &work->basis));
    if (work->basis.blocks == 1) {
        work->blocks[0] = work->gram;
        work->gram = NULL;
    }
    for (int b = 0; b < work->basis.blocks && work->gram != NULL; ++b) {
        const bb_index size = bb_parity_basis_size(&work->basis, b);
        BB_TRY(BB_ALLOCATE(size * size, &work->blocks[b]));
        BB_TRY(bb_parity_basis_fold(&work->basis, b, work->gram, work->blocks[b]));
    }
    BB_RELEASE(&work->gram);
done:
    return status;
}

// Computes all eigenvalues of D^T D, the eigenvectors of the modes to be dropped or up to the
// margin above, and the factors without them.
static bb_status decompose(inversion *work)
{
    bb_status status = BB_OK;
    const bb_index blocks = work->basis.blocks;
    BB_TRY(bb_thread_for(blocks, reduce, work));
    for (bb_index b = 0; b < blocks; ++b) {
        const bb_index end = work->basis.first[b + 1];
        work->largest =
            end > work->basis.first[b] ? fmax(work->largest, work->values[end - 1]) : work->largest;
    }
    BB_REQUIRE(work->largest > 0.0, BB_INVALID,
               "no actuator of %td moves a slope: all are too far from the valid subapertures",
               work->actuators);
    choose(work);
    BB_TRY(BB_ZEROED(work->found * work->actuators, &work->modes));
    BB_TRY(BB_ZEROED(work->found, &work->squares));
    BB_TRY(bb_thread_for(blocks, find_modes, work));
    BB_TRY(bb_thread_for(blocks, factor, work));
done:
    release_forms(work);
    return status;
}

// Finds the first nonzero column of some rows; `columns`: none.
static bb_index find_first(const double *values, bb_index rows, bb_index stride, bb_index columns)
{
    bb_index first = columns;
    for (bb_index i = 0; i < rows; ++i) {
        bb_index column = 0;
        while (column < first && values[i * stride + column] == 0.0) {
            ++column;
        }
        first = column;
    }
    return first;
}

// Columns begin..end of Dx from those rows of D, which it overwrites. The forward substitution
// starts at the first nonzero one.
static bb_status solve(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const inversion *work = context;
    const int k = (int)work->actuators;
    const int rows = (int)(end - begin);
    const int modes = (int)work->dropped;
    double *sides = work->interaction + begin * k;
    double *share = NULL; // [rows][modes]
    BB_TRY(BB_ALLOCATE((bb_index)rows * modes, &share));
    BB_TRY(bb_parity_basis_forward(&work->basis, rows, sides));
    for (int b = 0; b < work->basis.blocks; ++b) {
        const int size = (int)bb_parity_basis_size(&work->basis, b);
        double *part = sides + work->basis.first[b];
        const int first = (int)find_first(part, rows, k, size);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, size - first,
                    rows, 1.0, work->blocks[b] + (bb_index)first * (size + 1), size, part + first,
                    k);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, size, rows, 1.0,
                    work->blocks[b], size, part, k);
    }
    if (modes > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, modes, k, 1.0, sides, k,
                    work->modes, k, 0.0, share, modes);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, k, modes, -1.0, share, modes,
                    work->modes, k, 1.0, sides, k);
    }
    BB_TRY(bb_parity_basis_inverse(&work->basis, rows, sides));
    for (bb_index a = 0; a < work->actuators; ++a) {
        for (bb_index s = begin; s < end; ++s) {
            work->projector[a * work->slopes + s] = sides[(s - begin) * k + a];
        }
    }
done:
    BB_RELEASE(&share);
    return status;
}

// Memory of one block: D^T D, its copy in tridiagonal form, and the modes twice. With four: D^T D
// next to the blocks, then those and their copies.
bb_need bb_mirror_projector_need(bb_index actuators, bool is_even)
{
    static const double seconds_per_actuator3 = 3.0e-10; // of the tridiagonal reduction, one thread
    const double k = (double)actuators;
    const double modes = ceil(sqrt(k));
    const double squares = is_even ? 1.25 : 2.0;
    const double blocks = is_even ? (double)BB_PARITIES : 1.0;
    const bb_need values = {
        .host_bytes = sizeof(double) *
                      (squares * k * k + (7.0 + 2.0 * modes) * k + 4.0 * blocks * READ_AHEAD),
        .seconds = seconds_per_actuator3 * k * k * k / (blocks * blocks)};
    return bb_need_together(values, bb_parity_basis_need(actuators));
}

void bb_weak_modes_release(bb_weak_modes *modes)
{
    BB_RELEASE(&modes->ratios);
    BB_RELEASE(&modes->volts);
    modes->count = 0;
}

// A mode and its s^2.
typedef struct weak_mode {
    double square;
    bb_index row;
} weak_mode;

static int compare_squares(const void *a, const void *b)
{
    const weak_mode *one = a;
    const weak_mode *other = b;
    return one->square != other->square ? (one->square < other->square ? -1 : 1)
                                        : (one->row > other->row) - (one->row < other->row);
}

// Converts the modes found to actuators, weakest first.
static bb_status copy_weak(inversion *work, bb_weak_modes *weak)
{
    bb_status status = BB_OK;
    weak_mode *order = NULL;
    if (work->found == 0) {
        goto done;
    }
    BB_TRY(bb_parity_basis_inverse(&work->basis, work->found, work->modes));
    BB_TRY(BB_ALLOCATE(work->found, &order));
    BB_TRY(BB_ALLOCATE(work->found, &weak->ratios));
    BB_TRY(BB_ALLOCATE(work->found * work->actuators, &weak->volts));
    for (bb_index q = 0; q < work->found; ++q) {
        order[q] = (weak_mode){work->squares[q], q};
    }
    qsort(order, (size_t)work->found, sizeof *order, compare_squares);
    for (bb_index q = 0; q < work->found; ++q) {
        weak->ratios[q] = sqrt(fmax(order[q].square, 0.0) / work->largest);
        memcpy(weak->volts + q * work->actuators, work->modes + order[q].row * work->actuators,
               (size_t)work->actuators * sizeof *weak->volts);
    }
    weak->count = work->found;
done:
    BB_RELEASE(&order);
    return status;
}

bb_status bb_mirror_projector_make(bb_index slopes, bb_index actuators, double condition,
                                   const bb_actuator_places *places, double *interaction,
                                   double *projector, bb_index *dropped, bb_weak_modes *weak)
{
    bb_status status = BB_OK;
    inversion work = {.slopes = slopes,
                      .actuators = actuators,
                      .condition = condition,
                      .margin = weak == NULL ? 1.0 : weak->margin,
                      .interaction = interaction,
                      .projector = projector};
    const bb_index blocks = blocks_of(actuators);
    const bb_index groups = (slopes + GROUP - 1) / GROUP;
    BB_TRY(BB_ZEROED(groups * blocks, &work.moved));
    BB_TRY(BB_ZEROED(actuators * actuators, &work.gram));
    BB_TRY(BB_ALLOCATE(actuators, &work.values));
    BB_TRY(bb_thread_ranges(slopes, GROUP, mark, &work));
    BB_TRY(bb_thread_for(blocks * (blocks + 1) / 2, multiply, &work));
    BB_TRY(fold(places, &work));
    BB_TRY(decompose(&work));
    BB_TRY(bb_thread_ranges(slopes, SOLVED, solve, &work));
    *dropped = work.dropped;
    if (weak != NULL) {
        BB_TRY(copy_weak(&work, weak));
    }
done:
    BB_RELEASE(&work.moved);
    BB_RELEASE(&work.gram);
    for (int b = 0; b < BB_PARITIES; ++b) {
        BB_RELEASE(&work.blocks[b]);
    }
    bb_parity_basis_release(&work.basis);
    BB_RELEASE(&work.values);
    BB_RELEASE(&work.modes);
    BB_RELEASE(&work.squares);
    return status;
}
