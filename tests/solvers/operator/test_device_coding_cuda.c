// SPDX-License-Identifier: Apache-2.0
//
// Matrices encoded by a GPU against those of the CPU, byte for byte, over codecs, shapes around
// tiles and blocks, and values that are zero, subnormal, too large and not finite; errors of
// storage; draws; products. The full size prints its times. Argument "few": no full size.
#include "core/clock.h"
#include "precision/row_certificate.h"
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/device_coding.h"
#include "solvers/operator/stream/coded_stream_parts.h"
#include "solvers/operator/transform_encoder.h"
#include "tests/device_pair.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

// Every codec with an encoder, followed by the bits of bfp and integers.
static const char *const texts[] = {
    "fp64",
    "fp32",
    "tf32",
    "bf16",
    "fp16",
    "e4m3",
    "e5m2",
    "bf16 rounding=sweep",
    "mx element=int8",
    "integer bits=3 clip=best",
    "integer bits=8 clip=best",
    "quantiser tolerance=1e-2",
    "quantiser tolerance=1e-4",
    "quantiser tolerance=3e-7",
    "quantiser tolerance_of_range=1e-3",
};
enum { TEXTS = sizeof texts / sizeof *texts, BFP = 13, INTEGERS = 15 };
enum { CODECS = TEXTS + BFP + INTEGERS };

static bb_codec_config codec(int which, char *name, size_t bytes)
{
    if (which < TEXTS) {
        (void)snprintf(name, bytes, "%s", texts[which]);
    } else if (which < TEXTS + BFP) {
        (void)snprintf(name, bytes, "bfp bits=%d", 4 + which - TEXTS);
    } else {
        (void)snprintf(name, bytes, "integer bits=%d", 2 + which - TEXTS - BFP);
    }
    return codec_of(name);
}

typedef enum spread { SMOOTH, WIDE, ODD, SPREADS } spread;

// Kind of values of every row: random, over many binades, or with values outside every narrow
// format.
static void fill(bb_index rows, bb_index columns, spread kind, double *out)
{
    static const double odd[] = {0.0,   -0.0,  1e-320, 5e-324,   -3e-46, 70000.0,
                                 -3e38, 1e300, -1e39,  INFINITY, NAN,    1e-40,
                                 448.0, -NAN,  2e-38,  -INFINITY};
    dense_random(rows * columns, 1, out);
    for (bb_index i = 0; i < rows * columns; ++i) {
        const bb_index row = i / columns;
        const uint64_t draw = (uint64_t)i * 2654435761U % 1000003U;
        out[i] *= draw % 11 == 0 ? 0.0 : 1.0;
        out[i] = kind == SMOOTH && i % columns > 700 && i % columns < 1500 ? out[i] * 1e-6 : out[i];
        if (kind != SMOOTH) {
            out[i] = ldexp(out[i], (int)(draw % 40) - 30 - (row % 3 == 0 ? (int)(draw % 300) : 0));
        }
        // In separate blocks, so that the other blocks of the row are representable.
        if (kind == ODD && (i % columns / 32) % 5 == 0 && draw % 23 == 0 && row % 4 != 3) {
            out[i] = odd[draw / 23 % (row % 2 == 0 ? 9 : 16)];
        }
        out[i] = row % 7 == 6 ? 0.0 : out[i];
    }
}

static int failures;

static void expect(bool holds, const char *what, const char *name)
{
    if (!holds) {
        print_error("%s: %s differs\n", name, what);
        ++failures;
    }
}

// Blocks of device memory: NULL on both sides, or equal.
static void expect_block(const void *got, const void *wanted, size_t bytes, const char *what,
                         const char *name)
{
    if (got == NULL || wanted == NULL || bytes == 0) {
        expect((got == NULL) == (wanted == NULL), what, name);
        return;
    }
    autofree unsigned char *one = new_array(unsigned char, (bb_index)bytes);
    autofree unsigned char *other = new_array(unsigned char, (bb_index)bytes);
    check_ok(bb_device_download(gpu, one, got, bytes));
    check_ok(bb_device_download(gpu, other, wanted, bytes));
    size_t at = 0;
    while (at < bytes && one[at] == other[at]) {
        ++at;
    }
    if (at < bytes) {
        print_error("%s: byte %zu of %zu of %s is %02x, expected %02x\n", name, at, bytes, what,
                    (unsigned)one[at], (unsigned)other[at]);
        ++failures;
    }
}

