// SPDX-License-Identifier: Apache-2.0
#include "bench/processes/scalapack_peer.h"

#include "core/clock.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <string.h>

// BLACS and ScaLAPACK as their manuals declare them.
typedef struct library {
    void (*get)(int context, int what, int *value);
    void (*begin)(int *context, const char *order, int rows, int columns);
    void (*describe)(int context, int *rows, int *columns, int *row, int *column);
    void (*end)(int context);
    int (*count)(const int *n, const int *block, const int *place, const int *source,
                 const int *processes);
    void (*lay_out)(int *descriptor, const int *rows, const int *columns, const int *row_block,
                    const int *column_block, const int *row_source, const int *column_source,
                    const int *context, const int *stride, int *info);
    void (*factor)(const char *triangle, const int *n, float *values, const int *row,
                   const int *column, const int *descriptor, int *info);
} library;

struct bb_scalapack_peer {
    void *handle;
    library calls;
    int context, rows, columns, row, column;
    bool is_joined;
};

static const char *const names[] = {"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so",
                                    "libscalapack.so.2.2", "libscalapack.so"};

// POSIX gives functions as addresses of data.
static bool find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bb_status load(bb_scalapack_peer *peer)
{
    bb_status status = BB_OK;
    library *calls = &peer->calls;
    for (size_t i = 0; i < sizeof names / sizeof *names && peer->handle == NULL; ++i) {
        peer->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    BB_REQUIRE(peer->handle != NULL, BB_UNSUPPORTED,
               "no ScaLAPACK here (libscalapack-openmpi-dev)");
    BB_REQUIRE(find(peer->handle, "Cblacs_get", &calls->get) &&
                   find(peer->handle, "Cblacs_gridinit", &calls->begin) &&
                   find(peer->handle, "Cblacs_gridinfo", &calls->describe) &&
                   find(peer->handle, "Cblacs_gridexit", &calls->end) &&
                   find(peer->handle, "numroc_", &calls->count) &&
                   find(peer->handle, "descinit_", &calls->lay_out) &&
                   find(peer->handle, "pspotrf_", &calls->factor),
               BB_UNSUPPORTED, "this ScaLAPACK lacks a function");
done:
    return status;
}

bb_status bb_scalapack_peer_create(int rows, int columns, bb_scalapack_peer **out)
{
    bb_status status = BB_OK;
    bb_scalapack_peer *peer = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &peer));
    BB_TRY(load(peer));
    peer->calls.get(-1, 0, &peer->context);
    peer->calls.begin(&peer->context, "Row", rows, columns);
    peer->is_joined = true;
    peer->calls.describe(peer->context, &peer->rows, &peer->columns, &peer->row, &peer->column);
    *out = peer;
    peer = NULL;
done:
    bb_scalapack_peer_destroy(&peer);
    return status;
}

void bb_scalapack_peer_destroy(bb_scalapack_peer **peer)
{
    if (*peer != NULL) {
        if ((*peer)->is_joined) {
            (*peer)->calls.end((*peer)->context);
        }
        if ((*peer)->handle != NULL) {
            (void)dlclose((*peer)->handle);
        }
        BB_RELEASE(peer);
    }
}

// This process's blocks, column by column, of `stride` rows.
static bb_status fill(const bb_scalapack_peer *peer, const bb_matrix_source *source, bb_index block,
                      bb_index columns, bb_index stride, float *out)
{
    bb_status status = BB_OK;
    const bb_index n = source->rows;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(n * block, &values));
    for (bb_index first = 0; first < columns; first += block) {
        const bb_index start = (first / block * peer->columns + peer->column) * block;
        const bb_index width = n - start < block ? n - start : block;
        BB_TRY(bb_matrix_source_fill(source, 0, start, bb_view_matrix(values, n, width)));
        for (bb_index column = 0; column < width; ++column) {
            for (bb_index row = 0; row < stride; ++row) {
                const bb_index place = (row / block * peer->rows + peer->row) * block + row % block;
                out[(first + column) * stride + row] =
                    place < n ? (float)values[place * width + column] : 0.0F;
            }
        }
    }
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_scalapack_peer_time(bb_scalapack_peer *peer, const bb_matrix_source *source,
                                 bb_index block, double *seconds)
{
    bb_status status = BB_OK;
    const int n = (int)source->rows;
    const int size = (int)block;
    const int zero = 0;
    const int one = 1;
    const int rows = peer->calls.count(&n, &size, &peer->row, &zero, &peer->rows);
    const int columns = peer->calls.count(&n, &size, &peer->column, &zero, &peer->columns);
    const int stride = rows > 1 ? rows : 1;
    int descriptor[9];
    int info = 0;
    float *values = NULL;
    peer->calls.lay_out(descriptor, &n, &n, &size, &size, &zero, &zero, &peer->context, &stride,
                        &info);
    BB_TRY(BB_ALLOCATE((bb_index)stride * (columns > 1 ? columns : 1), &values));
    BB_TRY(fill(peer, source, block, columns, stride, values));
    const double begin = bb_clock_seconds();
    peer->calls.factor("L", &n, values, &one, &one, descriptor, &info);
    *seconds = bb_clock_seconds() - begin;
    BB_REQUIRE(info == 0, BB_INTERNAL, "pspotrf gave %d", info);
done:
    BB_RELEASE(&values);
    return status;
}
