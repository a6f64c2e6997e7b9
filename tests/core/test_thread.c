// SPDX-License-Identifier: Apache-2.0
#include "core/thread.h"
#include "tests/check.h"

#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 10000, ITEMS = 8 };
static atomic_int visits[COUNT];

static bb_status visit(void *context, bb_index index)
{
    (void)context;
    atomic_fetch_add(&visits[index], 1);
    return BB_OK;
}

TEST(every_index_is_visited_once)
{
    for (bb_index threads = 1; threads <= 4; ++threads) {
        check_ok(bb_threads_set(threads));
        assert_int_equal(bb_threads_count(), threads);
        memset(visits, 0, sizeof visits);
        for (int repeat = 0; repeat < 20; ++repeat) {
            check_ok(bb_thread_for(COUNT, visit, NULL));
        }
        for (int i = 0; i < COUNT; ++i) {
            assert_int_equal(visits[i], 20);
        }
    }
}

static bb_status fail_from_100(void *context, bb_index index)
{
    bb_status status = BB_OK;
    (void)context;
    BB_REQUIRE(index < 100, BB_INVALID, "index %td failed", index);
done:
    return status;
}

TEST(failure_comes_back_with_its_message)
{
    check_ok(bb_threads_set(3));
    check_fails(bb_thread_for(COUNT, fail_from_100, NULL), BB_INVALID, "failed");
    check_ok(bb_thread_for(100, fail_from_100, NULL));
}

static bb_status nested(void *context, bb_index index)
{
    (void)index;
    return bb_thread_for(10, visit, context);
}

TEST(nested_loops_run_on_their_thread)
{
    check_ok(bb_threads_set(4));
    memset(visits, 0, sizeof visits);
    check_ok(bb_thread_for(50, nested, NULL));
    for (int i = 0; i < 10; ++i) {
        assert_int_equal(visits[i], 50);
    }
}

static bb_status cover(void *context, bb_index begin, bb_index end)
{
    assert_int_equal(begin % 64, 0);
    (void)context;
    for (bb_index i = begin; i < end; ++i) {
        atomic_fetch_add(&visits[i], 1);
    }
    return BB_OK;
}

TEST(ranges_cover_all)
{
    memset(visits, 0, sizeof visits);
    check_ok(bb_thread_ranges(1000, 64, cover, NULL));
    for (int i = 0; i < COUNT; ++i) {
        assert_int_equal(visits[i], i < 1000);
    }
}

static atomic_int arrived;
static atomic_int workers;

static bb_status meet(void *context, bb_index index)
{
    (void)context;
    (void)index;
    atomic_fetch_add(&workers, bb_thread_is_worker());
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < 2) {
    }
    return BB_OK;
}

// Two tasks that wait for each other are on two threads, one of them from the pool.
TEST(the_caller_is_no_worker)
{
    check_ok(bb_threads_set(2));
    check_ok(bb_thread_for(2, meet, NULL));
    assert_int_equal(atomic_load(&workers), 1);
    assert_false(bb_thread_is_worker());
}

TEST(thread_counts_out_of_range_are_refused)
{
    check_fails(bb_threads_set(0), BB_INVALID, "0 threads, expected 1..1024");
}

TEST(blas_runs_on_one_thread)
{
    openblas_set_num_threads(2);
    check_ok(bb_threads_set(2));
    assert_int_equal(openblas_get_num_threads(), 1);
}

TEST(copies_are_whole)
{
    enum { BYTES = (3 << 20) + 17 };
    autofree char *source = new_array(char, BYTES);
    autofree char *target = new_zeros(char, BYTES);
    fill_array(source, BYTES, i, (char)(i % 251));
    check_ok(bb_threads_set(3));
    check_ok(bb_thread_copy(target, source, BYTES));
    check_ok(bb_thread_copy(target, source, 0));
    bb_threads_stop();
    assert_memory_equal(source, target, BYTES);
}

