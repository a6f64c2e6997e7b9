// SPDX-License-Identifier: Apache-2.0
//
// Persistent workers: if one fails, its item is reported with the failure, and all others are
// completed.
#include "sim/sweep/crew.h"
#include "tests/sim/sweep/toy_sweep.h"

#include <sys/wait.h>

enum { ITEMS = 40, LARGE = 3 << 20 };

typedef struct trial {
    bb_index next, count;
    bb_index bad;      // item that calls `act`
    void (*act)(void); // called in the worker
    bool begins_badly;
    bb_crew_end ends[ITEMS];
    bool taken[ITEMS];
    char first[ITEMS][64];
    bb_index lengths[ITEMS];
} trial;

static bb_status begin(void *context, bb_index worker)
{
    bb_status status = BB_OK;
    (void)worker;
    BB_REQUIRE(!((const trial *)context)->begins_badly, BB_DEVICE, "no device to begin with");
done:
    return status;
}

static bb_status work(void *context, bb_index item, bb_text *answer)
{
    bb_status status = BB_OK;
    const trial *test = context;
    if (item == test->bad && test->act != NULL) {
        test->act();
    }
    BB_REQUIRE(item != 7, BB_IO, "item 7 never goes well");
    BB_TRY(bb_text_add(answer, "item %td", item));
    for (bb_index i = 0; item == 5 && i < LARGE / 16; ++i) {
        BB_TRY(bb_text_add(answer, "0123456789abcdef"));
    }
done:
    return status;
}

static bool next(void *context, bb_index *item)
{
    trial *test = context;
    *item = test->next;
    return test->next < test->count && test->next++ < ITEMS;
}

static bb_status record_end(void *context, bb_index item, const bb_crew_end *end)
{
    trial *test = context;
    assert_false(test->taken[item]);
    test->taken[item] = true;
    test->ends[item] = *end;
    test->lengths[item] = end->length;
    (void)snprintf(test->first[item], sizeof test->first[item], "%.60s", end->text);
    assert_int_equal(strlen(end->text), end->length);
    return BB_OK;
}

static void run(trial *test, bb_index workers, double limit_s)
{
    const bb_crew_task task = {test, begin, work, next, record_end};
    test->next = 0;
    test->count = ITEMS;
    check_ok(bb_crew_run(&task, workers, limit_s));
}

// Checks that all except the bad item and item 7 succeeded.
static void check_others(const trial *test)
{
    char expected[64];
    for (bb_index i = 0; i < ITEMS; ++i) {
        assert_true(test->taken[i]);
        if (i != 7 && i != test->bad) {
            (void)snprintf(expected, sizeof expected, "item %td", i);
            assert_int_equal(test->ends[i].status, BB_OK);
            assert_memory_equal(test->first[i], expected, strlen(expected));
        }
    }
    assert_int_equal(test->ends[7].status, BB_IO);
    assert_string_equal(test->first[7], "item 7 never goes well");
}

static void crash(void)
{
    (void)raise(SIGSEGV);
}

static void leave_alone(void)
{
    _exit(3);
}

static void be_killed(void)
{
    (void)raise(SIGKILL);
}

// Longer than any test, but finite if a test fails.
static void hang(void)
{
    (void)sleep(60);
    _exit(4);
}

TEST_FULL(a_worker_that_ends_costs_its_item_alone)
{
    for (bb_index workers = 1; workers <= 4; workers += 3) {
        static trial test;
        test = (trial){.bad = 11, .act = crash};
        run(&test, workers, INFINITY);
        check_others(&test);
        assert_int_equal(test.ends[11].signal, SIGSEGV);
        test = (trial){.bad = 11, .act = leave_alone};
        run(&test, workers, INFINITY);
        check_others(&test);
        assert_true(test.ends[11].signal == 0 && test.ends[11].exit_code == 3);
        assert_int_not_equal(test.ends[11].status, BB_OK);
        test = (trial){.bad = ITEMS - 1, .act = be_killed};
        run(&test, workers, INFINITY);
        check_others(&test);
        assert_true(test.ends[ITEMS - 1].signal == SIGKILL && !test.ends[ITEMS - 1].late);
        test = (trial){.bad = 0, .act = hang};
        // Long enough on a busy machine for items that do not hang.
        run(&test, workers, 2.0);
        check_others(&test);
        assert_true(test.ends[0].late);
    }
}

TEST(answers_may_be_large)
{
    static trial test;
    test = (trial){.bad = -1};
    run(&test, 2, INFINITY);
    check_others(&test);
    assert_int_equal(test.lengths[5], LARGE + strlen("item 5"));
}

TEST(workers_that_cannot_begin_fail_their_items)
{
    static trial test;
    test = (trial){.bad = -1, .begins_badly = true};
    run(&test, 2, INFINITY);
    for (bb_index i = 0; i < ITEMS; ++i) {
        assert_int_equal(test.ends[i].status, BB_DEVICE);
        assert_string_equal(test.first[i], "no device to begin with");
    }
    const bb_crew_task task = {&test, begin, work, next, record_end};
    check_fails(bb_crew_run(&task, 0, 1.0), BB_INVALID, "0 workers");
}

static bb_status refuse(void *context, bb_index item, const bb_crew_end *end)
{
    bb_status status = BB_OK;
    (void)context;
    (void)end;
    BB_REQUIRE(item != 3, BB_IO, "enough");
done:
    return status;
}

TEST(no_worker_outlives_its_crew)
{
    static trial test;
    test = (trial){.bad = 4, .act = hang, .count = ITEMS};
    const bb_crew_task task = {&test, begin, work, next, refuse};
    check_fails(bb_crew_run(&task, 3, INFINITY), BB_IO, "enough");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // no child is left
}

static void say_and_hang(void)
{
    char path[128];
    (void)snprintf(path, sizeof path, "worker.%ld", (long)getpid());
    (void)fclose(fopen(path, "w"));
    hang();
}

static bb_status hang_at_all(void *context, bb_index item, bb_text *answer)
{
    (void)context;
    (void)item;
    (void)answer;
    say_and_hang();
    return BB_OK;
}

static int count_workers(void)
{
    FILE *list = popen("for f in worker.*; do p=${f#worker.}; "
                       "s=$(sed -n 's/^State:.\\(.\\).*/\\1/p' /proc/$p/status 2>/dev/null); "
                       "case $s in ''|Z) ;; *) echo $p ;; esac; done | wc -l",
                       "r");
    int count = -1;
    assert_int_equal(fscanf(list, "%d", &count), 1);
    (void)pclose(list);
    return count;
}

static void wait_for(int workers)
{
    const struct timespec pause = {0, 20000000};
    for (int i = 0; i < 500 && count_workers() != workers; ++i) {
        (void)nanosleep(&pause, NULL);
    }
    assert_int_equal(count_workers(), workers);
}

TEST(workers_end_with_the_process_that_has_them)
{
    static trial test;
    const int signals[] = {SIGKILL, SIGTERM};
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(system("rm -f worker.*"), 0);
        (void)fflush(stdout);
        const pid_t parent = fork();
        if (parent == 0) {
            test = (trial){.bad = -1, .count = ITEMS};
            const bb_crew_task task = {&test, NULL, hang_at_all, next, record_end};
            _exit(bb_crew_run(&task, 3, INFINITY) == BB_OK ? 0 : 1);
        }
        wait_for(3);
        assert_int_equal(kill(parent, signals[i]), 0);
        assert_int_equal(waitpid(parent, NULL, 0), parent);
        wait_for(0);
    }
}

TEST_GROUP(.begin = toy_begin, .has_folder = true);
