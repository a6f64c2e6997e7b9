// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "precision/codecs/zfp/zfp_band.h"
#include "tests/precision/coded.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zfp.h>

enum { VALUES_MOST = 1 << 16, MODES = 7, SHAPES = 12 };

static const bb_zfp_shape shapes[SHAPES] = {
    {1, 1, 1, 1, 1},  {1, 5, 1, 1, 1},   {1, 6151, 1, 1, 1}, {2, 1, 1, 1, 1},
    {2, 5, 3, 1, 1},  {2, 64, 61, 1, 1}, {3, 4, 4, 4, 1},    {3, 13, 9, 21, 1},
    {3, 30, 6, 1, 1}, {4, 4, 4, 4, 4},   {4, 13, 9, 21, 4},  {4, 10, 7, 5, 3},
};

static void set_mode(int mode, int dimensions, zfp_stream *zfp)
{
    switch (mode) {
    case 0:
        (void)zfp_stream_set_rate(zfp, 8.0, zfp_type_float, (unsigned)dimensions, zfp_false);
        break;
    case 1:
        (void)zfp_stream_set_rate(zfp, 2.9, zfp_type_float, (unsigned)dimensions, zfp_false);
        break;
    case 2:
        (void)zfp_stream_set_precision(zfp, 17);
        break;
    case 3:
        (void)zfp_stream_set_precision(zfp, 32);
        break;
    case 4:
        (void)zfp_stream_set_accuracy(zfp, 1e-12);
        break;
    case 5:
        (void)zfp_stream_set_accuracy(zfp, 1e-9);
        break;
    default:
        zfp_stream_set_reversible(zfp);
    }
}

static bb_zfp_settings settings_of(int mode, int dimensions)
{
    zfp_stream zfp = {0};
    set_mode(mode, dimensions, &zfp);
    return (bb_zfp_settings){zfp.minbits, zfp.maxbits, zfp.maxprec, zfp.minexp};
}

static bb_index size_of(const bb_zfp_shape *shape)
{
    return shape->nx * shape->ny * shape->nz * shape->nw;
}

// Smooth along all axes, with noise at the level of 1e-11 and some zeros.
static void fill(const bb_zfp_shape *shape, uint64_t seed, float *values)
{
    for (bb_index i = 0; i < size_of(shape); ++i) {
        bb_index x = i % shape->nx;
        bb_index row = i / (shape->nx * shape->ny);
        double u = bb_random_normal(seed, BB_STREAM_SELF_TEST, (uint64_t)i);
        double smooth = 1e-9 * sin(0.1 * (double)x + 0.3 * (double)row) + 1e-11 * u;
        values[i] = i % 997 > 700 ? 0.0F : (float)smooth;
    }
}

static zfp_field *field_of(const bb_zfp_shape *shape, float *values)
{
    size_t nx = (size_t)shape->nx, ny = (size_t)shape->ny;
    size_t nz = (size_t)shape->nz, nw = (size_t)shape->nw;
    switch (shape->dimensions) {
    case 1:
        return zfp_field_1d(values, zfp_type_float, nx);
    case 2:
        return zfp_field_2d(values, zfp_type_float, nx, ny);
    case 3:
        return zfp_field_3d(values, zfp_type_float, nx, ny, nz);
    default:
        return zfp_field_4d(values, zfp_type_float, nx, ny, nz, nw);
    }
}

static float values[VALUES_MOST], theirs[VALUES_MOST], ours[VALUES_MOST];
static unsigned char buffer[8 * VALUES_MOST];

