// SPDX-License-Identifier: Apache-2.0
//
// Compute devices: one operations table each, the same calls for all. The cpu device is always
// available and is the reference. The cuda device is available if the build found nvcc and the host
// has a driver and a GPU. OpenCL devices come from the host's OpenCL loader, in builds that found
// its headers, and `auto` never selects them; BB_OPENCL_DEVICE in the environment selects those
// whose name, or platform name, contains its value. Requesting a missing device is an error that
// gives the reason; there is no fallback.
//
// Some cuda kernels have two versions: one with instructions of sm_90 (Hopper), used on GPUs of
// compute capability 9.0 if the build has code for architecture 90a, and a portable one for sm_80
// and later. BB_CUDA_PORTABLE=1 in the environment selects the portable version everywhere. Reports
// name the version.
//
// A kernel family is a bb_kernel: its cpu version (the reference) next to those for other devices.
#ifndef BB_CORE_DEVICE_DEVICE_H
#define BB_CORE_DEVICE_DEVICE_H

#include "core/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_device_kind {
    BB_DEVICE_CPU,
    BB_DEVICE_CUDA,
    BB_DEVICE_OPENCL,
    BB_DEVICE_KIND_COUNT,
    BB_DEVICE_AUTO = BB_DEVICE_KIND_COUNT, ///< not a kind: selects the best suitable device
} bb_device_kind;

/// NULL-terminated words in the order of the enum: "cpu", "cuda", "opencl", "auto".
extern const char *const bb_device_names[];

/// Description of a device.
typedef struct bb_device_report {
    char name[128];
    char driver[64];       ///< driver and runtime versions; "" on the cpu
    char architecture[32]; ///< "sm_90", "x86_64", "cpu GenuineIntel"
    char kernels[16];      ///< version of kernels that have two, "sm_90" or
                           ///< "portable"; "" on the cpu, in OpenCL
    char bus[32];          ///< PCI address of a GPU, "00000000:3B:00.0"; "" on the cpu, in OpenCL
    size_t memory_bytes;   ///< total memory
    size_t free_memory_bytes; ///< currently free memory
    bb_index units;           ///< processors, or streaming multiprocessors
} bb_device_report;

/// A device's command queue, opaque: a stream on cuda; NULL on the cpu.
typedef struct bb_queue bb_queue;

/// Computes items [begin, end) of a kernel. On the cpu several threads call it with ranges; a
/// device queues all items, from 0, in one call that does not wait. `arguments` holds device
/// addresses.
typedef bb_status (*bb_kernel_run)(bb_queue *queue, bb_index begin, bb_index end, void *arguments);

/// Work over independent items, with one implementation per supported device.
typedef struct bb_kernel {
    const char *name;
    bb_index grain;                          ///< items of one range on the cpu
    bb_kernel_run run[BB_DEVICE_KIND_COUNT]; ///< NULL if not implemented
} bb_kernel;

/// The cuda version of a kernel, NULL in a build without CUDA.
#ifdef BB_HAVE_CUDA
#define BB_CUDA_TWIN(function) (function)
#else
#define BB_CUDA_TWIN(function) NULL
#endif

/// The OpenCL version, NULL in a build without its headers.
#ifdef BB_HAVE_OPENCL
#define BB_OPENCL_TWIN(function) (function)
#else
#define BB_OPENCL_TWIN(function) NULL
#endif

typedef struct bb_device bb_device;

/// Operations table of one kind of device. `state` comes from `open`.
typedef struct bb_device_ops {
    bb_space space;
    /// Returns the number of devices; if there is none, writes one sentence with the reason.
    bb_index (*count)(char *reason, size_t reason_bytes);
    bb_status (*open)(bb_index ordinal, void **state);
    void (*close)(void **state);
    bb_status (*report)(void *state, bb_device_report *out);
    bb_status (*allocate)(void *state, size_t bytes, void **out);
    void (*release)(void *state, void **block);
    bb_status (*fill_zero)(void *state, void *block, size_t bytes);
    bb_status (*upload)(void *state, void *target, const void *from_host, size_t bytes);
    bb_status (*download)(void *state, void *to_host, const void *source, size_t bytes);
    bb_status (*fetch)(void *state, void *to_host, const void *source, size_t bytes);
    /// Allocates host memory that the device accesses directly; NULL: no kind is faster than
    /// another.
    bb_status (*host_allocate)(void *state, size_t bytes, void **out);
    void (*host_release)(void *state, void **block);
    bb_status (*host_lock)(void *state, void *block, size_t bytes); ///< NULL: not needed
    void (*host_unlock)(void *state, void *block);
    bb_status (*launch)(void *state, const bb_kernel *kernel, bb_index items, void *arguments);
    bb_status (*wait)(void *state);
    bool (*is_idle)(void *state); ///< NULL: queued work is complete, or unknown
    /// Records a time stamp in the device's queue; elapsed is the time between two stamps, in
    /// seconds.
    bb_status (*mark)(void *state, int which);
    bb_status (*elapsed)(void *state, double *seconds);
    /// Whether the device is the host's processors; NULL: false.
    bool (*is_processor)(void *state);
    /// Work queued between the two calls is recorded in `*graph` instead of executed. NULL:
    /// unsupported.
    bb_status (*record_start)(void *state);
    bb_status (*record_stop)(void *state, void **graph);
    bb_status (*replay)(void *state, void *graph);
    void (*forget)(void *state, void **graph);
} bb_device_ops;

