// SPDX-License-Identifier: Apache-2.0
//
// Factors of rounding samples: their range, their dependence, and the rows that share one.
#include "precision/codec.h"
#include "precision/draw.h"
#include "tests/check.h"

enum { COUNT = 4000 };

TEST(rows_lie_between_least_and_one)
{
    static double scale[COUNT];
    double sum = 0.0;
    fill_array(scale, COUNT, i, 2.0);
    bb_draw_scale(7, BB_STREAM_DRAW, 3, BB_DRAW_LEAST, COUNT, scale);
    for (int i = 0; i < COUNT; ++i) {
        assert_true(scale[i] > 2.0 * 0.96 && scale[i] < 2.0);
        sum += 0.5 * scale[i];
    }
    // Uniform: the mean's deviation is 0.04 / sqrt(12 COUNT).
    check_close(sum / COUNT, 0.98, 5.0 * 0.04 / sqrt(12.0 * COUNT), 1.0);
}

// Rows, draws, streams and seeds have different factors; the same address has the same.
TEST(factors_depend_on_their_address_alone)
{
    double first[2] = {1.0, 1.0};
    double again[1] = {1.0};
    double others[3] = {1.0, 1.0, 1.0};
    bb_draw_scale(7, BB_STREAM_DRAW, 3, 0.5, 2, first);
    bb_draw_scale(7, BB_STREAM_DRAW, 3, 0.5, 1, again);
    bb_draw_scale(7, BB_STREAM_DRAW, 4, 0.5, 1, others);
    bb_draw_scale(7, BB_STREAM_DITHER, 3, 0.5, 1, others + 1);
    bb_draw_scale(8, BB_STREAM_DRAW, 3, 0.5, 1, others + 2);
    assert_true(first[0] == again[0]);
    assert_true(first[0] != first[1]);
    for (int i = 0; i < 3; ++i) {
        assert_true(first[0] != others[i]);
    }
}

static void check_range(const bb_codec_config *config, double ratio)
{
    const bb_draw_range range = bb_codec_draw_range(config);
    check_close(range.most / range.least, ratio, 1e-15, 1.0);
    assert_true(ratio == 1.0 / 0.97 ? range.least < 1.0 : range.least == 1.0);
    assert_true(bb_codec_has_draws(config) == (ratio > 1.0));
}

TEST(rows_of_a_band_share_a_factor)
{
    static const bb_draw_range octave = {1.0, 2.0};
    double factors[12];
    double later[6];
    bb_draw_bands(7, 1, octave, 0, 3, 12, factors);
    for (int i = 0; i < 12; ++i) {
        assert_true(factors[i] > 1.0 && factors[i] < 2.0);
        assert_true(factors[i] == factors[i / 3 * 3]);
        assert_true(i < 3 || factors[i] != factors[i - 3]);
    }
    bb_draw_bands(7, 1, octave, 6, 3, 6, later); // a second matrix of six rows
    assert_true(later[0] == factors[6] && later[5] == factors[11]);
}

// A factor f of a row reduces its tolerance by f: the variance over samples equals the plain one.
TEST(tolerances_keep_the_variance)
{
    bb_codec_config config = {.codec = bb_codec_find("quantiser")};
    double factors[4096];
    double sum = 0.0;
    bb_draw_bands(7, 1, bb_codec_draw_range(&config), 0, 1, 4096, factors);
    for (int i = 0; i < 4096; ++i) {
        sum += 1.0 / (factors[i] * factors[i]);
    }
    check_close(sum / 4096.0, 1.0, 1e-3, 1.0); // three standard errors are 8e-4
}

TEST(each_codec_has_a_range_of_draws)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP16);
    for (int codec = 0; codec < bb_codec_count(); ++codec) {
        bool tolerant = codec == bb_codec_find("quantiser") || codec == bb_codec_find("low_rank") ||
                        codec == bb_codec_find("transform");
        config.codec = codec;
        config.mode = (int)BB_ZFP_RATE;
        check_range(&config, codec == bb_codec_find("integer") ? 1.0 : tolerant ? 1.0 / 0.97 : 2.0);
    }
    config.codec = bb_codec_find("zfp");
    config.mode = (int)BB_ZFP_ACCURACY;
    check_range(&config, 1.0 / 0.97);
    config.mode = (int)BB_ZFP_PRECISION;
    check_range(&config, 2.0);
}
