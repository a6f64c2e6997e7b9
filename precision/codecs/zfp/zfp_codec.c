// SPDX-License-Identifier: Apache-2.0
//
// zfp as a codec of matrices: bands, groups and pieces of the streams of zfp_band.h.
//
// Values are rounded to fp32 first. dimensions 1: a row as a line; 2: a row on its mesh; 3: a line
// of the row grid; 4: four lines. The bits are those of libzfp's zfp_compress.
//
// libzfp computes 2^(30 - e) in float for a block of largest magnitude below 2^e: this overflows
// below 2^-97 and decodes to garbage, and a decoded value may exceed fp32's largest above 2^126.
// So, except in the reversible mode, values below 2^-97 are stored as zeros and counted as
// underflowed, and values of 2^126 and more poison their piece as a NaN does.
#include "core/memory.h"
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/zfp/zfp_band.h"
#include "precision/codecs/zfp/zfp_stream.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <zfp.h>

#define LEAST 0x1p-97F
#define MOST  0x1p126F

static const char *const modes[] = {"rate", "precision", "accuracy", "reversible", NULL};

typedef struct zfp_store {
    bb_zfp_settings settings;
    bb_zfp_shape shape; // of a full band; the last may have fewer lines
} zfp_store;

static int dimensions_of(const bb_codec_config *config)
{
    return (int)bb_codec_filled(config).dimensions;
}

static bb_zfp_settings settings_of(const bb_codec_config *config)
{
    zfp_stream stream = {0};
    unsigned dimensions = (unsigned)dimensions_of(config);
    switch ((bb_zfp_mode)config->mode) {
    case BB_ZFP_RATE:
        (void)zfp_stream_set_rate(&stream, config->bits, zfp_type_float, dimensions, zfp_false);
        break;
    case BB_ZFP_PRECISION:
        (void)zfp_stream_set_precision(&stream, (unsigned)config->bits);
        break;
    case BB_ZFP_ACCURACY:
        (void)zfp_stream_set_accuracy(&stream, config->tolerance);
        break;
    default:
        zfp_stream_set_reversible(&stream);
    }
    return (bb_zfp_settings){stream.minbits, stream.maxbits, stream.maxprec, stream.minexp};
}

static bool check_bits(const bb_codec_config *config, char *sentence, size_t bytes)
{
    double bits = config->bits;
    const char *mode = modes[config->mode];
    bool rate = config->mode == (int)BB_ZFP_RATE;
    if (!rate && config->mode != (int)BB_ZFP_PRECISION) {
        if (!isnan(bits)) {
            (void)snprintf(sentence, bytes, "bits: not a parameter of zfp mode %s", mode);
            return false;
        }
        return true;
    }
    // A block needs at least its flag and exponent: 9 bits.
    double minimum = rate ? 9.0 / (double)(1 << (2 * dimensions_of(config))) : 1.0;
    if (isnan(bits)) {
        (void)snprintf(sentence, bytes, "bits: not given, zfp mode %s needs it", mode);
        return false;
    }
    if (!(bits >= minimum && bits <= 32.0) || (!rate && bits != floor(bits))) {
        (void)snprintf(sentence, bytes,
                       "bits: %g, zfp mode %s in %d dimensions accepts %s%.4g to 32", bits, mode,
                       dimensions_of(config), rate ? "" : "whole numbers, ", minimum);
        return false;
    }
    return true;
}

static bool check(const bb_codec_config *config, char *sentence, size_t bytes)
{
    if (config->mode < 0 || config->mode > (int)BB_ZFP_REVERSIBLE) {
        (void)snprintf(sentence, bytes,
                       "mode: not given, zfp needs rate, precision, accuracy or reversible");
        return false;
    }
    int dimensions = dimensions_of(config);
    if (dimensions < 1 || dimensions > 4) {
        (void)snprintf(sentence, bytes, "dimensions: %d, expected 1 to 4", dimensions);
        return false;
    }
    if (!check_bits(config, sentence, bytes)) {
        return false;
    }
    if (config->mode == (int)BB_ZFP_ACCURACY) {
        return bb_codec_check_tolerance(config, sentence, bytes);
    }
    if (!isnan(config->tolerance) || !isnan(config->tolerance_of_range)) {
        (void)snprintf(sentence, bytes, "%s: not a parameter of zfp mode %s",
                       isnan(config->tolerance) ? "tolerance_of_range" : "tolerance",
                       modes[config->mode]);
        return false;
    }
    return true;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    char parameter[48] = "";
    if (config->mode == (int)BB_ZFP_ACCURACY) {
        parameter[0] = ' ';
        bb_codec_describe_tolerance(config, parameter + 1, sizeof parameter - 1);
    } else if (config->mode != (int)BB_ZFP_REVERSIBLE) {
        (void)snprintf(parameter, sizeof parameter, " %g", config->bits);
    }
    (void)snprintf(out, bytes, " %s%s, %d-D", modes[config->mode], parameter,
                   dimensions_of(config));
}

