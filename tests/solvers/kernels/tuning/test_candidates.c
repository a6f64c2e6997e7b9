// SPDX-License-Identifier: Apache-2.0
//
// Candidates of a tuner: legal, each once, the default first; the short list is a subset of the
// long one.
#include "core/memory.h"
#include "solvers/kernels/tuning/tuning.h"
#include "tests/solvers/kernels/manager_program.h"

static bool holds(const bb_candidates *list, const bb_choice *choice)
{
    for (int i = 0; i < list->count; ++i) {
        if (bb_choice_equal(&list->choices[i], choice)) {
            return true;
        }
    }
    return false;
}

static void check_list(bb_device_kind kind, const bb_program *program, const bb_candidates *list)
{
    char why[160];
    const bb_choice first = bb_choice_default(kind, program);
    assert_true(list->count > 0);
    assert_true(bb_choice_equal(&list->choices[0], &first));
    for (int i = 0; i < list->count; ++i) {
        assert_true(bb_choice_is_legal(&list->choices[i], kind, program, why, sizeof why));
        for (int k = i - 1; k >= 0 && k > i - 100; --k) {
            assert_false(bb_choice_equal(&list->choices[i], &list->choices[k]));
        }
    }
}

static void check_kind(bb_device_kind kind, const bb_program *program)
{
    const bb_candidate_wish short_wish = {.group_items = 0};
    const bb_candidate_wish long_wish = {.is_exhaustive = true};
    autorelease(bb_candidates) few = new_struct(bb_candidates, kind, program, &short_wish);
    autorelease(bb_candidates) exhaustive = new_struct(bb_candidates, kind, program, &long_wish);
    check_list(kind, program, &few);
    assert_true(few.count <= 80);
    assert_true(exhaustive.count >= few.count);
    for (int i = 0; i < few.count; ++i) {
        assert_true(holds(&exhaustive, &few.choices[i]));
    }
    if (kind != BB_DEVICE_CPU) {
        assert_true(few.count >= 8 && exhaustive.count > 2 * few.count);
        check_list(kind, program, &exhaustive);
    }
}

TEST_FULL(every_kernel_has_candidates)
{
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    for (int i = 0; i < count; i += 2) { // add, laplace9, max, gemv-transposed, spmv
        autocall(fixture_release) program_fixture fixture;
        make_manager(&fixture, &managers[i], "SP");
        for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
            check_kind((bb_device_kind)kind, &fixture.program);
        }
    }
}

TEST(a_wish_narrows_or_widens)
{
    autocall(fixture_release) program_fixture fixture;
    const bb_candidate_wish processor = {.is_processor = true};
    const bb_candidate_wish small = {.group_items = 64};
    const bb_candidate_wish reorders = {.may_reorder = true};
    int others = 0;
    int loops = 0;
    make_manager(&fixture, manager_of("gemv"), "SP");
    autorelease(bb_candidates) list =
        new_struct(bb_candidates, BB_DEVICE_OPENCL, &fixture.program, &processor);
    assert_true(list.count > 1 && list.count <= 1 + 16); // with the default
    assert_int_equal(list.choices[0].tile, bb_choice_default_processor(&fixture.program).tile);
    for (int i = 0; i < list.count; ++i) {
        loops += list.choices[i].tile > 0;
    }
    assert_true(loops >= 4 && loops < list.count);
    bb_candidates_release(&list);
    check_ok(bb_candidates_create(BB_DEVICE_CUDA, &fixture.program, &small, &list));
    for (int i = 1; i < list.count; ++i) {
        assert_true(list.choices[i].group[0] * list.choices[i].group[1] <= 64);
        assert_int_equal(list.choices[i].order.lanes, 0);
    }
    assert_true(list.count > 1);
    bb_candidates_release(&list);
    check_ok(bb_candidates_create(BB_DEVICE_CUDA, &fixture.program, &reorders, &list));
    check_list(BB_DEVICE_CUDA, &fixture.program, &list);
    for (int i = 0; i < list.count; ++i) {
        others += list.choices[i].order.lanes > 0;
    }
    assert_true(others >= 4);
}

TEST(every_failing_allocation_is_an_error)
{
    autocall(fixture_release) program_fixture fixture;
    const bb_candidate_wish wish = {.may_reorder = true};
    bb_status status = BB_MEMORY;
    make_manager(&fixture, manager_of("add"), "SP");
    for (bb_index k = 1; status != BB_OK; ++k) {
        autorelease(bb_candidates) list = {0};
        bb_memory_fail_at(k);
        status = bb_candidates_create(BB_DEVICE_CUDA, &fixture.program, &wish, &list);
        bb_memory_fail_at(0);
        assert_true(status == BB_OK || status == BB_MEMORY);
    }
}
