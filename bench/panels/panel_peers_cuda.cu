// SPDX-License-Identifier: Apache-2.0
//
// Collective calls of cuSOLVERMp (a grid, a factorization) run on one thread per device. Both
// threads end, and failures are checked, before the next collective call, so that a device without
// memory does not leave the other waiting.
#include "bench/panels/panel_peers.h"
#include "core/device/device_cuda.h"
#include "core/memory.h"
#include "solvers/factor/panels/panel_part_cuda.h"

#include <cstdint>
#include <cstring>
#include <cusolverDn.h>
#include <dlfcn.h>
#include <pthread.h>

// Returns from the function if a call of cuSOLVER or cuSOLVERMp failed: BB_MEMORY if it ran out of
// memory, else BB_DEVICE.
#define BB_CUSOLVER_TRY(call)                                                                      \
    do {                                                                                           \
        cusolverStatus_t result_ = (call);                                                         \
        if (result_ != CUSOLVER_STATUS_SUCCESS) {                                                  \
            return bb_status_set(result_ == CUSOLVER_STATUS_ALLOC_FAILED ? BB_MEMORY : BB_DEVICE,  \
                                 __FILE__, __LINE__, "%s: cuSOLVER status %d", #call,              \
                                 static_cast<int>(result_));                                       \
        }                                                                                          \
    } while (0)

namespace
{

// Matrix, stream and memory of a factorization on one device.
struct site {
    const bb_device_source *matrix;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    void *values, *workspace, *host_workspace;
    void *info;               // int
    size_t bytes, host_bytes; // sizes of the workspaces, bytes
    double seconds;           // time of the last factorization
};

// Makes the device current and allocates its objects.
bb_status open_site(site *s, size_t value_bytes)
{
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(s->matrix->device, &report));
    BB_RETURN_IF_FAILED(bb_device_allocate(s->matrix->device, value_bytes, &s->values));
    BB_RETURN_IF_FAILED(bb_device_allocate(s->matrix->device, sizeof(int), &s->info));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    BB_CUDA_TRY(cudaEventCreate(&s->begin));
    BB_CUDA_TRY(cudaEventCreate(&s->end));
    return BB_OK;
}

bb_status allocate_workspaces(site *s)
{
    BB_RETURN_IF_FAILED(bb_device_allocate(s->matrix->device, s->bytes, &s->workspace));
    return bb_memory_allocate(static_cast<bb_index>(s->host_bytes), 1, &s->host_workspace);
}

// Waits for a call; needs `begin` recorded and the call of `name` queued.
bb_status finish_call(site *s, const char *name)
{
    float milliseconds = 0.0F;
    int info = 0;
    BB_CUDA_TRY(cudaEventRecord(s->end, s->stream));
    BB_CUDA_TRY(cudaEventSynchronize(s->end));
    BB_CUDA_TRY(cudaEventElapsedTime(&milliseconds, s->begin, s->end));
    BB_CUDA_TRY(cudaMemcpy(&info, s->info, sizeof info, cudaMemcpyDeviceToHost));
    if (info != 0) {
        return bb_status_set(BB_INTERNAL, __FILE__, __LINE__, "%s failed with code %d", name, info);
    }
    s->seconds = 1e-3 * static_cast<double>(milliseconds);
    return BB_OK;
}

void close_site(site *s)
{
    for (cudaEvent_t event : {s->begin, s->end}) {
        if (event != nullptr) {
            (void)cudaEventDestroy(event);
        }
    }
    if (s->stream != nullptr) {
        (void)cudaStreamDestroy(s->stream);
    }
    bb_device_release(s->matrix->device, &s->values);
    bb_device_release(s->matrix->device, &s->info);
    bb_device_release(s->matrix->device, &s->workspace);
    bb_memory_release(&s->host_workspace);
}

struct potrf_task : site {
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
};