// Units of the quantiser, up to the end of its last place.
static size_t word_bytes(const bb_coded_stream *stream)
{
    const bb_index count = (stream->tiles + 2 * stream->uppers) * stream->rows;
    if (stream->layout.row_bytes > 0) {
        return stream->bytes;
    }
    size_t units = 0;
    const bb_index shown = stream->tiles * stream->rows;
    autofree bb_stream_place *places = new_array(bb_stream_place, count);
    check_ok(bb_device_download(gpu, places, stream->places, (size_t)shown * sizeof *places));
    for (bb_index i = 0; i < shown; ++i) {
        units += bb_coded_stream_units(places[i].widths);
    }
    if (stream->uppers > 0) { // upper parts are stored last
        const bb_index limbs = (stream->tiles + stream->uppers) * stream->rows;
        autofree bb_stream_place *parts = new_array(bb_stream_place, limbs);
        check_ok(
            bb_device_download(gpu, parts, stream->limb_places, (size_t)limbs * sizeof *parts));
        units = parts[limbs - 1].unit + bb_coded_stream_units(parts[limbs - 1].widths);
    }
    return (size_t)BB_STREAM_UNIT * units;
}

static void expect_streams(const bb_coded_stream *got, const bb_coded_stream *wanted,
                           const char *name)
{
    const size_t rows = (size_t)wanted->rows;
    const size_t places = (size_t)wanted->tiles * rows * sizeof(bb_stream_place);
    const size_t uppers = (size_t)wanted->uppers * rows * sizeof(bb_stream_place);
    expect(got->bytes == wanted->bytes && got->limb_bytes == wanted->limb_bytes, "bytes", name);
    expect(got->step == wanted->step && got->beyond_fp32 == wanted->beyond_fp32 &&
               got->in_limbs == wanted->in_limbs && got->uppers == wanted->uppers,
           "step or limbs", name);
    if (got->bytes == wanted->bytes && got->uppers == wanted->uppers) {
        expect_block(got->words, wanted->words, word_bytes(wanted), "words", name);
        expect_block(got->limb_places, wanted->limb_places, places + uppers, "limb places", name);
    }
    expect_block(got->places, wanted->places, places, "places", name);
    expect_block(got->scales, wanted->scales, rows * sizeof(double), "scales", name);
    expect_block(got->steps, wanted->steps, rows * sizeof(float), "steps", name);
}

