// SPDX-License-Identifier: Apache-2.0
#include "core/csr.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 }; // first capacity of a list of triplets; doubled as it grows

bb_status bb_triplets_add(bb_triplets *list, bb_index row, bb_index column, double value)
{
    bb_status status = BB_OK;
    BB_REQUIRE(row >= 0 && row < INT32_MAX && column >= 0 && column < INT32_MAX, BB_INVALID,
               "sparse entry (%td, %td), expected indices of 0 to %d", row, column, INT32_MAX - 1);
    if (list->count == list->capacity) {
        bb_index grown = list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
        BB_TRY(bb_memory_resize(grown, sizeof *list->items, (void **)&list->items));
        list->capacity = grown;
    }
    list->items[list->count++] = (bb_triplet){(int32_t)row, (int32_t)column, value};
done:
    return status;
}

void bb_triplets_release(bb_triplets *list)
{
    BB_RELEASE(&list->items);
    list->count = list->capacity = 0;
}

// Sorts entries by row with a stable counting sort, so that repeated entries are summed in the
// order given.
static void place_by_row(const bb_triplets *list, bb_index *cursor, bb_csr *out)
{
    for (bb_index i = 0; i < list->count; ++i) {
        const bb_triplet *entry = &list->items[i];
        bb_index index = cursor[entry->row]++;
        out->column[index] = entry->column;
        out->value[index] = entry->value;
    }
}

// Sorts a row by insertion: rows are short and nearly sorted already.
static void sort_row(int32_t *column, double *value, bb_index count)
{
    for (bb_index i = 1; i < count; ++i) {
        int32_t moving_column = column[i];
        double moving_value = value[i];
        bb_index j = i;
        for (; j > 0 && column[j - 1] > moving_column; --j) {
            column[j] = column[j - 1];
            value[j] = value[j - 1];
        }
        column[j] = moving_column;
        value[j] = moving_value;
    }
}

static void merge_rows(bb_csr *out)
{
    bb_index kept = 0;
    for (bb_index row = 0; row < out->rows; ++row) {
        bb_index begin = out->row_start[row];
        bb_index end = out->row_start[row + 1];
        if (end - begin > 1) {
            sort_row(out->column + begin, out->value + begin, end - begin);
        }
        out->row_start[row] = kept;
        for (bb_index i = begin; i < end; ++i) {
            if (kept > out->row_start[row] && out->column[kept - 1] == out->column[i]) {
                out->value[kept - 1] += out->value[i];
            } else {
                out->column[kept] = out->column[i];
                out->value[kept++] = out->value[i];
            }
        }
    }
    out->row_start[out->rows] = kept;
}

bb_status bb_csr_assemble(bb_index rows, bb_index columns, const bb_triplets *list, bb_csr *out)
{
    bb_status status = BB_OK;
    bb_index *cursor = NULL;
    *out = (bb_csr){.rows = rows, .columns = columns};
    BB_REQUIRE(rows <= INT32_MAX && columns <= INT32_MAX, BB_INVALID,
               "sparse matrix %td x %td, expected dimensions up to %d", rows, columns, INT32_MAX);
    BB_TRY(BB_ZEROED(rows + 1, &out->row_start));
    BB_TRY(BB_ALLOCATE(rows + 1, &cursor));
    for (bb_index i = 0; i < list->count; ++i) {
        const bb_triplet *entry = &list->items[i];
        BB_REQUIRE(entry->row >= 0 && entry->row < rows && entry->column >= 0 &&
                       entry->column < columns,
                   BB_INVALID, "sparse entry (%d, %d) outside %td x %td", entry->row, entry->column,
                   rows, columns);
        ++out->row_start[entry->row + 1];
    }
    for (bb_index row = 0; row < rows; ++row) {
        out->row_start[row + 1] += out->row_start[row];
    }
    memcpy(cursor, out->row_start, (size_t)(rows + 1) * sizeof *cursor);
    BB_TRY(BB_ALLOCATE(list->count, &out->column));
    BB_TRY(BB_ALLOCATE(list->count, &out->value));
    place_by_row(list, cursor, out);
    merge_rows(out);
done:
    BB_RELEASE(&cursor);
    if (status != BB_OK) {
        bb_csr_release(out);
    }
    return status;
}

bb_need bb_csr_resident(double rows, double entries)
{
    return (bb_need){.host_bytes = (rows + 1.0) * sizeof(bb_index) +
                                   entries * (sizeof(int32_t) + sizeof(double))};
}

// The peak is either growing the list (old and new copy) or assembling from it.
bb_need bb_csr_assemble_need(double rows, double entries)
{
    const double capacity = FIRST_CAPACITY * exp2(ceil(log2(fmax(1.0, entries / FIRST_CAPACITY))));
    const bb_need list = {.host_bytes = capacity * sizeof(bb_triplet)};
    const bb_need grown = capacity > FIRST_CAPACITY ? bb_need_copies(list, 1.5) : list;
    const bb_need cursor = {.host_bytes = (rows + 1.0) * sizeof(bb_index)};
    return bb_need_in_turn(
        grown, bb_need_together(list, bb_need_together(bb_csr_resident(rows, entries), cursor)));
}

typedef struct product {
    const bb_csr *matrix;
    const double *x;
    double *y;
} product;

// Four partial sums hide the latency of additions, which would limit short rows.
static bb_status multiply_range(void *context, bb_index begin, bb_index end)
{
    const product *task = context;
    const double *x = task->x;
    const double *value = task->matrix->value;
    const int32_t *column = task->matrix->column;
    bb_index i = task->matrix->row_start[begin];
    for (bb_index row = begin; row < end; ++row) {
        bb_index last = task->matrix->row_start[row + 1];
        double sum_0 = 0.0, sum_1 = 0.0, sum_2 = 0.0, sum_3 = 0.0;
        for (; i + 4 <= last; i += 4) {
            sum_0 += value[i] * x[column[i]];
            sum_1 += value[i + 1] * x[column[i + 1]];
            sum_2 += value[i + 2] * x[column[i + 2]];
            sum_3 += value[i + 3] * x[column[i + 3]];
        }
        for (; i < last; ++i) {
            sum_0 += value[i] * x[column[i]];
        }
        task->y[row] = (sum_0 + sum_2) + (sum_1 + sum_3);
    }
    return BB_OK;
}

bb_status bb_csr_multiply(const bb_csr *matrix, const double *x, double *y)
{
    enum { GRAIN = 1024 }; // small, so that a few long rows do not unbalance the threads
    product task = {matrix, x, y};
    return bb_thread_ranges(matrix->rows, GRAIN, multiply_range, &task);
}

bb_index bb_csr_nonzeros(const bb_csr *matrix)
{
    return matrix->row_start == NULL ? 0 : matrix->row_start[matrix->rows];
}

void bb_csr_release(bb_csr *matrix)
{
    BB_RELEASE(&matrix->row_start);
    BB_RELEASE(&matrix->column);
    BB_RELEASE(&matrix->value);
}