bb_status factor_potrf(potrf_task *t)
{
    const bb_index n = t->matrix->rows;
    BB_RETURN_IF_FAILED(
        open_site(t, static_cast<size_t>(n) * static_cast<size_t>(n) * sizeof(float)));
    BB_CUSOLVER_TRY(cusolverDnCreate(&t->handle));
    BB_CUSOLVER_TRY(cusolverDnSetStream(t->handle, t->stream));
    BB_CUSOLVER_TRY(cusolverDnCreateParams(&t->params));
    BB_CUSOLVER_TRY(cusolverDnXpotrf_bufferSize(t->handle, t->params, CUBLAS_FILL_MODE_LOWER, n,
                                                CUDA_R_32F, t->values, n, CUDA_R_32F, &t->bytes,
                                                &t->host_bytes));
    BB_RETURN_IF_FAILED(allocate_workspaces(t));
    BB_RETURN_IF_FAILED(bb_device_source_fill(t->matrix, bb_stream_queue(t->stream), 0, 0,
                                              bb_device_matrix(t->values, BB_F32, n, n, n)));
    BB_CUDA_TRY(cudaEventRecord(t->begin, t->stream));
    BB_CUSOLVER_TRY(cusolverDnXpotrf(
        t->handle, t->params, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_32F, t->values, n, CUDA_R_32F,
        t->workspace, t->bytes, t->host_workspace, t->host_bytes, static_cast<int *>(t->info)));
    return finish_call(t, "cusolverDnXpotrf");
}

} // namespace

extern "C" bb_status bb_panel_peers_potrf(const bb_device_source *matrix, double *seconds)
{
    potrf_task t = {};
    t.matrix = matrix;
    const bb_status status = factor_potrf(&t);
    *seconds = t.seconds;
    if (t.params != nullptr) {
        (void)cusolverDnDestroyParams(t.params);
    }
    if (t.handle != nullptr) {
        (void)cusolverDnDestroy(t.handle);
    }
    close_site(&t);
    return status;
}

namespace
{

// Opaque types of the libraries.
typedef struct bb_nccl_team *bb_nccl_team_t;
typedef struct bb_mp_handle *bb_mp_handle_t;
typedef struct bb_mp_grid *bb_mp_grid_t;
typedef struct bb_mp_matrix *bb_mp_matrix_t;

enum { BB_NCCL_SUCCESS = 0, BB_MP_COLUMN_MAJOR = 0 };

// Entry points as declared in the headers of 0.9.1 and 2.29. Indices of matrices start at 1; blocks
// are square for potrf; a local matrix is column-major.
struct library {
    int (*nccl_version)(int *version);
    int (*create_communicator)(bb_nccl_team_t *members, int count, const int *devices);
    int (*destroy_communicator)(bb_nccl_team_t member);
    const char *(*nccl_reason)(int result);
    cusolverStatus_t (*create)(bb_mp_handle_t *handle, int device, cudaStream_t stream);
    cusolverStatus_t (*destroy)(bb_mp_handle_t handle);
    cusolverStatus_t (*version)(bb_mp_handle_t handle, int *version);
    cusolverStatus_t (*create_grid)(bb_mp_handle_t handle, bb_mp_grid_t *grid,
                                    bb_nccl_team_t member, int32_t rows, int32_t columns,
                                    int mapping);
    cusolverStatus_t (*destroy_grid)(bb_mp_grid_t grid);
    cusolverStatus_t (*create_matrix)(bb_mp_matrix_t *matrix, bb_mp_grid_t grid, cudaDataType type,
                                      int64_t rows, int64_t columns, int64_t row_block,
                                      int64_t column_block, uint32_t row_source,
                                      uint32_t column_source, int64_t stride);
    cusolverStatus_t (*destroy_matrix)(bb_mp_matrix_t matrix);
    int64_t (*count)(int64_t n, int64_t block, uint32_t place, uint32_t source, uint32_t places);
    cusolverStatus_t (*workspace)(bb_mp_handle_t handle, cublasFillMode_t triangle, int64_t n,
                                  const void *values, int64_t row, int64_t column,
                                  bb_mp_matrix_t matrix, cudaDataType type, size_t *bytes,
                                  size_t *host_bytes);
    cusolverStatus_t (*factor)(bb_mp_handle_t handle, cublasFillMode_t triangle, int64_t n,
                               void *values, int64_t row, int64_t column, bb_mp_matrix_t matrix,
                               cudaDataType type, void *workspace, size_t bytes,
                               void *host_workspace, size_t host_bytes, int *info);
};

library loaded;

// Libraries, loaded on first use, so that neither is needed to build or start: NCCL first, because
// cuSOLVERMp is linked to it.
bb_status load()
{
    static const char *const files[2][2] = {{"libnccl.so.2", "libnccl.so"},
                                            {"libcusolverMp.so.0", "libcusolverMp.so"}};
    const struct {
        int file;
        const char *name;
        void *place;
    } calls[] = {{0, "ncclGetVersion", &loaded.nccl_version},
                 {0, "ncclCommInitAll", &loaded.create_communicator},
                 {0, "ncclCommDestroy", &loaded.destroy_communicator},
                 {0, "ncclGetErrorString", &loaded.nccl_reason},
                 {1, "cusolverMpCreate", &loaded.create},
                 {1, "cusolverMpDestroy", &loaded.destroy},
                 {1, "cusolverMpGetVersion", &loaded.version},
                 {1, "cusolverMpCreateDeviceGrid", &loaded.create_grid},
                 {1, "cusolverMpDestroyGrid", &loaded.destroy_grid},
                 {1, "cusolverMpCreateMatrixDesc", &loaded.create_matrix},
                 {1, "cusolverMpDestroyMatrixDesc", &loaded.destroy_matrix},
                 {1, "cusolverMpNUMROC", &loaded.count},
                 {1, "cusolverMpPotrf_bufferSize", &loaded.workspace},
                 {1, "cusolverMpPotrf", &loaded.factor}};
    void *handles[2] = {};
    for (int i = 0; i < 2; ++i) {
        handles[i] = dlopen(files[i][0], RTLD_NOW | RTLD_LOCAL);
        handles[i] =
            handles[i] == nullptr ? dlopen(files[i][1], RTLD_NOW | RTLD_LOCAL) : handles[i];
        if (handles[i] == nullptr) {
            return bb_status_set(
                BB_UNSUPPORTED, __FILE__, __LINE__,
                "cuSOLVERMp is not available (install nvidia-cusolvermp-cu13 and nvidia-nccl-cu13 "
                "from version 2.29 with pip and set LD_LIBRARY_PATH): %s",
                dlerror());
        }
    }
    for (const auto &call : calls) {
        void *address = dlsym(handles[call.file], call.name);
        if (address == nullptr) {
            return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                                 "the installed cuSOLVERMp or NCCL has no %s", call.name);
        }
        memcpy(call.place, &address, sizeof address);
    }
    return BB_OK;
}

