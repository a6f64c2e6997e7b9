// SPDX-License-Identifier: Apache-2.0
//
// transform: blocks of a few rows by a few cells of the mesh as rounded coefficients of an
// orthonormal DCT-II along all four axes. Layout and product: precision/codecs/transform.h.
//
// Error. step = 2 tolerance for the whole matrix; each coefficient is rounded to the nearest
// multiple, ties to even, with an error of at most the tolerance. The transform is orthonormal and
// shorter blocks have shorter transforms, so every block of N values has ||E||_F <= tolerance
// sqrt(N), an RMS of the tolerance, as in low_rank; if no coefficient rounds to zero the RMS is
// about step / sqrt(12). The error of a single value is at most tolerance sqrt(N).
//
// A block whose coefficients all round to 0 only has its entry in the index. A NaN, an infinity, or
// a coefficient of 2^31 steps or more poisons its block and is counted.
#include "core/memory.h"
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/transform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bb_index block_values(const bb_codec_config *filled)
{
    return filled->band_lines * filled->band_columns * filled->tile_columns * filled->tile_rows;
}

static bool check(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const bb_codec_config storage = bb_codec_filled(config);
    if (storage.tile_columns * storage.tile_rows > BB_TRANSFORM_CELLS) {
        (void)snprintf(sentence, bytes, "tile_columns: a block of %td cells, expected at most %d",
                       storage.tile_columns * storage.tile_rows, (int)BB_TRANSFORM_CELLS);
        return false;
    }
    if (block_values(&storage) > BB_TRANSFORM_VALUES) {
        (void)snprintf(sentence, bytes,
                       "%s: a block of %td x %td rows and %td x %td cells, expected at most %d "
                       "values",
                       config->tile_columns != BB_INTEGER_UNSET ? "tile_columns"
                       : config->tile_rows != BB_INTEGER_UNSET  ? "tile_rows"
                       : config->band_lines != BB_INTEGER_UNSET ? "band_lines"
                                                                : "band_columns",
                       storage.band_columns, storage.band_lines, storage.tile_columns,
                       storage.tile_rows, (int)BB_TRANSFORM_VALUES);
        return false;
    }
    return true;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    const bb_codec_config storage = bb_codec_filled(config);
    (void)snprintf(out, bytes, ", %td x %td x %td x %td", storage.tile_columns, storage.tile_rows,
                   storage.band_columns, storage.band_lines);
}

// The last terms bound the rounding of the forward and inverse transform sums in fp64.
static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    const bb_codec_config storage = bb_codec_filled(config);
    const double values = (double)block_values(&storage);
    return tolerance * sqrt(values) * (1.0 + 0x1p-20) + 0x1p-40 * sqrt(values) * block_magnitude +
           bb_codec_fp32_rounding(magnitude);
}

// Columns without a mesh are one line; rows without a grid are one column.
static void shape(const bb_coded_matrix *matrix, bb_transform_plan *plan)
{
    const bb_codec_config *config = &matrix->config;
    const bb_matrix_layout *layout = &matrix->layout;
    bool line = layout->mesh_columns == 0;
    bb_index row_columns = layout->row_columns > 0 ? layout->row_columns : 1;
    plan->extent[BB_TRANSFORM_ROW_LINES] = layout->rows / row_columns;
    plan->extent[BB_TRANSFORM_ROW_COLUMNS] = row_columns;
    plan->extent[BB_TRANSFORM_COLUMNS] = line ? layout->columns : layout->mesh_columns;
    plan->extent[BB_TRANSFORM_LINES] = layout->columns / plan->extent[BB_TRANSFORM_COLUMNS];
    plan->length[BB_TRANSFORM_ROW_LINES] = config->band_lines;
    plan->length[BB_TRANSFORM_ROW_COLUMNS] = config->band_columns;
    plan->length[BB_TRANSFORM_COLUMNS] = config->tile_columns * (line ? config->tile_rows : 1);
    plan->length[BB_TRANSFORM_LINES] = line ? 1 : config->tile_rows;
    for (int axis = 0; axis < BB_TRANSFORM_AXES; ++axis) {
        if (plan->length[axis] > plan->extent[axis]) {
            plan->length[axis] = plan->extent[axis];
        }
    }
    plan->step = 2.0 * config->tolerance;
}