// Decodes run by run into [nw][nz][ny nx].
static void decode_all(bb_zfp_settings settings, const bb_zfp_shape *shape, const bb_zfp_band *band,
                       float *out)
{
    static float piece[16 * 4096];
    bb_index columns = shape->nx * shape->ny;
    bb_index stride = shape->dimensions == 1 ? 4 * BB_ZFP_LINE_BLOCKS : 4 * shape->nx;
    bb_index pieces = (columns + stride - 1) / stride;
    for (bb_index run = 0; run < bb_zfp_band_runs(shape); ++run) {
        bb_index group = run / pieces;
        bb_index begin = run % pieces * stride;
        bb_index count = columns - begin < stride ? columns - begin : stride;
        bb_index rest = shape->nz - 4 * group;
        bb_index across = rest < 4 ? rest : 4;
        bb_zfp_target target = {.f32 = piece, .stride = stride, .only_row = -1, .end = stride};
        bb_zfp_band_decode(settings, shape, band, run, &target);
        for (bb_index r = 0; r < across * shape->nw; ++r) {
            bb_index row = r / across * shape->nz + 4 * group + r % across;
            memcpy(out + row * columns + begin, piece + r * stride, (size_t)count * sizeof *piece);
        }
    }
}

TEST(streams_are_those_of_libzfp)
{
    for (int s = 0; s < SHAPES; ++s) {
        const bb_zfp_shape *shape = &shapes[s];
        size_t bytes = (size_t)size_of(shape) * sizeof *values;
        fill(shape, 3, values);
        for (int mode = 0; mode < MODES; ++mode) {
            autorelease(bb_zfp_band) band = {0};
            bb_zfp_settings settings = settings_of(mode, shape->dimensions);
            bitstream *bits = stream_open(buffer, sizeof buffer);
            zfp_stream *zfp = zfp_stream_open(bits);
            zfp_field *field = field_of(shape, values);
            set_mode(mode, shape->dimensions, zfp);
            size_t expected = zfp_compress(zfp, field);
            check_ok(bb_zfp_band_encode(settings, shape, values, NULL, &band));
            assert_int_equal(band.bytes, expected);
            assert_memory_equal(band.words, buffer, expected);
            assert_int_equal(band.offsets == NULL, bb_zfp_band_fixed_rate(settings));
            zfp_stream_rewind(zfp);
            zfp_field_set_pointer(field, theirs);
            assert_int_equal(zfp_decompress(zfp, field), expected);
            decode_all(settings, shape, &band, ours);
            assert_memory_equal(ours, theirs, bytes);
            if (mode == MODES - 1) {
                assert_memory_equal(ours, values, bytes);
            }
            zfp_field_free(field);
            zfp_stream_close(zfp);
            stream_close(bits);
        }
    }
}

TEST(zeros_cost_one_bit_a_block)
{
    const bb_zfp_shape shape = {2, 64, 64, 1, 1};
    bb_zfp_settings settings = settings_of(4, 2);
    autorelease(bb_zfp_band) band = {0};
    memset(values, 0, sizeof values);
    check_ok(bb_zfp_band_encode(settings, &shape, values, NULL, &band));
    assert_int_equal(band.bits, 256);
    assert_int_equal(band.bytes, 32);
}

