// SPDX-License-Identifier: Apache-2.0
#include "core/row_product.h"

#include "core/thread.h"

#include <cblas.h>

static bb_status multiply_rows(void *context, bb_index begin, bb_index end)
{
    const bb_row_product *product = context;
    const int columns = (int)product->columns;
    const int depth = (int)product->depth;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, product->transposed ? CblasTrans : CblasNoTrans,
                (int)(end - begin), columns, depth, product->alpha, product->a + begin * depth,
                depth, product->b, product->transposed ? depth : columns, product->beta,
                product->c + begin * columns, columns);
    return BB_OK;
}

bb_status bb_row_product_run(const bb_row_product *product, bb_index rows, bb_index grain)
{
    bb_row_product work = *product;
    return bb_thread_ranges(rows, grain, multiply_rows, &work);
}
