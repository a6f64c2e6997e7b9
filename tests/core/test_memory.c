// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "tests/check.h"

static void blocks_are_aligned_and_counted(void **state)
{
    (void)state;
    bb_index before = bb_memory_blocks();
    size_t bytes_before = bb_memory_bytes();
    double *values = NULL;
    check_ok(BB_ALLOCATE(100, &values));
    assert_int_equal((uintptr_t)values % BB_ALIGNMENT, 0);
    assert_int_equal(bb_memory_blocks(), before + 1);
    assert_int_equal(bb_memory_bytes(), bytes_before + 800);
    assert_true(bb_memory_peak_bytes() >= bytes_before + 800);
    BB_RELEASE(&values);
    assert_null(values);
    assert_int_equal(bb_memory_blocks(), before);
}

static void the_peak_starts_again_from_what_is_held(void **state)
{
    (void)state;
    const size_t before = bb_memory_bytes();
    double *held = NULL;
    double *passing = NULL;
    check_ok(BB_ALLOCATE(100, &held));
    check_ok(BB_ALLOCATE(1000, &passing));
    BB_RELEASE(&passing);
    bb_memory_peak_reset();
    assert_int_equal(bb_memory_peak_bytes(), before + 800);
    check_ok(BB_ALLOCATE(10, &passing));
    BB_RELEASE(&passing);
    assert_int_equal(bb_memory_peak_bytes(), before + 880);
    BB_RELEASE(&held);
}

static void zeroed_is_zero_and_resize_keeps(void **state)
{
    (void)state;
    int *values = NULL;
    check_ok(BB_ZEROED(10, &values));
    assert_int_equal(values[9], 0);
    values[3] = 7;
    check_ok(bb_memory_resize(1000, sizeof *values, (void **)&values));
    assert_int_equal(values[3], 7);
    check_ok(bb_memory_resize(4, sizeof *values, (void **)&values));
    assert_int_equal(values[3], 7);
    BB_RELEASE(&values);
}

static void nothing_asked_for_is_null(void **state)
{
    (void)state;
    double *values = (double *)1;
    check_ok(BB_ALLOCATE(0, &values));
    assert_null(values);
    BB_RELEASE(&values);
}

static void overflow_and_negative_counts_are_refused(void **state)
{
    (void)state;
    void *block = NULL;
    check_fails(bb_memory_allocate(PTRDIFF_MAX, 1024, &block), BB_INVALID, "overflows");
    check_fails(bb_memory_allocate(-1, 8, &block), BB_INVALID, "expected 0 or more");
}

static void injected_failure_hits_the_kth(void **state)
{
    (void)state;
    double *first = NULL;
    double *second = NULL;
    bb_memory_fail_at(2);
    check_ok(BB_ALLOCATE(1, &first));
    check_fails(BB_ALLOCATE(1, &second), BB_MEMORY, "host memory exhausted: 8 bytes");
    assert_true(bb_memory_failure_happened());
    check_ok(BB_ALLOCATE(1, &second));
    bb_memory_fail_at(0);
    BB_RELEASE(&first);
    BB_RELEASE(&second);
}

static void text_is_copied_and_formatted(void **state)
{
    (void)state;
    char *text = NULL;
    check_ok(bb_memory_text("abc", &text));
    assert_string_equal(text, "abc");
    BB_RELEASE(&text);
    check_ok(bb_memory_printf(&text, "%d of %s", 3, "four"));
    assert_string_equal(text, "3 of four");
    BB_RELEASE(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_counted),
        cmocka_unit_test(the_peak_starts_again_from_what_is_held),
        cmocka_unit_test(zeroed_is_zero_and_resize_keeps),
        cmocka_unit_test(nothing_asked_for_is_null),
        cmocka_unit_test(overflow_and_negative_counts_are_refused),
        cmocka_unit_test(injected_failure_hits_the_kth),
        cmocka_unit_test(text_is_copied_and_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
