// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "precision/codec_row.h"
#include "precision/codecs/plane_core.h"
#include "precision/scaling.h"

#include <math.h>

// Fills in defaults; the tolerance becomes absolute.
static void resolve(bb_codec_config *config, double range)
{
    const bb_codec_ops *ops = bb_codec_row_of(config)->ops;
    if (!isnan(config->tolerance_of_range)) {
        config->tolerance = config->tolerance_of_range * range;
        config->tolerance_of_range = NAN;
    }
    if (ops->fill_in != NULL) {
        ops->fill_in(config);
    }
}

bb_status bb_matrix_layout_check(const bb_matrix_layout *layout, const bb_codec_config *config)
{
    bb_status status = BB_OK;
    const bb_codec_ops *ops = bb_codec_row_of(config)->ops;
    BB_REQUIRE(layout->rows > 0 && layout->columns > 0, BB_INVALID,
               "coded matrix of %td x %td, expected at least 1 x 1", layout->rows, layout->columns);
    BB_REQUIRE(layout->mesh_columns >= 0 &&
                   (layout->mesh_columns == 0 || layout->columns % layout->mesh_columns == 0),
               BB_INVALID, "a mesh of %td across does not divide %td columns", layout->mesh_columns,
               layout->columns);
    BB_REQUIRE(layout->row_columns >= 0 &&
                   (layout->row_columns == 0 || layout->rows % layout->row_columns == 0),
               BB_INVALID, "a grid of %td across does not divide %td rows", layout->row_columns,
               layout->rows);
    if (ops->check_layout != NULL) {
        BB_TRY(ops->check_layout(config, layout));
    }
done:
    return status;
}

