// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "tests/check.h"

// Known answer of the Random123 distribution (kat_vectors, philox4x32 10 rounds, all zero). Nothing
// else uses stream 0.
TEST(words_match_the_known_answer)
{
    uint32_t words[4];
    bb_random_words(0, (bb_stream)0, 0, words);
    assert_int_equal(words[0], 0x6627e8d5);
    assert_int_equal(words[1], 0xe169c58d);
    assert_int_equal(words[2], 0xbc57ac4c);
    assert_int_equal(words[3], 0x9b00dbd8);
}

TEST(streams_seeds_and_indices_differ)
{
    double first = bb_random_uniform(1, BB_STREAM_SELF_TEST, 0);
    assert_true(first != bb_random_uniform(2, BB_STREAM_SELF_TEST, 0));
    assert_true(first != bb_random_uniform(1, BB_STREAM_PHASE_SCREEN, 0));
    assert_true(first != bb_random_uniform(1, BB_STREAM_SELF_TEST, 1));
    assert_true(first == bb_random_uniform(1, BB_STREAM_SELF_TEST, 0));
}

// Moments of N deviates: standard errors are 1/sqrt(N), sqrt(2/N); five of them are allowed.
TEST(normal_moments)
{
    enum { N = 200000 };
    double sum = 0.0, squares = 0.0, uniform = 0.0;
    for (uint64_t i = 0; i < N; ++i) {
        double x = bb_random_normal(7, BB_STREAM_SELF_TEST, i);
        sum += x;
        squares += x * x;
        uniform += bb_random_uniform(8, BB_STREAM_SELF_TEST, i);
    }
    check_close(sum / N, 0.0, 5.0 / sqrt(N), 1.0);
    check_close(squares / N, 1.0, 5.0 * sqrt(2.0 / N), 1.0);
    check_close(uniform / N, 0.5, 5.0 / sqrt(12.0 * N), 1.0);
}
