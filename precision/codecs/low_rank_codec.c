// SPDX-License-Identifier: Apache-2.0
//
// low_rank: tiles of a matrix as sums of a few rank-one terms, or dense where that is smaller. A
// tile is a band of the row grid by a rectangle of the mesh of columns. Layout:
// precision/codecs/low_rank.h; compression of a tile: precision/codecs/low_rank_tile.h.
//
// The tolerance applies to a tile's RMS error, including rounding: ||E||_F <= tolerance sqrt(m n)
// for every tile of m x n values, except tiles that even fp32 cannot represent that closely. A
// row's errors in a tile add up to no more than independent ones of that size, so that distant
// fields of one sign are not lost together. Zeros cost nothing. A NaN, an infinity or a value of
// 2^100 or more poisons its tile.
//
// norm: covariance applies the tolerance to ||E L||_F of every tile, with L from the covariance of
// its columns if the caller provides one (column_norms of its layout): the error that an estimate
// suffers from errors of this tile alone. Otherwise values are unweighted. A single value has no
// bound.
#include "core/memory.h"
#include "precision/codec_row.h"
#include "precision/codecs/low_rank.h"
#include "precision/codecs/low_rank_tile.h"
#include "precision/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FP16_NAN = 0x7e00 };

enum { NORM };
enum { NORM_VALUES, NORM_COVARIANCE };
static const char *const norm_words[] = {"values", "covariance", NULL};

// clang-format off
static const bb_key keys[] = {
    [NORM] = {.name = "norm", .kind = BB_KEY_CHOICE, .offset = BB_CODEC_SLOT(NORM), .choices = norm_words, .optional = true,
     .meaning = "low_rank of a reconstructor: norm of a tile's tolerance: values "
     "(default), or the error of an estimate (covariance)."},
};
// clang-format on

typedef struct low_rank_store {
    bb_low_rank_mesh mesh;
    bb_index cells, tiles; // cells of the largest tile
    double *gaussians;     // [rank][cells]
} low_rank_store;

static bb_index fill_up(bb_index count, bb_index step)
{
    return (count + step - 1) / step * step;
}

static bool check(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const bb_codec_config filled = bb_codec_filled(config);
    const bb_index cells = fill_up(filled.tile_columns, 8) * filled.tile_rows;
    if (!isnan(config->bits) && config->bits != 16.0 && config->bits != 32.0) {
        (void)snprintf(sentence, bytes, "bits: %g, low_rank accepts 16 or 32", config->bits);
        return false;
    }
    if (cells > BB_LOW_RANK_CELLS) {
        (void)snprintf(sentence, bytes,
                       "tile_columns: a tile of %td cells (columns padded to a multiple of 8), "
                       "expected at most %d",
                       cells, (int)BB_LOW_RANK_CELLS);
        return false;
    }
    return true;
}

// Columns of a tile, which share one block of the norm.
static bb_index norm_width(const bb_codec_config *config)
{
    const bb_codec_config filled = bb_codec_filled(config);
    return bb_codec_own(config)[NORM].choice == NORM_COVARIANCE
               ? filled.tile_columns * filled.tile_rows
               : 0;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    (void)snprintf(out, bytes, "%s%s", config->bits == 32.0 ? ", fp32" : "",
                   norm_width(config) > 0 ? ", in the norm of the covariance" : "");
}

// Columns without a mesh are one line, cut into tiles of that many columns.
static bb_low_rank_mesh mesh_of(const bb_coded_matrix *matrix)
{
    const bb_codec_config *config = &matrix->config;
    const bb_matrix_layout *layout = &matrix->layout;
    bool line = layout->mesh_columns == 0;
    bb_low_rank_mesh mesh = {.columns = line ? layout->columns : layout->mesh_columns,
                             .tile_columns = config->tile_columns * (line ? config->tile_rows : 1),
                             .tile_lines = line ? 1 : config->tile_rows};
    mesh.lines = layout->columns / mesh.columns;
    mesh.across = (mesh.columns + mesh.tile_columns - 1) / mesh.tile_columns;
    mesh.down = (mesh.lines + mesh.tile_lines - 1) / mesh.tile_lines;
    return mesh;
}

