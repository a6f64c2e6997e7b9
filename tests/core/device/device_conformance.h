// SPDX-License-Identifier: Apache-2.0
//
// Conformance tests for every device, run on the cpu by test_device.c and on a GPU by
// test_device_cuda.c.
#ifndef BB_TESTS_CORE_DEVICE_DEVICE_CONFORMANCE_H
#define BB_TESTS_CORE_DEVICE_DEVICE_CONFORMANCE_H

#include "core/device/device.h"
#include "core/device/non_finite.h"
#include "core/device/transfer.h"
#include "core/memory.h"
#include "tests/first_device.h"

static bb_device *device_under_test;

// OpenCL devices have no transfers in parts, graphs, page-locked memory and non-finite counts.
static inline void skip_opencl(void)
{
    if (bb_device_kind_of(device_under_test) == BB_DEVICE_OPENCL) {
        skip();
    }
}

TEST(report_is_filled)
{
    bb_device_report report;
    check_ok(bb_device_describe(device_under_test, &report));
    assert_true(strlen(report.name) > 0);
    assert_true(strlen(report.architecture) > 0);
    assert_true(report.units >= 1);
    assert_true(report.memory_bytes >= report.free_memory_bytes);
}

// The architecture of an OpenCL device begins with its kind.
TEST(processors_say_so)
{
    bb_device_report report;
    const bb_device_kind kind = bb_device_kind_of(device_under_test);
    check_ok(bb_device_describe(device_under_test, &report));
    const bool expected = kind == BB_DEVICE_CPU || (kind == BB_DEVICE_OPENCL &&
                                                    strncmp(report.architecture, "cpu ", 4) == 0);
    assert_int_equal(bb_device_is_processor(device_under_test), expected);
}

TEST(bytes_survive_the_round_trip)
{
    enum { N = 100003 };
    static uint8_t sent[N], received[N];
    fill_array(sent, N, i, (uint8_t)(i * 37));
    void *block = allocate_on(device_under_test, N);
    check_ok(bb_device_upload(device_under_test, block, sent, N));
    check_ok(bb_device_download(device_under_test, received, block, N));
    assert_memory_equal(sent, received, N);
    check_ok(bb_device_zero(device_under_test, block, N));
    check_ok(bb_device_download(device_under_test, received, block, N));
    assert_int_equal(received[0] | received[N / 2] | received[N - 1], 0);
    bb_device_release(device_under_test, &block);
    assert_null(block);
}

// Pieces that fill a buffer, pieces that do not, and none; buffers smaller than a thread's range.
TEST(large_arrays_go_through_two_buffers)
{
    skip_opencl();
    enum { BUFFER = 4096, SIZES = 6, LARGEST = 5 * BUFFER + 17 };
    static const size_t sizes[SIZES] = {0, 1, BUFFER, BUFFER + 1, 2 * BUFFER, LARGEST};
    static uint8_t sent[LARGEST], received[LARGEST + 1];
    fill_array(sent, LARGEST, i, (uint8_t)(i * 43 + i / 256));
    void *block = allocate_on(device_under_test, LARGEST);
    bb_transfer *transfer = new_object(bb_transfer, device_under_test, BUFFER);
    for (int i = 0; i < SIZES; ++i) {
        memset(received, 0xa5, sizeof received);
        check_ok(bb_transfer_upload(transfer, block, sent, sizes[i]));
        check_ok(bb_transfer_download(transfer, received, block, sizes[i]));
        assert_memory_equal(sent, received, sizes[i]);
        assert_int_equal(received[sizes[i]], 0xa5);
    }
    bb_transfer_destroy(&transfer);
    bb_device_release(device_under_test, &block);
}

// Parts with as many pieces as the first, fewer, none, and smaller pieces, to one device.
TEST(parts_are_uploaded_in_turns)
{
    skip_opencl();
    enum { BUFFER = 4096, PARTS = 4, LARGEST = 5 * BUFFER + 17 };
    static const size_t sizes[PARTS] = {LARGEST, 2 * BUFFER, 0, LARGEST - 1};
    static const size_t buffers[PARTS] = {BUFFER, BUFFER, BUFFER, BUFFER / 4};
    static uint8_t sent[PARTS][LARGEST], received[LARGEST];
    bb_transfer_part parts[PARTS];
    for (int p = 0; p < PARTS; ++p) {
        parts[p] = (bb_transfer_part){.from_host = sent[p], .bytes = sizes[p]};
        for (int i = 0; i < LARGEST; ++i) {
            sent[p][i] = (uint8_t)(i * 43 + i / 256 + p * 7);
        }
        check_ok(bb_device_allocate(device_under_test, LARGEST, &parts[p].target));
        check_ok(bb_transfer_create(device_under_test, buffers[p], &parts[p].transfer));
    }
    check_ok(bb_transfer_upload_parts(PARTS, parts));
    for (int p = 0; p < PARTS; ++p) {
        check_ok(bb_device_download(device_under_test, received, parts[p].target, sizes[p]));
        assert_memory_equal(sent[p], received, sizes[p]);
        bb_transfer_destroy(&parts[p].transfer);
        bb_device_release(device_under_test, &parts[p].target);
    }
}