static bb_status create(bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    bb_transform_plan *plan = matrix->store;
    const bb_matrix_layout *layout = &matrix->layout;
    shape(matrix, plan);
    matrix->line_rows = plan->extent[BB_TRANSFORM_ROW_COLUMNS];
    matrix->band_lines = plan->length[BB_TRANSFORM_ROW_LINES];
    matrix->piece_columns = plan->extent[BB_TRANSFORM_COLUMNS] * plan->length[BB_TRANSFORM_LINES];
    BB_REQUIRE((double)bb_coded_matrix_band(matrix) * (double)layout->columns < 0x1p30, BB_INVALID,
               "bands of %td rows by %td columns, expected fewer than 2^30 values",
               bb_coded_matrix_band(matrix), layout->columns);
    BB_TRY(bb_transform_plan_make(plan));
done:
    return status;
}

static bb_transform_band *band_at(const bb_coded_matrix *matrix, bb_index band)
{
    return (bb_transform_band *)matrix->bands + band;
}

static void release_band(void *item)
{
    bb_transform_band *band = item;
    BB_RELEASE(&band->words);
    BB_RELEASE(&band->first);
}

static void destroy(bb_coded_matrix *matrix)
{
    bb_transform_plan_release(matrix->store);
}

// Workspace of a band's encoder.
typedef struct encoder {
    double values[BB_TRANSFORM_VALUES], room[BB_TRANSFORM_VALUES];
    int32_t quotients[BB_TRANSFORM_VALUES];
    bb_index capacity; // in words, of the band
} encoder;

static size_t room_bytes(const bb_coded_matrix *matrix)
{
    (void)matrix;
    return sizeof(encoder);
}

// Gathers the values of a block, [row lines][row columns][lines][columns]; returns the number of
// non-finite ones.
static bb_index gather(const bb_transform_plan *plan, const bb_transform_block *block,
                       bb_view panel, double *out)
{
    const bb_index *size = block->size;
    bb_index pitch = plan->extent[BB_TRANSFORM_COLUMNS];
    bb_index bad = 0;
    for (bb_index i = 0; i < block->rows; ++i) {
        bb_index row = bb_transform_row_in_band(plan, block, i);
        const double *source = bb_view_row(panel, row) + block->first[2] * pitch + block->first[3];
        for (bb_index line = 0; line < size[2]; ++line, out += size[3]) {
            for (bb_index j = 0; j < size[3]; ++j) {
                out[j] = source[line * pitch + j];
                bad += !isfinite(out[j]);
            }
        }
    }
    return bad;
}

// Coefficients over step, rounded to integers; returns how many exceed 31 bits.
BB_CLONES static bb_index quantise(const double *coefficients, bb_index count, double inverse,
                                   int32_t *out)
{
    bb_index bad = 0;
    for (bb_index i = 0; i < count; ++i) {
        double q = rint(coefficients[i] * inverse);
        bool fits = fabs(q) < 0x1p31;
        bad += !fits;
        out[i] = fits ? (int32_t)q : 0;
    }
    return bad;
}

// Appends one block to the band.
static bb_index encode_block(const bb_transform_plan *plan, const bb_transform_block *block,
                             bb_view panel, encoder *room, uint32_t *out, bb_index *bad)
{
    bb_index values = block->rows * block->cells;
    bb_index here = gather(plan, block, panel, room->values);
    if (here == 0) {
        bb_transform_cells(plan, block, false, block->rows, room->values, room->room);
        bb_transform_rows(plan, block, false, block->cells, room->values, room->room);
        here = quantise(room->values, values, 1.0 / plan->step, room->quotients);
    }
    *bad += here;
    if (here > 0) {
        out[0] = 0;
        return 1;
    }
    return bb_transform_pack(plan, block, room->quotients, out);
}

