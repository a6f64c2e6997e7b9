// SPDX-License-Identifier: Apache-2.0
//
// A + V W^T on a GPU against the same sums on the host: blocks at any position, fp64 bit for bit,
// fp32 rounded once, also when it passes through the source's memory in parts.
#include "solvers/factor/updated_source.h"
#include "tests/device_pair.h"
#include "tests/solvers/dense.h"

#include <cuda_runtime_api.h>

enum { N = 300, RANK = 5, TALL = 9000 };

typedef struct posed {
    bb_index n, rank;
    bb_view view;
    bb_matrix_source base;
    double *a, *v, *w; // [n][n], [n][rank], [n][rank]
    bb_device_source *twin;
} posed;

static void start(bb_index n, bb_index rank, posed *p)
{
    *p = (posed){.n = n, .rank = rank, .a = dense_new(n * n)};
    p->v = dense_new(n * rank + 1);
    p->w = dense_new(n * rank + 1);
    dense_covariance(n, 40.0, 1e-3, p->a);
    dense_random(n * rank, 3, p->v);
    dense_random(n * rank, 4, p->w);
    p->view = bb_view_matrix(p->a, n, n);
    p->base = bb_matrix_source_dense(&p->view, "A", "1");
    check_ok(bb_updated_source_create(&p->base, gpu, rank, p->v, p->w, &p->twin));
}

static void finish(posed *p)
{
    bb_device_source_destroy(&p->twin);
    BB_RELEASE(&p->a);
    BB_RELEASE(&p->v);
    BB_RELEASE(&p->w);
}

static double expect(const posed *p, bb_index i, bb_index j)
{
    double value = p->a[i * p->n + j];
    for (bb_index k = 0; k < p->rank; ++k) {
        value += p->v[i * p->rank + k] * p->w[j * p->rank + k];
    }
    return value;
}

static void check_block(const posed *p, bb_type type, bb_index row, bb_index column, bb_index rows,
                        bb_index columns)
{
    const bb_index stride = columns + 3;
    const size_t bytes = (size_t)(rows * stride) * bb_type_bytes(type);
    autofree double *found = dense_new(rows * stride);
    void *block = allocate_on(gpu, bytes);
    check_ok(bb_device_zero(gpu, block, bytes));
    check_ok(bb_device_wait(gpu));
    check_ok(bb_device_source_fill(p->twin, NULL, row, column,
                                   bb_device_matrix(block, type, rows, columns, stride)));
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); // not on a queue of the device
    check_ok(bb_device_download(gpu, found, block, bytes));
    for (bb_index i = 0; i < rows; ++i) {
        for (bb_index j = 0; j < columns; ++j) {
            const double wanted = expect(p, row + i, column + j);
            if (type == BB_F64) {
                assert_true(found[i * stride + j] == wanted);
            } else {
                assert_true(((const float *)found)[i * stride + j] == (float)wanted);
            }
        }
    }
    bb_device_release(gpu, &block);
}

TEST(blocks_are_those_of_the_host)
{
    static const bb_index ranks[] = {0, 1, RANK, 70};
    for (int i = 0; i < 4; ++i) {
        autocall(finish) posed p;
        start(N, ranks[i], &p);
        for (int t = 0; t < 2; ++t) {
            const bb_type type = t == 0 ? BB_F64 : BB_F32;
            check_block(&p, type, 0, 0, N, N);
            check_block(&p, type, 17, 130, 101, 129);
            check_block(&p, type, N - 1, 0, 1, 1);
        }
    }
}

// More values than one pass of fp32 converts.
TEST(tall_blocks_are_filled_in_parts)
{
    autocall(finish) posed p;
    assert_true((double)TALL * 1000.0 > (double)BB_UPDATED_SOURCE_ITEMS);
    start(TALL, 2, &p);
    check_block(&p, BB_F32, 0, 500, TALL, 1000);
}

TEST_GROUP(.begin = open_devices, .end = close_devices);
