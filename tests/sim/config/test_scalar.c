// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "sim/config/scalar.h"
#include "tests/check.h"

TEST(strict_numbers_are_read)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0.0},     {"-3", -3.0},           {"1e-3", 1e-3},   {"600.0e-9", 600e-9},
                {"-0.5", -0.5}, {"6.0e+7", 6e7},        {"10", 10.0},     {"0e0", 0.0},
                {"1E5", 1e5},   {"4.9e-324", 4.9e-324}, {"0.0e-999", 0.0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        double value = NAN;
        assert_true(bb_scalar_double(good[i].text, &value));
        assert_true(value == good[i].value);
    }
}

TEST(everything_else_is_refused)
{
    static const char *const bad[] = {"",      "4x", "010",    "1_000", "0x10", "12:30", "nan",
                                      "inf",   "-",  ".5",     "5.",    "1e",   "1e+",   "1,5",
                                      "1e999", "+3", "1e-999", " 1",    "1 ",   "--1",   "-01",
                                      ".inf",  "00", "1.0f",   "1e3.0", "0b1",  "1.2.3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        double value = 0.0;
        if (bb_scalar_double(bad[i], &value)) {
            print_error("'%s' was read as %g\n", bad[i], value);
            fail();
        }
    }
}

TEST(integers_are_digits_only)
{
    bb_index value = 0;
    assert_true(bb_scalar_integer("-42", &value));
    assert_int_equal(value, -42);
    assert_true(bb_scalar_integer("9223372036854775807", &value));
    assert_false(bb_scalar_integer("9223372036854775808", &value));
    assert_false(bb_scalar_integer("1.0", &value));
    assert_false(bb_scalar_integer("1e3", &value));
    assert_false(bb_scalar_integer("007", &value));
}

TEST(written_numbers_come_back_bit_for_bit)
{
    char text[BB_SCALAR_BYTES];
    for (uint64_t i = 0; i < 20000; ++i) {
        uint32_t words[4];
        double value = 0.0;
        double read = 0.0;
        bb_random_words(7, BB_STREAM_SELF_TEST, i, words);
        uint64_t bits = (uint64_t)words[0] << 32 | words[1];
        memcpy(&value, &bits, sizeof value);
        value = i % 2 == 0 ? value : (double)(int)words[2] / 1000.0;
        if (!isfinite(value)) {
            continue;
        }
        bb_scalar_print(value, text);
        assert_true(bb_scalar_double(text, &read));
        assert_memory_equal(&read, &value, sizeof value);
        assert_non_null(strchr(text, '.'));
    }
    bb_scalar_print(300.0, text);
    assert_string_equal(text, "300.0");
    bb_scalar_print(600e-9, text);
    assert_string_equal(text, "6.0e-07");
    bb_scalar_print(1e11, text);
    assert_string_equal(text, "1.0e+11");
}

TEST(guesses_are_sensible_or_none)
{
    static const struct {
        const char *text, *guess;
    } cases[] = {{"4x", "4"},    {"010", "10"},   {"1_000", "1000"}, {"1,5", "1.5"},
                 {".5", "0.5"},  {"+3.0", "3.0"}, {"8 m", "8"},      {"12:30", NULL},
                 {"0x10", NULL}, {"nan", NULL},   {".nan", NULL},    {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char guess[BB_SCALAR_BYTES];
        bool guessed = bb_scalar_guess(cases[i].text, guess);
        assert_int_equal(guessed, cases[i].guess != NULL);
        if (guessed) {
            assert_string_equal(guess, cases[i].guess);
        }
    }
}
