// SPDX-License-Identifier: Apache-2.0
//
// The library as a guest of a process: messages by thread, handles in two threads, fork, devices,
// nothing written to stdout or stderr.
#include "core/outcome.h"
#include "lib/bitbudget.h"
#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 200, VALUES = SIZE * SIZE, REPEATS = 20 };

static void fill(double *values, int seed)
{
    fill_array(values, VALUES, i, sin(0.1 * (double)seed * (double)i));
}

static void *fail_in_thread(void *own)
{
    const bool is_clear = *bb_status_message() == '\0';
    const bb_status status = bb_storage_check("fp18", NULL, 0, NULL);
    *(bool *)own = is_clear && status == BB_INVALID && strstr(bb_status_message(), "fp18") != NULL;
    return NULL;
}

TEST(each_thread_has_its_message)
{
    pthread_t thread;
    bool own = false;
    check_fails(bb_storage_check("fp17", NULL, 0, NULL), BB_INVALID, "fp17");
    assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, &own), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(own);
    assert_non_null(strstr(bb_status_message(), "fp17"));
    bb_status_clear();
    assert_string_equal(bb_status_message(), "");
    assert_string_equal(bb_status_name(BB_MEMORY), "out of memory");
    assert_string_equal(bb_outcome_name(BB_OUTCOME_NOT_SPD), "not_spd");
    assert_string_equal(bb_version(), "0.1.0");
}

// Work of one thread on handles of its own.
typedef struct working {
    int seed;
    double first[SIZE], y[SIZE];
    bool differs;
} working;

static bb_status work_once(working *self, double *values, double *y)
{
    bb_operator *operation = NULL;
    fill(values, self->seed);
    bb_status status =
        bb_operator_create_dense("bfp bits=8", SIZE, SIZE, values, NULL, NULL, &operation);
    if (status == BB_OK) {
        status = bb_operator_apply(operation, 1, values, y, NULL);
    }
    bb_operator_destroy(&operation);
    return status;
}

static void *work(void *argument)
{
    working *self = argument;
    double *values = calloc(VALUES, sizeof *values);
    self->differs = values == NULL || work_once(self, values, self->first) != BB_OK;
    for (int i = 0; i < REPEATS && !self->differs; ++i) {
        self->differs = work_once(self, values, self->y) != BB_OK ||
                        memcmp(self->y, self->first, sizeof self->y) != 0;
    }
    free(values);
    return NULL;
}

TEST(two_threads_use_their_handles_at_once)
{
    static working one = {.seed = 1}, other = {.seed = 2}, alone = {.seed = 2};
    pthread_t threads[2];
    check_ok(bb_set_threads(2));
    assert_int_equal(pthread_create(&threads[0], NULL, work, &one), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, work, &other), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    check_ok(bb_set_threads(1));
    (void)work(&alone);
    assert_false(one.differs || other.differs || alone.differs);
    assert_memory_equal(other.first, alone.first, sizeof alone.first);
    assert_memory_not_equal(one.first, other.first, sizeof one.first);
}

// Unwraps the thread's ramp with a plan of its own.
static void *unwrap(void *argument)
{
    working *self = argument;
    bb_unwrapper *plan = NULL;
    double wrapped[SIZE], phase[SIZE];
    fill_array(wrapped, SIZE, i,
               remainder((0.3 + 0.2 * self->seed) * (double)(i % 20), 6.283185307179586));
    self->differs = bb_unwrapper_create(10, 20, NULL, NULL, NULL, &plan) != BB_OK;
    for (int i = 0; i < REPEATS && !self->differs; ++i) {
        self->differs = bb_unwrapper_run(plan, wrapped, phase, NULL) != BB_OK ||
                        fabs(phase[19] - phase[0] - (0.3 + 0.2 * self->seed) * 19.0) > 1e-9;
    }
    bb_unwrapper_destroy(&plan);
    return NULL;
}

TEST(two_threads_unwrap_at_once)
{
    working each[2] = {{.seed = 1}, {.seed = 2}};
    pthread_t threads[2];
    check_ok(bb_set_threads(2));
    for (int t = 0; t < 2; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, unwrap, &each[t]), 0);
    }
    for (int t = 0; t < 2; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_false(each[t].differs);
    }
}

// A child of fork has none of the threads; without care it would wait for them forever.
TEST(a_forked_child_computes)
{
    static working parent = {.seed = 3}, child = {.seed = 3};
    int how = -1;
    check_ok(bb_set_threads(2));
    (void)work(&parent);
    (void)fflush(NULL);
    const pid_t id = fork();
    if (id == 0) {
        (void)alarm(20);
        (void)work(&child);
        _exit(child.differs || bb_get_threads() != 1 ||
              memcmp(child.first, parent.first, sizeof child.first) != 0);
    }
    assert_int_equal(waitpid(id, &how, 0), id);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

TEST(devices_are_listed)
{
    bb_index count = 0;
    bb_device_info info;
    check_ok(bb_list_devices(0, NULL, &count));
    assert_true(count >= 1);
    check_ok(bb_list_devices(1, &info, &count));
    assert_string_equal(info.device, "cpu");
    assert_true(info.memory_bytes > 1e8 && info.free_memory_bytes <= info.memory_bytes);
    assert_true(info.units >= 1 && strlen(info.architecture) > 0);
    check_fails(bb_list_devices(1, NULL, &count), BB_INVALID, "without an array");
}

// An unwrapping with doubts would log warnings in the program.
TEST(nothing_is_written)
{
    char text[200] = "";
    const double values[4] = {1.0, 2.0, NAN, 4.0};
    double out[4];
    (void)fflush(NULL);
    const int saved[2] = {dup(1), dup(2)};
    const int file = open(".", O_TMPFILE | O_RDWR, 0600);
    assert_true(file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2);
    const bb_status refused = bb_storage_check("fp17", NULL, 0, NULL);
    const bb_status done = bb_storage_quantise("bfp bits=8", 2, 2, values, out, NULL);
    bb_unwrapper *plan = NULL;
    const bb_status made = bb_unwrapper_create(2, 2, NULL, NULL, "cuda:99", &plan);
    (void)fflush(NULL);
    assert_true(dup2(saved[0], 1) == 1 && dup2(saved[1], 2) == 2);
    assert_int_equal(pread(file, text, sizeof text - 1, 0), 0);
    assert_string_equal(text, "");
    assert_true(refused == BB_INVALID && done == BB_OK && made == BB_DEVICE);
    (void)close(saved[0]);
    (void)close(saved[1]);
    (void)close(file);
}
