// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/mirror_projector.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 256, SOLVED = 128 };

typedef struct inversion {
    bb_index slopes, actuators;
    double *interaction; // [slopes][actuators]; after the solve the projector's transpose
    double *gram;        // D^T D [actuators][actuators], then its factor
    bb_index dropped;
    bb_index found; // modes wanted, the dropped ones first
    double *modes;  // Q, [found][actuators]
    double *values; // [actuators] s^2, increasing
    double *projector;
} inversion;

static bb_index least(bb_index a, bb_index b)
{
    return a < b ? a : b;
}

// Block row of the lower triangle of D^T D, and its mirror image.
static bb_status multiply(void *context, bb_index tile)
{
    const inversion *work = context;
    const int k = (int)work->actuators;
    bb_index row = 0;
    while ((row + 1) * (row + 2) / 2 <= tile) {
        ++row;
    }
    const bb_index i = BLOCK * row;
    const bb_index j = BLOCK * (tile - row * (row + 1) / 2);
    const bb_index height = least(BLOCK, k - i);
    const bb_index width = least(BLOCK, k - j);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)height, (int)width, (int)work->slopes,
                1.0, work->interaction + i, k, work->interaction + j, k, 0.0,
                work->gram + i * k + j, k);
    for (bb_index a = i; a < i + height; ++a) {
        for (bb_index b = j; b < j + width && i != j; ++b) {
            work->gram[b * k + a] = work->gram[a * k + b];
        }
    }
    return BB_OK;
}

static bb_status hold_info(lapack_int info, const char *name, bb_index k)
{
    bb_status status = BB_OK;
    BB_REQUIRE(info == 0,
               info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR
                   ? BB_MEMORY
                   : BB_INTERNAL,
               "pseudo-inverse of a mirror of %td actuators: %s returned %d", k, name, (int)info);
done:
    return status;
}

// dsymv of OpenBLAS for SSE2 reads ahead, past the end of its vectors and matrix: without room
// behind them that is a fault where they end with a mapped page.
enum { READ_AHEAD = 16 };

// Eigenvalues of D^T D, all, and the eigenvectors of those to be dropped, or up to `margin` above.
static bb_status find_modes(double condition, double margin, inversion *work)
{
    bb_status status = BB_OK;
    const bb_index n = work->actuators;
    const lapack_int k = (lapack_int)n;
    double *reduced = NULL;  // [n][n]
    double *diagonal = NULL; // [n], beside [n], reflections [n]
    double *beside = NULL;
    double *reflections = NULL;
    double *copy = NULL; // [n]
    lapack_int *support = NULL;
    BB_TRY(BB_ALLOCATE(n * n + READ_AHEAD, &reduced));
    BB_TRY(BB_ALLOCATE(n + READ_AHEAD, &diagonal));
    BB_TRY(BB_ALLOCATE(n + READ_AHEAD, &beside));
    BB_TRY(BB_ALLOCATE(n + READ_AHEAD, &reflections));
    BB_TRY(BB_ALLOCATE(n, &copy));
    memcpy(reduced, work->gram, (size_t)(n * n) * sizeof *reduced);
    BB_TRY(hold_info(
        LAPACKE_dsytrd(LAPACK_COL_MAJOR, 'L', k, reduced, k, diagonal, beside, reflections),
        "dsytrd", n));
    memcpy(work->values, diagonal, (size_t)n * sizeof *diagonal);
    memcpy(copy, beside, (size_t)n * sizeof *copy);
    BB_TRY(hold_info(LAPACKE_dsterf(k, work->values, copy), "dsterf", n));
    const double largest = work->values[n - 1];
    BB_REQUIRE(largest > 0.0, BB_INVALID,
               "no actuator of %td moves a slope: all stand too far from the valid subapertures",
               n);
    while (work->dropped < n && work->values[work->dropped] < largest / (condition * condition)) {
        ++work->dropped;
    }
    const double above = margin * margin * largest / (condition * condition);
    while (work->found < n && (work->found < work->dropped || work->values[work->found] < above)) {
        ++work->found;
    }
    if (work->found > 0) {
        const lapack_int wanted = (lapack_int)work->found;
        lapack_int found = 0;
        lapack_logical precise = 1;
        BB_TRY(BB_ALLOCATE(n * work->found, &work->modes));
        BB_TRY(BB_ALLOCATE(2 * work->found, &support));
        BB_TRY(hold_info(LAPACKE_dstemr(LAPACK_COL_MAJOR, 'V', 'I', k, diagonal, beside, 0.0, 0.0,
                                        1, wanted, &found, copy, work->modes, k, wanted, support,
                                        &precise),
                         "dstemr", n));
        BB_TRY(hold_info(LAPACKE_dormtr(LAPACK_COL_MAJOR, 'L', 'L', 'N', k, wanted, reduced, k,
                                        reflections, work->modes, k),
                         "dormtr", n));
    }
done:
    BB_RELEASE(&reduced);
    BB_RELEASE(&diagonal);
    BB_RELEASE(&beside);
    BB_RELEASE(&reflections);
    BB_RELEASE(&copy);
    BB_RELEASE(&support);
    return status;
}

