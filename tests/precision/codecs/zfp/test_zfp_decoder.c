// SPDX-License-Identifier: Apache-2.0
//
// The decoder against libzfp by memcmp: 2,000 arrays for each mode and dimension, 10,000 in the
// nightly run, floats and doubles in turn. Optional arguments: the number of arrays, and a seed.
#include "precision/coded_matrix.h"
#include "tests/cpu_device.h"
#include "tests/nightly.h"
#include "tests/precision/codecs/zfp/zfp_arrays.h"

#include <sys/mman.h>

static bb_index arrays;
static uint64_t seed = 1;
static coded_array coded;
static double ours[MOST_VALUES + 1];

static void check_decoder(const bb_zfp_stream *stream, const bb_zfp_index *index)
{
    double seconds = -1.0;
    memset(ours, 0xa5, sizeof ours);
    autoptr(bb_zfp_decoder) decoder = new_object(bb_zfp_decoder, cpu, stream, index, 1);
    check_ok(bb_zfp_decoder_run(decoder, ours, &seconds));
    assert_true(seconds >= 0.0);
}

static void check_array(random_bits *random, bool with_index)
{
    bb_zfp_index index = {0};
    memset(ours, 0xa5, sizeof ours);
    check_ok(bb_zfp_stream_decode(&coded.stream, ours));
    assert_memory_equal(ours, coded.theirs, coded.value_bytes);
    assert_int_equal(((unsigned char *)ours)[coded.value_bytes], 0xa5);
    if (with_index) {
        check_ok(bb_zfp_index_create(&coded.stream, 1 + draw_below(random, 9), &index));
        check_decoder(&coded.stream, &index);
        assert_memory_equal(ours, coded.theirs, coded.value_bytes);
        bb_zfp_index_release(&index);
    }
}

TEST(every_mode_and_dimension_is_that_of_libzfp)
{
    for (int mode = 0; mode < MODE_COUNT; ++mode) {
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            random_bits random = {seed + 1000 * (uint64_t)mode + (uint64_t)dimensions};
            for (bb_index i = 0; i < arrays; ++i) {
                code_array(&random, mode, dimensions, i % 2 == 1, (int)(i / 2 % (KIND_COUNT + 1)),
                           &coded);
                check_array(&random, i % 4 < 2);
            }
        }
    }
}

// Arbitrary bits as a stream, with the number of bits that libzfp reports for the array's blocks.
TEST(any_bits_decode_as_in_libzfp)
{
    random_bits random = {seed};
    for (bb_index i = 0; i < arrays / 10; ++i) {
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            int mode = (int)draw_below(&random, MODE_COUNT);
            bool is_double = i % 2 == 1;
            bitstream *bits = stream_open(coded.bytes, sizeof coded.bytes);
            zfp_stream *zfp = zfp_stream_open(bits);
            bb_zfp_shape shape = draw_shape(&random, dimensions);
            for (size_t k = 0; k < sizeof coded.bytes / 2; k += 8) {
                uint64_t word = draw(&random) & (i % 3 == 0 ? draw(&random) : UINT64_MAX);
                memcpy(coded.bytes + k, &word, 8);
            }
            draw_mode(&random, mode, is_double, dimensions, zfp);
            zfp_field *field = field_of(&shape, is_double, coded.theirs);
            coded.stream = (bb_zfp_stream){
                .bytes = coded.bytes,
                .type = is_double ? BB_F64 : BB_F32,
                .shape = shape,
                .settings = {zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp}};
            coded.value_bytes = (size_t)bb_zfp_stream_values(&coded.stream) * (is_double ? 8 : 4);
            assert_true(zfp_decompress(zfp, field) > 0);
            coded.stream.bits = stream_rtell(bits);
            coded.stream.size = (size_t)(coded.stream.bits + 7) / 8;
            check_array(&random, true);
            zfp_field_free(field);
            zfp_stream_close(zfp);
            stream_close(bits);
        }
    }
}

// A stream that ends early is an error in every mode, wherever it ends.
TEST(truncated_streams_are_errors)
{
    random_bits random = {seed};
    for (bb_index i = 0; i < arrays / 20; ++i) {
        int dimensions = 1 + (int)(i % 4);
        code_array(&random, (int)draw_below(&random, MODE_COUNT), dimensions, i % 8 >= 4,
                   (int)draw_below(&random, KIND_COUNT), &coded);
        autorelease(bb_zfp_index) index = new_struct(bb_zfp_index, &coded.stream, 4);
        // The bits after the end are whole blocks of zeros.
        bb_zfp_stream cut = coded.stream;
        cut.size = (size_t)draw_below(&random, (bb_index)cut.size);
        cut.bits = 8 * (uint64_t)cut.size;
        unsigned char *exact = NULL; // so that a read beyond it is detected
        check_ok(BB_ALLOCATE((bb_index)cut.size + 1, &exact));
        memcpy(exact, coded.bytes, cut.size);
        cut.bytes = exact;
        check_fails(bb_zfp_stream_decode(&cut, ours), BB_INVALID, "zfp");
        autoptr(bb_zfp_decoder) decoder = NULL;
        bb_status status = bb_zfp_decoder_create(cpu, &cut, &index, 1, &decoder);
        if (status == BB_OK) {
            status = bb_zfp_decoder_run(decoder, ours, NULL);
        }
        assert_int_equal(status, BB_INVALID);
        BB_RELEASE(&exact);
    }
}

