// SPDX-License-Identifier: Apache-2.0
//
// Ladders of codecs: every step is a storage that its codec accepts, finer than the previous one,
// and its written form gives the same storage.
#include "precision/codec_ladder.h"
#include "tests/precision/coded.h"

static double value_of(const bb_codec_ladder *ladder, const bb_codec_config *config)
{
    const bb_key *key = bb_codec_schema.keys;
    while (strcmp(key->name, ladder->key) != 0) {
        ++key;
    }
    const char *member = (const char *)config + key->offset;
    return key->kind == BB_KEY_DOUBLE ? *(const double *)(const void *)member
                                      : (double)*(const bb_index *)(const void *)member;
}

static void check_ladder(const bb_codec_ladder *ladder, const bb_codec_config *storage)
{
    const bool relative = strcmp(ladder->key, "tolerance_of_range") == 0;
    double before = NAN;
    assert_int_equal(bb_codec_ladder_first(ladder, storage, BB_ROW_SCALE_NONE), 0);
    for (int step = 0; step < ladder->steps; ++step) {
        char sentence[240];
        char digits[32];
        const bb_codec_config config = bb_codec_ladder_storage(ladder, storage, step);
        const double value = value_of(ladder, &config);
        assert_true(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
        assert_true(step == 0 || (relative ? value < before : value == before + 1.0));
        (void)snprintf(digits, sizeof digits, "%.2g", value);
        assert_true(strtod(digits, NULL) == value); // as a table prints it
        before = value;
    }
    // A storage that gives the key cannot be searched.
    const bb_codec_config given = bb_codec_ladder_storage(ladder, storage, 1);
    assert_int_equal(bb_codec_ladder_first(ladder, &given, BB_ROW_SCALE_NONE), ladder->steps);
}

TEST(every_step_is_a_storage)
{
    int ladders = 0;
    for (int codec = 0; codec < bb_codec_count(); ++codec) {
        const bb_codec_config storage = codec_of(bb_codec_name(codec));
        for (int i = 0; bb_codec_ladder_of(&storage, i) != NULL; ++i) {
            check_ladder(bb_codec_ladder_of(&storage, i), &storage);
            ++ladders;
        }
    }
    assert_int_equal(ladders, 8);
}

TEST(tolerances_are_eight_a_decade)
{
    const bb_codec_config storage = codec_of("quantiser");
    const bb_codec_ladder *ladder = bb_codec_ladder_of(&storage, 0);
    static const double expected[] = {0.1,   0.075, 0.056, 0.042, 0.032,
                                      0.024, 0.018, 0.013, 0.01,  0.0075};
    for (int step = 0; step < 10; ++step) {
        assert_true(bb_codec_ladder_storage(ladder, &storage, step).tolerance_of_range ==
                    expected[step]);
    }
    assert_int_equal(ladder->steps, 49);
    assert_true(bb_codec_ladder_storage(ladder, &storage, 48).tolerance_of_range == 1e-7);
}

// Fine steps have the same ends, 64 per decade with three digits; integers have no finer ones.
TEST(tolerances_have_finer_steps)
{
    const bb_codec_config storage = codec_of("quantiser");
    const bb_codec_ladder ladder = bb_codec_ladder_refine(bb_codec_ladder_of(&storage, 0));
    double before = 0.0;
    assert_int_equal(ladder.steps, 6 * 64 + 1);
    for (int step = 0; step < ladder.steps; ++step) {
        char digits[32];
        const double value = bb_codec_ladder_storage(&ladder, &storage, step).tolerance_of_range;
        check_relative(value, pow(10.0, -1.0 - step / 64.0), 5e-3);
        (void)snprintf(digits, sizeof digits, "%.3g", value);
        assert_true(strtod(digits, NULL) == value); // as a table prints it
        assert_true(step == 0 || (value < before && value > 0.955 * before));
        assert_true(step % 64 != 0 ||
                    value ==
                        bb_codec_ladder_storage(bb_codec_ladder_of(&storage, 0), &storage, step / 8)
                            .tolerance_of_range);
        before = value;
    }
    check_relative(bb_codec_ladder_storage(&ladder, &storage, (int)bb_codec_ladder_bit(&ladder))
                       .tolerance_of_range,
                   0.05, 0.02);
    const bb_codec_ladder again = bb_codec_ladder_refine(&ladder);
    assert_int_equal(again.steps, ladder.steps);
    const bb_codec_config bits = codec_of("integer");
    const bb_codec_ladder steps = bb_codec_ladder_refine(bb_codec_ladder_of(&bits, 0));
    assert_true(bb_codec_ladder_bit(&steps) == 1.0);
    assert_int_equal(steps.steps, bb_codec_ladder_of(&bits, 0)->steps);
}

TEST(what_is_given_stays)
{
    const struct {
        const char *storage;
        int ladder;
        bb_row_scale scale;
        int first; // -1: no step is valid
        const char *at_first;
    } cases[] = {
        {"zfp", 0, BB_ROW_SCALE_NONE, 0, "zfp accuracy 0.1 of range, 2-D"},
        {"zfp", 0, BB_ROW_SCALE_ROW, -1, NULL}, // steps depend on the unscaled values
        {"zfp dimensions=3", 1, BB_ROW_SCALE_NONE, 0, "zfp rate 1, 3-D"},
        {"zfp dimensions=1", 1, BB_ROW_SCALE_NONE, 2, "zfp rate 3, 1-D"}, // 9 / 4 bits at least
        {"zfp mode=precision", 0, BB_ROW_SCALE_NONE, -1, NULL},
        {"zfp mode=precision", 1, BB_ROW_SCALE_NONE, 0, "zfp precision 1, 2-D"},
        {"zfp mode=rate bits=8", 1, BB_ROW_SCALE_NONE, -1, NULL},
        {"bfp", 0, BB_ROW_SCALE_ROW, 0, "bfp 4"},
        {"low_rank bits=32", 0, BB_ROW_SCALE_NONE, 0, "low rank 0.1 of range, fp32"},
        {"integer", 0, BB_ROW_SCALE_NONE, 0, "integer 2"},
        {"integer", 0, BB_ROW_SCALE_ROW, -1, NULL}, // its step is a scale
        {"quantiser tolerance=1e-9", 0, BB_ROW_SCALE_NONE, -1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[64];
        const bb_codec_config storage = codec_of(cases[i].storage);
        const bb_codec_ladder *ladder = bb_codec_ladder_of(&storage, cases[i].ladder);
        assert_non_null(ladder);
        const int first = bb_codec_ladder_first(ladder, &storage, cases[i].scale);
        assert_int_equal(first, cases[i].first < 0 ? ladder->steps : cases[i].first);
        if (cases[i].at_first != NULL) {
            const bb_codec_config config = bb_codec_ladder_storage(ladder, &storage, first);
            bb_codec_describe(&config, text, sizeof text);
            assert_string_equal(text, cases[i].at_first);
        }
    }
    const bb_codec_config plain = bb_codec_plain(BB_FORMAT_FP16);
    assert_null(bb_codec_ladder_of(&plain, 0));
}
