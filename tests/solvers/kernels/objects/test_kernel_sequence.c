// SPDX-License-Identifier: Apache-2.0
//
// Rules for joining launches, with a CPU thread as the single work-group.
#include "tests/solvers/kernels/objects/sequence_cases.h"

// A launch costs little on the CPU, so nothing is joined unless a test requests it.
TEST(processors_queue_each_launch)
{
    autocall(scene_close) scene made;
    scene_open(&made);
    cycle_add(&made, &cycle_single, 6, 5);
    autoptr(bb_kernel_sequence) sequence =
        new_object(bb_kernel_sequence, made.launches, made.launch_count);
    assert_int_equal(bb_kernel_sequence_runs(sequence), made.launch_count);
    assert_string_equal(bb_kernel_sequence_source(sequence), "");
    scene_expect(&made, 1);
    scene_start(&made);
    check_ok(bb_kernel_sequence_queue(sequence));
    assert_true(scene_compare(&made) > 0);
}

TEST(one_context_has_all_launches)
{
    scene scenes[2];
    bb_kernel_launch *launches[2];
    bb_kernel_sequence *sequence = NULL;
    for (int i = 0; i < 2; ++i) {
        scene_open(&scenes[i]);
        const cycle_level grid = cycle_level_add(&scenes[i], &cycle_single, 4, 4);
        cycle_sweep(&scenes[i], &cycle_single, &grid, 0);
        launches[i] = scenes[i].launches[0];
    }
    check_fails(bb_kernel_sequence_create(launches, 2, &sequence), BB_INVALID,
                "launch 1 of a sequence belongs to another context");
    assert_null(sequence);
    scene_close(&scenes[0]);
    scene_close(&scenes[1]);
}

TEST(allocations_that_fail_leave_nothing)
{
    const bb_index held = bb_memory_blocks();
    bool happened = true;
    bb_index count = 0;
    while (happened) {
        scene made;
        bb_kernel_sequence *sequence = NULL;
        scene_open(&made);
        cycle_add(&made, &cycle_single, 3, 2);
        bb_memory_fail_at(++count);
        const bb_status status =
            bb_kernel_sequence_join(made.launches, made.launch_count, &sequence);
        happened = bb_memory_failure_happened() != 0;
        bb_memory_fail_at(0);
        assert_int_equal(status, happened ? BB_MEMORY : BB_OK);
        assert_true((sequence == NULL) == happened);
        bb_kernel_sequence_destroy(&sequence);
        scene_close(&made);
        assert_int_equal(bb_memory_blocks(), held);
    }
    assert_true(count > 20);
    print_message("%td allocations\n", count - 1);
}

static int begin(void)
{
    return sequence_cases_begin(BB_DEVICE_CPU);
}

TEST_GROUP(.begin = begin, .end = sequence_cases_end);