// Detectable corruption is an error; other corruption stays within the array.
TEST(flipped_bits_are_errors_or_values)
{
    random_bits random = {seed};
    bb_index flips = 0, found = 0;
    for (bb_index i = 0; i < arrays / 4; ++i) {
        code_array(&random, 1 + (int)(i % 4), 1 + (int)(i / 4 % 4), i % 32 >= 16,
                   (int)(i / 32 % KIND_COUNT), &coded);
        autorelease(bb_zfp_index) index = new_struct(bb_zfp_index, &coded.stream, 2);
        bb_index bit = draw_below(&random, (bb_index)coded.stream.bits);
        coded.bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        memset(ours, 0xa5, sizeof ours);
        bb_status serial = bb_zfp_stream_decode(&coded.stream, ours);
        assert_true(serial == BB_OK || serial == BB_INVALID);
        autoptr(bb_zfp_decoder) decoder = new_object(bb_zfp_decoder, cpu, &coded.stream, &index, 1);
        bb_status indexed = bb_zfp_decoder_run(decoder, ours, NULL);
        assert_true(indexed == BB_OK || indexed == BB_INVALID);
        assert_int_equal(((unsigned char *)ours)[coded.value_bytes], 0xa5);
        ++flips;
        found += indexed == BB_INVALID;
    }
    print_message("  variable rate: %td of %td flipped bits found by the index\n", found, flips);
    assert_true(10 * found > flips);
}

TEST(wrong_indexes_are_errors)
{
    random_bits random = {seed};
    for (bb_index i = 0; i < arrays / 20; ++i) {
        code_array(&random, MODE_ACCURACY, 1 + (int)(i % 4), i % 8 >= 4, 0, &coded);
        autorelease(bb_zfp_index) index = new_struct(bb_zfp_index, &coded.stream, 2);
        bb_index run = draw_below(&random, index.runs);
        index.lengths[run] ^= (uint16_t)(1u << draw_below(&random, 16));
        bb_zfp_decoder *decoder = new_object(bb_zfp_decoder, cpu, &coded.stream, &index, 1);
        check_fails(bb_zfp_decoder_run(decoder, ours, NULL), BB_INVALID, "does not end at");
        bb_zfp_decoder_destroy(&decoder);
        index.bases[0] = draw(&random) | UINT64_C(1) << 40; // far beyond the end
        check_ok(bb_zfp_decoder_create(cpu, &coded.stream, &index, 1, &decoder));
        check_fails(bb_zfp_decoder_run(decoder, ours, NULL), BB_INVALID, "zfp: run 0 of array 0");
        bb_zfp_decoder_destroy(&decoder);
        ++index.runs;
        check_fails(bb_zfp_decoder_create(cpu, &coded.stream, &index, 1, &decoder), BB_INVALID,
                    "zfp index");
    }
}

TEST(what_no_stream_has_is_refused)
{
    unsigned char bytes[64] = {0};
    const bb_zfp_stream good = {.bytes = bytes,
                                .size = sizeof bytes,
                                .bits = 8 * sizeof bytes,
                                .type = BB_F32,
                                .shape = {2, 8, 8, 1, 1},
                                .settings = {1, 16658, 64, -1074}};
    bb_zfp_stream bad = good;
    check_ok(bb_zfp_stream_check(&good));
    check_fails(bb_zfp_stream_decode(&good, ours), BB_INVALID, "508 bits remain");
    bad.type = BB_U16;
    check_fails(bb_zfp_stream_check(&bad), BB_INVALID, "expected f32 or f64");
    bad = good;
    bad.shape.nz = 2;
    check_fails(bb_zfp_stream_check(&bad), BB_INVALID, "extent 2 along axis 2 in 2");
    bad = good;
    bad.shape.nx = (bb_index)1 << 40;
    bad.shape.ny = (bb_index)1 << 40;
    check_fails(bb_zfp_stream_check(&bad), BB_INVALID, "more than 2^43");
    bad = good;
    bad.bits = 513;
    check_fails(bb_zfp_stream_check(&bad), BB_INVALID, "513 bits, but its buffer only 64");
    bad = good;
    bad.settings.maximum_bits = 8;
    check_fails(bb_zfp_stream_check(&bad), BB_INVALID, "expected at least 9");
    bad = good;
    bad.settings = (bb_zfp_settings){256, 256, 64, -1074};
    check_fails(bb_zfp_stream_check(&bad), BB_INVALID, "fixed rate needs 1024");
    bad = good;
    bad.settings.minimum_exponent = -1076;
    check_fails(bb_zfp_stream_check(&bad), BB_INVALID, "minimum exponent -1076");
}

