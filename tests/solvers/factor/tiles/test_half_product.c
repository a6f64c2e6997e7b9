// SPDX-License-Identifier: Apache-2.0
#include "precision/format.h"
#include "solvers/factor/tiles/tile_product.h"
#include "tests/solvers/dense.h"

enum { ROWS = 11, DEPTH = 53, COLUMNS = 61, STRIDE = 70 };

static float *a, *panel;

// fp16 values of all magnitudes: sums overflow, cancel and become subnormal.
static int setup(void)
{
    autofree double *draws = dense_new((ROWS + COLUMNS) * DEPTH);
    dense_random((ROWS + COLUMNS) * DEPTH, 5, draws);
    check_ok(BB_ALLOCATE(ROWS * DEPTH, &a));
    autofree float *b = new_array(float, COLUMNS *DEPTH);
    check_ok(BB_ALLOCATE(BB_HALF_PANEL * DEPTH, &panel));
    for (bb_index i = 0; i < (ROWS + COLUMNS) * DEPTH; ++i) {
        draws[i] = ldexp(draws[i], (int)(i / DEPTH) * 16 / ROWS % 34 - 22);
    }
    (void)bb_format_narrow(BB_FORMAT_FP16, draws, ROWS * DEPTH, a);
    (void)bb_format_narrow(BB_FORMAT_FP16, draws + ROWS * DEPTH, COLUMNS * DEPTH, b);
    b[3 * DEPTH + 7] = INFINITY;
    b[4 * DEPTH + 9] = NAN;
    bb_half_kernel_pack(b, COLUMNS, DEPTH, panel);
    return 0;
}

static void teardown(void)
{
    BB_RELEASE(&a);
    BB_RELEASE(&panel);
}

static void multiply(const bb_half_kernel *kernel, bb_index run, bool from_c, float *c)
{
    const bb_half_task task = {a, panel, c, ROWS, DEPTH, COLUMNS, STRIDE, run, from_c};
    fill_array(c, ROWS * STRIDE, i, (float)i);
    kernel->multiply(&task);
}

TEST(every_kernel_has_the_bits_of_the_portable_one)
{
    const bb_index runs[] = {1, 3, 4, DEPTH, 100};
    const bb_half_kernel *kernels = NULL;
    bb_index count = bb_half_kernels(&kernels);
    float expected[ROWS * STRIDE], got[ROWS * STRIDE];
    if (bb_half_kernel_chosen() == &kernels[count - 1]) {
        print_message("only the portable kernel runs here: nothing to compare\n");
        skip();
    }
    for (bb_index r = 0; r < 10; ++r) {
        multiply(&kernels[count - 1], runs[r / 2], r % 2 == 1, expected);
        for (bb_index k = 0; k < count - 1; ++k) {
            if (!kernels[k].available()) {
                continue;
            }
            multiply(&kernels[k], runs[r / 2], r % 2 == 1, got);
            for (int i = 0; i < ROWS * STRIDE; ++i) {
                bool both_nan = isnan(expected[i]) && isnan(got[i]);
                assert_true(both_nan || memcmp(&expected[i], &got[i], sizeof got[i]) == 0);
            }
        }
    }
}

// Reference of the rule: one sum at a time in fp64 (exact for runs of this length), on finite
// values.
TEST(the_portable_kernel_keeps_the_law)
{
    const bb_half_kernel *kernels = NULL;
    bb_index count = bb_half_kernels(&kernels);
    float got[ROWS * STRIDE];
    multiply(&kernels[count - 1], 1, false, got);
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 10; j < COLUMNS; ++j) {
            float sum = 0.0F;
            for (int k = 0; k < DEPTH; ++k) {
                float added = sum + a[i * DEPTH + k] * panel[k * BB_HALF_PANEL + j];
                sum = (float)bb_format_round(BB_FORMAT_FP16, (double)added);
            }
            float expected = (float)(i * STRIDE + j) - sum;
            assert_true((isnan(expected) && isnan(got[i * STRIDE + j])) ||
                        expected == got[i * STRIDE + j]);
        }
        assert_true(got[i * STRIDE + COLUMNS] == (float)(i * STRIDE + COLUMNS));
    }
}

// A sum that starts from C is rounded after every run; it differs from a separate sum if C is
// large.
TEST(sums_may_start_from_c)
{
    const bb_half_kernel *kernels = NULL;
    bb_index count = bb_half_kernels(&kernels);
    float got[ROWS * STRIDE];
    float other[ROWS * STRIDE];
    int different = 0;
    multiply(&kernels[count - 1], 1, true, got);
    multiply(&kernels[count - 1], 1, false, other);
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 10; j < COLUMNS; ++j) {
            float sum = (float)(i * STRIDE + j);
            for (int k = 0; k < DEPTH; ++k) {
                float added = sum - a[i * DEPTH + k] * panel[k * BB_HALF_PANEL + j];
                sum = (float)bb_format_round(BB_FORMAT_FP16, (double)added);
            }
            different += got[i * STRIDE + j] != other[i * STRIDE + j];
            assert_true((isnan(sum) && isnan(got[i * STRIDE + j])) || sum == got[i * STRIDE + j]);
        }
        assert_true(got[i * STRIDE + COLUMNS] == (float)(i * STRIDE + COLUMNS));
    }
    assert_true(different > ROWS * COLUMNS / 4);
}

TEST_GROUP(.begin = setup, .end = teardown);
