// SPDX-License-Identifier: Apache-2.0
//
// The cuda device: counterpart of device_cpu.c. One stream per open device; copies and launches run
// in its order. Every call and launch is checked.
#include "core/device/device.h"
#include "core/device/device_cuda.h"
#include "core/memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace
{

struct cuda_state {
    int ordinal;
    cudaStream_t stream;
    cudaEvent_t marks[2];
    cudaDeviceProp properties; // queried once: it takes a millisecond
};

cuda_state *as_cuda(void *state)
{
    return static_cast<cuda_state *>(state);
}

// Cache of released blocks of a GPU, reused for allocations of nearly their size: the driver takes
// milliseconds to map or unmap gigabytes. They are freed when another allocation fails, when free
// memory is queried, and with the last device.
constexpr size_t least_kept = size_t{1} << 20;
constexpr size_t most_kept = size_t{4} << 30; // bytes of a block
constexpr size_t share_kept = 12;             // at most 1/12 of a GPU's memory
constexpr int most_gpus = 64;

struct gpu_blocks {
    std::mutex lock;
    int devices; // number of open devices
    std::map<void *, size_t> live;
    std::multimap<size_t, void *> kept;
    size_t kept_bytes;
};
gpu_blocks blocks_of[most_gpus];

// Frees the cached blocks. Call with the lock held and the GPU current.
void trim(gpu_blocks *blocks)
{
    for (const auto &block : blocks->kept) {
        (void)cudaFree(block.second);
    }
    blocks->kept.clear();
    blocks->kept_bytes = 0;
}

// Gets a cached block of at least `bytes` and at most an eighth more.
void *take_kept(gpu_blocks *blocks, size_t bytes)
{
    const auto found = blocks->kept.lower_bound(bytes);
    if (found == blocks->kept.end() || found->first > bytes + bytes / 8) {
        return nullptr;
    }
    void *block = found->second;
    blocks->live[block] = found->first;
    blocks->kept_bytes -= found->first;
    blocks->kept.erase(found);
    return block;
}

// Caches a released block; returns whether it was cached. Nothing may still use the block, as after
// cudaFree.
bool keep(gpu_blocks *blocks, size_t all_kept, void *block)
{
    const auto found = blocks->live.find(block);
    if (found == blocks->live.end()) {
        return false;
    }
    const size_t bytes = found->second;
    blocks->live.erase(found);
    if (bytes > most_kept || blocks->kept_bytes + bytes > all_kept ||
        cudaDeviceSynchronize() != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    blocks->kept.emplace(bytes, block);
    blocks->kept_bytes += bytes;
    return true;
}

bb_index cuda_count(char *reason, size_t reason_bytes)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    // Without a driver the error is 35 (insufficient driver), without a device 100: both mean no
    // GPU.
    if (error != cudaSuccess) {
        (void)std::snprintf(reason, reason_bytes, "%s (CUDA error %d)", cudaGetErrorString(error),
                            static_cast<int>(error));
        (void)cudaGetLastError();
        return 0;
    }
    (void)std::snprintf(reason, reason_bytes, "%s", count > 0 ? "" : "no GPU on this host");
    return count;
}

void cuda_close(void **state)
{
    cuda_state *cuda = as_cuda(*state);
    if (cuda == nullptr) {
        return;
    }
    for (cudaEvent_t mark : cuda->marks) {
        if (mark != nullptr) {
            (void)cudaEventDestroy(mark);
        }
    }
    if (cuda->stream != nullptr) {
        (void)cudaStreamDestroy(cuda->stream);
    }
    gpu_blocks *blocks = &blocks_of[cuda->ordinal];
    {
        const std::lock_guard<std::mutex> locked(blocks->lock);
        if (--blocks->devices == 0) {
            (void)cudaSetDevice(cuda->ordinal);
            trim(blocks);
        }
    }
    bb_memory_release(state);
}

bb_status start_device(cuda_state *cuda)
{
    BB_CUDA_TRY(cudaSetDevice(cuda->ordinal));
    BB_CUDA_TRY(cudaGetDeviceProperties(&cuda->properties, cuda->ordinal));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking));
    BB_CUDA_TRY(cudaEventCreate(&cuda->marks[0]));
    BB_CUDA_TRY(cudaEventCreate(&cuda->marks[1]));
    return BB_OK;
}

bb_status cuda_open(bb_index ordinal, void **state)
{
    if (ordinal >= most_gpus) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "GPU %td, expected under %d",
                             ordinal, most_gpus);
    }
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(cuda_state), state));
    as_cuda(*state)->ordinal = static_cast<int>(ordinal);
    {
        const std::lock_guard<std::mutex> locked(blocks_of[ordinal].lock);
        ++blocks_of[ordinal].devices;
    }
    bb_status status = start_device(as_cuda(*state));
    if (status != BB_OK) {
        cuda_close(state);
    }
    return status;
}

