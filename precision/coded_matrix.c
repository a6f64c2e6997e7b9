// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "precision/codec_row.h"
#include "precision/codecs/plane_core.h"
#include "precision/scaling.h"

#include <math.h>
#include <string.h>

enum { PIECE_COLUMNS = 1024, WIDENED = 512 };

// Fills in defaults; the tolerance becomes absolute.
static bb_codec_config resolve(const bb_codec_config *config, double range)
{
    bb_codec_config out = bb_codec_filled(config);
    if (!isnan(out.tolerance_of_range)) {
        out.tolerance = out.tolerance_of_range * range;
        out.tolerance_of_range = NAN;
    }
    return out;
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
    BB_REQUIRE(bb_codec_supports_tolerance(config, layout->range, &outcome), BB_INVALID, "%s",
               outcome.detail);
    BB_TRY(BB_ZEROED(1, &matrix));
    matrix->config = resolve(config, layout->range);
    matrix->scaling = scale;
    matrix->layout = *layout;
    matrix->group_lines = 1;
    matrix->band_lines = 1;
    matrix->line_rows = 1;
    matrix->piece_columns = PIECE_COLUMNS;
    if (scale == BB_ROW_SCALE_ROW) {
        BB_TRY(BB_ALLOCATE(layout->rows, &matrix->scale));
        for (bb_index row = 0; row < layout->rows; ++row) {
            matrix->scale[row] = 1.0;
        }
    }
    matrix->row = bb_codec_row_of(config);
    matrix->ops = matrix->row->ops;
    if (matrix->row->store_bytes > 0) {
        BB_TRY(bb_memory_zeroed(1, matrix->row->store_bytes, &matrix->store));
    }
    BB_TRY(matrix->ops->create(matrix));
    if (matrix->row_bytes > 0) {
        BB_TRY(bb_memory_zeroed(layout->rows, matrix->row_bytes, (void **)&matrix->rows));
    }
    const bb_index band = bb_coded_matrix_band(matrix);
    matrix->band_count = (layout->rows + band - 1) / band;
    if (matrix->row->band_item > 0) {
        BB_TRY(bb_memory_zeroed(matrix->band_count, matrix->row->band_item, &matrix->bands));
    }
    *out = matrix;
    matrix = NULL;
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

// Values, and for each row its scale and the padding of its last block.
bb_need bb_coded_matrix_resident(const bb_codec_config *config, const bb_matrix_layout *layout)
{
    static const double row_bytes = sizeof(double) + 128.0;
    static const double store_bytes = 16384.0; // including the tables of small transforms
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
    return bb_need_together(bb_coded_matrix_resident(config, layout), encoding);
}

void bb_coded_matrix_destroy(bb_coded_matrix **matrix)
{
    bb_coded_matrix *self = *matrix;
    if (self == NULL) {
        return;
    }
    for (bb_index i = 0; self->bands != NULL && i < self->band_count; ++i) {
        self->ops->release_band((char *)self->bands + (size_t)i * self->row->band_item);
    }
    if (self->store != NULL && self->ops->destroy != NULL) {
        self->ops->destroy(self);
    }
    BB_RELEASE(&self->bands);
    BB_RELEASE(&self->store);
    BB_RELEASE(&self->rows);
    BB_RELEASE(&self->scale);
    BB_RELEASE(matrix);
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

static void fix_scale(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    if (matrix->scale != NULL) {
        matrix->scale[row] = bb_scaling_row_to(bb_codec_scaled_largest(&matrix->config), values,
                                               matrix->layout.columns);
    }
}

// Encodes a row whose scale is set; with `fixed`, its shared data is set too.
static void encode_row(bb_coded_matrix *matrix, bb_index row, const double *values, double scale,
                       bool fixed, bb_codec_counts *counts)
{
    const bb_codec_ops *ops = matrix->ops;
    const bb_index full = matrix->layout.columns / BB_BLOCK;
    const bb_index rest = matrix->layout.columns % BB_BLOCK;
    if (!fixed && ops->fix_row != NULL) {
        ops->fix_row(matrix, row, -1, values, counts);
    }
    if (ops->encode_blocks == NULL) {
        ops->encode_row(matrix, row, values, scale, counts);
        return;
    }
    ops->encode_blocks(matrix, row, 0, full, values, scale, fixed, counts);
    if (rest != 0) {
        double last[BB_BLOCK] = {0.0};
        memcpy(last, values + full * BB_BLOCK, (size_t)rest * sizeof *last);
        ops->encode_blocks(matrix, row, full, 1, last, scale, fixed, counts);
    }
}

static bb_status encode_rows(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    const bb_index columns = matrix->layout.columns;
    const bb_index across = matrix->layout.mesh_columns > 0 ? matrix->layout.mesh_columns : columns;
    const bool diffused = bb_codec_diffuses(&matrix->config);
    bb_codec_counts counts = {0};
    double *rounded = NULL; // [columns], for diffused rounding
    double *above = NULL;   // [across]
    if (diffused) {
        BB_TRY(BB_ALLOCATE(columns, &rounded));
        BB_TRY(BB_ALLOCATE(across, &above));
    }
    for (bb_index i = row; i < row + panel.shape[0]; ++i) {
        const double *values = bb_view_row(panel, i - row);
        fix_scale(matrix, i, values);
        const double scale = bb_coded_matrix_row_scale(matrix, i);
        if (diffused) {
            counts.underflowed += matrix->ops->diffuse(&matrix->config, scale, values, columns,
                                                       across, above, rounded);
        }
        encode_row(matrix, i, diffused ? rounded : values, diffused ? 1.0 : scale, false, &counts);
    }
    bb_coded_matrix_count(matrix, counts);
done:
    BB_RELEASE(&rounded);
    BB_RELEASE(&above);
    return status;
}

static bb_status encode_bands(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    const bb_index step = bb_coded_matrix_band(matrix);
    bb_codec_counts counts = {0};
    void *room = NULL;
    BB_TRY(bb_memory_allocate(1, matrix->ops->room_bytes(matrix), &room));
    for (bb_index i = 0; i < panel.shape[0]; i += step) {
        const bb_index rest = panel.shape[0] - i;
        const bb_view band = bb_view_block(panel, i, rest < step ? rest : step, 0, panel.shape[1]);
        BB_TRY(matrix->ops->encode_band(matrix, row + i, band, room, &counts));
    }
    bb_coded_matrix_count(matrix, counts);
done:
    BB_RELEASE(&room);
    return status;
}

bb_status bb_coded_matrix_encode(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    BB_TRY(check_panel(matrix, row, panel));
    BB_TRY(matrix->ops->encode_band != NULL ? encode_bands(matrix, row, panel)
                                            : encode_rows(matrix, row, panel));
done:
    return status;
}

static bb_status check_columns(const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    BB_REQUIRE(bb_codec_rounds_columns(&matrix->config), BB_INVALID,
               "codec %s, %s: cannot round columns one by one", matrix->row->name,
               bb_codec_rounding(&matrix->config));
done:
    return status;
}

// Returns the index of the first non-finite value; `count` if there is none.
static bb_index first_non_finite(const double *values, bb_index count)
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
    const bb_index odd = first_non_finite(values, columns);
    BB_REQUIRE(odd == columns, BB_INVALID,
               "row %td, column %td is %g, expected finite values to determine the row's scale",
               row, odd, values[odd]);
done:
    return status;
}

static bb_status fix_row(bb_coded_matrix *matrix, bb_index row, bb_index clip, const double *values)
{
    bb_status status = BB_OK;
    const bb_index columns = matrix->layout.columns;
    BB_TRY(check_row(matrix, row, values));
    fix_scale(matrix, row, values);
    if (matrix->ops->fix_row != NULL) {
        matrix->ops->fix_row(matrix, row, clip, values, NULL);
    }
    for (bb_index j = 0; matrix->ops->fix_block != NULL && j < columns; j += BB_BLOCK) {
        bb_coded_matrix_fix_block(matrix, row, j, columns - j, values + j);
    }
done:
    return status;
}

bb_status bb_coded_matrix_fix_row(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    return fix_row(matrix, row, -1, values);
}

bb_status bb_coded_matrix_clip_row(bb_coded_matrix *matrix, bb_index row, bb_index clip,
                                   const double *values)
{
    bb_status status = BB_OK;
    const bb_index count = bb_codec_clip_count(&matrix->config);
    BB_REQUIRE(clip >= 0 && clip < count, BB_INVALID, "clip %td of a row, expected 0 to %td", clip,
               count - 1);
    BB_TRY(fix_row(matrix, row, clip, values));
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
        const double *values = bb_view_row(panel, i);
        if (matrix->ops->encode_band == NULL && first_non_finite(values, columns) == columns) {
            bb_codec_counts counts = {0};
            encode_row(matrix, row + i, values, bb_coded_matrix_row_scale(matrix, row + i), true,
                       &counts);
            bb_coded_matrix_count(matrix, counts);
        } else {
            BB_TRY(bb_coded_matrix_encode(matrix, row + i, bb_view_block(panel, i, 1, 0, columns)));
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

// Decodes units of a row whose values are exact in fp32.
static void widen(const bb_coded_matrix *matrix, bb_index row, bb_index first, bb_index count,
                  double *out)
{
    const bb_index unit = matrix->row->unit > 0 ? matrix->row->unit : 1;
    for (bb_index end = first + count; first < end; first += WIDENED / unit) {
        float narrow[WIDENED];
        const bb_index take = end - first < WIDENED / unit ? end - first : WIDENED / unit;
        matrix->ops->decode_f32(matrix, row, first, take, narrow);
        for (bb_index i = 0; i < take * unit; ++i) {
            *out++ = (double)narrow[i];
        }
    }
}

// Decodes whole units of a row into `out`, doubles if `wide`.
static inline void decode_units(const bb_coded_matrix *matrix, bb_index row, bb_index first,
                                bb_index count, bool wide, void *out)
{
    if (!wide) {
        matrix->ops->decode_f32(matrix, row, first, count, out);
    } else if (matrix->ops->decode_f64 != NULL) {
        matrix->ops->decode_f64(matrix, row, first, count, out);
    } else {
        widen(matrix, row, first, count, out);
    }
}

// Decodes columns [column, column + count) of a row.
static void decode_columns(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                           bb_index count, bool wide, void *out)
{
    const size_t item = wide ? sizeof(double) : sizeof(float);
    char *target = out;
    if (matrix->row->unit == 0) {
        decode_units(matrix, row, column, count, wide, out);
        return;
    }
    while (count > 0) {
        const bb_index skip = column % BB_BLOCK;
        bb_index take = BB_BLOCK - skip < count ? BB_BLOCK - skip : count;
        if (skip == 0 && count >= BB_BLOCK) {
            take = count / BB_BLOCK * BB_BLOCK;
            decode_units(matrix, row, column / BB_BLOCK, take / BB_BLOCK, wide, target);
        } else {
            double part[BB_BLOCK];
            decode_units(matrix, row, column / BB_BLOCK, 1, wide, part);
            memcpy(target, (const char *)part + (size_t)skip * item, (size_t)take * item);
        }
        column += take;
        count -= take;
        target += (size_t)take * item;
    }
}

// Decodes a piece of a group into `out`, doubles if `wide`.
static void decode_group(const bb_coded_matrix *matrix, bb_index group, bb_index piece, bool wide,
                         void *out)
{
    const bb_index count = bb_coded_matrix_piece_count(matrix, piece);
    const bb_index column = piece * matrix->piece_columns;
    const bb_index pitch = matrix->piece_columns * (wide ? 8 : 4);
    bb_index rows[BB_GROUP_ROWS];
    if (matrix->ops->decode_piece != NULL) {
        matrix->ops->decode_piece(matrix, group, piece, wide ? NULL : out, wide ? out : NULL);
        return;
    }
    if (bb_coded_matrix_band(matrix) == 1) {
        decode_columns(matrix, group, column, count, wide, out);
        return;
    }
    const bb_index lines = bb_coded_matrix_group_rows(matrix, group, rows);
    for (bb_index i = 0; i < lines; ++i) {
        decode_columns(matrix, rows[i], column, count, wide, (char *)out + i * pitch);
    }
}

void bb_coded_matrix_decode_f32(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                float *out)
{
    decode_group(matrix, group, piece, false, out);
}

void bb_coded_matrix_decode_f64(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                double *out)
{
    decode_group(matrix, group, piece, true, out);
}

void bb_coded_matrix_decode(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                            bb_index count, double *out)
{
    decode_columns(matrix, row, column, count, true, out);
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

size_t bb_coded_matrix_bytes(const bb_coded_matrix *matrix)
{
    const size_t scales = matrix->scale == NULL ? 0 : sizeof *matrix->scale;
    const size_t rows = (size_t)matrix->layout.rows;
    return rows * scales +
           (matrix->ops->bytes != NULL ? matrix->ops->bytes(matrix) : rows * matrix->row_bytes);
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

const bb_codec_config *bb_coded_matrix_config(const bb_coded_matrix *matrix)
{
    return &matrix->config;
}
