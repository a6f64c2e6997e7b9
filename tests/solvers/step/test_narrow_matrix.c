// SPDX-License-Identifier: Apache-2.0
//
// Narrow storage and arithmetic on three unknowns by hand, and the limits of narrow steps: fp64 has
// the bits of the ordinary product, and a slow decay stagnates in a bf16 state.
#include "solvers/step/stepper.h"
#include "tests/check.h"

#include <string.h>

// 1/2 1/4 0 | 1/4 1/2 1/4 | 0 1/4 7/10
static void assemble(bb_csr *out)
{
    static const bb_triplet entries[] = {{0, 0, 0.5},  {0, 1, 0.25}, {1, 0, 0.25}, {1, 1, 0.5},
                                         {1, 2, 0.25}, {2, 1, 0.25}, {2, 2, 0.7}};
    autorelease(bb_triplets) list = {0};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i) {
        check_ok(bb_triplets_add(&list, entries[i].row, entries[i].column, entries[i].value));
    }
    check_ok(bb_csr_assemble(3, 3, &list, out));
}

static void check_product(const bb_csr *a, const bb_narrow_formats *formats, double unit,
                          const double expected[3])
{
    const double x[3] = {unit * (1.0 + 0x1p-9), unit * (1.0 + 0x1p-12), unit * 2.0};
    double y[3];
    autoptr(bb_narrow_matrix) matrix = new_object(bb_narrow_matrix, a, formats);
    check_ok(bb_narrow_matrix_multiply(matrix, x, y));
    check_ok(bb_narrow_formats_store_all(formats, 3, y));
    for (int i = 0; i < 3; ++i) {
        if (y[i] != unit * expected[i]) {
            fail_msg("row %d: %.17g, expected %.17g", i, y[i] / unit, expected[i]);
        }
    }
}

TEST(products_by_hand)
{
    autorelease(bb_csr) a = {0};
    assemble(&a);
    // x is 1, 1, 2 in bf16, and 0.7 is 179/256.
    check_product(&a, &(bb_narrow_formats){BB_FORMAT_BF16, BB_FORMAT_BF16, 1.0}, 1.0,
                  (double[]){0.75, 1.25, 0.25 + 358.0 / 256.0});
    // 11 bits: x is 1 + 2^-9, 1, 2, and 0.7 is 717/1024; 1.25 + 2^-11 is a tie in the storage
    // format.
    const double eleven[] = {0.75 + 0x1p-10, 1.25, 0.25 + 1434.0 / 1024.0};
    check_product(&a, &(bb_narrow_formats){BB_FORMAT_TF32, BB_FORMAT_TF32, 1.0}, 1.0, eleven);
    check_product(&a, &(bb_narrow_formats){BB_FORMAT_FP16, BB_FORMAT_FP16, 1.0}, 1.0, eleven);
    // fp32: x is exact, and sums are rounded to fp32.
    const float last = 0.25F * (float)(1.0 + 0x1p-12) + 0.7F * 2.0F;
    check_product(&a, &(bb_narrow_formats){BB_FORMAT_FP32, BB_FORMAT_FP32, 1.0}, 1.0,
                  (double[]){0.75 + 0x1p-10 + 0x1p-14, 1.25 + 0x1p-11 + 0x1p-13, (double)last});
    // Stored in bf16, computed in fp32: coefficients and results are rounded, x is not.
    check_product(&a, &(bb_narrow_formats){BB_FORMAT_BF16, BB_FORMAT_FP32, 1.0}, 1.0,
                  (double[]){0.75, 1.25, 0.25 + 358.0 / 256.0});
    // Computed in bf16, stored in fp64.
    check_product(&a, &(bb_narrow_formats){BB_FORMAT_FP64, BB_FORMAT_BF16, 1.0}, 1.0,
                  (double[]){0.75, 1.25, 0.25 + 358.0 / 256.0});
}

