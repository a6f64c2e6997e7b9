// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/factor_solve.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <lapacke.h>
#include <string.h>

static const bb_kernel forward_kernel = {.name = "factor_forward",
                                         .grain = 1,
                                         .run[BB_DEVICE_CUDA] =
                                             BB_CUDA_TWIN(bb_factor_solve_forward_cuda)};
static const bb_kernel back_kernel = {.name = "factor_back",
                                      .grain = 1,
                                      .run[BB_DEVICE_CUDA] =
                                          BB_CUDA_TWIN(bb_factor_solve_back_cuda)};
static const bb_kernel add_kernel = {.name = "entries_add",
                                     .grain = 1,
                                     .run[BB_DEVICE_CUDA] =
                                         BB_CUDA_TWIN(bb_factor_solve_add_entries_cuda)};
static const bb_kernel save_kernel = {.name = "rows_save",
                                      .grain = 1,
                                      .run[BB_DEVICE_CUDA] =
                                          BB_CUDA_TWIN(bb_factor_solve_save_rows_cuda)};

// Consecutive tiles of one level and size.
typedef struct launch {
    bb_index first, count;
    bool small;
} launch;

struct bb_factor_solve {
    bb_device *device;
    bb_index supernodes, unknowns;
    bb_factor_tile *whole; // [supernodes] all columns of each, for the forward sweep
    int32_t *parent;       // [supernodes] -1: a root
    int32_t *of;           // [unknowns] supernode
    launch *launches;      // [launch_count] root first
    bb_index launch_count;
    void *values, *rows, *tiles; // on the device
    void *saved;                 // [supernodes] on the device, for one run
    void *own;                   // on the device, for the largest run
    bb_index own_bytes;
    int32_t *first_saved; // [supernodes]
    int32_t *reached;     // [unknowns] reached rows of x, in order
};

// Supernodes, their rows as 32-bit numbers on the device, and their parents.
static bb_status lay_out(const bb_supernodes *factor, bb_factor_solve *out)
{
    bb_status status = BB_OK;
    int32_t *rows = NULL;
    BB_TRY(BB_ALLOCATE(factor->row_count, &rows));
    BB_TRY(BB_ALLOCATE(factor->count, &out->whole));
    BB_TRY(BB_ALLOCATE(factor->count, &out->parent));
    BB_TRY(BB_ALLOCATE(factor->unknowns, &out->of));
    BB_TRY(BB_ALLOCATE(factor->count, &out->first_saved));
    BB_TRY(BB_ALLOCATE(factor->unknowns, &out->reached));
    for (int64_t i = 0; i < factor->row_count; ++i) {
        rows[i] = (int32_t)factor->row[i];
    }
    for (int64_t s = 0; s < factor->count; ++s) {
        out->whole[s] = (bb_factor_tile){
            .value = factor->value_start[s],
            .row = factor->row_start[s],
            .rows = (int32_t)(factor->row_start[s + 1] - factor->row_start[s]),
            .columns = (int32_t)(factor->first[s + 1] - factor->first[s]),
            .supernode = (int32_t)s,
        };
        for (int64_t i = factor->first[s]; i < factor->first[s + 1]; ++i) {
            out->of[i] = (int32_t)s;
        }
    }
    for (int64_t s = 0; s < factor->count; ++s) {
        const bb_factor_tile *tile = &out->whole[s];
        out->parent[s] =
            tile->rows > tile->columns ? out->of[factor->row[tile->row + tile->columns]] : -1;
    }
    BB_TRY(bb_device_allocate_copy(out->device, rows, (size_t)factor->row_count * sizeof *rows,
                                   &out->rows));
done:
    BB_RELEASE(&rows);
    return status;
}

static bool is_small(const bb_factor_tile *tile)
{
    return tile->columns <= 2 * BB_FACTOR_SMALL;
}

static bb_index tiles_of(const bb_factor_tile *tile)
{
    const int32_t width = is_small(tile) ? BB_FACTOR_SMALL : BB_FACTOR_LARGE;
    return (tile->columns + width - 1) / width;
}

