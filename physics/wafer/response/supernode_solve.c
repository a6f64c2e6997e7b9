// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/supernode_solve.h"

#include "core/memory.h"
#include "core/portable.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

// One supernode: its columns, the rows below them, and where they stand.
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

// Supernode of a column, by bisection.
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

static void gather_rows(const block *tile, bb_index width, const double *x, double *part)
{
    for (int i = 0; i < tile->below; ++i) {
        memcpy(part + i * width, x + tile->row[i] * width, (size_t)width * sizeof *part);
    }
}

// Row-major [rows][width] is column-major width x rows, so that x stands to the left of L'.
static void go_forward(const block *tile, bb_index width, double *part, double *x)
{
    double *own = x + tile->first * width;
    int w = (int)width;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, w, tile->columns,
                1.0, tile->diagonal, tile->rows, own, w);
    if (tile->below > 0) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, w, tile->below, tile->columns, 1.0,
                    own, w, tile->under, tile->rows, 0.0, part, w);
        subtract_rows(tile, width, part, x);
    }
}

static void go_back(const block *tile, bb_index width, double *part, double *x)
{
    double *own = x + tile->first * width;
    int w = (int)width;
    if (tile->below > 0) {
        gather_rows(tile, width, x, part);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, w, tile->columns, tile->below, -1.0,
                    part, w, tile->under, tile->rows, 1.0, own, w);
    }
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, w, tile->columns,
                1.0, tile->diagonal, tile->rows, own, w);
}

bb_need bb_supernodes_solve_need(double nodes, double unknowns, bb_index width)
{
    static const double lines = 4.0;
    const double below = lines * sqrt(4.0 / M_PI * nodes) * unknowns;
    return (bb_need){.host_bytes =
                         below * (double)width * sizeof(double) + nodes * unknowns}; // and marks
}

bb_status bb_supernodes_solve(const bb_supernodes *factor, bb_index width, bb_index touched_count,
                              const int64_t *touched, double *x)
{
    bb_status status = BB_OK;
    double *part = NULL;
    unsigned char *reached = NULL;
    int limit = 1;
    for (int64_t s = 0; s < factor->count; ++s) {
        int below = block_at(factor, s).below;
        limit = below > limit ? below : limit;
    }
    BB_TRY(BB_ALLOCATE(limit * width, &part));
    BB_TRY(BB_ZEROED(factor->count, &reached));
    for (bb_index i = 0; i < touched_count; ++i) {
        reached[supernode_of(factor, touched[i])] = 1;
    }
    for (int64_t s = 0; s < factor->count; ++s) {
        if (touched != NULL && !reached[s]) {
            continue;
        }
        block tile = block_at(factor, s);
        go_forward(&tile, width, part, x);
        if (tile.below > 0) {
            reached[supernode_of(factor, tile.row[0])] =
                1; // its parent; the others come from there
        }
    }
    for (int64_t s = factor->count - 1; s >= 0; --s) {
        block tile = block_at(factor, s);
        go_back(&tile, width, part, x);
    }
done:
    BB_RELEASE(&part);
    BB_RELEASE(&reached);
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
               BB_INVALID, "supernode %lld of the factor does not hold together", (long long)s);
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
                   BB_INVALID, "place %lld of the factor's permutation is out of range",
                   (long long)i);
    }
done:
    return status;
}