bb_status cuda_report(void *state, bb_device_report *out)
{
    const cudaDeviceProp &properties = as_cuda(state)->properties;
    gpu_blocks *blocks = &blocks_of[as_cuda(state)->ordinal];
    int driver = 0;
    int runtime = 0;
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    BB_CUDA_TRY(cudaDriverGetVersion(&driver));
    BB_CUDA_TRY(cudaRuntimeGetVersion(&runtime));
    *out = bb_device_report{};
    (void)std::snprintf(out->name, sizeof out->name, "%.127s", properties.name);
    (void)std::snprintf(out->driver, sizeof out->driver, "driver CUDA %d.%d, runtime %d.%d",
                        driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    (void)std::snprintf(out->architecture, sizeof out->architecture, "sm_%d%d", properties.major,
                        properties.minor);
    bool hopper = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&hopper));
    (void)std::snprintf(out->kernels, sizeof out->kernels, "%s", hopper ? "sm_90" : "portable");
    BB_CUDA_TRY(cudaDeviceGetPCIBusId(out->bus, sizeof out->bus, as_cuda(state)->ordinal));
    BB_CUDA_TRY(cudaMemGetInfo(&out->free_memory_bytes, &out->memory_bytes));
    {
        const std::lock_guard<std::mutex> locked(blocks->lock);
        out->free_memory_bytes += blocks->kept_bytes;
    }
    out->units = properties.multiProcessorCount;
    return BB_OK;
}

bb_status cuda_allocate(void *state, size_t bytes, void **out)
{
    *out = nullptr;
    if (bytes == 0) {
        return BB_OK;
    }
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    gpu_blocks *blocks = &blocks_of[as_cuda(state)->ordinal];
    const std::lock_guard<std::mutex> locked(blocks->lock);
    if (bytes >= least_kept) {
        *out = take_kept(blocks, bytes);
        if (*out != nullptr) {
            return BB_OK;
        }
    }
    cudaError_t error = cudaMalloc(out, bytes);
    if (error == cudaErrorMemoryAllocation && !blocks->kept.empty()) {
        (void)cudaGetLastError();
        trim(blocks);
        error = cudaMalloc(out, bytes);
    }
    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0;
        size_t total = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&available, &total);
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "GPU memory exhausted: %zu bytes requested, %zu of %zu free", bytes,
                             available, total);
    }
    BB_CUDA_TRY(error);
    if (bytes >= least_kept) {
        blocks->live[*out] = bytes;
    }
    return BB_OK;
}

void cuda_release(void *state, void **block)
{
    gpu_blocks *blocks = &blocks_of[as_cuda(state)->ordinal];
    (void)cudaSetDevice(as_cuda(state)->ordinal);
    const std::lock_guard<std::mutex> locked(blocks->lock);
    if (*block != nullptr &&
        !keep(blocks, as_cuda(state)->properties.totalGlobalMem / share_kept, *block)) {
        (void)cudaFree(*block);
    }
    *block = nullptr;
}

bb_status cuda_zero(void *state, void *block, size_t bytes)
{
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    BB_CUDA_TRY(cudaMemsetAsync(block, 0, bytes, as_cuda(state)->stream));
    return BB_OK;
}

bb_status cuda_upload(void *state, void *target, const void *source, size_t bytes)
{
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    BB_CUDA_TRY(
        cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, as_cuda(state)->stream));
    return BB_OK;
}

bb_status cuda_fetch(void *state, void *target, const void *source, size_t bytes)
{
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    BB_CUDA_TRY(
        cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, as_cuda(state)->stream));
    return BB_OK;
}

bb_status cuda_download(void *state, void *target, const void *source, size_t bytes)
{
    BB_RETURN_IF_FAILED(cuda_fetch(state, target, source, bytes));
    BB_CUDA_TRY(cudaStreamSynchronize(as_cuda(state)->stream));
    return BB_OK;
}

// Allocates memory that is page-locked for all contexts: copies from and to it overlap with
// kernels.
bb_status cuda_host_allocate(void *state, size_t bytes, void **out)
{
    *out = nullptr;
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    const cudaError_t error = cudaHostAlloc(out, bytes > 0 ? bytes : 1, cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "no page-locked memory left: %zu bytes requested", bytes);
    }
    BB_CUDA_TRY(error);
    return BB_OK;
}

void cuda_host_release(void *state, void **block)
{
    (void)cudaSetDevice(as_cuda(state)->ordinal);
    (void)cudaFreeHost(*block);
    *block = nullptr;
}

bb_status cuda_host_lock(void *state, void *block, size_t bytes)
{
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    const cudaError_t error = cudaHostRegister(block, bytes, cudaHostRegisterPortable);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "no more memory can be page-locked: %zu bytes requested", bytes);
    }
    BB_CUDA_TRY(error);
    return BB_OK;
}