static bb_status encode_band(bb_coded_matrix *matrix, bb_index row, bb_view panel, void *memory,
                             bb_codec_counts *counts)
{
    bb_status status = BB_OK;
    encoder *room = memory;
    const bb_transform_plan *plan = matrix->store;
    bb_index number = row / bb_coded_matrix_band(matrix);
    bb_index across = plan->count[BB_TRANSFORM_ROW_COLUMNS];
    bb_index blocks = plan->count[BB_TRANSFORM_LINES] * plan->count[BB_TRANSFORM_COLUMNS];
    bb_transform_band band = {.row = row, .rows = panel.shape[0]};
    bb_index words = 0;
    room->capacity = 0;
    BB_TRY(BB_ZEROED(across * blocks + 1, &band.first));
    for (bb_index b = 0; b < across * blocks; ++b) {
        const bb_transform_block block =
            bb_transform_block_of(plan, number, b / blocks, b % blocks);
        if (room->capacity - words < BB_TRANSFORM_WORDS) {
            room->capacity += room->capacity / 2 + BB_TRANSFORM_WORDS;
            BB_TRY(bb_memory_resize(room->capacity, sizeof *band.words, (void **)&band.words));
        }
        words += encode_block(plan, &block, panel, room, band.words + words, &counts->non_finite);
        band.first[b + 1] = (uint32_t)words;
    }
    BB_TRY(bb_memory_resize(words, sizeof *band.words, (void **)&band.words));
    bb_coded_matrix_transform_adopt(matrix, number, &band);
done:
    release_band(&band);
    return status;
}

// Decodes one column of a block's rows, [row lines][cells]: coefficients are summed along the rows'
// columns first, because only one is needed. The caller undoes the band's row order and the step.
static void decode_column(const bb_transform_plan *plan, const bb_transform_band *band,
                          const bb_transform_block *block, bb_index number, bb_index column,
                          double *values, double *room)
{
    const bb_transform_basis *columns =
        bb_transform_basis_of(plan, block, BB_TRANSFORM_ROW_COLUMNS);
    bb_index count = block->size[BB_TRANSFORM_ROW_LINES] * block->cells;
    bb_transform_reader reader = bb_transform_read(plan, band, block, number);
    for (bb_index i = 0; i < count; ++i) {
        values[i] = reader.poisoned ? NAN : 0.0;
    }
    if (reader.groups == 0) {
        return;
    }
    while (bb_transform_next(&reader)) {
        for (int i = 0; i < reader.count; ++i) {
            bb_index k = reader.order[i].row % columns->n;
            bb_index line = reader.order[i].row / columns->n;
            values[line * block->cells + reader.order[i].cell] +=
                (double)reader.quotient[i] * columns->forward[k * columns->pitch + column];
        }
    }
    bb_transform_cells(plan, block, true, block->size[BB_TRANSFORM_ROW_LINES], values, room);
    bb_transform_along(bb_transform_basis_of(plan, block, BB_TRANSFORM_ROW_LINES), true, 1,
                       block->cells, values, room);
    for (bb_index i = 0; i < count; ++i) {
        values[i] = room[i] * plan->step;
    }
}

// Decodes block `m` of the mesh for the rows of a group: `values` [row lines][cells].
static bb_transform_block decode_block(const bb_coded_matrix *matrix, bb_index band,
                                       bb_index row_column, bb_index m, double *values,
                                       double *room)
{
    const bb_transform_plan *plan = matrix->store;
    bb_index across = row_column / plan->length[BB_TRANSFORM_ROW_COLUMNS];
    bb_index blocks = plan->count[BB_TRANSFORM_LINES] * plan->count[BB_TRANSFORM_COLUMNS];
    const bb_transform_block block = bb_transform_block_of(plan, band, across, m);
    decode_column(plan, band_at(matrix, band), &block, across * blocks + m,
                  row_column - block.first[BB_TRANSFORM_ROW_COLUMNS], values, room);
    return block;
}

static void decode_piece(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *f32,
                         double *f64)
{
    const bb_transform_plan *plan = matrix->store;
    const bb_group_place place = bb_coded_matrix_place(matrix, group);
    bb_index count = plan->count[BB_TRANSFORM_COLUMNS];
    double values[BB_TRANSFORM_VALUES];
    double room[BB_TRANSFORM_VALUES];
    for (bb_index m = piece * count; m < (piece + 1) * count; ++m) {
        const bb_transform_block block =
            decode_block(matrix, place.band, place.first - place.band_row, m, values, room);
        const double *source = values;
        for (bb_index i = 0; i < place.lines; ++i) {
            for (bb_index line = 0; line < block.size[2]; ++line, source += block.size[3]) {
                bb_index target =
                    i * matrix->piece_columns + line * plan->extent[3] + block.first[3];
                for (bb_index j = 0; f32 != NULL && j < block.size[3]; ++j) {
                    f32[target + j] = (float)source[j];
                }
                if (f64 != NULL) {
                    memcpy(f64 + target, source, (size_t)block.size[3] * sizeof *source);
                }
            }
        }
    }
}

