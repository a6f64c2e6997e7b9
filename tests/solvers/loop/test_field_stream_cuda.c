// SPDX-License-Identifier: Apache-2.0
//
// Matrices streamed to a GPU field by field: products of every field are those of operators that
// hold the matrices permanently, bit for bit. Storages that cannot be streamed are refused.
// Argument "few": a tenth of the columns, for slow tools.
#include "solvers/loop/field_stream.h"
#include "tests/device_pair.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

enum { ROWS = 90, AXES = 2, FIELDS = 5 };

static bb_index columns = 20000;

static bb_coded_matrix *draw(int seed, const bb_codec_config *config)
{
    const bb_matrix_layout layout = {.rows = ROWS, .columns = columns};
    bool quantiser = config->codec == bb_codec_find("quantiser");
    autofree double *values = dense_new(ROWS * columns);
    dense_random(ROWS * columns, (uint64_t)seed, values);
    bb_coded_matrix *out =
        coded_matrix(config, quantiser ? BB_ROW_SCALE_NONE : BB_ROW_SCALE_ROW, &layout, values);
    return out;
}

static bb_coded_operator *operator_of(const bb_coded_matrix *matrix)
{
    bb_coded_operator *out = new_object(bb_coded_operator, gpu, matrix,
                                        (bb_gemv_arithmetic){BB_FORMAT_FP32, BB_FORMAT_FP64});
    check_ok(bb_coded_operator_sum_in_runs(out, 32));
    return out;
}

// Product of the operators in a field's slot, ordered by enter.
static void expect_field(bb_coded_operator *const *slot, bb_coded_operator *const *own,
                         const double *x)
{
    double found[ROWS], expected[ROWS];
    double seconds = 0.0;
    for (int axis = 0; axis < AXES; ++axis) {
        check_ok(bb_coded_operator_apply(slot[axis], 0, ROWS, x, found, &seconds));
        check_ok(bb_coded_operator_apply(own[axis], 0, ROWS, x, expected, &seconds));
        assert_memory_equal(found, expected, sizeof found);
    }
}

static void every_field_is_multiplied_with_its_own(const bb_codec_config *config)
{
    bb_coded_matrix *matrix[FIELDS][AXES], *blank;
    bb_coded_operator *own[FIELDS][AXES], *slots[BB_FIELD_SLOTS][AXES];
    bb_field_image *image[FIELDS];
    autofree double *x = dense_new(columns);
    dense_random(columns, 99, x);
    blank = draw(1000, config);
    for (int k = 0; k < BB_FIELD_SLOTS * AXES; ++k) {
        slots[k / AXES][k % AXES] = operator_of(blank);
    }
    bb_field_stream *stream = new_object(bb_field_stream, gpu, AXES, &slots[0][0]);
    for (int field = 0; field < FIELDS; ++field) {
        for (int axis = 0; axis < AXES; ++axis) {
            matrix[field][axis] = draw(10 * field + axis, config);
            own[field][axis] = operator_of(matrix[field][axis]);
        }
        check_ok(bb_field_image_create(stream, own[field], &image[field]));
        assert_true(bb_field_image_bytes(image[field]) > (size_t)(AXES * ROWS * columns));
    }
    check_ok(bb_field_stream_fetch(stream, 0, image[0]));
    for (int field = 0; field < FIELDS; ++field) {
        int slot = field % BB_FIELD_SLOTS;
        double copied = 0.0;
        double rest = 0.0;
        if (field + 1 < FIELDS) {
            check_ok(bb_field_stream_fetch(stream, 1 - slot, image[field + 1]));
        }
        check_ok(bb_field_stream_begin_use(stream, slot));
        expect_field(slots[slot], own[field], x);
        check_ok(bb_field_stream_end_use(stream, slot));
        check_ok(bb_field_stream_seconds(stream, slot, &copied, &rest));
        assert_true(copied > 0.0 && rest >= copied);
        bool ready = false;
        check_ok(bb_field_stream_ready(stream, slot, &ready));
        assert_true(ready);
    }
    for (int field = 0; field < FIELDS; ++field) {
        bb_field_image_destroy(&image[field]);
        for (int axis = 0; axis < AXES; ++axis) {
            bb_coded_operator_destroy(&own[field][axis]);
            bb_coded_matrix_destroy(&matrix[field][axis]);
        }
    }
    bb_field_stream_destroy(&stream);
    for (int k = 0; k < BB_FIELD_SLOTS * AXES; ++k) {
        bb_coded_operator_destroy(&slots[k / AXES][k % AXES]);
    }
    bb_coded_matrix_destroy(&blank);
}

TEST(formats_and_blocks_cross)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_E4M3);
    every_field_is_multiplied_with_its_own(&config);
    config.codec = bb_codec_find("bfp");
    config.bits = 8.0;
    every_field_is_multiplied_with_its_own(&config);
}

TEST(what_has_no_fixed_size_is_refused)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_E4M3);
    config.codec = bb_codec_find("quantiser");
    config.tolerance = 1e-3;
    autoptr(bb_coded_matrix) matrix = draw(1, &config);
    bb_coded_operator *slots[BB_FIELD_SLOTS] = {operator_of(matrix), operator_of(matrix)};
    bb_field_stream *stream = NULL;
    check_fails(bb_field_stream_create(gpu, 1, slots, &stream), BB_UNSUPPORTED,
                "fixed number of bits per value");
    assert_null(stream);
    bb_coded_operator_destroy(&slots[0]);
    bb_coded_operator_destroy(&slots[1]);
}

static int begin(void)
{
    columns = test_is_few() ? 2000 : columns;
    return open_devices();
}

TEST_GROUP(.begin = begin, .end = close_devices);