static bb_status work_beside(void *context, bb_index index)
{
    atomic_int *seen = context;
    assert_true(bb_thread_is_worker());
    assert_int_equal(index, 0);
    BB_RETURN_IF_FAILED(bb_thread_for(COUNT, visit, NULL));
    while (atomic_load(seen) == 0) { // the caller's loop ran meanwhile
    }
    return fail_from_100(NULL, 100);
}

static bb_status see(void *context, bb_index index)
{
    (void)index;
    atomic_fetch_add((atomic_int *)context, 1);
    return BB_OK;
}

TEST(a_side_thread_runs_beside_the_callers_loops)
{
    atomic_int seen = 0;
    bb_side_thread *thread = NULL;
    check_ok(bb_side_thread_join(&thread));
    check_ok(bb_threads_set(3));
    memset(visits, 0, sizeof visits);
    check_ok(bb_side_thread_start(work_beside, &seen, &thread));
    check_ok(bb_thread_for(COUNT, see, &seen));
    check_fails(bb_side_thread_join(&thread), BB_INVALID, "index 100 failed");
    bb_threads_stop();
    assert_null(thread);
    assert_int_equal(seen, COUNT);
    for (int i = 0; i < COUNT; ++i) {
        assert_int_equal(visits[i], 1);
    }
}

static bb_status widen(void *context, bb_index index)
{
    bb_status status = BB_OK;
    (void)index;
    BB_TRY(bb_side_thread_widen(2));
    assert_int_equal(bb_threads_count(), 2);
    BB_TRY(bb_thread_for(2, meet, context));
done:
    return status;
}

// Two tasks that wait for each other are on two threads of a side thread's pool.
TEST(a_side_thread_has_a_pool_of_its_own)
{
    bb_side_thread *thread = NULL;
    check_ok(bb_threads_set(3));
    atomic_store(&arrived, 0);
    check_ok(bb_side_thread_start(widen, NULL, &thread));
    check_ok(bb_side_thread_join(&thread));
    assert_int_equal(arrived, 2);
    assert_int_equal(bb_threads_count(), 3);
    check_fails(bb_side_thread_widen(2), BB_INTERNAL, "once per side thread");
    bb_threads_stop();
}

// Only effective under the address sanitizer: there, a thread that is still starting holds the lock
// of malloc.
TEST(a_child_process_finds_no_lock_held)
{
    for (int round = 0; round < 200; ++round) {
        assert_int_equal(bb_threads_set(8), BB_OK);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(20);
            for (size_t bytes = 1000; bytes < 20000; bytes += 100) {
                void *volatile block = malloc(bytes);
                free(block);
            }
            _exit(0);
        }
        int how = 0;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_int_equal(how, 0);
    }
}

// Loops of one thread, whose tasks count in its own array.
typedef struct looping {
    bb_status status;
    int counts[ITEMS];
    bool differs;
} looping;

static bb_status count_item(void *context, bb_index index)
{
    ++((looping *)context)->counts[index];
    return BB_OK;
}

static void *loop_repeatedly(void *argument)
{
    looping *own = argument;
    for (int repeat = 1; repeat <= 20000 && own->status == BB_OK && !own->differs; ++repeat) {
        own->status = bb_thread_for(ITEMS, count_item, own);
        for (int i = 0; i < ITEMS; ++i) {
            own->differs = own->differs || own->counts[i] != repeat;
        }
    }
    return NULL;
}

// The pool works on one loop at a time; the other thread runs its own.
TEST(two_threads_run_loops_at_once)
{
    static looping each[2];
    pthread_t threads[2];
    check_ok(bb_threads_set(3));
    for (int t = 0; t < 2; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, loop_repeatedly, &each[t]), 0);
    }
    for (int t = 0; t < 2; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        check_ok(each[t].status);
        assert_false(each[t].differs);
    }
}

// Without the call, the child would wait for threads that it does not have.
TEST(a_child_that_abandons_the_pool_runs_its_loops)
{
    int how = -1;
    check_ok(bb_threads_set(3));
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(20);
        bb_threads_abandon();
        const bool is_alone = bb_threads_count() == 1;
        _exit(!is_alone || bb_thread_for(COUNT, visit, NULL) != BB_OK);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}
