// SPDX-License-Identifier: Apache-2.0
//
// The BLAS on the cpu, on as many threads as the run has.
#include "bench/peers/kernel_library.h"
#include "core/memory.h"

#include <cblas.h>

enum { ADD, NORM, LARGEST, GEMV, GEMV_TRANSPOSED, GEMM };

static const bb_kernel_call calls[] = {
    {"add", {"cblas_saxpy", "cblas_daxpy"}, ADD, false, true},
    {"l2norm", {"cblas_snrm2", "cblas_dnrm2"}, NORM, false, false},
    {"max", {"cblas_isamax", "cblas_idamax"}, LARGEST, true, false},
    {"gemv", {"cblas_sgemv", "cblas_dgemv"}, GEMV, false, false},
    {"gemv-transposed", {"cblas_sgemv", "cblas_dgemv"}, GEMV_TRANSPOSED, false, false},
    {"gemm", {"cblas_sgemm", "cblas_dgemm"}, GEMM, false, false},
};

typedef struct blas_call {
    bb_kernel_site site;
    int what;
} blas_call;

static bb_status open_call(const bb_kernel_site *site, const bb_kernel_call *call, void **state)
{
    bb_status status = BB_OK;
    BB_TRY(bb_memory_zeroed(1, sizeof(blas_call), state));
    *(blas_call *)*state = (blas_call){*site, call->what};
done:
    return status;
}

static void call_single(const bb_kernel_site *site, int what)
{
    const int m = (int)site->rows[0];
    const int n = (int)site->columns[0];
    const float *a = site->blocks[0];
    const float *b = site->blocks[1];
    float *out = site->output;
    const CBLAS_TRANSPOSE turn = what == GEMV ? CblasNoTrans : CblasTrans;
    switch (what) {
    case ADD:
        cblas_saxpy(m * n, 1.0F, a, 1, out, 1);
        break;
    case NORM:
        *out = cblas_snrm2(n, a, 1);
        break;
    case LARGEST:
        *out = a[cblas_isamax(n, a, 1)];
        break;
    case GEMM:
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, (int)site->columns[1], n, 1.0F, a,
                    n, b, (int)site->columns[1], 0.0F, out, (int)site->columns[1]);
        break;
    default:
        cblas_sgemv(CblasRowMajor, turn, m, n, 1.0F, a, n, b, 1, 0.0F, out, 1);
    }
}

static void call_double(const bb_kernel_site *site, int what)
{
    const int m = (int)site->rows[0];
    const int n = (int)site->columns[0];
    const double *a = site->blocks[0];
    const double *b = site->blocks[1];
    double *out = site->output;
    const CBLAS_TRANSPOSE turn = what == GEMV ? CblasNoTrans : CblasTrans;
    switch (what) {
    case ADD:
        cblas_daxpy(m * n, 1.0, a, 1, out, 1);
        break;
    case NORM:
        *out = cblas_dnrm2(n, a, 1);
        break;
    case LARGEST:
        *out = a[cblas_idamax(n, a, 1)];
        break;
    case GEMM:
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, (int)site->columns[1], n, 1.0, a,
                    n, b, (int)site->columns[1], 0.0, out, (int)site->columns[1]);
        break;
    default:
        cblas_dgemv(CblasRowMajor, turn, m, n, 1.0, a, n, b, 1, 0.0, out, 1);
    }
}

static bb_status queue_call(void *state)
{
    const blas_call *call = state;
    openblas_set_num_threads((int)call->site.threads);
    if (call->site.is_double) {
        call_double(&call->site, call->what);
    } else {
        call_single(&call->site, call->what);
    }
    openblas_set_num_threads(1);
    return BB_OK;
}

const bb_kernel_library bb_kernel_library_cpu = {
    "OpenBLAS", calls, sizeof calls / sizeof *calls, open_call, queue_call, bb_memory_release};