// Errors of a coded matrix in the order of sim/pipelines: by row and piece.
static bb_error_norms assess(const bb_coded_matrix *matrix, const double *values,
                             const double *factors, bb_row_certificate *certificates)
{
    const bb_index columns = bb_coded_matrix_columns(matrix);
    bb_error_norms total = bb_error_norms_start();
    for (bb_index row = 0; row < bb_coded_matrix_rows(matrix); ++row) {
        const double scale = bb_coded_matrix_row_scale(matrix, row);
        certificates[row] = bb_row_certificate_start(scale);
        for (bb_index first = 0; first < columns; first += BB_QUANTISER_RUN) {
            double decoded[BB_QUANTISER_RUN];
            bb_error_norms norms = bb_error_norms_start();
            const double *exact = values + row * columns + first;
            const bb_index rest = columns - first;
            const bb_index count = rest < BB_QUANTISER_RUN ? rest : BB_QUANTISER_RUN;
            bb_coded_matrix_decode(matrix, row, first, count, decoded);
            for (bb_index i = 0; i < count; ++i) {
                decoded[i] *= 1.0 / scale;
                decoded[i] /= factors == NULL ? 1.0 : factors[row];
            }
            bb_error_norms_add(&norms, exact, decoded, count);
            bb_row_certificate_add(&certificates[row], &norms, exact, decoded, count);
        }
        bb_error_norms_merge(&total, &certificates[row].norms);
    }
    return total;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool close_to(double a, double b, double magnitude)
{
    return same(a, b) || fabs(a - b) <= 1e-12 * magnitude;
}

static void expect_norms(const bb_error_norms *got, const bb_error_norms *wanted, double error_1,
                         const char *name)
{
    expect(same(got->max_error, wanted->max_error), "largest error", name);
    expect(same(got->minimum, wanted->minimum) && same(got->maximum, wanted->maximum), "range",
           name);
    expect(got->count == wanted->count && got->exponent == wanted->exponent, "count or exponent",
           name);
    expect(close_to(got->sum_squares, wanted->sum_squares, wanted->sum_squares), "squares", name);
    expect(close_to(got->sum, wanted->sum, ldexp(error_1, -wanted->exponent)), "sum", name);
}

static void expect_certificate(const bb_row_certificate *got, const bb_row_certificate *wanted,
                               const char *name)
{
    expect_norms(&got->norms, &wanted->norms, wanted->error_1, name);
    expect(got->scale == wanted->scale, "scale", name);
    expect(close_to(got->error_1, wanted->error_1, wanted->error_1), "error_1", name);
    expect(close_to(got->stored_1, wanted->stored_1, wanted->stored_1), "stored_1", name);
    expect(close_to(got->stored_squares, wanted->stored_squares, wanted->stored_squares),
           "stored_squares", name);
}

// Values on the device, starting `skew` values after the start of a block.
typedef struct upload {
    void *block;
    double *values;
} upload;

static upload put(const double *values, bb_index count, bb_index skew)
{
    upload out = {0};
    check_ok(bb_device_allocate(gpu, (size_t)(count + skew) * sizeof *values, &out.block));
    out.values = (double *)out.block + skew;
    check_ok(bb_device_upload(gpu, out.values, values, (size_t)count * sizeof *values));
    return out;
}

static void drop(upload *values)
{
    bb_device_release(gpu, &values->block);
}

typedef struct example {
    bb_matrix_layout layout;
    bb_row_scale scale;
    spread kind;
    bool drawn;
} example;

static bb_coded_matrix *encode_here(const bb_codec_config *config, const example *task,
                                    const double *values, const double *factors)
{
    const bb_matrix_layout *layout = &task->layout;
    autofree double *drawn = dense_new(layout->rows * layout->columns);
    fill_array(drawn, layout->rows * layout->columns, i,
               factors == NULL ? values[i] : factors[i / layout->columns] * values[i]);
    return coded_matrix(config, task->scale, layout, drawn);
}

static void expect_loss(const bb_coding_loss *loss, const bb_coded_matrix *matrix,
                        const double *values, const double *factors, const bb_row_certificate *got,
                        const char *name)
{
    const bb_index rows = bb_coded_matrix_rows(matrix);
    autofree bb_row_certificate *wanted = new_array(bb_row_certificate, rows);
    const bb_error_norms norms = assess(matrix, values, factors, wanted);
    double error_1 = 0.0;
    for (bb_index row = 0; row < rows; ++row) {
        const int before = failures;
        error_1 += wanted[row].error_1;
        expect_certificate(&got[row], &wanted[row], name);
        if (failures > before) {
            print_error("%s: certificate of row %td\n", name, row);
            break;
        }
    }
    expect_norms(&loss->norms, &norms, error_1, name);
    expect(loss->bytes == (double)bb_coded_matrix_bytes(matrix), "stored bytes", name);
    expect(loss->saturated == (double)bb_coded_matrix_saturated(matrix), "saturated", name);
    expect(loss->underflowed == (double)bb_coded_matrix_underflowed(matrix), "underflowed", name);
    expect(loss->non_finite == (double)bb_coded_matrix_non_finite(matrix), "non-finite", name);
}

static void expect_same_coding(const bb_codec_config *config, const example *task, const char *name)
{
    const bb_matrix_layout *layout = &task->layout;
    bb_coding_loss loss;
    autofree double *values = dense_new(layout->rows * layout->columns);
    autofree double *factors = dense_new(layout->rows);
    autofree bb_row_certificate *got = new_array(bb_row_certificate, layout->rows);
    fill(layout->rows, layout->columns, task->kind, values);
    fill_array(factors, layout->rows, i, 1.0 + 0.37 * (double)(i % 5) / 3.0);
    const double *used = task->drawn ? factors : NULL;
    autoptr(bb_coded_matrix) matrix = encode_here(config, task, values, used);
    autoptr(bb_device_matrix) expected = NULL;
    autoptr(bb_device_matrix) made = NULL;
    autocall(drop) upload there = put(values, layout->rows * layout->columns, layout->rows % 2);
    const bb_status status = bb_device_matrix_create(gpu, matrix, 0, layout->rows, &expected);
    const bb_device_coding coding = {config, task->scale, layout, there.values, used};
    if (status == BB_UNSUPPORTED) { // mx int8 below fp32's normal numbers
        assert_int_equal(bb_device_coding_encode(gpu, &coding, &loss, got, &made), BB_UNSUPPORTED);
        return;
    }
    check_ok(status);
    check_ok(bb_device_coding_encode(gpu, &coding, &loss, got, &made));
    expect_streams(bb_device_matrix_stream(made), bb_device_matrix_stream(expected), name);
    expect_loss(&loss, matrix, values, used, got, name);
}

// Every codec with every shape, with and without row scales and factors of a draw.
static void expect_spread(spread kind)
{
    static const bb_index shapes[][2] = {{1, 1},     {2, 31},    {3, 130},  {7, 1000},
                                         {33, 1025}, {18, 4098}, {20, 9301}};
    failures = 0;
    for (int which = 0; which < CODECS; ++which) {
        char name[48];
        const bb_codec_config config = codec(which, name, sizeof name);
        assert_true(bb_device_coding_available(&config));
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
            for (int way = 0; way < 4; ++way) {
                char title[96];
                example task = {
                    .layout = {.rows = shapes[s][0], .columns = shapes[s][1], .range = 8.0},
                    .scale = way % 2 == 0 ? BB_ROW_SCALE_NONE : BB_ROW_SCALE_ROW,
                    .kind = kind,
                    .drawn = way / 2 == 1};
                if (task.scale != BB_ROW_SCALE_NONE && !bb_codec_allows_row_scale(&config)) {
                    continue;
                }
                (void)snprintf(title, sizeof title, "%s, %td x %td, way %d", name, shapes[s][0],
                               shapes[s][1], way);
                expect_same_coding(&config, &task, title);
            }
        }
    }
    assert_int_equal(failures, 0);
}