// Tiles by level from the roots down, large supernodes of a level first.
static bb_status plan_back(bb_factor_solve *out)
{
    bb_status status = BB_OK;
    int32_t *level = NULL; // [supernodes]
    bb_factor_tile *tiles = NULL;
    bb_index tile_count = 0;
    int32_t levels = 0;
    BB_TRY(BB_ALLOCATE(out->supernodes, &level));
    for (bb_index s = out->supernodes - 1; s >= 0; --s) {
        level[s] = out->parent[s] < 0 ? 0 : level[out->parent[s]] + 1;
        levels = level[s] >= levels ? level[s] + 1 : levels;
        tile_count += tiles_of(&out->whole[s]);
    }
    BB_TRY(BB_ZEROED(2 * (bb_index)levels, &out->launches));
    BB_TRY(BB_ALLOCATE(tile_count, &tiles));
    out->launch_count = 2 * (bb_index)levels;
    for (bb_index s = 0; s < out->supernodes; ++s) {
        out->launches[2 * level[s] + is_small(&out->whole[s])].count += tiles_of(&out->whole[s]);
    }
    for (bb_index i = 1; i < out->launch_count; ++i) {
        out->launches[i].first = out->launches[i - 1].first + out->launches[i - 1].count;
        out->launches[i - 1].count = 0; // filled again below
        out->launches[i].small = i % 2 == 1;
    }
    out->launches[out->launch_count - 1].count = 0;
    for (bb_index s = 0; s < out->supernodes; ++s) {
        launch *target = &out->launches[2 * level[s] + is_small(&out->whole[s])];
        for (bb_index t = 0; t < tiles_of(&out->whole[s]); ++t) {
            bb_factor_tile *tile = &tiles[target->first + target->count++];
            *tile = out->whole[s];
            tile->column = (int32_t)t * (target->small ? BB_FACTOR_SMALL : BB_FACTOR_LARGE);
        }
    }
    BB_TRY(bb_device_allocate_copy(out->device, tiles, (size_t)tile_count * sizeof *tiles,
                                   &out->tiles));
done:
    BB_RELEASE(&level);
    BB_RELEASE(&tiles);
    return status;
}

typedef struct inversion {
    const bb_factor_tile *whole;
    double *values;
} inversion;

// Replaces D, U of a supernode by (D D')^-1, both triangles of it, and -U D^-1.
static bb_status invert(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const inversion *work = context;
    const bb_factor_tile *tile = &work->whole[index];
    double *diagonal = work->values + tile->value;
    const int below = tile->rows - tile->columns;
    if (below > 0) {
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, below,
                    tile->columns, -1.0, diagonal, tile->rows, diagonal + tile->columns,
                    tile->rows);
    }
    const int info =
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', tile->columns, diagonal, tile->rows);
    BB_REQUIRE(info == 0, BB_INTERNAL, "supernode %td of the factor: LAPACK dpotri failed: info %d",
               index, info);
    for (bb_index j = 0; j < tile->columns; ++j) {
        for (bb_index i = j + 1; i < tile->columns; ++i) {
            diagonal[i * tile->rows + j] = diagonal[j * tile->rows + i];
        }
    }
done:
    return status;
}

static bb_status upload_values(const bb_supernodes *factor, bb_factor_solve *out)
{
    bb_status status = BB_OK;
    inversion work = {.whole = out->whole};
    const size_t bytes = (size_t)factor->value_count * sizeof *work.values;
    BB_TRY(BB_ALLOCATE(factor->value_count, &work.values));
    BB_TRY(bb_thread_copy(work.values, factor->value, bytes));
    BB_TRY(bb_thread_for(out->supernodes, invert, &work));
    BB_TRY(bb_device_allocate_copy(out->device, work.values, bytes, &out->values));
    BB_TRY(bb_device_wait(out->device));
done:
    BB_RELEASE(&work.values);
    return status;
}

bb_status bb_factor_solve_create(bb_device *device, const bb_supernodes *factor,
                                 bb_factor_solve **out)
{
    bb_status status = BB_OK;
    bb_factor_solve *solve = NULL;
    *out = NULL;
    BB_REQUIRE(factor->unknowns < INT32_MAX, BB_UNSUPPORTED,
               "a factor of %lld unknowns on a GPU, expected fewer than 2^31",
               (long long)factor->unknowns);
    BB_TRY(BB_ZEROED(1, &solve));
    solve->device = device;
    solve->supernodes = (bb_index)factor->count;
    solve->unknowns = (bb_index)factor->unknowns;
    BB_TRY(lay_out(factor, solve));
    BB_TRY(plan_back(solve));
    BB_TRY(bb_device_allocate(device, (size_t)solve->supernodes * sizeof(int32_t), &solve->saved));
    BB_TRY(upload_values(factor, solve));
    *out = solve;
    solve = NULL;
done:
    bb_factor_solve_destroy(&solve);
    return status;
}

bb_need bb_factor_solve_need(double values, double unknowns, double width)
{
    // Indices and tiles are a few per cent of the values; x_own covers only a part of the unknowns.
    const double factor = 1.05 * values * sizeof(double);
    return (bb_need){.host_bytes = values * sizeof(double),
                     .device_bytes = factor + 1.25 * unknowns * width * sizeof(double)};
}

void bb_factor_solve_destroy(bb_factor_solve **solve)
{
    bb_factor_solve *factor_solve = *solve;
    if (factor_solve != NULL) {
        bb_device_release(factor_solve->device, &factor_solve->values);
        bb_device_release(factor_solve->device, &factor_solve->rows);
        bb_device_release(factor_solve->device, &factor_solve->tiles);
        bb_device_release(factor_solve->device, &factor_solve->saved);
        bb_device_release(factor_solve->device, &factor_solve->own);
        BB_RELEASE(&factor_solve->whole);
        BB_RELEASE(&factor_solve->parent);
        BB_RELEASE(&factor_solve->of);
        BB_RELEASE(&factor_solve->launches);
        BB_RELEASE(&factor_solve->first_saved);
        BB_RELEASE(&factor_solve->reached);
        BB_RELEASE(solve);
    }
}

