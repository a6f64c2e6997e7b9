// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of the span table against the portable one, bit for bit, on every word of the 8 and
// 16 bit formats (subnormals, infinities and NaN among them) and on patterns of wider ones.
#include "core/random.h"
#include "solvers/operator/coded_product.h"
#include "tests/solvers/dense.h"

enum { COLUMNS = 65536 + 13, ROWS = BB_SPAN_ROWS, WORD = 8 };

static unsigned char *words, *exponents;
static float *x;

static int begin(void)
{
    autofree double *draws = dense_new(COLUMNS);
    dense_random(COLUMNS, 3, draws);
    check_ok(BB_ALLOCATE(ROWS * COLUMNS * WORD, &words));
    check_ok(BB_ALLOCATE(ROWS * COLUMNS, &exponents));
    check_ok(BB_ALLOCATE(COLUMNS, &x));
    fill_array(x, COLUMNS, j, (float)ldexp(draws[j], (int)(j % 200) - 100));
    return 0;
}

static void end(void)
{
    BB_RELEASE(&words);
    BB_RELEASE(&exponents);
    BB_RELEASE(&x);
}

// Row r of a storage: word r + j of the format's words in turn, or random bits for wider ones; with
// `finite`, words whose exponent is all ones become zero.
static void fill(int storage, bool finite)
{
    bb_index bytes = storage == BB_SPAN_BFP8 ? 1 : bb_format_describe((bb_format)storage)->bytes;
    for (bb_index r = 0; r < ROWS; ++r) {
        for (bb_index j = 0; j < COLUMNS; ++j) {
            uint32_t drawn[4];
            uint64_t word = (uint64_t)(r + j);
            float decoded = 0.0F;
            if (bytes > 2) {
                bb_random_words(7, BB_STREAM_SELF_TEST, (uint64_t)(r * COLUMNS + j), drawn);
                memcpy(&word, drawn, sizeof word);
            }
            unsigned char *cursor = words + (r * COLUMNS + j) * bytes;
            memcpy(cursor, &word, (size_t)bytes);
            if (bytes == 8) {
                double value;
                memcpy(&value, &word, sizeof value);
                decoded = (float)value;
            } else if (storage != BB_SPAN_BFP8) {
                bb_format_decode_f32((bb_format)storage, cursor, 1, &decoded);
            }
            if (finite && !(fabsf(decoded) <= 0x1p100F)) {
                memset(cursor, 0, (size_t)bytes);
            }
        }
        for (bb_index b = 0; b < COLUMNS; ++b) {
            exponents[r * COLUMNS + b] = (unsigned char)(finite ? b % 70 - 60 : b + 128);
        }
    }
}

static void add(const bb_span_kernel *kernel, int storage, bool wide, bool sure, bb_index rows,
                bb_span_row sums[ROWS])
{
    bb_index bytes = storage == BB_SPAN_BFP8 ? 1 : bb_format_describe((bb_format)storage)->bytes;
    bb_span span = {
        .storage = storage, .wide_sums = wide, .finite = sure, .x = x, .rows = rows, .row = sums};
    memset(sums, 0, ROWS * sizeof *sums);
    for (bb_index r = 0; r < ROWS; ++r) {
        sums[r].words = words + r * COLUMNS * bytes;
        sums[r].exponents = exponents + r * COLUMNS;
    }
    span.end = 4096;
    kernel->add(&span);
    span.begin = 4096;
    span.end = COLUMNS;
    kernel->add(&span);
}

static bool same(const void *a, const void *b, bool is_nan, size_t bytes)
{
    return is_nan || memcmp(a, b, bytes) == 0;
}

// `sure` asserts to the kernel, not to the reference, that all values are finite.
static void compare(const bb_span_kernel *kernel, const bb_span_kernel *law, int storage, bool wide,
                    bool sure, bb_index rows)
{
    bb_span_row expected[ROWS], got[ROWS];
    add(law, storage, wide, false, rows, expected);
    add(kernel, storage, wide, sure, rows, got);
    for (bb_index r = 0; r < rows; ++r) {
        for (int l = 0; l < BB_SPAN_LANES; ++l) {
            const double *we = &expected[r].wide[l], *wg = &got[r].wide[l];
            const float *ne = &expected[r].narrow[l], *ng = &got[r].narrow[l];
            assert_true(same(we, wg, isnan(*we) && isnan(*wg), sizeof *we));
            assert_true(same(ne, ng, isnan(*ne) && isnan(*ng), sizeof *ne));
        }
    }
}

TEST(every_kernel_has_the_bits_of_the_portable_one)
{
    const bb_span_kernel *kernels = NULL;
    bb_index count = bb_span_kernels(&kernels);
    if (bb_span_kernel_chosen() == &kernels[count - 1]) {
        print_message("only the portable kernel runs here: nothing to compare\n");
        skip();
    }
    for (int storage = 0; storage <= BB_SPAN_BFP8; ++storage) {
        for (int finite = 0; finite < 2; ++finite) {
            fill(storage, finite == 1);
            for (bb_index k = 0; k < count - 1; ++k) {
                if (!kernels[k].available()) {
                    continue;
                }
                for (bb_index rows = 1; rows <= ROWS; ++rows) {
                    const bb_span_kernel *law = &kernels[count - 1];
                    compare(&kernels[k], law, storage, true, false, rows);
                    compare(&kernels[k], law, storage, false, false, rows);
                    // Formats whose products with these x are finite if their words are.
                    if (finite == 1 && storage >= BB_FORMAT_FP16) {
                        compare(&kernels[k], law, storage, true, true, rows);
                        compare(&kernels[k], law, storage, false, true, rows);
                    }
                }
            }
        }
    }
}

// Each byte of the 8-bit formats in its own lane, so that no NaN hides another value.
TEST(every_word_is_decoded_alone)
{
    const bb_span_kernel *kernels = NULL;
    bb_index count = bb_span_kernels(&kernels);
    const bb_format formats[] = {BB_FORMAT_E4M3, BB_FORMAT_E5M2, BB_FORMAT_FP16, BB_FORMAT_BF16};
    for (int f = 0; f < 4; ++f) {
        int bytes = bb_format_describe(formats[f])->bytes;
        for (uint32_t first = 0; first < (bytes == 1 ? 256u : 65536u); first += 32) {
            unsigned char row[64];
            float ones[32];
            float decoded[32];
            for (uint32_t i = 0; i < 32; ++i) {
                uint32_t word = first + i;
                memcpy(row + (bb_index)i * bytes, &word, (size_t)bytes);
                ones[i] = i < 16 ? 1.0F : 0.0F;
            }
            bb_format_decode_f32(formats[f], row, 16, decoded);
            for (bb_index k = 0; k < count; ++k) {
                if (!kernels[k].available()) {
                    continue;
                }
                bb_span_row sums = {.words = row};
                const bb_span span = {.storage = formats[f],
                                      .wide_sums = true,
                                      .end = 16,
                                      .x = ones,
                                      .rows = 1,
                                      .row = &sums};
                bb_span wide = span;
                wide.end = 32; // lanes 16 to 31 add zeros, or NaN if they contain one
                kernels[k].add(first % 64 == 0 ? &wide : &span);
                for (int l = 0; l < 16; ++l) {
                    assert_true(isnan(sums.wide[l]) || sums.wide[l] == (double)decoded[l]);
                    assert_true(!isnan(decoded[l]) || isnan(sums.wide[l]));
                }
            }
        }
    }
}

TEST_GROUP(.begin = begin, .end = end);