// Lifts the dropped modes of D^T D to its largest eigenvalue, and factors it.
static bb_status factor(inversion *work)
{
    const int k = (int)work->actuators;
    const double largest = work->values[k - 1];
    for (bb_index q = 0; q < work->dropped; ++q) {
        cblas_dsyr(CblasColMajor, CblasLower, k, largest - work->values[q], work->modes + q * k, 1,
                   work->gram, k);
    }
    return hold_info(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', k, work->gram, k), "dpotrf", k);
}

// Rows begin..end of D become those of Dx^T.
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
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, k, rows, 1.0,
                work->gram, k, sides, k);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, k, rows, 1.0,
                work->gram, k, sides, k);
    if (modes > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, modes, k, 1.0, sides, k,
                    work->modes, k, 0.0, share, modes);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, k, modes, -1.0, share, modes,
                    work->modes, k, 1.0, sides, k);
    }
done:
    BB_RELEASE(&share);
    return status;
}

static bb_status transpose(void *context, bb_index begin, bb_index end)
{
    const inversion *work = context;
    for (bb_index first = 0; first < work->slopes; first += SOLVED) {
        const bb_index last = least(first + SOLVED, work->slopes);
        for (bb_index a = begin; a < end; ++a) {
            for (bb_index s = first; s < last; ++s) {
                work->projector[a * work->slopes + s] = work->interaction[s * work->actuators + a];
            }
        }
    }
    return BB_OK;
}

bb_need bb_mirror_projector_need(bb_index actuators)
{
    static const double seconds_per_actuator3 = 3.0e-10; // of the tridiagonal form, one thread
    const double k = (double)actuators;
    const double modes = ceil(sqrt(k));
    return (bb_need){.host_bytes =
                         sizeof(double) * (2.0 * k * k + (6.0 + modes) * k + 4.0 * READ_AHEAD),
                     .seconds = seconds_per_actuator3 * k * k * k};
}

void bb_weak_modes_release(bb_weak_modes *modes)
{
    BB_RELEASE(&modes->ratios);
    BB_RELEASE(&modes->volts);
    modes->count = 0;
}

static bb_status keep_weak(inversion *work, bb_weak_modes *weak)
{
    bb_status status = BB_OK;
    const double largest = work->values[work->actuators - 1];
    BB_TRY(BB_ALLOCATE(work->found, &weak->ratios));
    for (bb_index q = 0; q < work->found; ++q) {
        weak->ratios[q] = sqrt(fmax(work->values[q], 0.0) / largest);
    }
    weak->count = work->found;
    weak->volts = work->modes;
    work->modes = NULL;
done:
    return status;
}

bb_status bb_mirror_projector_make(bb_index slopes, bb_index actuators, double condition,
                                   double *interaction, double *projector, bb_index *dropped,
                                   bb_weak_modes *weak)
{
    bb_status status = BB_OK;
    inversion work = {.slopes = slopes,
                      .actuators = actuators,
                      .interaction = interaction,
                      .projector = projector};
    const bb_index blocks = (actuators + BLOCK - 1) / BLOCK;
    BB_TRY(BB_ALLOCATE(actuators * actuators, &work.gram));
    BB_TRY(BB_ALLOCATE(actuators, &work.values));
    BB_TRY(bb_thread_for(blocks * (blocks + 1) / 2, multiply, &work));
    BB_TRY(find_modes(condition, weak == NULL ? 1.0 : weak->margin, &work));
    BB_TRY(factor(&work));
    BB_TRY(bb_thread_ranges(slopes, SOLVED, solve, &work));
    BB_TRY(bb_thread_ranges(actuators, SOLVED, transpose, &work));
    *dropped = work.dropped;
    if (weak != NULL) {
        BB_TRY(keep_weak(&work, weak));
    }
done:
    BB_RELEASE(&work.gram);
    BB_RELEASE(&work.values);
    BB_RELEASE(&work.modes);
    return status;
}