// Blocks 2^20 bits apart in a stream of 5 GB, of which only a few pages exist.
TEST(positions_have_64_bits)
{
    enum { BLOCKS = 40000, BLOCK_BYTES = 1 << 17 };
    const size_t size = (size_t)BLOCKS * BLOCK_BYTES;
    unsigned char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(bytes != MAP_FAILED);
    autofree float *out = new_array(float, 4 * BLOCKS);
    const bb_zfp_stream stream = {.bytes = bytes,
                                  .size = size,
                                  .bits = 8 * (uint64_t)size,
                                  .type = BB_F32,
                                  .shape = {1, 4 * BLOCKS, 1, 1, 1},
                                  .settings = {1 << 20, 1 << 20, 32, -1074}};
    const bb_index places[] = {1, 4096, 32768, BLOCKS - 1};
    for (size_t p = 0; p < 4; ++p) {
        const float values[4] = {1.0F, 2.0F, (float)p, -4.0F};
        bitstream *bits = stream_open(bytes + (size_t)places[p] * BLOCK_BYTES, 64);
        zfp_stream *zfp = zfp_stream_open(bits);
        zfp->maxprec = 32;
        (void)zfp_encode_block_float_1(zfp, values);
        (void)zfp_stream_flush(zfp);
        zfp_stream_close(zfp);
        stream_close(bits);
    }
    check_ok(bb_zfp_stream_decode(&stream, out));
    for (size_t p = 0; p < 4; ++p) {
        const float *cursor = out + 4 * places[p];
        check_close((double)cursor[0], 1.0, 1e-6, 1.0);
        check_close((double)cursor[2], (double)p, 1e-6, 1.0);
        check_close((double)cursor[3], -4.0, 1e-6, 1.0);
        assert_true(cursor[-1] == 0.0F);
    }
    assert_int_equal(munmap(bytes, size), 0);
}

// The bands of a coded matrix as arrays of one decoder: same values as the codec decodes by libzfp.
TEST(bands_of_a_matrix_decode_together)
{
    enum { ROWS = 24, ACROSS = 13, COLUMNS = ACROSS * 11, MOST_BANDS = ROWS };
    static double values[ROWS * COLUMNS], row[COLUMNS];
    static float out[ROWS * COLUMNS];
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        values[i] = cos(0.1 * (double)(i % COLUMNS)) * (1.0 + 0.01 * (double)(i / COLUMNS));
    }
    for (bb_index dimensions = 1; dimensions <= 4; ++dimensions) {
        bb_zfp_stream streams[MOST_BANDS];
        bb_zfp_index indexes[MOST_BANDS] = {0};
        bb_codec_config config = bb_codec_plain(BB_FORMAT_FP32);
        bb_matrix_layout layout = {
            .rows = ROWS, .columns = COLUMNS, .mesh_columns = ACROSS, .row_columns = 6};
        config.codec = bb_codec_find("zfp");
        config.mode = BB_ZFP_ACCURACY;
        config.tolerance = 1e-5;
        config.dimensions = dimensions;
        autoptr(bb_coded_matrix) matrix =
            new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
        bb_index bands = ROWS / bb_coded_matrix_band(matrix);
        check_fails(bb_coded_matrix_zfp_stream(matrix, 0, &streams[0]), BB_INVALID, "not encoded");
        check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, ROWS, COLUMNS)));
        for (bb_index band = 0; band < bands; ++band) {
            check_ok(bb_coded_matrix_zfp_stream(matrix, band, &streams[band]));
            check_ok(bb_zfp_index_create(&streams[band], 3, &indexes[band]));
        }
        bb_zfp_decoder *decoder = new_object(bb_zfp_decoder, cpu, streams, indexes, bands);
        check_ok(bb_zfp_decoder_run(decoder, out, NULL));
        for (bb_index r = 0; r < ROWS; ++r) {
            bb_coded_matrix_decode(matrix, r, 0, COLUMNS, row);
            for (bb_index j = 0; j < COLUMNS; ++j) {
                assert_true((double)out[r * COLUMNS + j] == row[j]);
            }
        }
        bb_zfp_decoder_destroy(&decoder);
        if (bands > 1) {
            ++indexes[1].lengths[2];
            check_ok(bb_zfp_decoder_create(cpu, streams, indexes, bands, &decoder));
            check_fails(bb_zfp_decoder_run(decoder, out, NULL), BB_INVALID, "run 2 of array 1");
            bb_zfp_decoder_destroy(&decoder);
            streams[1].settings.minimum_exponent += 1;
            check_fails(bb_zfp_decoder_create(cpu, streams, indexes, bands, &decoder), BB_INVALID,
                        "stream 1 has another type");
        }
        for (bb_index band = 0; band < bands; ++band) {
            bb_zfp_index_release(&indexes[band]);
        }
    }
}

static int begin(void)
{
    arrays =
        test_argument_count > 0 ? strtol(test_arguments[0], NULL, 10) : nightly_or(10000, 2000);
    seed = test_argument_count > 1 ? strtoull(test_arguments[1], NULL, 10) : seed;
    return open_cpu();
}

TEST_GROUP(.begin = begin, .end = close_cpu);