bb_status bb_coded_matrix_create(const bb_codec_config *config, bb_row_scale scale,
                                 const bb_matrix_layout *layout, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    char sentence[256];
    bb_outcome outcome = {0};
    *out = NULL;
    BB_REQUIRE(bb_codec_check(config, scale, sentence, sizeof sentence), BB_INVALID, "storage.%s",
               sentence);
    BB_TRY(bb_matrix_layout_check(layout, config));
    BB_REQUIRE(bb_codec_holds(config, layout->range, &outcome), BB_INVALID, "%s", outcome.detail);
    BB_TRY(BB_ZEROED(1, &matrix));
    matrix->config = *config;
    resolve(&matrix->config, layout->range);
    matrix->scaling = scale;
    matrix->layout = *layout;
    matrix->group_lines = 1;
    matrix->band_lines = 1;
    matrix->line_rows = 1;
    if (scale == BB_ROW_SCALE_ROW) {
        BB_TRY(BB_ALLOCATE(layout->rows, &matrix->scale));
        for (bb_index row = 0; row < layout->rows; ++row) {
            matrix->scale[row] = 1.0;
        }
    }
    matrix->row = bb_codec_row_of(config);
    matrix->ops = matrix->row->ops;
    BB_TRY(matrix->ops->create(matrix));
    *out = matrix;
    matrix = NULL;
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

// Values, and of each row its scale and what its last block fills up.
bb_need bb_coded_matrix_held(const bb_codec_config *config, const bb_matrix_layout *layout)
{
    static const double row_bytes = sizeof(double) + 128.0;
    static const double store_bytes = 16384.0; // with the tables of small transforms
    const double rows = (double)layout->rows;
    const double tables = store_bytes + bb_codec_row_of(config)->own_bytes;
    return (bb_need){.host_bytes =
                         tables + rows * row_bytes +
                         rows * (double)layout->columns * bb_codec_bytes_per_value(config)};
}

bb_need bb_coded_matrix_need(const bb_codec_config *config, const bb_matrix_layout *layout,
                             double threads)
{
    const double rows = (double)layout->rows;
    const double columns = (double)layout->columns;
    const bb_codec_row *codec = bb_codec_row_of(config);
    const double band = fmin(rows, bb_codec_band_rows(config, (double)layout->row_columns));
    const double busy = fmin(threads, ceil(rows / band));
    const bb_need encoding = {
        .host_bytes = busy * (codec->band_bytes * band * columns + codec->thread_bytes),
        .seconds = rows * columns * bb_codec_seconds_per_value(config) / threads};
    return bb_need_together(bb_coded_matrix_held(config, layout), encoding);
}

void bb_coded_matrix_destroy(bb_coded_matrix **matrix)
{
    if (*matrix != NULL) {
        if ((*matrix)->ops != NULL) {
            (*matrix)->ops->destroy(*matrix);
        }
        BB_RELEASE(&(*matrix)->scale);
        BB_RELEASE(matrix);
    }
}

bb_index bb_coded_matrix_band(const bb_coded_matrix *matrix)
{
    return matrix->line_rows * matrix->band_lines;
}

static bb_status check_panel(const bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    bb_index band = bb_coded_matrix_band(matrix);
    bb_index rows = matrix->layout.rows;
    BB_REQUIRE(panel.rank == 2 && panel.type == BB_F64 &&
                   panel.shape[1] == matrix->layout.columns && row >= 0 &&
                   panel.shape[0] <= rows - row,
               BB_INVALID, "panel %td x %td at row %td does not fit a coded matrix %td x %td",
               panel.shape[0], panel.shape[1], row, rows, matrix->layout.columns);
    bb_index end = row + panel.shape[0];
    BB_REQUIRE(row % band == 0 && (end % band == 0 || end == rows), BB_INVALID,
               "panel of rows %td to %td, expected whole bands of %td rows", row, end, band);
done:
    return status;
}

bb_status bb_coded_matrix_encode(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    BB_TRY(check_panel(matrix, row, panel));
    BB_TRY(matrix->ops->encode(matrix, row, panel));
done:
    return status;
}

static bb_status check_columns(const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    BB_REQUIRE(bb_codec_rounds_columns(&matrix->config), BB_INVALID,
               "codec %s, %s: its columns are not rounded one by one", matrix->row->name,
               bb_codec_rounding(&matrix->config));
done:
    return status;
}

// The first value that is not finite; `count` where there is none.
static bb_index first_odd(const double *values, bb_index count)
{
    bb_index place = 0;
    while (place < count && isfinite(values[place])) {
        ++place;
    }
    return place;
}

static bb_status check_row(const bb_coded_matrix *matrix, bb_index row, const double *values)
{
    bb_status status = BB_OK;
    const bb_index columns = matrix->layout.columns;
    BB_TRY(check_columns(matrix));
    BB_REQUIRE(row >= 0 && row < matrix->layout.rows, BB_INVALID, "row %td, expected 0 to %td", row,
               matrix->layout.rows - 1);
    const bb_index odd = first_odd(values, columns);
    BB_REQUIRE(odd == columns, BB_INVALID,
               "row %td, column %td is %g, expected finite values to fix a row by", row, odd,
               values[odd]);
done:
    return status;
}

bb_status bb_coded_matrix_fix_row(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    bb_status status = BB_OK;
    BB_TRY(check_row(matrix, row, values));
    if (matrix->ops->fix_row != NULL) {
        matrix->ops->fix_row(matrix, row, values);
    }
done:
    return status;
}

bb_status bb_coded_matrix_clip_row(bb_coded_matrix *matrix, bb_index row, bb_index clip,
                                   const double *values)
{
    bb_status status = BB_OK;
    const bb_index count = bb_codec_clip_count(&matrix->config);
    BB_REQUIRE(clip >= 0 && clip < count, BB_INVALID, "clip %td of a row, expected 0 to %td", clip,
               count - 1);
    if (matrix->ops->clip_row == NULL) {
        return bb_coded_matrix_fix_row(matrix, row, values);
    }
    BB_TRY(check_row(matrix, row, values));
    matrix->ops->clip_row(matrix, row, clip, values);
done:
    return status;
}

void bb_coded_matrix_fix_block(bb_coded_matrix *matrix, bb_index row, bb_index column,
                               bb_index count, const double *values)
{
    const double scale = bb_coded_matrix_row_scale(matrix, row);
    double scaled[BB_BLOCK] = {0.0};
    for (bb_index i = 0; i < count && i < BB_BLOCK; ++i) {
        scaled[i] = isfinite(scale * values[i]) ? scale * values[i] : 0.0;
    }
    if (matrix->ops->fix_block != NULL) {
        matrix->ops->fix_block(matrix, row, column / BB_BLOCK, scaled);
    }
}

double bb_coded_matrix_round(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                             double value)
{
    const double scale = bb_coded_matrix_row_scale(matrix, row);
    return isfinite(value) ? matrix->ops->round(matrix, row, column, scale * value) / scale : value;
}

bb_status bb_coded_matrix_encode_fixed(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    const bb_index columns = matrix->layout.columns;
    BB_TRY(check_columns(matrix));
    BB_TRY(check_panel(matrix, row, panel));
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        const bb_view line = bb_view_block(panel, i, 1, 0, columns);
        if (first_odd(bb_view_row(panel, i), columns) == columns) {
            BB_TRY(matrix->ops->encode_fixed(matrix, row + i, line));
        } else {
            BB_TRY(matrix->ops->encode(matrix, row + i, line));
        }
    }
done:
    return status;
}

static bb_index groups_of_line(const bb_coded_matrix *matrix)
{
    return (matrix->line_rows + matrix->group_lines - 1) / matrix->group_lines;
}

