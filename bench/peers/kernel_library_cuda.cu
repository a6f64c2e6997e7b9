// SPDX-License-Identifier: Apache-2.0
//
// cuBLAS and cuSPARSE as an expert calls them: scalars and results in device memory, so that no
// call waits; a workspace of 32 MiB; cuSPARSE's analysis of the matrix before the first product.
#include "bench/peers/kernel_library.h"
#include "core/device/device_cuda.h"
#include "core/memory.h"
#include "solvers/gpu/dense_library_cuda.h"

#include <cusparse.h>
#include <dlfcn.h>

namespace
{

enum call_kind {
    ADD_TWO,
    ADD_TO,
    NORM,
    LARGEST,
    GEMV,
    GEMV_TRANSPOSED,
    GEMM,
    GEMM_TF32,
    SPARSE_FIRST,
    SPARSE_SECOND
};

constexpr size_t workspace_bytes = static_cast<size_t>(32) << 20;

const bb_kernel_call calls[] = {
    {"add", {"cublasSgeam", "cublasDgeam"}, ADD_TWO, false, false},
    {"add", {"cublasSaxpy", "cublasDaxpy"}, ADD_TO, false, true},
    {"l2norm", {"cublasSnrm2", "cublasDnrm2"}, NORM, false, false},
    {"max", {"cublasIsamax", "cublasIdamax"}, LARGEST, true, false},
    {"gemv", {"cublasSgemv", "cublasDgemv"}, GEMV, false, false},
    {"gemv-transposed", {"cublasSgemv", "cublasDgemv"}, GEMV_TRANSPOSED, false, false},
    {"gemm", {"cublasSgemm", "cublasDgemm"}, GEMM, false, false},
    {"gemm", {"cublasSgemm in TF32", nullptr}, GEMM_TF32, true, false},
    {"spmv", {"cusparseSpMV CSR_ALG1", "cusparseSpMV CSR_ALG1"}, SPARSE_FIRST, false, false},
    {"spmv", {"cusparseSpMV CSR_ALG2", "cusparseSpMV CSR_ALG2"}, SPARSE_SECOND, false, false},
};

// Entry points of a type of element.
template <typename T> struct dense_calls {
    cublasStatus_t (*add_two)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                              const T *, const T *, int, const T *, const T *, int, T *, int);
    cublasStatus_t (*add_to)(cublasHandle_t, int, const T *, const T *, int, T *, int);
    cublasStatus_t (*norm)(cublasHandle_t, int, const T *, int, T *);
    cublasStatus_t (*largest)(cublasHandle_t, int, const T *, int, int *);
    cublasStatus_t (*gemv)(cublasHandle_t, cublasOperation_t, int, int, const T *, const T *, int,
                           const T *, int, const T *, T *, int);
    cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const T *, const T *, int, const T *, int, const T *, T *, int);
};

struct sparse_calls {
    decltype(&cusparseCreate) create;
    decltype(&cusparseDestroy) destroy;
    decltype(&cusparseSetStream) set_stream;
    decltype(&cusparseSetPointerMode) set_pointer_mode;
    decltype(&cusparseCreateCsr) create_matrix;
    decltype(&cusparseDestroySpMat) destroy_matrix;
    decltype(&cusparseCreateDnVec) create_vector;
    decltype(&cusparseDestroyDnVec) destroy_vector;
    decltype(&cusparseSpMV_bufferSize) find_bytes;
    decltype(&cusparseSpMV) multiply;
    /// Of cuSPARSE since 12.4; else null and the first product does it.
    cusparseStatus_t (*prepare)(cusparseHandle_t, cusparseOperation_t, const void *,
                                cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *,
                                cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void *);
};

struct cuda_call {
    bb_kernel_site site;
    int what;
    void *scalars; // in device memory: 1 and 0 of the type
    void *workspace;
    const bb_dense_library_cuda *dense;
    cublasHandle_t handle;
    dense_calls<float> single_calls;
    dense_calls<double> double_calls;
    sparse_calls sparse;
    cusparseHandle_t sparse_handle;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t x, y;
};

#define BB_CUSPARSE_TRY(call)                                                                      \
    do {                                                                                           \
        cusparseStatus_t result_ = (call);                                                         \
        if (result_ != CUSPARSE_STATUS_SUCCESS) {                                                  \
            return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "%s: cuSPARSE status %d", #call,   \
                                 static_cast<int>(result_));                                       \
        }                                                                                          \
    } while (0)