static const char *rounding(const bb_codec_config *config)
{
    return config->mode == (int)BB_ZFP_REVERSIBLE ? "nearest even, to fp32"
                                                  : bb_zfp_band_measured_rounding();
}

// Accuracy: the dropped planes contribute at most 2/3 of the tolerance, after an inverse transform
// whose rows sum to 15/4 along each axis. The integers have 30 bits below the block's exponent: an
// error of a unit or two in each of them passes through the same transform.
static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    if (config->mode == (int)BB_ZFP_REVERSIBLE) {
        return magnitude > FLT_MAX ? INFINITY : bb_codec_fp32_rounding(magnitude);
    }
    if (config->mode != (int)BB_ZFP_ACCURACY || block_magnitude >= (double)MOST) {
        return INFINITY;
    }
    double integers = 4.0 * 0x1p-29 * pow(3.75, dimensions_of(config));
    return tolerance + (double)LEAST + (integers + 0x1p-23) * block_magnitude;
}

static double bits_per_value(const bb_codec_config *config)
{
    if (config->mode != (int)BB_ZFP_RATE) {
        return NAN;
    }
    return (double)settings_of(config).maximum_bits / (double)(1 << (2 * dimensions_of(config)));
}

// Maps the rows and columns of the matrix to axes of a band; the layout has what the dimensions
// require.
static void shape_band(bb_coded_matrix *matrix, zfp_store *store)
{
    const bb_matrix_layout *layout = &matrix->layout;
    int dimensions = dimensions_of(&matrix->config);
    store->shape = (bb_zfp_shape){dimensions, layout->columns, 1, 1, 1};
    matrix->piece_columns = 4 * BB_ZFP_LINE_BLOCKS;
    if (dimensions >= 2) {
        store->shape.nx = layout->mesh_columns;
        store->shape.ny = layout->columns / layout->mesh_columns;
        matrix->piece_columns = 4 * layout->mesh_columns;
    }
    if (dimensions >= 3) {
        store->shape.nz = layout->row_columns;
        matrix->line_rows = layout->row_columns;
        matrix->group_lines = 4;
    }
    if (dimensions == 4) {
        store->shape.nw = 4;
        matrix->band_lines = 4;
    }
}

static bb_status check_layout(const bb_codec_config *config, const bb_matrix_layout *layout)
{
    bb_status status = BB_OK;
    int dimensions = dimensions_of(config);
    BB_REQUIRE(
        dimensions < 2 || layout->mesh_columns > 0, BB_INVALID,
        "zfp in %d dimensions needs columns on a mesh; set dimensions to 1 for lines of values",
        dimensions);
    BB_REQUIRE(dimensions < 3 || layout->row_columns > 0, BB_INVALID,
               "zfp in %d dimensions needs rows on a grid", dimensions);
done:
    return status;
}

static double band_lines(const bb_codec_config *config)
{
    int dimensions = dimensions_of(config);
    return dimensions == 4 ? 4.0 : dimensions == 3 ? 1.0 : 0.0;
}

static bb_status create(bb_coded_matrix *matrix)
{
    zfp_store *store = matrix->store;
    store->settings = settings_of(&matrix->config);
    shape_band(matrix, store);
    return BB_OK;
}

static bb_zfp_band *band_at(const bb_coded_matrix *matrix, bb_index band)
{
    return (bb_zfp_band *)matrix->bands + band;
}

static void release_band(void *item)
{
    bb_zfp_band_release(item);
}

static size_t room_bytes(const bb_coded_matrix *matrix)
{
    return (size_t)(bb_coded_matrix_band(matrix) * matrix->layout.columns) * sizeof(float);
}

// Shape of a band of `lines` lines of the row grid.
static bb_zfp_shape shape_of(const zfp_store *store, bb_index lines)
{
    bb_zfp_shape shape = store->shape;
    shape.nw = shape.dimensions == 4 ? lines : 1;
    return shape;
}