static bb_status create(bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    low_rank_store *store = matrix->store;
    const bb_matrix_layout *layout = &matrix->layout;
    matrix->line_rows = layout->row_columns > 0 ? layout->row_columns : 1;
    matrix->band_lines = matrix->config.band_lines;
    store->mesh = mesh_of(matrix);
    matrix->piece_columns = store->mesh.columns * store->mesh.tile_lines;
    store->cells = fill_up(store->mesh.tile_columns, 8) * store->mesh.tile_lines;
    store->tiles = store->mesh.across * store->mesh.down;
    const bb_index gaussians =
        bb_low_rank_tile_most_terms(bb_coded_matrix_band(matrix), store->cells) * store->cells;
    BB_TRY(BB_ALLOCATE(gaussians, &store->gaussians));
    bb_low_rank_tile_gaussians(gaussians, store->gaussians);
done:
    return status;
}

static bb_low_rank_band *band_at(const bb_coded_matrix *matrix, bb_index band)
{
    return (bb_low_rank_band *)matrix->bands + band;
}

static void release_band(void *item)
{
    bb_low_rank_band *band = item;
    BB_RELEASE(&band->tiles);
    BB_RELEASE(&band->v);
    BB_RELEASE(&band->u_narrow);
    BB_RELEASE(&band->u_wide);
    BB_RELEASE(&band->scale);
}

static void destroy(bb_coded_matrix *matrix)
{
    BB_RELEASE(&((low_rank_store *)matrix->store)->gaussians);
}

static size_t room_bytes(const bb_coded_matrix *matrix)
{
    const low_rank_store *store = matrix->store;
    return (size_t)store->tiles * sizeof(bb_low_rank_form) +
           bb_low_rank_room_bytes(bb_coded_matrix_band(matrix), store->cells);
}

// Gathers the values of a tile with padded lines; returns the number of unrepresentable ones.
static bb_index gather(const bb_low_rank_mesh *mesh, const bb_low_rank_place *place, bb_view panel,
                       double *out)
{
    bb_index bad = 0;
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        const double *row = bb_view_row(panel, i) + place->line * mesh->columns + place->column;
        for (bb_index line = 0; line < place->lines; ++line, out += place->pitch) {
            for (bb_index j = 0; j < place->columns; ++j) {
                out[j] = row[line * mesh->columns + j];
                bad += !(fabs(out[j]) < 0x1p100);
            }
            memset(out + place->columns, 0, (size_t)(place->pitch - place->columns) * sizeof *out);
        }
    }
    return bad;
}

// A single term of NaN by NaN.
static bb_status poison(bb_index rows, bb_index cells, bb_low_rank_form *out)
{
    bb_status status = BB_OK;
    uint16_t *v = NULL;
    *out = (bb_low_rank_form){.narrow = 1, .error = NAN};
    BB_TRY(BB_ALLOCATE(cells, &v));
    out->v = (unsigned char *)v;
    BB_TRY(BB_ALLOCATE(rows, &out->u_narrow));
    BB_TRY(BB_ALLOCATE(1, &out->scale));
    for (bb_index i = 0; i < cells; ++i) {
        v[i] = FP16_NAN;
    }
    for (bb_index i = 0; i < rows; ++i) {
        out->u_narrow[i] = FP16_NAN;
    }
    out->scale[0] = 1.0F;
done:
    if (status != BB_OK) {
        bb_low_rank_form_release(out);
    }
    return status;
}

// Assigns the offsets of each tile's terms and rows of V, and the band's totals.
static void place_tiles(const bb_low_rank_mesh *mesh, const bb_low_rank_form *forms,
                        bb_low_rank_band *band)
{
    bb_index narrow = 0;
    bb_index wide = 0;
    for (bb_index t = 0; t < mesh->across * mesh->down; ++t) {
        const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
        const size_t cells = (size_t)(place.lines * place.pitch);
        bb_low_rank_tile *tile = &band->tiles[t];
        *tile = (bb_low_rank_tile){.dense = forms[t].dense,
                                   .narrow = (int)forms[t].narrow,
                                   .wide = (int)forms[t].wide,
                                   .narrow_term = narrow,
                                   .wide_term = wide,
                                   .wide_v = band->v_bytes,
                                   .error = forms[t].error};
        band->v_bytes += 4 * cells * (size_t)tile->wide;
        tile->narrow_v = band->v_bytes;
        band->v_bytes += 2 * cells * (size_t)tile->narrow;
        narrow += tile->dense ? 0 : tile->narrow;
        wide += tile->dense ? 0 : tile->wide;
        band->dense_tiles += tile->dense;
    }
    band->narrow = fill_up(narrow, 8);
    band->wide = fill_up(wide, 4);
    band->terms = band->narrow + band->wide;
    for (bb_index t = 0; t < mesh->across * mesh->down; ++t) {
        bb_low_rank_tile *tile = &band->tiles[t];
        tile->wide_term += band->narrow;
        if (tile->dense) {
            tile->narrow_term = tile->wide_term = band->terms;
            band->terms += band->rows;
        }
    }
}

