// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "physics/wafer/response/workspace_pool.h"
#include "tests/check.h"

TEST(what_is_given_back_is_taken_again)
{
    double *taken[3] = {NULL, NULL, NULL};
    autoptr(bb_workspace_pool) pool = new_object(bb_workspace_pool, 5);
    check_ok(bb_workspace_pool_acquire(pool, &taken[0]));
    check_ok(bb_workspace_pool_acquire(pool, &taken[1]));
    assert_ptr_not_equal(taken[0], taken[1]);
    double *first = taken[0];
    double *second = taken[1];
    bb_index blocks = bb_memory_blocks();
    bb_workspace_pool_release(pool, &taken[0]);
    bb_workspace_pool_release(pool, &taken[1]);
    bb_workspace_pool_release(pool, &taken[2]); // NULL is ignored
    assert_null(taken[0]);
    check_ok(bb_workspace_pool_acquire(pool, &taken[0]));
    check_ok(bb_workspace_pool_acquire(pool, &taken[1]));
    assert_ptr_equal(taken[0], second);
    assert_ptr_equal(taken[1], first);
    assert_int_equal(bb_memory_blocks(), blocks);
    bb_memory_fail_at(1);
    check_fails(bb_workspace_pool_acquire(pool, &taken[2]), BB_MEMORY, "");
    bb_memory_fail_at(0);
    assert_null(taken[2]);
    bb_workspace_pool_release(pool, &taken[0]);
    bb_workspace_pool_release(pool, &taken[1]);
    bb_workspace_pool_destroy(&pool);
}

static bb_status use(void *context, bb_index index)
{
    bb_status status = BB_OK;
    double *taken = NULL;
    BB_TRY(bb_workspace_pool_acquire(context, &taken));
    fill_array(taken, 100, i, (double)(index + i));
    for (int i = 0; i < 100; ++i) {
        BB_REQUIRE(taken[i] == (double)(index + i), BB_INTERNAL, "two tasks have one workspace");
    }
done:
    bb_workspace_pool_release(context, &taken);
    return status;
}

TEST(threads_share_a_pool)
{
    check_ok(bb_threads_set(4));
    autoptr(bb_workspace_pool) pool = new_object(bb_workspace_pool, 100);
    bb_index before = bb_memory_blocks();
    check_ok(bb_thread_for(2000, use, pool));
    assert_true(bb_memory_blocks() - before <= 4);
}