// Converts to the floats supported by libzfp; other values become zero and are counted.
BB_CLONES static void narrow(const double *values, bb_index count, float minimum, float maximum,
                             float *out, bb_codec_counts *counts)
{
    bb_index lost = 0;
    bb_index bad = 0;
    for (bb_index i = 0; i < count; ++i) {
        float value = (float)values[i];
        float magnitude = fabsf(value);
        int holds = magnitude < maximum;
        int small = magnitude < minimum;
        lost += small & (values[i] != 0.0);
        bad += !holds;
        out[i] = (holds & !small) != 0 ? value : 0.0F;
    }
    counts->underflowed += lost;
    counts->non_finite += bad;
}

// Returns the run that contains a value of the band.
static bb_index run_of(const bb_zfp_shape *shape, bb_index row, bb_index column)
{
    if (shape->dimensions == 1) {
        return column / ((bb_index)4 * BB_ZFP_LINE_BLOCKS);
    }
    bb_index blocks_y = (shape->ny + 3) / 4;
    return row % shape->nz / 4 * blocks_y + column / shape->nx / 4;
}

static void mark_poisoned(const bb_zfp_shape *shape, bb_view panel, float maximum,
                          unsigned char *poisoned)
{
    for (bb_index row = 0; row < panel.shape[0]; ++row) {
        const double *values = bb_view_row(panel, row);
        for (bb_index j = 0; j < panel.shape[1]; ++j) {
            if (!(fabsf((float)values[j]) < maximum)) {
                poisoned[run_of(shape, row, j)] = 1;
            }
        }
    }
}

static bb_status encode_band(bb_coded_matrix *matrix, bb_index row, bb_view panel, void *room,
                             bb_codec_counts *counts)
{
    bb_status status = BB_OK;
    const zfp_store *store = matrix->store;
    const bb_zfp_shape shape = shape_of(store, panel.shape[0] / matrix->line_rows);
    const bool reversible = matrix->config.mode == (int)BB_ZFP_REVERSIBLE;
    const float minimum = reversible ? FLT_TRUE_MIN : LEAST;
    const float maximum = reversible ? INFINITY : MOST;
    const bb_index bad = counts->non_finite;
    float *floats = room;
    unsigned char *poisoned = NULL;
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        narrow(bb_view_row(panel, i), panel.shape[1], minimum, maximum, floats + i * panel.shape[1],
               counts);
    }
    if (counts->non_finite > bad) {
        BB_TRY(BB_ZEROED(bb_zfp_band_runs(&shape), &poisoned));
        mark_poisoned(&shape, panel, maximum, poisoned);
    }
    BB_TRY(bb_zfp_band_encode(store->settings, &shape, floats, poisoned,
                              band_at(matrix, row / bb_coded_matrix_band(matrix))));
done:
    BB_RELEASE(&poisoned);
    return status;
}

// Decodes the run of a piece of a group.
static void decode_run(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                       const bb_zfp_target *target)
{
    const zfp_store *store = matrix->store;
    bb_group_place place = bb_coded_matrix_place(matrix, group);
    bb_zfp_shape shape = shape_of(store, place.lines);
    bb_index run = run_of(&shape, place.first - place.band_row, piece * matrix->piece_columns);
    bb_zfp_band_decode(store->settings, &shape, band_at(matrix, place.band), run, target);
}

static void decode_piece(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *f32,
                         double *f64)
{
    const bb_index columns = matrix->piece_columns;
    const bb_zfp_target target = {
        .f32 = f32, .f64 = f64, .stride = columns, .only_row = -1, .end = columns};
    decode_run(matrix, group, piece, &target);
}

static void decode_f64(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                       double *out)
{
    bb_index group = bb_coded_matrix_group_of(matrix, row);
    bb_index rows[BB_GROUP_ROWS];
    bb_index found = 0;
    (void)bb_coded_matrix_group_rows(matrix, group, rows);
    while (rows[found] != row) {
        ++found;
    }
    while (count > 0) {
        bb_index piece = column / matrix->piece_columns;
        bb_index begin = column % matrix->piece_columns;
        bb_index rest = bb_coded_matrix_piece_count(matrix, piece) - begin;
        bb_index take = rest < count ? rest : count;
        bb_zfp_target target = {.f64 = out, .only_row = found, .begin = begin, .end = begin + take};
        decode_run(matrix, group, piece, &target);
        column += take;
        count -= take;
        out += take;
    }
}