static void fill_tile(const bb_low_rank_form *form, const bb_low_rank_tile *tile, bb_index cells,
                      bb_low_rank_band *band)
{
    memcpy(band->v + tile->wide_v, form->v, (size_t)((4 * form->wide + 2 * form->narrow) * cells));
    for (bb_index k = 0; k < form->wide; ++k) {
        band->scale[tile->wide_term + k] = form->scale[k];
        for (bb_index i = 0; !form->dense && i < band->rows; ++i) {
            band->u_wide[i * band->wide + tile->wide_term - band->narrow + k] =
                form->u_wide[k * band->rows + i];
        }
    }
    for (bb_index k = 0; k < form->narrow; ++k) {
        band->scale[tile->narrow_term + k] = form->scale[form->wide + k];
        for (bb_index i = 0; !form->dense && i < band->rows; ++i) {
            band->u_narrow[i * band->narrow + tile->narrow_term + k] =
                form->u_narrow[k * band->rows + i];
        }
    }
}

static bb_status assemble(const bb_low_rank_mesh *mesh, const bb_low_rank_form *forms,
                          bb_low_rank_band *band)
{
    bb_status status = BB_OK;
    bb_index tiles = mesh->across * mesh->down;
    BB_TRY(BB_ALLOCATE(tiles, &band->tiles));
    place_tiles(mesh, forms, band);
    BB_TRY(BB_ALLOCATE((bb_index)band->v_bytes, &band->v));
    BB_TRY(BB_ZEROED(band->rows * band->narrow, &band->u_narrow));
    BB_TRY(BB_ZEROED(band->rows * band->wide, &band->u_wide));
    BB_TRY(BB_ZEROED(band->terms, &band->scale));
    for (bb_index t = 0; t < tiles; ++t) {
        const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
        if (forms[t].wide + forms[t].narrow > 0) {
            fill_tile(&forms[t], &band->tiles[t], place.lines * place.pitch, band);
        }
    }
done:
    return status;
}

// Returns the norm of the columns of one line, which form one tile.
static bb_low_rank_norm norm_of(const bb_coded_matrix *matrix, bb_index column, bb_index columns)
{
    const double *factors = matrix->layout.column_norms;
    const bb_index width = bb_codec_norm_width(&matrix->config);
    bb_low_rank_norm out = {0};
    if (factors != NULL && width > 0) {
        out = (bb_low_rank_norm){factors + column / width * width * width, columns, width};
    }
    return out;
}

static bb_status encode_band(bb_coded_matrix *matrix, bb_index row, bb_view panel, void *memory,
                             bb_codec_counts *counts)
{
    bb_status status = BB_OK;
    const low_rank_store *store = matrix->store;
    const bb_codec_config *config = &matrix->config;
    const bb_low_rank_mesh *mesh = &store->mesh;
    const bb_index rows = panel.shape[0];
    bb_low_rank_form *forms = memory;
    bb_low_rank_room room =
        bb_low_rank_room_in(forms + store->tiles, bb_coded_matrix_band(matrix), store->cells);
    bb_low_rank_band band = {.row = row, .rows = rows};
    memset(forms, 0, (size_t)store->tiles * sizeof *forms);
    for (bb_index t = 0; t < store->tiles; ++t) {
        const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
        const bb_index cells = place.lines * place.pitch;
        const bb_index bad = gather(mesh, &place, panel, room.tile);
        room.norm = norm_of(matrix, place.column, place.columns);
        counts->non_finite += bad;
        BB_TRY(bad > 0 ? poison(rows, cells, &forms[t])
                       : bb_low_rank_tile_compress(&room, store->gaussians, rows, cells,
                                                   place.lines * place.columns, config->tolerance,
                                                   config->bits == 32.0, &forms[t]));
    }
    BB_TRY(assemble(mesh, forms, &band));
    bb_low_rank_band *target = band_at(matrix, row / bb_coded_matrix_band(matrix));
    release_band(target);
    *target = band;
    band = (bb_low_rank_band){0};
done:
    for (bb_index t = 0; t < store->tiles; ++t) {
        bb_low_rank_form_release(&forms[t]);
    }
    release_band(&band);
    return status;
}