// Never closed, as bb_dense_library_open leaves its library.
bb_status load(const char *name, void **out)
{
    *out = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*out == nullptr) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "%s cannot be loaded: %s", name,
                             dlerror());
    }
    return BB_OK;
}

template <typename Function> bb_status find(void *library, const char *name, Function *out)
{
    *out = reinterpret_cast<Function>(dlsym(library, name));
    if (*out == nullptr) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "no %s in the library", name);
    }
    return BB_OK;
}

#define BB_TEXT_OF(name) #name
#define BB_TEXT(name)    BB_TEXT_OF(name)

template <typename T>
bb_status find_dense(void *library, const char *const names[6], dense_calls<T> *out)
{
    BB_RETURN_IF_FAILED(find(library, names[0], &out->add_two));
    BB_RETURN_IF_FAILED(find(library, names[1], &out->add_to));
    BB_RETURN_IF_FAILED(find(library, names[2], &out->norm));
    BB_RETURN_IF_FAILED(find(library, names[3], &out->largest));
    BB_RETURN_IF_FAILED(find(library, names[4], &out->gemv));
    return find(library, names[5], &out->gemm);
}

bb_status open_dense(cuda_call *call)
{
    static const char *const single_names[] = {"cublasSgeam",    "cublasSaxpy_v2",
                                               "cublasSnrm2_v2", "cublasIsamax_v2",
                                               "cublasSgemv_v2", "cublasSgemm_v2"};
    static const char *const double_names[] = {"cublasDgeam",    "cublasDaxpy_v2",
                                               "cublasDnrm2_v2", "cublasIdamax_v2",
                                               "cublasDgemv_v2", "cublasDgemm_v2"};
    void *library = nullptr;
    cublasStatus_t (*set_pointer_mode)(cublasHandle_t, cublasPointerMode_t) = nullptr;
    BB_RETURN_IF_FAILED(bb_dense_library_open(&call->dense));
    BB_RETURN_IF_FAILED(load("libcublas.so." BB_TEXT(CUBLAS_VER_MAJOR), &library));
    BB_RETURN_IF_FAILED(find(library, "cublasSetPointerMode_v2", &set_pointer_mode));
    BB_RETURN_IF_FAILED(find_dense(library, single_names, &call->single_calls));
    BB_RETURN_IF_FAILED(find_dense(library, double_names, &call->double_calls));
    BB_CUBLAS_TRY(call->dense->create(&call->handle));
    BB_CUBLAS_TRY(set_pointer_mode(call->handle, CUBLAS_POINTER_MODE_DEVICE));
    BB_CUBLAS_TRY(call->dense->set_math_mode(
        call->handle, call->what == GEMM_TF32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
    BB_RETURN_IF_FAILED(bb_device_allocate(call->site.device, workspace_bytes, &call->workspace));
    return BB_OK;
}

bb_status find_sparse(sparse_calls *out)
{
    void *library = nullptr;
    BB_RETURN_IF_FAILED(load("libcusparse.so." BB_TEXT(CUSPARSE_VER_MAJOR), &library));
    BB_RETURN_IF_FAILED(find(library, "cusparseCreate", &out->create));
    BB_RETURN_IF_FAILED(find(library, "cusparseDestroy", &out->destroy));
    BB_RETURN_IF_FAILED(find(library, "cusparseSetStream", &out->set_stream));
    BB_RETURN_IF_FAILED(find(library, "cusparseSetPointerMode", &out->set_pointer_mode));
    BB_RETURN_IF_FAILED(find(library, "cusparseCreateCsr", &out->create_matrix));
    BB_RETURN_IF_FAILED(find(library, "cusparseDestroySpMat", &out->destroy_matrix));
    BB_RETURN_IF_FAILED(find(library, "cusparseCreateDnVec", &out->create_vector));
    BB_RETURN_IF_FAILED(find(library, "cusparseDestroyDnVec", &out->destroy_vector));
    BB_RETURN_IF_FAILED(find(library, "cusparseSpMV_bufferSize", &out->find_bytes));
    BB_RETURN_IF_FAILED(find(library, "cusparseSpMV", &out->multiply));
    if (find(library, "cusparseSpMV_preprocess", &out->prepare) != BB_OK) {
        out->prepare = nullptr;
        bb_status_clear();
    }
    return BB_OK;
}

cudaDataType type_of(const cuda_call *call)
{
    return call->site.is_double ? CUDA_R_64F : CUDA_R_32F;
}

cusparseSpMVAlg_t algorithm_of(const cuda_call *call)
{
    return call->what == SPARSE_FIRST ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
}

const void *scalar(const cuda_call *call, int which)
{
    return static_cast<const unsigned char *>(call->scalars) +
           static_cast<size_t>(which) * sizeof(double);
}

// Objects of the site: row_start, column, value, x, y.
bb_status open_sparse(cuda_call *call)
{
    const bb_kernel_site &site = call->site;
    const sparse_calls &sparse = call->sparse;
    size_t bytes = 0;
    BB_RETURN_IF_FAILED(find_sparse(&call->sparse));
    BB_CUSPARSE_TRY(sparse.create(&call->sparse_handle));
    BB_CUSPARSE_TRY(sparse.set_pointer_mode(call->sparse_handle, CUSPARSE_POINTER_MODE_DEVICE));
    BB_CUSPARSE_TRY(sparse.create_matrix(&call->matrix, site.columns[4], site.columns[3],
                                         site.entries, site.blocks[0], site.blocks[1],
                                         site.blocks[2], CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_BASE_ZERO, type_of(call)));
    BB_CUSPARSE_TRY(sparse.create_vector(&call->x, site.columns[3], site.blocks[3], type_of(call)));
    BB_CUSPARSE_TRY(sparse.create_vector(&call->y, site.columns[4], site.output, type_of(call)));
    BB_CUSPARSE_TRY(sparse.find_bytes(call->sparse_handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                      scalar(call, 0), call->matrix, call->x, scalar(call, 1),
                                      call->y, type_of(call), algorithm_of(call), &bytes));
    return bb_device_allocate(site.device, bytes > 0 ? bytes : 1, &call->workspace);
}

bb_status multiply_sparse(const cuda_call *call, cudaStream_t stream)
{
    BB_CUSPARSE_TRY(call->sparse.set_stream(call->sparse_handle, stream));
    BB_CUSPARSE_TRY(call->sparse.multiply(
        call->sparse_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, scalar(call, 0), call->matrix,
        call->x, scalar(call, 1), call->y, type_of(call), algorithm_of(call), call->workspace));
    return BB_OK;
}

bb_status prepare_sparse(bb_queue *queue, bb_index, bb_index items, void *arguments)
{
    const cuda_call *call = static_cast<const cuda_call *>(arguments);
    (void)items;
    BB_CUSPARSE_TRY(call->sparse.set_stream(call->sparse_handle, bb_queue_stream(queue)));
    BB_CUSPARSE_TRY(call->sparse.prepare(
        call->sparse_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, scalar(call, 0), call->matrix,
        call->x, scalar(call, 1), call->y, type_of(call), algorithm_of(call), call->workspace));
    return BB_OK;
}

// cuBLAS has columns where the kernel has rows: a matrix is handed as its transpose.
template <typename T> cublasStatus_t compute(const cuda_call *call, const dense_calls<T> &dense)
{
    const bb_kernel_site &site = call->site;
    const int m = static_cast<int>(site.rows[0]);
    const int n = static_cast<int>(site.columns[0]);
    const int wide = static_cast<int>(site.columns[1]);
    const T *a = static_cast<const T *>(site.blocks[0]);
    const T *b = static_cast<const T *>(site.blocks[1]);
    const T *one = static_cast<const T *>(scalar(call, 0));
    const T *none = static_cast<const T *>(scalar(call, 1));
    T *out = static_cast<T *>(site.output);
    switch (call->what) {
    case ADD_TWO:
        return dense.add_two(call->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, one, a, n, one, b, n,
                             out, n);
    case ADD_TO:
        return dense.add_to(call->handle, m * n, one, a, 1, out, 1);
    case NORM:
        return dense.norm(call->handle, n, a, 1, out);
    case LARGEST: // an index, which the output has room for
        return dense.largest(call->handle, n, a, 1, static_cast<int *>(site.output));
    case GEMV:
        return dense.gemv(call->handle, CUBLAS_OP_T, n, m, one, a, n, b, 1, none, out, 1);
    case GEMV_TRANSPOSED:
        return dense.gemv(call->handle, CUBLAS_OP_N, n, m, one, a, n, b, 1, none, out, 1);
    default:
        return dense.gemm(call->handle, CUBLAS_OP_N, CUBLAS_OP_N, wide, m, n, one, b, wide, a, n,
                          none, out, wide);
    }
}

bb_status run_call(bb_queue *queue, bb_index, bb_index items, void *arguments)
{
    const cuda_call *call = static_cast<const cuda_call *>(arguments);
    cudaStream_t stream = bb_queue_stream(queue);
    (void)items;
    if (call->sparse_handle != nullptr) {
        return multiply_sparse(call, stream);
    }
    BB_CUBLAS_TRY(call->site.is_double ? compute(call, call->double_calls)
                                       : compute(call, call->single_calls));
    return BB_OK;
}

// A change of stream gives the workspace back, so both are set once.
bb_status attach(bb_queue *queue, bb_index, bb_index items, void *arguments)
{
    const cuda_call *call = static_cast<const cuda_call *>(arguments);
    (void)items;
    BB_CUBLAS_TRY(call->dense->set_stream(call->handle, bb_queue_stream(queue)));
    BB_CUBLAS_TRY(call->dense->set_workspace(call->handle, call->workspace, workspace_bytes));
    return BB_OK;
}

bb_status launch(cuda_call *call, const char *name, bb_kernel_run run)
{
    const bb_kernel kernel = {name, 1, {nullptr, run}};
    return bb_device_launch(call->site.device, &kernel, 1, call);
}

bb_status queue_call(void *state)
{
    return launch(static_cast<cuda_call *>(state), "library", run_call);
}

void close_call(void **state)
{
    cuda_call *call = static_cast<cuda_call *>(*state);
    if (call == nullptr) {
        return;
    }
    if (bb_device_wait(call->site.device) != BB_OK) {
        bb_status_clear(); // told where the work was asked for
    }
    if (call->handle != nullptr) {
        (void)call->dense->destroy(call->handle);
    }
    if (call->x != nullptr) {
        (void)call->sparse.destroy_vector(call->x);
    }
    if (call->y != nullptr) {
        (void)call->sparse.destroy_vector(call->y);
    }
    if (call->matrix != nullptr) {
        (void)call->sparse.destroy_matrix(call->matrix);
    }
    if (call->sparse_handle != nullptr) {
        (void)call->sparse.destroy(call->sparse_handle);
    }
    bb_device_release(call->site.device, &call->scalars);
    bb_device_release(call->site.device, &call->workspace);
    bb_memory_release(state);
}

bb_status fill(cuda_call *call)
{
    const double wide[2] = {1.0, 0.0};
    const float narrow[4] = {1.0F, 0.0F, 0.0F, 0.0F}; // each at the place of a double
    const void *numbers =
        call->site.is_double ? static_cast<const void *>(wide) : static_cast<const void *>(narrow);
    BB_RETURN_IF_FAILED(bb_device_allocate(call->site.device, sizeof wide, &call->scalars));
    BB_RETURN_IF_FAILED(bb_device_upload(call->site.device, call->scalars, numbers, sizeof wide));
    BB_RETURN_IF_FAILED(bb_device_wait(call->site.device));
    if (call->what != SPARSE_FIRST && call->what != SPARSE_SECOND) {
        BB_RETURN_IF_FAILED(open_dense(call));
        return launch(call, "attach", attach);
    }
    BB_RETURN_IF_FAILED(open_sparse(call));
    return call->sparse.prepare == nullptr ? BB_OK : launch(call, "prepare", prepare_sparse);
}

bb_status open_call(const bb_kernel_site *site, const bb_kernel_call *call, void **state)
{
    void *made = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(cuda_call), &made));
    cuda_call *cuda = static_cast<cuda_call *>(made);
    cuda->site = *site;
    cuda->what = call->what;
    bb_status status = fill(cuda);
    if (status != BB_OK) {
        close_call(&made);
        return status;
    }
    *state = made;
    return BB_OK;
}

} // namespace

const bb_kernel_library bb_kernel_library_cuda = {
    "cuBLAS", calls, sizeof calls / sizeof *calls, open_call, queue_call, close_call};