// Without its scale, fp16 cannot represent microkelvins.
TEST(fp16_is_scaled_by_a_power_of_two)
{
    autorelease(bb_csr) a = {0};
    assemble(&a);
    const double eleven[] = {0.75 + 0x1p-10, 1.25, 0.25 + 1434.0 / 1024.0};
    bb_narrow_formats formats = {BB_FORMAT_FP16, BB_FORMAT_FP16, 0x1p20};
    check_product(&a, &formats, 0x1p-20, eleven);
    formats.scale = 1.0;
    assert_true(bb_narrow_formats_store(&formats, 0x1p-20 * 1.25) == 0x1p-20 * 1.25);
    assert_true(bb_narrow_formats_store(&formats, 0x1p-20 * eleven[0]) == 0x1p-20 * 0.75);
    assert_true(isinf(bb_narrow_formats_store(&formats, 7e4)));
}

TEST(fp64_has_the_bits_of_the_product)
{
    autorelease(bb_csr) a = {0};
    assemble(&a);
    const bb_narrow_formats formats = {BB_FORMAT_FP64, BB_FORMAT_FP64, 1.0};
    const double x[3] = {1.0 / 3.0, 2.0 / 7.0, 5.0 / 11.0};
    double got[3];
    double expected[3];
    autoptr(bb_narrow_matrix) matrix = new_object(bb_narrow_matrix, &a, &formats);
    check_ok(bb_narrow_matrix_multiply(matrix, x, got));
    check_ok(bb_csr_multiply(&a, x, expected));
    assert_memory_equal(got, expected, sizeof got);
}

// A source b u = 2 x 3/8, and an exchange b g (T - T_out) = 2 x 1/8 (T0 - 1) with unknown 0, in
// operands of bf16 and sums of fp32.
TEST(narrow_steps_by_hand)
{
    autorelease(bb_csr) a = {0};
    assemble(&a);
    const double b[3] = {2.0, 2.0, 2.0};
    const double start[3] = {1.0 + 0x1p-9, 1.0 + 0x1p-12, 2.0};
    const double u[1] = {0.375 + 0x1p-12};
    const double exchange[1] = {0.125};
    const int32_t where[1] = {2};
    const int32_t node[1] = {0};
    const bb_narrow_formats formats = {BB_FORMAT_FP32, BB_FORMAT_BF16, 1.0};
    const bb_stepper_input input = {.count = 1,
                                    .where = where,
                                    .u = u,
                                    .exchange_count = 1,
                                    .exchange_where = node,
                                    .exchange = exchange,
                                    .outside = 1.0};
    bb_stepper *stepper = NULL;
    check_ok(bb_stepper_create_narrow(&a, b, &formats, &stepper));
    bb_stepper_set(stepper, 0, 3, start);
    check_ok(bb_stepper_advance(stepper, &input));
    const double *after = bb_stepper_state(stepper);
    // T0 - 1 = 2^-9 is a separate operand; 3/4 + 2^-11 is 3/4 in bf16.
    assert_true(after[0] == 0.75 - 0.25 * 0x1p-9);
    assert_true(after[1] == 1.25);
    assert_true(after[2] == 0.25 + 358.0 / 256.0 + 0.75);
    assert_true(bb_stepper_exchanged(stepper)[0] == start[0]);
    bb_stepper_destroy(&stepper);
}

// 1 - 2^-10 per step: a decrease below half a spacing of bf16 below 1.
TEST(a_slow_decay_vanishes_in_bf16)
{
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) a = {0};
    const double b[1] = {1.0};
    const double start[1] = {1.0};
    static const bb_format storages[2] = {BB_FORMAT_BF16, BB_FORMAT_FP32};
    double left[2];
    check_ok(bb_triplets_add(&list, 0, 0, 1.0 - 0x1p-10));
    check_ok(bb_csr_assemble(1, 1, &list, &a));
    for (int s = 0; s < 2; ++s) {
        const bb_narrow_formats formats = {storages[s], BB_FORMAT_FP32, 1.0};
        bb_stepper *stepper = NULL;
        check_ok(bb_stepper_create_narrow(&a, b, &formats, &stepper));
        bb_stepper_set(stepper, 0, 1, start);
        for (int step = 0; step < 1024; ++step) {
            check_ok(bb_stepper_step(stepper, 0, NULL, NULL));
        }
        left[s] = bb_stepper_state(stepper)[0];
        bb_stepper_destroy(&stepper);
    }
    assert_true(left[0] == 1.0);
    check_relative(left[1], pow(1.0 - 0x1p-10, 1024.0), 1e-4);
}