// Decodes the cells of row i of a tile, in fp64.
static void decode_tile(const bb_low_rank_band *band, const bb_low_rank_tile *tile, bb_index cells,
                        bb_index i, double *v, double *out)
{
    memset(out, 0, (size_t)cells * sizeof *out);
    if (band->v == NULL) { // no tile of the band has a term
        return;
    }
    const uint16_t *narrow = (const uint16_t *)(const void *)(band->v + tile->narrow_v);
    const float *wide = (const float *)(const void *)(band->v + tile->wide_v);
    for (bb_index k = 0; k < tile->wide + tile->narrow; ++k) {
        bool fp32 = k < tile->wide;
        bb_index term = fp32 ? tile->wide_term + k : tile->narrow_term + k - tile->wide;
        double u = 1.0;
        if (tile->dense && k != i) {
            continue;
        }
        if (fp32) {
            u = tile->dense ? u : (double)band->u_wide[i * band->wide + term - band->narrow];
            bb_format_decode(BB_FORMAT_FP32, wide + k * cells, cells, v);
        } else {
            if (!tile->dense) {
                bb_format_decode(BB_FORMAT_FP16, band->u_narrow + i * band->narrow + term, 1, &u);
            }
            bb_format_decode(BB_FORMAT_FP16, narrow + (k - tile->wide) * cells, cells, v);
        }
        u *= (double)band->scale[term];
        for (bb_index j = 0; j < cells; ++j) {
            out[j] += u * v[j];
        }
    }
}

// Decodes columns [column, column + count) of a row into one of the two.
static void decode(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                   float *f32, double *f64)
{
    const low_rank_store *store = matrix->store;
    const bb_low_rank_mesh *mesh = &store->mesh;
    const bb_low_rank_band *band = band_at(matrix, row / bb_coded_matrix_band(matrix));
    const bb_index strip = mesh->columns * mesh->tile_lines;
    const bb_index end = (column + count + strip - 1) / strip * mesh->across;
    for (bb_index t = column / strip * mesh->across; t < end; ++t) {
        const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
        double v[BB_LOW_RANK_CELLS];
        double cells[BB_LOW_RANK_CELLS];
        bb_index target = place.line * mesh->columns + place.column - column;
        if (target >= count || target + (place.lines - 1) * mesh->columns + place.columns <= 0) {
            continue;
        }
        decode_tile(band, &band->tiles[t], place.lines * place.pitch, row - band->row, v, cells);
        for (bb_index line = 0; line < place.lines; ++line, target += mesh->columns) {
            const bb_index first = target < 0 ? -target : 0;
            const bb_index past = place.columns < count - target ? place.columns : count - target;
            const double *source = cells + line * place.pitch;
            for (bb_index j = first; f32 != NULL && j < past; ++j) {
                f32[target + j] = (float)source[j];
            }
            if (f64 != NULL && first < past) {
                memcpy(f64 + target + first, source + first, (size_t)(past - first) * sizeof *f64);
            }
        }
    }
}

static void decode_f32(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                       float *out)
{
    decode(matrix, row, column, count, out, NULL);
}

static void decode_f64(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                       double *out)
{
    decode(matrix, row, column, count, NULL, out);
}

// V, U, scales, and the items that map a tile's rows of V.
static size_t bytes(const bb_coded_matrix *matrix)
{
    const low_rank_store *store = matrix->store;
    size_t total = 0;
    for (bb_index b = 0; b < matrix->band_count; ++b) {
        const bb_low_rank_band *band = band_at(matrix, b);
        if (band->tiles != NULL) {
            total += band->v_bytes +
                     (size_t)band->rows * (2 * (size_t)band->narrow + 4 * (size_t)band->wide);
            total += (size_t)band->terms * sizeof *band->scale;
            total += (size_t)bb_low_rank_items(band, &store->mesh, NULL) * sizeof(bb_low_rank_item);
        }
    }
    return total;
}