TEST(smooth_rows_are_coded_as_on_the_cpu)
{
    expect_spread(SMOOTH);
}

TEST(rows_of_many_binades_are_coded_as_on_the_cpu)
{
    expect_spread(WIDE);
}

TEST(odd_values_are_coded_as_on_the_cpu)
{
    expect_spread(ODD);
}

// Quotients above 16 bits in one tile of eight, which limbs split into two parts.
TEST(wide_quotients_in_few_tiles_lie_in_two_parts)
{
    enum { ROWS = 20, COLUMNS = 8 * BB_QUANTISER_RUN + 5 };
    const bb_codec_config config = codec_of("quantiser tolerance=1e-3");
    const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    autofree double *values = dense_new((bb_index)ROWS * COLUMNS);
    dense_random((bb_index)ROWS * COLUMNS, 3, values);
    for (bb_index row = 0; row < ROWS; row += 3) {
        values[row * COLUMNS + 2 * BB_QUANTISER_RUN + 7 * row] = 4321.0 * (double)(row - 9);
    }
    autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
    autoptr(bb_device_matrix) expected = NULL;
    autoptr(bb_device_matrix) made = NULL;
    autocall(drop) upload there = put(values, (bb_index)ROWS * COLUMNS, 0);
    bb_coding_loss loss;
    const bb_device_coding coding = {&config, BB_ROW_SCALE_NONE, &layout, there.values, NULL};
    check_ok(bb_device_matrix_create(gpu, matrix, 0, ROWS, &expected));
    check_ok(bb_device_coding_encode(gpu, &coding, &loss, NULL, &made));
    assert_int_equal(bb_device_matrix_stream(expected)->uppers, 1);
    failures = 0;
    expect_streams(bb_device_matrix_stream(made), bb_device_matrix_stream(expected), "two parts");
    assert_int_equal(failures, 0);
}

