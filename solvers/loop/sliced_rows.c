// SPDX-License-Identifier: Apache-2.0
#include "solvers/loop/sliced_rows.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>

static bb_index length_of(const bb_csr *rows, bb_index row)
{
    return rows->row_start[row + 1] - rows->row_start[row];
}

// Longest row inside a slice; longer ones are stored separately.
static bb_index width_of(const bb_csr *rows, bb_index slice)
{
    bb_index width = 0;
    for (bb_index row = slice * BB_SLICE; row < (slice + 1) * BB_SLICE && row < rows->rows; ++row) {
        bb_index length = length_of(rows, row);
        width = length <= BB_SLICED_LONG && length > width ? length : width;
    }
    return width;
}

static bb_status measure(const bb_csr *rows, bb_sliced_rows *out)
{
    bb_status status = BB_OK;
    bb_index entries = 0;
    bb_index lines = 0;
    out->rows = rows->rows;
    out->columns = rows->columns;
    out->slices = (rows->rows + BB_SLICE - 1) / BB_SLICE;
    BB_TRY(BB_ZEROED(out->slices + 1, &out->slice_start));
    BB_TRY(BB_ZEROED(out->slices, &out->apart));
    for (bb_index slice = 0; slice < out->slices; ++slice) {
        lines += width_of(rows, slice);
        out->slice_start[slice + 1] = (int32_t)lines;
    }
    for (bb_index row = 0; row < rows->rows; ++row) {
        if (length_of(rows, row) > BB_SLICED_LONG) {
            ++out->long_rows;
            out->apart[row / BB_SLICE] |= 1U << (row % BB_SLICE);
            entries += length_of(rows, row);
        }
    }
    BB_REQUIRE(lines * BB_SLICE <= INT32_MAX && entries <= INT32_MAX && rows->rows <= INT32_MAX,
               BB_UNSUPPORTED, "sliced rows: %td entries, expected at most 2^31 - 1",
               lines * BB_SLICE + entries);
    BB_TRY(BB_ZEROED(lines * BB_SLICE, &out->column));
    BB_TRY(BB_ZEROED(lines * BB_SLICE, &out->value));
    BB_TRY(BB_ZEROED(out->long_rows, &out->long_row));
    BB_TRY(BB_ZEROED(out->long_rows + 1, &out->long_start));
    BB_TRY(BB_ZEROED(entries, &out->long_column));
    BB_TRY(BB_ZEROED(entries, &out->long_value));
done:
    return status;
}

bb_status bb_sliced_rows_of(const bb_csr *rows, bb_sliced_rows *out)
{
    bb_status status = BB_OK;
    bb_index kept = 0;
    *out = (bb_sliced_rows){0};
    BB_TRY(measure(rows, out));
    for (bb_index row = 0; row < rows->rows; ++row) {
        bb_index first = rows->row_start[row];
        bb_index length = length_of(rows, row);
        bool apart = length > BB_SLICED_LONG;
        bb_index index =
            apart ? out->long_start[kept]
                  : (bb_index)out->slice_start[row / BB_SLICE] * BB_SLICE + row % BB_SLICE;
        for (bb_index k = 0; k < length; ++k, index += apart ? 1 : BB_SLICE) {
            (apart ? out->long_column : out->column)[index] = rows->column[first + k];
            (apart ? out->long_value : out->value)[index] = (float)rows->value[first + k];
        }
        // Padding refers to the row's own columns, so that a NaN in another unknown does not spread
        // to the row.
        for (bb_index end = (bb_index)out->slice_start[row / BB_SLICE + 1] * BB_SLICE;
             !apart && index < end; index += BB_SLICE) {
            out->column[index] = length > 0 ? rows->column[first + length - 1] : 0;
        }
        if (apart) {
            out->long_row[kept++] = (int32_t)row;
            out->long_start[kept] = (int32_t)index;
        }
    }
done:
    if (status != BB_OK) {
        bb_sliced_rows_release(out);
    }
    return status;
}

void bb_sliced_rows_release(bb_sliced_rows *rows)
{
    BB_RELEASE(&rows->slice_start);
    BB_RELEASE(&rows->apart);
    BB_RELEASE(&rows->column);
    BB_RELEASE(&rows->value);
    BB_RELEASE(&rows->long_row);
    BB_RELEASE(&rows->long_start);
    BB_RELEASE(&rows->long_column);
    BB_RELEASE(&rows->long_value);
}

double bb_sliced_rows_bytes(const bb_sliced_rows *rows)
{
    double entries = (double)rows->slice_start[rows->slices] * BB_SLICE +
                     (double)(rows->long_rows > 0 ? rows->long_start[rows->long_rows] : 0);
    return 8.0 * entries + 4.0 * (double)(2 * rows->slices + 2 * rows->long_rows);
}

static float long_row(const bb_sliced_rows *rows, bb_index which, const float *x)
{
    float lane[BB_SLICE] = {0.0F};
    for (bb_index k = rows->long_start[which]; k < rows->long_start[which + 1]; ++k) {
        bb_index l = (k - rows->long_start[which]) % BB_SLICE;
        lane[l] = fmaf(rows->long_value[k], x[rows->long_column[k]], lane[l]);
    }
    for (int half = BB_SLICE / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            lane[l] += lane[l + half];
        }
    }
    return lane[0];
}

void bb_sliced_rows_multiply(const bb_sliced_rows *rows, const float *x, float *y)
{
    for (bb_index row = 0; row < rows->rows; ++row) {
        bb_index slice = row / BB_SLICE;
        float sum = 0.0F;
        for (bb_index line = rows->slice_start[slice]; line < rows->slice_start[slice + 1];
             ++line) {
            bb_index index = line * BB_SLICE + row % BB_SLICE;
            sum = fmaf(rows->value[index], x[rows->column[index]], sum);
        }
        y[row] = sum;
    }
    for (bb_index i = 0; i < rows->long_rows; ++i) {
        y[rows->long_row[i]] = long_row(rows, i, x);
    }
}