static const bb_codec_ops operations = {
    .check = check,
    .describe = describe,
    .norm_width = norm_width,
    .create = create,
    .destroy = destroy,
    .bytes = bytes,
    .room_bytes = room_bytes,
    .encode_band = encode_band,
    .release_band = release_band,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
};

static const char *const shared_keys[] = {
    "bits", "tolerance", "tolerance_of_range", "band_lines", "tile_columns", "tile_rows", NULL};

const bb_codec_row bb_low_rank_row = {
    .name = "low_rank",
    .title = "low rank",
    .shared_keys = shared_keys,
    .keys = keys,
    .key_count = sizeof keys / sizeof keys[0],
    .defaults = {.band_lines = 12, .tile_columns = 32, .tile_rows = 20},
    .rounding = "dropped terms, factors to nearest even",
    .form = BB_FORM_TILES,
    .store_bytes = sizeof(low_rank_store),
    .band_item = sizeof(bb_low_rank_band),
    .needs_copy = true,
    .seconds = 4e-8,
    .most_bytes = 4.0,     // as many terms as are worthwhile
    .band_bytes = 5.0,     // tiles before they are assembled
    .own_bytes = 4.0e5,    // Gaussian numbers for sketching tiles
    .thread_bytes = 8.0e6, // a tile in fp64 and its factors, about 250 rows
    .tolerances = {-80, 80, true},
    .ladders = {BB_CODEC_TOLERANCE_LADDER("")},
    .ops = &operations,
};

const bb_low_rank_mesh *bb_coded_matrix_low_rank_mesh(const bb_coded_matrix *matrix)
{
    const low_rank_store *store = matrix->store;
    return matrix->row == &bb_low_rank_row ? &store->mesh : NULL;
}

bb_index bb_coded_matrix_low_rank_bands(const bb_coded_matrix *matrix)
{
    return matrix->row == &bb_low_rank_row ? matrix->band_count : 0;
}

const bb_low_rank_band *bb_coded_matrix_low_rank_band(const bb_coded_matrix *matrix, bb_index band)
{
    return band_at(matrix, band);
}

bb_low_rank_place bb_low_rank_place_of(const bb_low_rank_mesh *mesh, bb_index tile)
{
    bb_low_rank_place place = {.column = tile % mesh->across * mesh->tile_columns,
                               .line = tile / mesh->across * mesh->tile_lines};
    bb_index columns = mesh->columns - place.column;
    bb_index lines = mesh->lines - place.line;
    place.columns = columns < mesh->tile_columns ? columns : mesh->tile_columns;
    place.lines = lines < mesh->tile_lines ? lines : mesh->tile_lines;
    place.pitch = (place.columns + 7) / 8 * 8;
    return place;
}

bb_index bb_low_rank_items(const bb_low_rank_band *band, const bb_low_rank_mesh *mesh,
                           bb_low_rank_item *out)
{
    bb_index count = 0;
    for (bb_index t = 0; t < mesh->across * mesh->down; ++t) {
        const bb_low_rank_tile *tile = &band->tiles[t];
        const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
        const size_t cells = (size_t)(place.lines * place.pitch);
        for (int wide = 1; wide >= 0; --wide) {
            int rows = wide ? tile->wide : tile->narrow;
            int limit = wide ? BB_LOW_RANK_ITEM_WIDE : BB_LOW_RANK_ITEM_NARROW;
            size_t v = wide ? tile->wide_v : tile->narrow_v;
            bb_index term = wide ? tile->wide_term : tile->narrow_term;
            for (int k = 0; k < rows; k += limit, ++count) {
                if (out != NULL) {
                    out[count] = (bb_low_rank_item){
                        .v = (uint32_t)((v + (wide ? 4 : 2) * cells * (size_t)k) / 16),
                        .term = (uint32_t)(term + k),
                        .column = (uint32_t)place.column,
                        .line = (uint32_t)place.line,
                        .columns = (uint16_t)place.columns,
                        .lines = (uint16_t)place.lines,
                        .rows = (uint16_t)(rows - k < limit ? rows - k : limit),
                        .wide = (uint16_t)wide};
                }
            }
        }
    }
    return count;
}