// An operator of a matrix encoded on the device gives the bits of one copied there.
TEST(products_have_the_bits_of_a_copied_matrix)
{
    enum { ROWS = 37, COLUMNS = 5000 };
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    autofree double *values = dense_new((bb_index)ROWS * COLUMNS);
    autofree double *x = dense_new(COLUMNS);
    dense_random((bb_index)ROWS * COLUMNS, 1, values);
    dense_random(COLUMNS, 2, x);
    autocall(drop) upload there = put(values, (bb_index)ROWS * COLUMNS, 0);
    for (int which = 0; which < CODECS; ++which) {
        char name[48];
        double y[2][ROWS];
        double seconds = 0.0;
        bb_coding_loss loss;
        const bb_codec_config config = codec(which, name, sizeof name);
        const bb_matrix_layout ranged = {.rows = ROWS, .columns = COLUMNS, .range = 8.0};
        autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &ranged, values);
        autoptr(bb_device_matrix) made = NULL;
        autoptr(bb_coded_operator) copied = new_object(bb_coded_operator, gpu, matrix, mixed);
        autoptr(bb_coded_operator) encoded = NULL;
        const bb_device_coding coding = {&config, BB_ROW_SCALE_NONE, &ranged, there.values, NULL};
        check_ok(bb_device_coding_encode(gpu, &coding, &loss, NULL, &made));
        check_ok(bb_coded_operator_of_device_matrix(gpu, &made, mixed, &encoded));
        assert_null(made);
        check_ok(bb_coded_operator_sum_in_runs(copied, 32));
        check_ok(bb_coded_operator_sum_in_runs(encoded, 32));
        assert_true(bb_coded_operator_alike(copied, encoded));
        check_ok(bb_coded_operator_apply(copied, 0, ROWS, x, y[0], &seconds));
        check_ok(bb_coded_operator_apply(encoded, 0, ROWS, x, y[1], &seconds));
        assert_memory_equal(y[0], y[1], sizeof y[0]);
    }
}

// Counts are equal; magnitudes are equal up to the order of sums.
static void expect_path(const bb_row_rounding *got, const bb_row_rounding *wanted, const char *name)
{
    const double one[] = {got->norm_1, got->norm_2, got->largest, got->underflow, got->peak};
    const double other[] = {wanted->norm_1, wanted->norm_2, wanted->largest, wanted->underflow,
                            wanted->peak};
    for (size_t i = 0; i < sizeof one / sizeof *one; ++i) {
        expect(close_to(one[i], other[i], other[i]), "magnitude of a path", name);
    }
    expect(got->roundings == wanted->roundings && got->sums == wanted->sums &&
               got->wide == wanted->wide && got->chunk == wanted->chunk,
           "counts of a path", name);
}

// Bands of two transform matrices, and the rounding of products with their rows.
static void expect_bands(const bb_coded_matrix *got, const bb_coded_matrix *wanted,
                         const bb_row_certificate *rows, const char *name)
{
    const bb_transform_plan *plan = bb_coded_matrix_transform_plan(wanted);
    const bb_index blocks = plan->count[1] * plan->count[2] * plan->count[3];
    for (bb_index b = 0; b < bb_coded_matrix_transform_bands(wanted); ++b) {
        const bb_transform_band *one = bb_coded_matrix_transform_band(got, b);
        const bb_transform_band *other = bb_coded_matrix_transform_band(wanted, b);
        const size_t first = (size_t)(blocks + 1) * sizeof *one->first;
        const bool alike = memcmp(one->first, other->first, first) == 0;
        autofree bb_row_rounding *paths = new_array(bb_row_rounding, other->rows);
        expect(alike, "index of blocks", name);
        expect(one->row == other->row && one->rows == other->rows, "band", name);
        expect(!alike ||
                   memcmp(one->words, other->words, other->first[blocks] * sizeof *one->words) == 0,
               "words", name);
        check_ok(bb_row_roundings_of(wanted, b, paths));
        for (bb_index i = 0; i < other->rows; ++i) {
            expect_path(&rows[other->row + i].path, &paths[i], name);
        }
    }
}

