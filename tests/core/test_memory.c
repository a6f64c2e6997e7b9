// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "tests/check.h"

TEST(blocks_are_aligned_and_counted)
{
    bb_index before = bb_memory_blocks();
    size_t bytes_before = bb_memory_bytes();
    double *values = new_array(double, 100);
    assert_int_equal((uintptr_t)values % BB_ALIGNMENT, 0);
    assert_int_equal(bb_memory_blocks(), before + 1);
    assert_int_equal(bb_memory_bytes(), bytes_before + 800);
    assert_true(bb_memory_peak_bytes() >= bytes_before + 800);
    BB_RELEASE(&values);
    assert_null(values);
    assert_int_equal(bb_memory_blocks(), before);
}

TEST(the_peak_starts_again_from_what_is_held)
{
    const size_t before = bb_memory_bytes();
    autofree double *held = new_array(double, 100);
    double *passing = new_array(double, 1000);
    BB_RELEASE(&passing);
    bb_memory_peak_reset();
    assert_int_equal(bb_memory_peak_bytes(), before + 800);
    check_ok(BB_ALLOCATE(10, &passing));
    BB_RELEASE(&passing);
    assert_int_equal(bb_memory_peak_bytes(), before + 880);
}

TEST(zeroed_is_zero_and_resize_keeps)
{
    autofree int *values = new_zeros(int, 10);
    assert_int_equal(values[9], 0);
    values[3] = 7;
    check_ok(bb_memory_resize(1000, sizeof *values, (void **)&values));
    assert_int_equal(values[3], 7);
    check_ok(bb_memory_resize(4, sizeof *values, (void **)&values));
    assert_int_equal(values[3], 7);
}

TEST(nothing_asked_for_is_null)
{
    autofree double *values = (double *)1;
    check_ok(BB_ALLOCATE(0, &values));
    assert_null(values);
}

TEST(overflow_and_negative_counts_are_refused)
{
    void *block = NULL;
    check_fails(bb_memory_allocate(PTRDIFF_MAX, 1024, &block), BB_INVALID, "overflows");
    check_fails(bb_memory_allocate(-1, 8, &block), BB_INVALID, "expected 0 or more");
}

TEST(injected_failure_hits_the_kth)
{
    autofree double *second = NULL;
    bb_memory_fail_at(2);
    autofree double *first = new_array(double, 1);
    check_fails(BB_ALLOCATE(1, &second), BB_MEMORY, "host memory exhausted: 8 bytes");
    assert_true(bb_memory_failure_happened());
    check_ok(BB_ALLOCATE(1, &second));
    bb_memory_fail_at(0);
}

TEST(text_is_copied_and_formatted)
{
    autofree char *text = NULL;
    check_ok(bb_memory_text("abc", &text));
    assert_string_equal(text, "abc");
    BB_RELEASE(&text);
    check_ok(bb_memory_printf(&text, "%d of %s", 3, "four"));
    assert_string_equal(text, "3 of four");
}