enum { GPUS = BB_CUSOLVERMP_GPUS };

// Data of one device, at its position in the grid.
struct part : site {
    bb_cusolvermp_peer *peer;
    int ordinal, row;
    bb_nccl_team_t member;
    bb_mp_handle_t handle;
    bb_mp_grid_t grid;
    bb_mp_matrix_t descriptor;
    bb_index rows; // rows of its column-major values
    void *scale;
    bb_status status; // status of its thread
    bb_status_record record;
};

} // namespace

struct bb_cusolvermp_peer {
    bb_type type;
    bb_index n, block;
    part parts[GPUS];
};

namespace
{

cudaDataType type_of(const bb_cusolvermp_peer *peer)
{
    return peer->type == BB_F64 ? CUDA_R_64F : CUDA_R_32F;
}

size_t value_bytes(const bb_cusolvermp_peer *peer)
{
    return peer->type == BB_F64 ? sizeof(double) : sizeof(float);
}

using step = bb_status (*)(part *p);

struct visit {
    part *place;
    step call;
};

void *make_visit(void *context)
{
    const visit *v = static_cast<const visit *>(context);
    part *p = v->place;
    p->status =
        cudaSetDevice(p->ordinal) == cudaSuccess
            ? v->call(p)
            : bb_status_set(BB_DEVICE, __FILE__, __LINE__, "GPU %d is not available", p->ordinal);
    if (p->status != BB_OK) {
        bb_status_save(&p->record);
    }
    return nullptr;
}

// Runs one thread for each device, the first being the caller's, since the libraries wait for both.
bb_status visit_both(bb_cusolvermp_peer *peer, step call)
{
    static_assert(GPUS == 2, "a second thread that fails to start must leave none waiting");
    visit first = {&peer->parts[0], call};
    visit second = {&peer->parts[1], call};
    pthread_t thread;
    if (pthread_create(&thread, nullptr, make_visit, &second) != 0) {
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "cannot start a thread for the second GPU");
    }
    (void)make_visit(&first);
    (void)pthread_join(thread, nullptr);
    for (const part &p : peer->parts) {
        if (p.status != BB_OK) {
            bb_status_restore(&p.record);
            return p.status;
        }
    }
    return BB_OK;
}