void cuda_host_unlock(void *state, void *block)
{
    (void)cudaSetDevice(as_cuda(state)->ordinal);
    if (cudaHostUnregister(block) != cudaSuccess) {
        (void)cudaGetLastError(); // the block was not locked
    }
}

bb_status cuda_launch(void *state, const bb_kernel *kernel, bb_index items, void *arguments)
{
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    return kernel->run[BB_DEVICE_CUDA](bb_stream_queue(as_cuda(state)->stream), 0, items,
                                       arguments);
}

bb_status cuda_wait(void *state)
{
    BB_CUDA_TRY(cudaStreamSynchronize(as_cuda(state)->stream));
    return BB_OK;
}

// The next wait reports an error.
bool cuda_is_idle(void *state)
{
    const bool is_idle = cudaStreamQuery(as_cuda(state)->stream) != cudaErrorNotReady;
    if (!is_idle) {
        (void)cudaGetLastError(); // busy is not an error
    }
    return is_idle;
}

bb_status cuda_mark(void *state, int which)
{
    BB_CUDA_TRY(cudaEventRecord(as_cuda(state)->marks[which], as_cuda(state)->stream));
    return BB_OK;
}

bb_status cuda_elapsed(void *state, double *seconds)
{
    float milliseconds = 0.0F;
    BB_CUDA_TRY(cudaEventSynchronize(as_cuda(state)->marks[1]));
    BB_CUDA_TRY(
        cudaEventElapsedTime(&milliseconds, as_cuda(state)->marks[0], as_cuda(state)->marks[1]));
    *seconds = 1e-3 * static_cast<double>(milliseconds);
    return BB_OK;
}

// Captures the work of this thread only: other threads may use their own devices.
bb_status cuda_record_start(void *state)
{
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    BB_CUDA_TRY(cudaStreamBeginCapture(as_cuda(state)->stream, cudaStreamCaptureModeThreadLocal));
    return BB_OK;
}

bb_status cuda_record_stop(void *state, void **graph)
{
    cudaGraph_t noted = nullptr;
    cudaGraphExec_t ready = nullptr;
    BB_CUDA_TRY(cudaStreamEndCapture(as_cuda(state)->stream, &noted));
    const cudaError_t error = cudaGraphInstantiateWithFlags(&ready, noted, 0);
    (void)cudaGraphDestroy(noted);
    BB_CUDA_TRY(error);
    *graph = ready;
    return BB_OK;
}

bb_status cuda_replay(void *state, void *graph)
{
    BB_CUDA_TRY(cudaSetDevice(as_cuda(state)->ordinal));
    BB_CUDA_TRY(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), as_cuda(state)->stream));
    return BB_OK;
}

void cuda_forget(void *state, void **graph)
{
    (void)cudaSetDevice(as_cuda(state)->ordinal);
    (void)cudaStreamSynchronize(as_cuda(state)->stream); // work may still be running
    (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(*graph));
    *graph = nullptr;
}

// Returns whether the build has code for sm_90a, which the sm_90 kernels need.
#ifdef BB_CUDA_HAS_HOPPER
const bool has_hopper = true;
#else
const bool has_hopper = false;
#endif

// Returns the environment variable's value at its first use.
const char *portable_wish()
{
    static const char *const wish = std::getenv("BB_CUDA_PORTABLE");
    return wish != nullptr && wish[0] != '\0' ? wish : "0";
}

} // namespace

bb_status bb_device_cuda_uses_hopper(bool *out)
{
    const char *wish = portable_wish();
    int device = 0;
    int major = 0;
    int minor = 0;
    if (std::strcmp(wish, "0") != 0 && std::strcmp(wish, "1") != 0) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "BB_CUDA_PORTABLE=%s in the environment, expected 0 or 1", wish);
    }
    BB_CUDA_TRY(cudaGetDevice(&device));
    BB_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    BB_CUDA_TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    if (major < 8) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "this GPU is sm_%d%d, expected sm_80 (Ampere) or later", major, minor);
    }
    *out = has_hopper && major == 9 && minor == 0 && wish[0] == '0';
    return BB_OK;
}

void bb_device_cuda_trim(void)
{
    int device = 0;
    if (cudaGetDevice(&device) == cudaSuccess && device < most_gpus) {
        const std::lock_guard<std::mutex> locked(blocks_of[device].lock);
        trim(&blocks_of[device]);
    }
}

extern "C" const bb_device_ops bb_device_cuda_ops = {
    BB_SPACE_CUDA, cuda_count,         cuda_open,         cuda_close,     cuda_report,
    cuda_allocate, cuda_release,       cuda_zero,         cuda_upload,    cuda_download,
    cuda_fetch,    cuda_host_allocate, cuda_host_release, cuda_host_lock, cuda_host_unlock,
    cuda_launch,   cuda_wait,          cuda_is_idle,      cuda_mark,      cuda_elapsed,
    nullptr,       cuda_record_start,  cuda_record_stop,  cuda_replay,    cuda_forget,
};
