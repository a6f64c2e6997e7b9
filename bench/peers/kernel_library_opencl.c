// SPDX-License-Identifier: Apache-2.0
//
// CLBlast, looked up when first asked for. What is used of its interface (clblast_c.h, 1.4 on)
// stands here, its blocks, queues and events as the addresses that they are: neither building nor
// starting the program needs it.
#include "bench/peers/kernel_library.h"
#include "core/device/device_opencl.h"
#include "core/memory.h"

#include <dlfcn.h>

enum { ADD, NORM, LARGEST, GEMV, GEMV_TRANSPOSED, GEMM };
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, SUCCESS = 0 };

static const bb_kernel_call calls[] = {
    {"add", {"CLBlastSaxpy", "CLBlastDaxpy"}, ADD, false, true},
    {"l2norm", {"CLBlastSnrm2", "CLBlastDnrm2"}, NORM, false, false},
    {"max", {"CLBlastiSmax", "CLBlastiDmax"}, LARGEST, true, false},
    {"gemv", {"CLBlastSgemv", "CLBlastDgemv"}, GEMV, false, false},
    {"gemv-transposed", {"CLBlastSgemv", "CLBlastDgemv"}, GEMV_TRANSPOSED, false, false},
    {"gemm", {"CLBlastSgemm", "CLBlastDgemm"}, GEMM, false, false},
};

// Signatures of a scalar type; enumerations travel as int.
#define SIGNATURES(type, name)                                                                     \
    typedef int name##_axpy(size_t n, type alpha, void *x, size_t x_offset, size_t x_step,         \
                            void *y, size_t y_offset, size_t y_step, void **queue, void *event);   \
    typedef int name##_gemv(int layout, int transpose, size_t m, size_t n, type alpha, void *a,    \
                            size_t a_offset, size_t a_stride, void *x, size_t x_offset,            \
                            size_t x_step, type beta, void *y, size_t y_offset, size_t y_step,     \
                            void **queue, void *event);                                            \
    typedef int name##_gemm(int layout, int a_transpose, int b_transpose, size_t m, size_t n,      \
                            size_t k, type alpha, void *a, size_t a_offset, size_t a_stride,       \
                            void *b, size_t b_offset, size_t b_stride, type beta, void *c,         \
                            size_t c_offset, size_t c_stride, void **queue, void *event);
SIGNATURES(float, single)
SIGNATURES(double, wide)
typedef int reduction(size_t n, void *out, size_t out_offset, void *x, size_t x_offset,
                      size_t x_step, void **queue, void *event);

typedef struct clblast_call {
    bb_kernel_site site;
    int what;
    void *queue;
    union { // by the type and by what is called
        void *address;
        single_axpy *single_axpy;
        single_gemv *single_gemv;
        single_gemm *single_gemm;
        wide_axpy *wide_axpy;
        wide_gemv *wide_gemv;
        wide_gemm *wide_gemm;
        reduction *reduction;
    } function;
} clblast_call;

static void close_call(void **state)
{
    bb_memory_release(state);
}

static bb_status open_call(const bb_kernel_site *site, const bb_kernel_call *call, void **state)
{
    bb_status status = BB_OK;
    const char *name = call->names[site->is_double];
    void *made = NULL;
    // Never closed: what it started may outlive a call.
    void *library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    BB_REQUIRE(library != NULL, BB_UNSUPPORTED, "libclblast.so.1 is absent (package libclblast1)");
    BB_TRY(bb_memory_zeroed(1, sizeof(clblast_call), &made));
    clblast_call *clblast = made;
    const bb_opencl_state *opencl = bb_device_state(site->device);
    clblast->site = *site;
    clblast->what = call->what;
    clblast->queue = opencl->queue;
    clblast->function.address = dlsym(library, name);
    BB_REQUIRE(clblast->function.address != NULL, BB_UNSUPPORTED, "libclblast.so.1 has no %s",
               name);
    *state = made;
    made = NULL;
done:
    close_call(&made);
    return status;
}

static int call_single(clblast_call *call)
{
    const bb_kernel_site *site = &call->site;
    const size_t m = (size_t)site->rows[0];
    const size_t n = (size_t)site->columns[0];
    const size_t wide = (size_t)site->columns[1];
    void *a = site->blocks[0];
    void *b = site->blocks[1];
    void *out = site->output;
    return call->what == ADD
               ? call->function.single_axpy(m * n, 1.0F, a, 0, 1, out, 0, 1, &call->queue, NULL)
           : call->what == GEMM
               ? call->function.single_gemm(ROW_MAJOR, PLAIN, PLAIN, m, wide, n, 1.0F, a, 0, n, b,
                                            0, wide, 0.0F, out, 0, wide, &call->queue, NULL)
               : call->function.single_gemv(ROW_MAJOR, call->what == GEMV ? PLAIN : TRANSPOSED, m,
                                            n, 1.0F, a, 0, n, b, 0, 1, 0.0F, out, 0, 1,
                                            &call->queue, NULL);
}

static int call_double(clblast_call *call)
{
    const bb_kernel_site *site = &call->site;
    const size_t m = (size_t)site->rows[0];
    const size_t n = (size_t)site->columns[0];
    const size_t wide = (size_t)site->columns[1];
    void *a = site->blocks[0];
    void *b = site->blocks[1];
    void *out = site->output;
    return call->what == ADD
               ? call->function.wide_axpy(m * n, 1.0, a, 0, 1, out, 0, 1, &call->queue, NULL)
           : call->what == GEMM
               ? call->function.wide_gemm(ROW_MAJOR, PLAIN, PLAIN, m, wide, n, 1.0, a, 0, n, b, 0,
                                          wide, 0.0, out, 0, wide, &call->queue, NULL)
               : call->function.wide_gemv(ROW_MAJOR, call->what == GEMV ? PLAIN : TRANSPOSED, m, n,
                                          1.0, a, 0, n, b, 0, 1, 0.0, out, 0, 1, &call->queue,
                                          NULL);
}

static bb_status queue_call(void *state)
{
    bb_status status = BB_OK;
    clblast_call *call = state;
    const bb_kernel_site *site = &call->site;
    const int result = call->what == NORM || call->what == LARGEST
                           ? call->function.reduction((size_t)site->columns[0], site->output, 0,
                                                      site->blocks[0], 0, 1, &call->queue, NULL)
                       : site->is_double ? call_double(call)
                                         : call_single(call);
    BB_REQUIRE(result == SUCCESS, BB_DEVICE, "CLBlast status %d", result);
done:
    return status;
}

const bb_kernel_library bb_kernel_library_opencl = {
    "CLBlast", calls, sizeof calls / sizeof *calls, open_call, queue_call, close_call};