bb_status upload_scale(part *p, const double *scale)
{
    const bb_cusolvermp_peer *peer = p->peer;
    const bb_index n = peer->n;
    const void *values = scale;
    float *narrow = nullptr;
    BB_RETURN_IF_FAILED(bb_device_allocate(p->matrix->device,
                                           static_cast<size_t>(n) * value_bytes(peer), &p->scale));
    if (peer->type == BB_F32) {
        BB_RETURN_IF_FAILED(BB_ALLOCATE(n, &narrow));
        for (bb_index i = 0; i < n; ++i) {
            narrow[i] = static_cast<float>(scale[i]);
        }
        values = narrow;
    }
    bb_status status = bb_device_upload(p->matrix->device, p->scale, values,
                                        static_cast<size_t>(n) * value_bytes(peer));
    status = status == BB_OK ? bb_device_wait(p->matrix->device) : status;
    BB_RELEASE(&narrow);
    return status;
}

// Allocates the memory of one device.
bb_status prepare(part *p, const double *scale)
{
    const bb_cusolvermp_peer *peer = p->peer;
    p->rows = loaded.count(peer->n, peer->block, static_cast<uint32_t>(p->row), 0, GPUS);
    const size_t bytes =
        static_cast<size_t>(p->rows) * static_cast<size_t>(peer->n) * value_bytes(peer);
    BB_RETURN_IF_FAILED(open_site(p, bytes));
    BB_CUDA_TRY(cudaGetDevice(&p->ordinal));
    // Clears the triangle above the diagonal.
    BB_RETURN_IF_FAILED(bb_device_zero(p->matrix->device, p->values, bytes));
    BB_RETURN_IF_FAILED(upload_scale(p, scale));
    BB_CUSOLVER_TRY(loaded.create(&p->handle, p->ordinal, p->stream));
    return BB_OK;
}

bb_status create_communicator(bb_cusolvermp_peer *peer)
{
    int ordinals[GPUS];
    bb_nccl_team_t members[GPUS] = {};
    for (int g = 0; g < GPUS; ++g) {
        ordinals[g] = peer->parts[g].ordinal;
    }
    const int result = loaded.create_communicator(members, GPUS, ordinals);
    if (result != BB_NCCL_SUCCESS) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "ncclCommInitAll: %s",
                             loaded.nccl_reason(result));
    }
    for (int g = 0; g < GPUS; ++g) {
        peer->parts[g].member = members[g];
    }
    return BB_OK;
}

bb_status lay_out(part *p)
{
    const bb_cusolvermp_peer *peer = p->peer;
    const bb_index n = peer->n;
    const bb_index block = peer->block;
    BB_CUSOLVER_TRY(
        loaded.create_grid(p->handle, &p->grid, p->member, GPUS, 1, BB_MP_COLUMN_MAJOR));
    BB_CUSOLVER_TRY(loaded.create_matrix(&p->descriptor, p->grid, type_of(peer), n, n, block, block,
                                         0, 0, p->rows));
    BB_CUSOLVER_TRY(loaded.workspace(p->handle, CUBLAS_FILL_MODE_LOWER, n, p->values, 1, 1,
                                     p->descriptor, type_of(peer), &p->bytes, &p->host_bytes));
    return allocate_workspaces(p);
}

// Fills the blocks of D A D that belong to the device, in the lower triangle. They are
// column-major, which equals rows of the symmetric source.
bb_status fill(const part *p)
{
    const bb_cusolvermp_peer *peer = p->peer;
    const bb_index n = peer->n;
    const bb_index block = peer->block;
    const bb_index bytes = static_cast<bb_index>(value_bytes(peer));
    const char *scale = static_cast<const char *>(p->scale);
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(p->matrix->device, &report)); // as in prepare
    for (bb_index column = 0; column < n; column += block) {
        const bb_index width = n - column < block ? n - column : block;
        for (bb_index r = 0; r < p->rows; r += block) {
            const bb_index row = (r / block * GPUS + p->row) * block;
            const bb_index height = n - row < block ? n - row : block;
            char *values = static_cast<char *>(p->values) + (column * p->rows + r) * bytes;
            if (row < column) {
                continue;
            }
            BB_RETURN_IF_FAILED(bb_device_source_fill(
                p->matrix, bb_stream_queue(p->stream), column, row,
                bb_device_matrix(values, peer->type, width, height, p->rows)));
            BB_RETURN_IF_FAILED(bb_panel_part_scale(
                values, peer->type == BB_F64 ? BB_PANEL_FP64 : BB_PANEL_FP32, width, height,
                p->rows, scale + column * bytes, scale + row * bytes, p->stream));
        }
    }
    BB_CUDA_TRY(cudaMemsetAsync(p->info, 0, sizeof(int), p->stream));
    BB_CUDA_TRY(cudaStreamSynchronize(p->stream));
    return BB_OK;
}