bb_index bb_coded_matrix_group_count(const bb_coded_matrix *matrix)
{
    bb_index band = bb_coded_matrix_band(matrix);
    return (matrix->layout.rows + band - 1) / band * groups_of_line(matrix);
}

bb_index bb_coded_matrix_group_of(const bb_coded_matrix *matrix, bb_index row)
{
    bb_index in_line = row % matrix->line_rows;
    return row / bb_coded_matrix_band(matrix) * groups_of_line(matrix) +
           in_line / matrix->group_lines;
}

bb_group_place bb_coded_matrix_place(const bb_coded_matrix *matrix, bb_index group)
{
    bb_group_place place;
    bb_index band_rows = bb_coded_matrix_band(matrix);
    bb_index in_line = group % groups_of_line(matrix) * matrix->group_lines;
    place.band = group / groups_of_line(matrix);
    place.band_row = place.band * band_rows;
    bb_index rest = matrix->layout.rows - place.band_row;
    place.lines = (rest < band_rows ? rest : band_rows) / matrix->line_rows;
    place.first = place.band_row + in_line;
    rest = matrix->line_rows - in_line;
    place.rows_of_line = rest < matrix->group_lines ? rest : matrix->group_lines;
    return place;
}

bb_index bb_coded_matrix_group_rows(const bb_coded_matrix *matrix, bb_index group,
                                    bb_index rows[BB_GROUP_ROWS])
{
    bb_group_place place = bb_coded_matrix_place(matrix, group);
    bb_index count = 0;
    for (bb_index line = 0; line < place.lines; ++line) {
        for (bb_index i = 0; i < place.rows_of_line; ++i) {
            rows[count++] = place.first + line * matrix->line_rows + i;
        }
    }
    return count;
}

bb_index bb_coded_matrix_piece_columns(const bb_coded_matrix *matrix)
{
    return matrix->piece_columns;
}

bb_index bb_coded_matrix_piece_count(const bb_coded_matrix *matrix, bb_index piece)
{
    bb_index rest = matrix->layout.columns - piece * matrix->piece_columns;
    return rest < matrix->piece_columns ? rest : matrix->piece_columns;
}

void bb_coded_matrix_decode_f32(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                float *out)
{
    matrix->ops->decode_f32(matrix, group, piece, out);
}

void bb_coded_matrix_decode_f64(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                double *out)
{
    matrix->ops->decode_f64(matrix, group, piece, out);
}

void bb_coded_matrix_decode(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                            bb_index count, double *out)
{
    matrix->ops->decode(matrix, row, column, count, out);
}

bb_index bb_coded_matrix_rows(const bb_coded_matrix *matrix)
{
    return matrix->layout.rows;
}

bb_index bb_coded_matrix_columns(const bb_coded_matrix *matrix)
{
    return matrix->layout.columns;
}

double bb_coded_matrix_row_scale(const bb_coded_matrix *matrix, bb_index row)
{
    return matrix->scale == NULL ? 1.0 : matrix->scale[row];
}

double bb_coded_matrix_scale_row(bb_coded_matrix *matrix, bb_format format, bb_index row,
                                 const double *values)
{
    if (matrix->scale == NULL) {
        return 1.0;
    }
    matrix->scale[row] = bb_scaling_row(format, values, matrix->layout.columns);
    return matrix->scale[row];
}

size_t bb_coded_matrix_bytes(const bb_coded_matrix *matrix)
{
    size_t scales = matrix->scale == NULL ? 0 : sizeof *matrix->scale;
    return matrix->ops->bytes(matrix) + (size_t)matrix->layout.rows * scales;
}

void bb_coded_matrix_count(bb_coded_matrix *matrix, bb_codec_counts counts)
{
    (void)atomic_fetch_add(&matrix->saturated, counts.saturated);
    (void)atomic_fetch_add(&matrix->underflowed, counts.underflowed);
    (void)atomic_fetch_add(&matrix->non_finite, counts.non_finite);
}

bb_index bb_coded_matrix_saturated(const bb_coded_matrix *matrix)
{
    return atomic_load(&matrix->saturated);
}

bb_index bb_coded_matrix_underflowed(const bb_coded_matrix *matrix)
{
    return atomic_load(&matrix->underflowed);
}

bb_index bb_coded_matrix_non_finite(const bb_coded_matrix *matrix)
{
    return atomic_load(&matrix->non_finite);
}

bb_index bb_coded_matrix_across(const bb_coded_matrix *matrix)
{
    bb_index across = matrix->layout.mesh_columns;
    return across > 0 ? across : matrix->layout.columns;
}

const bb_codec_config *bb_coded_matrix_config(const bb_coded_matrix *matrix)
{
    return &matrix->config;
}