// Blocks cut by every edge, lines without a mesh, axes of one point and of many.
TEST(transform_blocks_have_the_words_of_the_cpu)
{
    static const struct {
        const char *codec;
        bb_index rows, row_columns, columns, mesh_columns;
    } shapes[] = {
        {"transform tolerance=1e-2", 11 * 10, 10, 21 * 23, 21},
        {"transform tolerance=3e-7", 9 * 7, 7, 16 * 20, 16},
        {"transform tolerance=1e-9", 5 * 8, 8, 40 * 30, 40},
        {"transform tolerance=0.5", 13, 0, 500, 0},
        {"transform tolerance=1e-3 band_lines=4 band_columns=1 tile_columns=20 tile_rows=3", 30, 5,
         50 * 19, 50},
        {"transform tolerance_of_range=1e-3 band_lines=16 band_columns=16 tile_columns=1", 21 * 19,
         19, 33 * 37, 33},
    };
    failures = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        for (int way = 0; way < 2 * SPREADS; ++way) {
            char title[128];
            const bb_codec_config config = codec_of(shapes[s].codec);
            const bb_matrix_layout layout = {.rows = shapes[s].rows,
                                             .columns = shapes[s].columns,
                                             .mesh_columns = shapes[s].mesh_columns,
                                             .row_columns = shapes[s].row_columns,
                                             .range = 8.0};
            const example task = {.layout = layout};
            bb_coding_loss loss;
            autofree double *values = dense_new(layout.rows * layout.columns);
            autofree double *factors = dense_new(layout.rows);
            autofree bb_row_certificate *rows = new_array(bb_row_certificate, layout.rows);
            fill(layout.rows, layout.columns, (spread)(way / 2), values);
            fill_array(factors, layout.rows, i, 1.125);
            const double *used = way % 2 == 1 ? factors : NULL;
            autoptr(bb_coded_matrix) matrix = encode_here(&config, &task, values, used);
            autoptr(bb_coded_matrix) made = NULL;
            autocall(drop) upload there = put(values, layout.rows * layout.columns, 0);
            const bb_device_coding coding = {&config, BB_ROW_SCALE_NONE, &layout, there.values,
                                             used};
            (void)snprintf(title, sizeof title, "%s, way %d", shapes[s].codec, way);
            assert_true(bb_device_coding_available(&config));
            check_ok(bb_transform_encoder_encode(gpu, &coding, &loss, rows, &made));
            expect_bands(made, matrix, rows, title);
            expect_loss(&loss, matrix, values, used, rows, title);
        }
    }
    assert_int_equal(failures, 0);
}

TEST(products_with_transformed_blocks_have_the_bits_of_a_copied_matrix)
{
    enum { ROWS = 90, COLUMNS = 30 * 40 };
    const bb_matrix_layout layout = {
        .rows = ROWS, .columns = COLUMNS, .mesh_columns = 30, .row_columns = 9};
    const bb_codec_config config = codec_of("transform tolerance=1e-2");
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    double y[2][ROWS];
    double seconds = 0.0;
    bb_coding_loss loss;
    autofree double *values = dense_new((bb_index)ROWS * COLUMNS);
    autofree double *x = dense_new(COLUMNS);
    dense_random((bb_index)ROWS * COLUMNS, 1, values);
    dense_random(COLUMNS, 2, x);
    autocall(drop) upload there = put(values, (bb_index)ROWS * COLUMNS, 0);
    autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
    autoptr(bb_device_matrix) made = NULL;
    autoptr(bb_coded_operator) copied = new_object(bb_coded_operator, gpu, matrix, mixed);
    autoptr(bb_coded_operator) encoded = NULL;
    const bb_device_coding coding = {&config, BB_ROW_SCALE_NONE, &layout, there.values, NULL};
    check_ok(bb_device_coding_encode(gpu, &coding, &loss, NULL, &made));
    check_ok(bb_coded_operator_of_device_matrix(gpu, &made, mixed, &encoded));
    check_ok(bb_coded_operator_apply(copied, 0, ROWS, x, y[0], &seconds));
    check_ok(bb_coded_operator_apply(encoded, 0, ROWS, x, y[1], &seconds));
    assert_memory_equal(y[0], y[1], sizeof y[0]);
}

TEST(storage_without_an_encoder_is_refused)
{
    static const char *const absent[] = {"float exponent=5 mantissa=6", "mx element=e2m1",
                                         "zfp mode=rate bits=8", "fp16 rounding=diffused",
                                         "low_rank tolerance=1e-3"};
    const double value = 1.0;
    for (size_t i = 0; i < sizeof absent / sizeof *absent; ++i) {
        const bb_codec_config config = codec_of(absent[i]);
        const bb_matrix_layout layout = {.rows = 1, .columns = 1};
        const bb_device_coding coding = {&config, BB_ROW_SCALE_NONE, &layout, &value, NULL};
        bb_coding_loss loss;
        bb_device_matrix *made = NULL;
        assert_false(bb_device_coding_available(&config));
        assert_int_equal(bb_device_coding_encode(gpu, &coding, &loss, NULL, &made), BB_UNSUPPORTED);
        assert_null(made);
    }
}