// An inaccessible page follows the last byte that a decoder may touch.
static unsigned char *guarded(size_t room, unsigned char **region, size_t *region_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *region_bytes = (room + page - 1) / page * page + page;
    *region = mmap(NULL, *region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(*region != MAP_FAILED);
    assert_int_equal(mprotect(*region + *region_bytes - page, page, PROT_NONE), 0);
    return *region + *region_bytes - page - room;
}

TEST(decoders_stay_inside_corrupt_streams)
{
    enum { MUTATIONS = 60 };
    uint64_t draw = 0;
    bb_index decoded = 0;
    for (int s = 0; s < SHAPES; ++s) {
        const bb_zfp_shape *shape = &shapes[s];
        fill(shape, 4, values);
        for (int mode = 0; mode < MODES; ++mode) {
            bb_zfp_settings settings = settings_of(mode, shape->dimensions);
            autorelease(bb_zfp_band) band = {0};
            unsigned char *region = NULL;
            size_t region_bytes = 0;
            check_ok(bb_zfp_band_encode(settings, shape, values, NULL, &band));
            size_t room = band.bytes + bb_zfp_band_slack(settings, shape->dimensions);
            unsigned char *words = guarded(room, &region, &region_bytes);
            bb_zfp_band bad = band;
            bad.words = words;
            for (int m = 0; m < MUTATIONS; ++m) {
                memcpy(words, band.words, room);
                for (int flips = 0; flips <= m % 20; ++flips) {
                    double u = bb_random_uniform(9, BB_STREAM_SELF_TEST, draw++);
                    size_t bit = (size_t)(u * 8.0 * (double)band.bytes);
                    words[bit / 8] ^= (unsigned char)(1u << bit % 8);
                }
                if (m % 10 == 9) {
                    memset(words, 0xff, band.bytes);
                }
                decode_all(settings, shape, &bad, ours);
                ++decoded;
            }
            assert_int_equal(munmap(region, region_bytes), 0);
        }
    }
    assert_true(decoded >= 3000);
}

TEST(corrupt_indices_are_survived)
{
    const bb_zfp_shape *shape = &shapes[7];
    bb_zfp_settings settings = settings_of(4, 3);
    autorelease(bb_zfp_band) band = {0};
    fill(shape, 5, values);
    check_ok(bb_zfp_band_encode(settings, shape, values, NULL, &band));
    uint32_t kept = band.offsets[3];
    band.offsets[3] = UINT32_MAX;
    decode_all(settings, shape, &band, ours);
    bb_index nans = 0;
    for (bb_index i = 0; i < size_of(shape); ++i) {
        nans += isnan(ours[i]);
    }
    assert_int_equal(nans, 4 * 13 * 4); // run 3: four mesh lines of 13 in four rows
    band.offsets[3] = kept;
    band.bases[0] = UINT64_MAX - 7;
    decode_all(settings, shape, &band, ours);
}

// Mean error relative to that of unbiased errors of the same size, in standard deviations.
static double bias(const bb_codec_config *config)
{
    enum { COLUMNS = 60000 };
    static double original[COLUMNS], back[COLUMNS];
    bb_matrix_layout layout = {.rows = 1, .columns = COLUMNS, .mesh_columns = 200};
    double sum = 0.0;
    double squares = 0.0;
    for (bb_index i = 0; i < COLUMNS; ++i) {
        double u = bb_random_uniform(6, BB_STREAM_SELF_TEST, (uint64_t)i);
        original[i] = 1.0 + 1e-2 * u;
    }
    autoptr(bb_coded_matrix) matrix = coded_matrix(config, BB_ROW_SCALE_NONE, &layout, original);
    bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, back);
    for (bb_index i = 0; i < COLUMNS; ++i) {
        sum += back[i] - original[i];
        squares += (back[i] - original[i]) * (back[i] - original[i]);
    }
    return fabs(sum) / sqrt(squares);
}

// zfp that truncates its coefficients has a mean error; rounding to nearest has none.
TEST(truncation_is_measured_and_named)
{
    bb_codec_config zfp = bb_codec_plain(BB_FORMAT_FP64);
    bb_codec_config bfp = zfp;
    bb_codec_config quantiser = zfp;
    zfp.codec = bb_codec_find("zfp");
    zfp.mode = BB_ZFP_ACCURACY;
    zfp.tolerance = 1e-3;
    bfp.codec = bb_codec_find("bfp");
    bfp.bits = 16.0;
    quantiser.codec = bb_codec_find("quantiser");
    quantiser.tolerance = 1e-4;
    bool truncates = strstr(bb_codec_rounding(&zfp), "ROUND_NEVER") != NULL;
    print_message("%s; bias in standard errors: zfp %.1f, bfp %.1f, quantiser %.1f\n",
                  bb_codec_rounding(&zfp), bias(&zfp), bias(&bfp), bias(&quantiser));
    assert_true(truncates == (bias(&zfp) > 8.0));
    assert_true(bias(&bfp) < 4.0);
    assert_true(bias(&quantiser) < 4.0);
}