// Marks the supernodes of the nonzero columns of `right` and all their ancestors; returns the
// number of their rows of x, which `reached` lists.
static bb_index mark_reached(bb_factor_solve *solve, const bb_csr *right)
{
    bb_index count = 0;
    for (bb_index s = 0; s < solve->supernodes; ++s) {
        solve->first_saved[s] = -1;
    }
    for (bb_index i = 0; i < right->row_start[right->rows]; ++i) {
        for (int32_t s = solve->of[right->column[i]]; s >= 0 && solve->first_saved[s] < 0;
             s = solve->parent[s]) {
            solve->first_saved[s] = 0;
        }
    }
    for (bb_index s = 0, place = 0; s < solve->supernodes; place += solve->whole[s++].columns) {
        if (solve->first_saved[s] == 0) {
            solve->first_saved[s] = (int32_t)count;
            for (int32_t j = 0; j < solve->whole[s].columns; ++j) {
                solve->reached[count++] = (int32_t)place + j;
            }
        }
    }
    return count;
}

bb_status bb_factor_solve_add(bb_device *device, const bb_csr *entries, bb_index row_stride,
                              bb_index column_stride, double *out)
{
    bb_status status = BB_OK;
    const bb_index count = entries->row_start[entries->rows];
    void *row = NULL;
    void *column = NULL;
    void *value = NULL;
    int32_t *rows = NULL;
    if (count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index r = 0; r < entries->rows; ++r) {
        for (bb_index i = entries->row_start[r]; i < entries->row_start[r + 1]; ++i) {
            rows[i] = (int32_t)r;
        }
    }
    BB_TRY(bb_device_allocate_copy(device, rows, (size_t)count * sizeof *rows, &row));
    BB_TRY(bb_device_allocate_copy(device, entries->column, (size_t)count * sizeof *rows, &column));
    BB_TRY(bb_device_allocate_copy(device, entries->value, (size_t)count * sizeof(double), &value));
    bb_entries_task task = {row, column, value, row_stride, column_stride, out};
    BB_TRY(bb_device_launch(device, &add_kernel, count, &task));
    BB_TRY(bb_device_wait(device));
done:
    bb_device_release(device, &row);
    bb_device_release(device, &column);
    bb_device_release(device, &value);
    BB_RELEASE(&rows);
    return status;
}

static bb_status make_room(bb_factor_solve *solve, bb_index bytes)
{
    bb_status status = BB_OK;
    if (solve->own_bytes < bytes) {
        bb_device_release(solve->device, &solve->own);
        solve->own_bytes = 0;
        BB_TRY(bb_device_allocate(solve->device, (size_t)bytes, &solve->own));
        solve->own_bytes = bytes;
    }
done:
    return status;
}

static bb_status sweep_forward(const bb_factor_solve *solve, bb_factor_task *task)
{
    bb_status status = BB_OK;
    for (bb_index s = 0; s < solve->supernodes; ++s) {
        const bb_index below = solve->whole[s].rows - solve->whole[s].columns;
        if (solve->first_saved[s] >= 0 && below > 0) {
            task->supernode = solve->whole[s];
            BB_TRY(bb_device_launch(solve->device, &forward_kernel, below, task));
        }
    }
done:
    return status;
}

static bb_status sweep_backward(const bb_factor_solve *solve, bb_factor_task *task)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < solve->launch_count; ++i) {
        const launch *level = &solve->launches[i];
        task->tiles = (const bb_factor_tile *)solve->tiles + level->first;
        task->small = level->small;
        if (level->count > 0) {
            BB_TRY(bb_device_launch(solve->device, &back_kernel, level->count, task));
        }
    }
done:
    return status;
}

bb_status bb_factor_solve_run(bb_factor_solve *solve, const bb_csr *right, double *x)
{
    bb_status status = BB_OK;
    void *places = NULL;
    const bb_index width = right->rows;
    const bb_index count = mark_reached(solve, right);
    const size_t saved_bytes = (size_t)solve->supernodes * sizeof *solve->first_saved;
    BB_TRY(make_room(solve, count * width * (bb_index)sizeof *x));
    BB_TRY(bb_device_upload(solve->device, solve->saved, solve->first_saved, saved_bytes));
    BB_TRY(bb_device_allocate_copy(solve->device, solve->reached,
                                   (size_t)count * sizeof *solve->reached, &places));
    bb_rows_task rows = {places, width, x, NULL};
    bb_factor_task task = {.values = solve->values,
                           .rows = solve->rows,
                           .saved = solve->saved,
                           .own = solve->own,
                           .width = width,
                           .x = x};
    BB_TRY(bb_device_launch(solve->device, &save_kernel, count, &rows)); // zeros
    BB_TRY(bb_factor_solve_add(solve->device, right, 1, width, x));
    BB_TRY(sweep_forward(solve, &task));
    rows.own = solve->own;
    BB_TRY(bb_device_launch(solve->device, &save_kernel, count, &rows));
    BB_TRY(sweep_backward(solve, &task));
    BB_TRY(bb_device_wait(solve->device));
done:
    bb_device_release(solve->device, &places);
    return status;
}