bb_status factor(part *p)
{
    const bb_cusolvermp_peer *peer = p->peer;
    BB_CUDA_TRY(cudaEventRecord(p->begin, p->stream));
    BB_CUSOLVER_TRY(loaded.factor(p->handle, CUBLAS_FILL_MODE_LOWER, peer->n, p->values, 1, 1,
                                  p->descriptor, type_of(peer), p->workspace, p->bytes,
                                  p->host_workspace, p->host_bytes, static_cast<int *>(p->info)));
    return finish_call(p, "cusolverMpPotrf");
}

// Destroys the libraries' objects. Collective.
bb_status destroy_objects(part *p)
{
    if (p->descriptor != nullptr) {
        (void)loaded.destroy_matrix(p->descriptor);
    }
    if (p->grid != nullptr) {
        (void)loaded.destroy_grid(p->grid);
    }
    if (p->handle != nullptr) {
        (void)loaded.destroy(p->handle);
    }
    if (p->member != nullptr) {
        (void)loaded.destroy_communicator(p->member);
    }
    return BB_OK;
}

bb_status open(bb_cusolvermp_peer *peer, const double *scale)
{
    for (part &p : peer->parts) {
        BB_RETURN_IF_FAILED(prepare(&p, scale));
    }
    BB_RETURN_IF_FAILED(create_communicator(peer));
    return visit_both(peer, lay_out);
}

} // namespace

extern "C" bb_status bb_cusolvermp_peer_create(const bb_device_source *const matrices[GPUS],
                                               const double *scale, bb_type type, bb_index block,
                                               bb_cusolvermp_peer **out)
{
    bb_cusolvermp_peer *peer = nullptr;
    *out = nullptr;
    BB_RETURN_IF_FAILED(load());
    BB_RETURN_IF_FAILED(BB_ZEROED(1, &peer));
    peer->type = type;
    peer->block = block;
    peer->n = matrices[0]->rows;
    for (int g = 0; g < GPUS; ++g) {
        peer->parts[g].peer = peer;
        peer->parts[g].matrix = matrices[g];
        peer->parts[g].row = g;
    }
    bb_status status = open(peer, scale);
    if (status != BB_OK) {
        bb_cusolvermp_peer_destroy(&peer);
    }
    *out = peer;
    return status;
}

extern "C" void bb_cusolvermp_peer_destroy(bb_cusolvermp_peer **peer)
{
    if (*peer == nullptr) {
        return;
    }
    (void)visit_both(*peer, destroy_objects);
    for (part &p : (*peer)->parts) {
        bb_device_release(p.matrix->device, &p.scale);
        close_site(&p);
    }
    BB_RELEASE(peer);
}

extern "C" bb_status bb_cusolvermp_peer_factor(bb_cusolvermp_peer *peer, double *seconds)
{
    *seconds = 0.0;
    for (const part &p : peer->parts) {
        BB_RETURN_IF_FAILED(fill(&p));
    }
    BB_RETURN_IF_FAILED(visit_both(peer, factor));
    for (const part &p : peer->parts) {
        *seconds = p.seconds > *seconds ? p.seconds : *seconds;
    }
    return BB_OK;
}

extern "C" bb_status bb_cusolvermp_peer_pivots(const bb_cusolvermp_peer *peer, double *out)
{
    const bb_index n = peer->n;
    const bb_index block = peer->block;
    const size_t bytes = value_bytes(peer);
    for (bb_index first = 0; first < n; first += block) {
        const bb_index k = first / block;
        const part &p = peer->parts[k % GPUS];
        const bb_index size = n - first < block ? n - first : block;
        const char *values = static_cast<const char *>(p.values) +
                             (first * p.rows + k / GPUS * block) * static_cast<bb_index>(bytes);
        // One pivot for each row: their stride is a column plus a value.
        BB_CUDA_TRY(cudaMemcpy2D(out + first, sizeof(double), values,
                                 static_cast<size_t>(p.rows + 1) * bytes, bytes,
                                 static_cast<size_t>(size), cudaMemcpyDeviceToHost));
    }
    for (bb_index i = 0; peer->type == BB_F32 && i < n; ++i) {
        float narrow = 0.0F;
        memcpy(&narrow, out + i, sizeof narrow);
        out[i] = static_cast<double>(narrow);
    }
    return BB_OK;
}

extern "C" void bb_cusolvermp_peer_versions(const bb_cusolvermp_peer *peer, int *solver, int *nccl)
{
    *solver = 0;
    *nccl = 0;
    (void)loaded.version(peer->parts[0].handle, solver);
    (void)loaded.nccl_version(nccl);
}