static void decode_f64(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                       double *out)
{
    const bb_transform_plan *plan = matrix->store;
    bb_index step = bb_coded_matrix_band(matrix);
    bb_index pitch = plan->extent[BB_TRANSFORM_COLUMNS];
    bb_index strip = matrix->piece_columns;
    bb_index across = plan->count[BB_TRANSFORM_COLUMNS];
    double values[BB_TRANSFORM_VALUES];
    double room[BB_TRANSFORM_VALUES];
    for (bb_index m = column / strip * across; m / across * strip < column + count; ++m) {
        bb_transform_block block = bb_transform_block_of(plan, 0, 0, m);
        bb_index first = block.first[2] * pitch + block.first[3];
        bb_index past = first + (block.size[2] - 1) * pitch + block.size[3];
        if (past <= column || first >= column + count) {
            continue;
        }
        block = decode_block(matrix, row / step, row % matrix->line_rows, m, values, room);
        const double *source = values + row % step / matrix->line_rows * block.cells;
        for (bb_index j = 0; j < block.cells; ++j) {
            bb_index target = first + j / block.size[3] * pitch + j % block.size[3] - column;
            if (target >= 0 && target < count) {
                out[target] = source[j];
            }
        }
    }
}

// Words, and the first word of each block.
static size_t bytes(const bb_coded_matrix *matrix)
{
    const bb_transform_plan *plan = matrix->store;
    const bb_index *count = plan->count;
    bb_index blocks = count[1] * count[2] * count[3];
    size_t total = 0;
    for (bb_index b = 0; b < matrix->band_count; ++b) {
        const bb_transform_band *band = band_at(matrix, b);
        if (band->first != NULL) {
            total += ((size_t)band->first[blocks] + (size_t)blocks + 1) * sizeof *band->words;
        }
    }
    return total;
}

static const bb_codec_ops operations = {
    .check = check,
    .describe = describe,
    .bound = bound,
    .create = create,
    .destroy = destroy,
    .bytes = bytes,
    .room_bytes = room_bytes,
    .encode_band = encode_band,
    .release_band = release_band,
    .decode_piece = decode_piece,
    .decode_f64 = decode_f64,
};

static const char *const shared_keys[] = {"tolerance",    "tolerance_of_range", "band_lines",
                                          "tile_columns", "tile_rows",          NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "band_columns", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, band_columns), .minimum = 1.0, .maximum = 16.0,
     .optional = true,
     .meaning = "transform: columns of the row grid that share a block; default 7."},
};
// clang-format on

const bb_codec_row bb_transform_stream_row = {
    .name = "transform",
    .shared_keys = shared_keys,
    .keys = keys,
    .key_count = sizeof keys / sizeof keys[0],
    .defaults = {.band_lines = 9, .band_columns = 7, .tile_columns = 8, .tile_rows = 10},
    .rounding = "nearest even, of coefficients",
    .form = BB_FORM_COEFFICIENTS,
    .store_bytes = sizeof(bb_transform_plan),
    .band_item = sizeof(bb_transform_band),
    .needs_copy = true,
    .seconds = 4e-8,
    .most_bytes = 8.0,
    .band_bytes = 20.0,
    .tolerances = {-126, 120, true},
    .ladders = {BB_CODEC_TOLERANCE_LADDER("")},
    .ops = &operations,
};

const bb_transform_plan *bb_coded_matrix_transform_plan(const bb_coded_matrix *matrix)
{
    return matrix->row == &bb_transform_stream_row ? matrix->store : NULL;
}

bb_index bb_coded_matrix_transform_bands(const bb_coded_matrix *matrix)
{
    return matrix->row == &bb_transform_stream_row ? matrix->band_count : 0;
}

const bb_transform_band *bb_coded_matrix_transform_band(const bb_coded_matrix *matrix,
                                                        bb_index band)
{
    return band_at(matrix, band);
}

void bb_coded_matrix_transform_adopt(bb_coded_matrix *matrix, bb_index number,
                                     bb_transform_band *band)
{
    release_band(band_at(matrix, number));
    *band_at(matrix, number) = *band;
    band->words = NULL;
    band->first = NULL;
}