// Streams, an entry per run (32 bits and a sixteenth of 64) at variable rate, and poison marks if
// there are any.
static size_t bytes(const bb_coded_matrix *matrix)
{
    const zfp_store *store = matrix->store;
    size_t total = 0;
    for (bb_index band = 0; band < matrix->band_count; ++band) {
        const bb_zfp_band *item = band_at(matrix, band);
        size_t runs = (size_t)bb_zfp_band_runs(&store->shape); // up to four lines: the same
        total += item->bytes + (item->poisoned != NULL ? runs : 0);
        if (item->offsets != NULL) {
            total += runs * sizeof(uint32_t) +
                     (runs + BB_ZFP_BASE_RUNS - 1) / BB_ZFP_BASE_RUNS * sizeof(uint64_t);
        }
    }
    return total;
}

bb_status bb_coded_matrix_zfp_stream(const bb_coded_matrix *matrix, bb_index band,
                                     bb_zfp_stream *out)
{
    bb_status status = BB_OK;
    const zfp_store *store = matrix->store;
    BB_REQUIRE(matrix->row == &bb_zfp_row, BB_UNSUPPORTED,
               "a matrix in codec %s has no zfp streams", matrix->row->name);
    BB_REQUIRE(band >= 0 && band < matrix->band_count && band_at(matrix, band)->words != NULL,
               BB_INVALID, "band %td of %td does not exist or is not encoded", band,
               matrix->band_count);
    const bb_zfp_band *item = band_at(matrix, band);
    const bb_index rows = bb_coded_matrix_band(matrix);
    const bb_index rest = matrix->layout.rows - band * rows;
    *out =
        (bb_zfp_stream){.bytes = item->words,
                        .size = item->bytes,
                        .bits = item->bits,
                        .type = BB_F32,
                        .shape = shape_of(store, (rest < rows ? rest : rows) / matrix->line_rows),
                        .settings = store->settings};
done:
    return status;
}

bool bb_coded_matrix_zfp_poisoned(const bb_coded_matrix *matrix, bb_index row)
{
    const zfp_store *store = matrix->store;
    const bb_index rows = bb_coded_matrix_band(matrix);
    const bb_zfp_band *item = band_at(matrix, row / rows);
    bool poisoned = false;
    for (bb_index j = 0; item->poisoned != NULL && j < matrix->layout.columns;
         j += matrix->piece_columns) {
        poisoned = poisoned || item->poisoned[run_of(&store->shape, row % rows, j)] != 0;
    }
    return poisoned;
}

static bb_draw_range draw_range(const bb_codec_config *config)
{
    return config->mode == (int)BB_ZFP_ACCURACY ? bb_codec_draw_tolerance()
                                                : (bb_draw_range){1.0, 2.0};
}

static const bb_codec_ops operations = {
    .check = check,
    .check_layout = check_layout,
    .band_lines = band_lines,
    .describe = describe,
    .rounding = rounding,
    .bound = bound,
    .bits_per_value = bits_per_value,
    .draw_range = draw_range,
    .create = create,
    .bytes = bytes,
    .room_bytes = room_bytes,
    .encode_band = encode_band,
    .release_band = release_band,
    .decode_piece = decode_piece,
    .decode_f64 = decode_f64,
};

static const char *const shared_keys[] = {"bits", "tolerance", "tolerance_of_range", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "mode", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_codec_config, mode),
     .choices = modes, .optional = true, .meaning = "zfp: constant quantity."},
    {.name = "dimensions", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, dimensions), .minimum = 1.0, .maximum = 4.0,
     .optional = true,
     .meaning = "zfp: 1 row, 2 its mesh, 3 mesh by line of rows, 4 by lines; default 2."},
};
// clang-format on

const bb_codec_row bb_zfp_row = {
    .name = "zfp",
    .shared_keys = shared_keys,
    .keys = keys,
    .key_count = sizeof keys / sizeof keys[0],
    .defaults = {.dimensions = 2},
    .form = BB_FORM_STREAMS,
    .store_bytes = sizeof(zfp_store),
    .band_item = sizeof(bb_zfp_band),
    .needs_copy = true,
    .sums_in_runs = true,
    .unpacked_on = {[BB_DEVICE_CPU] = true}, // its decoder is bit-serial on the cpu
    .seconds = 8e-8,                         // decoded twice
    .most_bytes = 4.0,
    .band_bytes = 11.0,
    .tolerances = {.lowest = -1074, .highest = 1023},
    .ladders = {BB_CODEC_TOLERANCE_LADDER("mode=accuracy"), {"bits", "mode=rate", 1, 24, false}},
    .ops = &operations,
};