extern const bb_device_ops bb_device_cpu_ops;
extern const bb_device_ops bb_device_cuda_ops;   ///< in builds with CUDA
extern const bb_device_ops bb_device_opencl_ops; ///< in builds with OpenCL's headers

/// Returns the number of devices of a kind on this host; if none, `reason` (may be NULL) receives a
/// sentence.
bb_index bb_device_count(bb_device_kind kind, char *reason, size_t reason_bytes);

/// Opens device `ordinal` of a kind. Errors: BB_DEVICE with the reason if it is missing, BB_MEMORY.
/// Owner: the caller, who closes it after releasing its memory.
BB_CHECKED bb_status bb_device_open(bb_device_kind kind, bb_index ordinal, bb_device **out);
void bb_device_close(bb_device **device);

bb_device_kind bb_device_kind_of(const bb_device *device);

/// Returns whether the device is the host's processors: true for the cpu device and OpenCL devices
/// of type CPU.
bool bb_device_is_processor(const bb_device *device);

/// State created by `open` of its table, for core/device only.
void *bb_device_state(const bb_device *device);

BB_CHECKED bb_status bb_device_describe(bb_device *device, bb_device_report *out);

/// Allocates device memory, contents undefined. Errors: BB_MEMORY with the requested and free
/// bytes.
BB_CHECKED bb_status bb_device_allocate(bb_device *device, size_t bytes, void **out);
void bb_device_release(bb_device *device, void **block);
BB_CHECKED bb_status bb_device_zero(bb_device *device, void *block, size_t bytes);

/// Allocates host memory with the fastest copies to and from the device: page-locked on cuda, from
/// any thread; plain elsewhere. Contents undefined. Errors: BB_MEMORY. Owner: the caller, who
/// releases it through the same device once no copy uses it.
BB_CHECKED bb_status bb_device_host_allocate(bb_device *device, size_t bytes, void **out);
void bb_device_host_release(bb_device *device, void **block);

/// Page-locks a block of bb_memory_allocate on cuda, so that its copies are as fast as those of
/// bb_device_host_allocate; does nothing elsewhere. For gigabytes: all threads touch the pages,
/// which are huge pages, whereas a driver allocation touches small pages in one thread. Contents
/// are undefined afterwards. Call from the thread that starts loops. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_device_host_lock(bb_device *device, void *block, size_t bytes);

/// Unlocks a block before it is released, once no copy uses it. Ignores NULL and blocks that are
/// not locked.
void bb_device_host_unlock(bb_device *device, void *block);

/// Copy between host and device memory, in the device's queue. An upload borrows memory of
/// bb_device_host_allocate until a later wait; other memory may be reused on return. A download
/// waits for its copy. A fetch returns at once: its bytes are valid after the next wait, and it
/// borrows the memory until then. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_device_upload(bb_device *device, void *target, const void *from_host,
                                      size_t bytes);
BB_CHECKED bb_status bb_device_download(bb_device *device, void *to_host, const void *source,
                                        size_t bytes);
BB_CHECKED bb_status bb_device_fetch(bb_device *device, void *to_host, const void *source,
                                     size_t bytes);

/// Allocates device memory and copies `bytes` of host memory to it, in the device's queue. Errors:
/// those of bb_device_allocate and bb_device_upload. Owner of `*out`: the caller, on failure too.
BB_CHECKED bb_status bb_device_allocate_copy(bb_device *device, const void *from_host, size_t bytes,
                                             void **out);

/// Runs a kernel over `items` items. Errors: BB_UNSUPPORTED if the kernel is not implemented on
/// this device, BB_DEVICE if the launch fails.
BB_CHECKED bb_status bb_device_launch(bb_device *device, const bb_kernel *kernel, bb_index items,
                                      void *arguments);

/// A sequence of device work that is queued repeatedly.
typedef struct bb_device_graph bb_device_graph;

/// Runs work(context) once, so that its kernels are compiled and its memory is allocated, then
/// records it. If the device can record (cuda), a replay is one call and does not call `work`;
/// elsewhere a replay calls it. `work` must queue the same launches and zeroing on the same memory
/// every time, without host copies or waits. Its operands must outlive the graph. Errors: those of
/// `work`, BB_DEVICE, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_device_graph_create(bb_device *device, bb_status (*work)(void *context),
                                            void *context, bb_device_graph **out);
void bb_device_graph_destroy(bb_device_graph **graph);

/// Queues the work on the device. Errors: from `work` if it is called, BB_DEVICE.
BB_CHECKED bb_status bb_device_graph_replay(bb_device_graph *graph);

/// Waits for all work; returns the error of earlier work, if any.
BB_CHECKED bb_status bb_device_wait(bb_device *device);

/// Returns whether a wait would return at once; true also where the device cannot tell.
bool bb_device_is_idle(const bb_device *device);

/// Times the work between start and stop, measured on the device.
BB_CHECKED bb_status bb_device_timer_start(bb_device *device);
BB_CHECKED bb_status bb_device_timer_stop(bb_device *device, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