#ifdef BB_HAVE_CUDA
// A field and axis: total seconds of encoding, and of a copy of the rows on the device.
TEST(the_full_size_is_timed)
{
    static const char *const timed[] = {
        "fp64",
        "fp32",
        "tf32",
        "fp16",
        "bf16",
        "e4m3",
        "bfp bits=4",
        "bfp bits=7",
        "bfp bits=8",
        "bfp bits=11",
        "bfp bits=16",
        "mx element=int8",
        "integer bits=4",
        "integer bits=8",
        "integer bits=4 clip=best",
        "quantiser tolerance=1e-4",
        "quantiser tolerance=1e-2",
        "transform tolerance=1e-3",
    };
    enum { ROWS = 2163, ROW_COLUMNS = 21, MESH = 512, COLUMNS = MESH * 500 };
    enum { SEED_ROWS = 16, SEED_VALUES = SEED_ROWS * COLUMNS };
    const size_t bytes = (size_t)ROWS * COLUMNS * sizeof(double);
    if (few) {
        skip();
    }
    check_ok(bb_threads_set(bb_threads_available()));
    autofree double *seed = dense_new(SEED_VALUES);
    void *values = NULL;
    void *copy = NULL;
    double seconds = 0.0;
    dense_random(SEED_VALUES, 1, seed);
    for (bb_index i = 0; i < SEED_VALUES; ++i) { // a smooth response with little noise
        const double x = (double)(i % MESH) - 240.0 - 0.5 * (double)(i / COLUMNS % ROW_COLUMNS);
        const double y = (double)(i % COLUMNS / MESH) - 240.0;
        seed[i] = exp(-(x * x + y * y) / 4e3) + 1e-5 * seed[i];
    }
    check_ok(bb_device_allocate(gpu, bytes, &values));
    check_ok(bb_device_allocate(gpu, bytes, &copy));
    for (size_t done = 0; done < bytes; done += SEED_VALUES * sizeof *seed) {
        const size_t rest = bytes - done;
        const size_t part = SEED_VALUES * sizeof *seed;
        check_ok(bb_device_upload(gpu, (char *)values + done, seed, rest < part ? rest : part));
    }
    for (int i = 0; i < 2; ++i) {
        cuda_ok(cudaDeviceSynchronize());
        seconds = -bb_clock_seconds();
        cuda_ok(cudaMemcpyAsync(copy, values, bytes, cudaMemcpyDeviceToDevice, NULL));
        cuda_ok(cudaDeviceSynchronize());
        seconds += bb_clock_seconds();
    }
    print_message("copy %.2f ms, %.0f GB/s read and written\n", 1e3 * seconds,
                  2e-9 * (double)bytes / seconds);
    bb_device_release(gpu, &copy);
    for (size_t i = 0; i < 2 * sizeof timed / sizeof *timed; ++i) {
        const bb_codec_config config = codec_of(timed[i / 2]);
        const bb_matrix_layout layout = {
            .rows = ROWS, .columns = COLUMNS, .mesh_columns = MESH, .row_columns = ROW_COLUMNS};
        const bool scaled = bb_codec_allows_row_scale(&config) && i / 2 % 2 == 1;
        const bb_device_coding coding = {&config, scaled ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE,
                                         &layout, values, NULL};
        autofree bb_row_certificate *rows = new_array(bb_row_certificate, ROWS);
        autoptr(bb_device_matrix) made = NULL;
        bb_coding_loss loss;
        seconds = -bb_clock_seconds();
        check_ok(bb_device_coding_encode(gpu, &coding, &loss, rows, &made));
        seconds += bb_clock_seconds();
        const double moved = (double)bytes + (double)bb_device_matrix_bytes(made, BB_STREAM_WIDE);
        if (i % 2 == 1) {
            print_message("%s%s %.2f ms, %.0f GB/s of rows and words, rmse %.3e\n", timed[i / 2],
                          scaled ? " scaled" : "", 1e3 * seconds, 1e-9 * moved / seconds,
                          bb_error_norms_rmse(&loss.norms));
        }
    }
    bb_device_release(gpu, &values);
    bb_threads_stop();
}
#endif

TEST_GROUP(.begin = open_devices, .end = close_devices);
