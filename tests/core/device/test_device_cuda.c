// SPDX-License-Identifier: Apache-2.0
//
// Conformance tests, and the version of kernels reported by a GPU.
#include "core/device/device_source.h"
#include "tests/core/device/device_conformance.h"

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

// By capability, build and environment; the suite runs this with BB_CUDA_PORTABLE=1 and without.
TEST(kernels_are_named)
{
    bb_device_report report;
    const char *wish = getenv("BB_CUDA_PORTABLE");
    const bool forced = wish != NULL && strcmp(wish, "1") == 0;
    check_ok(bb_device_describe(device_under_test, &report));
#ifdef BB_CUDA_HAS_HOPPER
    const bool hopper = strcmp(report.architecture, "sm_90") == 0;
#else
    const bool hopper = false;
#endif
    assert_string_equal(report.kernels, hopper && !forced ? "sm_90" : "portable");
}

static enum cudaMemoryType kind_of(const void *block)
{
    struct cudaPointerAttributes attributes = {0};
    assert_int_equal(cudaPointerGetAttributes(&attributes, block), cudaSuccess);
    return attributes.type;
}

// Blocks above, on and below the diagonal, with gaps between rows.
TEST(identity_is_filled_on_the_device)
{
    enum { ROWS = 5, COLUMNS = 6, STRIDE = 8 };
    const bb_matrix_source source = bb_matrix_source_identity(40, 50);
    const bb_index corners[][2] = {{10, 12}, {0, 30}, {34, 0}, {35, 44}};
    bb_device_source *twin = NULL;
    void *block = NULL;
    double found[ROWS * STRIDE], expected[ROWS * COLUMNS];
    check_ok(bb_device_source_create(&source, device_under_test, &twin));
    check_ok(bb_device_allocate(device_under_test, sizeof found, &block));
    for (size_t c = 0; c < sizeof corners / sizeof *corners; ++c) {
        const bb_index row = corners[c][0], column = corners[c][1];
        check_ok(bb_device_source_fill(twin, NULL, row, column,
                                       bb_device_matrix(block, BB_F64, ROWS, COLUMNS, STRIDE)));
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); // NULL is not the device's queue
        check_ok(bb_device_download(device_under_test, found, block, sizeof found));
        check_ok(
            bb_matrix_source_fill(&source, row, column, bb_view_matrix(expected, ROWS, COLUMNS)));
        for (int i = 0; i < ROWS; ++i) {
            assert_memory_equal(found + i * STRIDE, expected + i * COLUMNS,
                                COLUMNS * sizeof(double));
        }
    }
    bb_device_release(device_under_test, &block);
    bb_device_source_destroy(&twin);
}

TEST(memory_is_page_locked)
{
    enum { BYTES = 5000000 };
    unsigned char *block = new_array(unsigned char, BYTES);
    assert_int_equal(kind_of(block), cudaMemoryTypeUnregistered);
    check_ok(bb_device_host_lock(device_under_test, block, BYTES));
    assert_int_equal(kind_of(block), cudaMemoryTypeHost);
    assert_int_equal(kind_of(block + BYTES - 1), cudaMemoryTypeHost);
    bb_device_host_unlock(device_under_test, block);
    assert_int_equal(kind_of(block), cudaMemoryTypeUnregistered);
    BB_RELEASE(&block);
}

// Cached blocks count as free, are reused for slightly smaller requests, and are freed when needed.
TEST(released_blocks_serve_the_next)
{
    const size_t bytes = (size_t)64 << 20;
    bb_device_report before;
    bb_device_report after;
    void *first = NULL;
    void *second = NULL;
    check_ok(bb_device_allocate(device_under_test, bytes, &first));
    void *address = first;
    bb_device_release(device_under_test, &first);
    assert_null(first);
    check_ok(bb_device_describe(device_under_test, &before));
    check_ok(bb_device_allocate(device_under_test, bytes / 2, &second)); // too small for the block
    assert_ptr_not_equal(second, address);
    check_ok(bb_device_allocate(device_under_test, bytes - bytes / 16, &first));
    assert_ptr_equal(first, address);
    bb_device_release(device_under_test, &first);
    bb_device_release(device_under_test, &second);
    check_ok(bb_device_describe(device_under_test, &after));
    assert_true(after.free_memory_bytes + bytes / 8 >= before.free_memory_bytes);
    // All free memory can be allocated in one block.
    check_ok(bb_device_allocate(device_under_test, after.free_memory_bytes / 16 * 15, &first));
    bb_device_release(device_under_test, &first);
}

// The environment is read once: this needs a separate process, started before the first CUDA call.
static int refuse_other_wishes(void)
{
    const pid_t child = fork();
    int code = 1;
    if (child == 0) {
        bb_device *device = NULL;
        bb_device_report report;
        (void)setenv("BB_CUDA_PORTABLE", "yes", 1);
        if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) == 0) {
            _exit(0); // the suite reports a skip
        }
        const bool is_open = bb_device_open(BB_DEVICE_CUDA, 0, &device) == BB_OK;
        const bool is_refused =
            is_open && bb_device_describe(device, &report) == BB_INVALID &&
            strstr(bb_status_message(), "BB_CUDA_PORTABLE=yes in the environment, expected 0 or 1");
        if (!is_refused) {
            print_error("BB_CUDA_PORTABLE=yes: %s\n", bb_status_message());
        }
        _exit(is_refused ? 0 : 1);
    }
    return waitpid(child, &code, 0) == child && WIFEXITED(code) ? WEXITSTATUS(code) : 1;
}

static int begin(void)
{
    const int refused = refuse_other_wishes();
    return refused != 0 ? refused : device_tests_begin(BB_DEVICE_CUDA);
}

TEST_GROUP(.begin = begin, .end = device_tests_end);