// Through memory that copies do not wait for: contents are undefined before the wait.
TEST(bytes_are_fetched_by_the_next_wait)
{
    skip_opencl();
    enum { N = 300001, SMALL = 24 };
    void *block = NULL, *sent = NULL, *received = NULL;
    char small[SMALL] = "";
    check_ok(bb_device_host_allocate(device_under_test, N, &sent));
    check_ok(bb_device_host_allocate(device_under_test, N, &received));
    for (int i = 0; i < N; ++i) {
        ((uint8_t *)sent)[i] = (uint8_t)(i * 41 + i / 256);
    }
    check_ok(bb_device_allocate(device_under_test, N, &block));
    check_ok(bb_device_upload(device_under_test, block, sent, N));
    check_ok(bb_device_fetch(device_under_test, received, block, N));
    check_ok(bb_device_fetch(device_under_test, small, block, SMALL)); // to ordinary memory
    check_ok(bb_device_wait(device_under_test));
    assert_true(bb_device_is_idle(device_under_test));
    assert_memory_equal(sent, received, N);
    assert_memory_equal(sent, small, SMALL);
    bb_device_release(device_under_test, &block);
    bb_device_host_release(device_under_test, &sent);
    bb_device_host_release(device_under_test, &received);
    assert_null(sent);
    bb_device_host_release(device_under_test, &sent); // nothing to release
}

// More pages than one thread touches at once, from the middle of one to the middle of another.
TEST(locked_memory_is_copied)
{
    skip_opencl();
    const size_t bytes = ((size_t)65 << 20) + 12345;
    void *block = NULL, *copy = NULL;
    autofree unsigned char *sent = NULL, *received = NULL;
    check_ok(BB_ALLOCATE((bb_index)bytes, &sent));
    check_ok(BB_ALLOCATE((bb_index)bytes, &received));
    block = sent;
    check_ok(bb_device_host_lock(device_under_test, block, bytes));
    for (size_t i = 0; i < bytes; ++i) {
        sent[i] = (unsigned char)(i * 37 + i / 4096);
    }
    check_ok(bb_device_allocate(device_under_test, bytes, &copy));
    check_ok(bb_device_upload(device_under_test, copy, block, bytes));
    check_ok(bb_device_fetch(device_under_test, received, copy, bytes));
    check_ok(bb_device_wait(device_under_test));
    assert_memory_equal(sent, received, bytes);
    bb_device_host_unlock(device_under_test, block);
    bb_device_host_unlock(device_under_test, received); // it was not locked
    bb_device_host_unlock(device_under_test, NULL);
    check_ok(bb_device_host_lock(device_under_test, block, 0)); // no bytes
    check_ok(bb_device_wait(device_under_test));                // no pending error
    bb_device_release(device_under_test, &copy);
}

// Sizes around a warp, a block and a range; NaN and infinities of both signs.
TEST(non_finite_values_are_counted)
{
    skip_opencl();
    const bb_index sizes[] = {0, 1, 31, 32, 33, 255, 257, 65536, 1000003};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        bb_index count = sizes[s];
        uint64_t expected = 0;
        uint64_t found = 99;
        autofree double *values = new_array(double, count);
        for (bb_index i = 0; i < count; ++i) {
            int odd = i % 1009 == 7;
            expected += (uint64_t)odd;
            values[i] = !odd ? (double)i : i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
        }
        void *block = allocate_on(device_under_test, (size_t)count * 8);
        check_ok(bb_device_upload(device_under_test, block, values, (size_t)count * 8));
        check_ok(bb_non_finite_count(device_under_test, block, BB_F64, count, &found));
        assert_int_equal(found, expected);
        bb_device_release(device_under_test, &block);
    }
}

TEST(timer_measures_work)
{
    enum { BYTES = 64 << 20 };
    double seconds = -1.0;
    void *block = allocate_on(device_under_test, BYTES);
    check_ok(bb_device_timer_start(device_under_test));
    check_ok(bb_device_zero(device_under_test, block, BYTES));
    check_ok(bb_device_timer_stop(device_under_test, &seconds));
    assert_true(seconds >= 0.0 && isfinite(seconds));
    check_ok(bb_device_wait(device_under_test));
    bb_device_release(device_under_test, &block);
}

typedef struct halves {
    char *block;
    size_t bytes;
} halves;

static bb_status zero_first_half(void *context)
{
    const halves *work = context;
    return bb_device_zero(device_under_test, work->block, work->bytes / 2);
}

static bb_status fail_to_queue(void *context)
{
    (void)context;
    return bb_status_set(BB_INVALID, __FILE__, __LINE__, "nothing to queue");
}

TEST(a_graph_repeats_its_work)
{
    skip_opencl();
    char values[64], read[64];
    memset(values, 7, sizeof values);
    void *block = allocate_on(device_under_test, sizeof values);
    halves work = {block, sizeof values};
    bb_device_graph *graph = new_object(bb_device_graph, device_under_test, zero_first_half, &work);
    for (int i = 0; i < 2; ++i) {
        check_ok(bb_device_upload(device_under_test, block, values, sizeof values));
        check_ok(bb_device_graph_replay(graph));
        check_ok(bb_device_download(device_under_test, read, block, sizeof read));
        for (size_t k = 0; k < sizeof read; ++k) {
            assert_int_equal(read[k], k < sizeof read / 2 ? 0 : 7);
        }
    }
    bb_device_graph_destroy(&graph);
    assert_null(graph);
    check_fails(bb_device_graph_create(device_under_test, fail_to_queue, NULL, &graph), BB_INVALID,
                "nothing to queue");
    assert_null(graph);
    bb_device_release(device_under_test, &block);
}

TEST(impossible_allocations_say_how_much)
{
    void *block = NULL;
    check_fails(bb_device_allocate(device_under_test, (size_t)1 << 60, &block), BB_MEMORY,
                "1152921504606846976 bytes requested");
    assert_null(block);
    check_ok(bb_device_allocate(device_under_test, 16, &block)); // the device still works
    bb_device_release(device_under_test, &block);
}

/// Begins a group: opens the first device of a kind. 0, or the exit code.
static inline int device_tests_begin(bb_device_kind kind)
{
    return first_device_open(kind, &device_under_test);
}

static inline void device_tests_end(void)
{
    bb_device_close(&device_under_test);
}

#endif
