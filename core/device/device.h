// SPDX-License-Identifier: Apache-2.0
//
// Devices that compute: one operations table each, the same calls for all. The cpu device is always
// there and is the reference; the cuda device is there where the build found nvcc and the host has
// a driver and a GPU; opencl devices are those of the host's OpenCL loader, in a build that found
// its headers, and are never chosen by `auto`. The environment's BB_OPENCL_DEVICE keeps those whose
// name, or their platform's, has that part. Asking for a device that is absent is an error that
// says why; nothing falls back.
//
// Some cuda kernels have two forms: one of sm_90's own instructions (Hopper), which a GPU of
// compute capability 9.0 takes where the build has code for it (an architecture 90a), and a
// portable one of sm_80 and later, which the others take. BB_CUDA_PORTABLE=1 in the environment
// makes all take the portable one. A report says which.
//
// A kernel family is a bb_kernel: its form on the cpu (the law) and those on other devices side
// by side.
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
    BB_DEVICE_AUTO = BB_DEVICE_KIND_COUNT, ///< a wish, no kind: the best one that can do the work
} bb_device_kind;

/// NULL-terminated words in the order of the enum: "cpu", "cuda", "opencl", "auto".
extern const char *const bb_device_names[];

/// What a device says of itself.
typedef struct bb_device_report {
    char name[128];
    char driver[64];       ///< driver and runtime versions; "" on the cpu
    char architecture[32]; ///< "sm_90", "x86_64", "cpu GenuineIntel"
    char kernels[16];      ///< which kernels it takes where there are two forms of one, "sm_90" or
                           ///< "portable"; "" on the cpu, in OpenCL
    char bus[32];          ///< where a GPU sits, "00000000:3B:00.0"; "" on the cpu, in OpenCL
    size_t memory_bytes;   ///< in all
    size_t free_memory_bytes; ///< now
    bb_index units;           ///< processors, or streaming multiprocessors
} bb_device_report;

/// A device's order of work, opaque: a stream of its vendor; NULL on the cpu.
typedef struct bb_queue bb_queue;

/// Computes items [begin, end) of a kernel. On the cpu it is called for ranges, by several threads;
/// a device queues all items, from 0, in one call that does not wait. `arguments` holds addresses
/// of the device.
typedef bb_status (*bb_kernel_run)(bb_queue *queue, bb_index begin, bb_index end, void *arguments);

/// Work over independent items, on each device that has a form of it.
typedef struct bb_kernel {
    const char *name;
    bb_index grain;                          ///< items of one range on the cpu
    bb_kernel_run run[BB_DEVICE_KIND_COUNT]; ///< NULL where there is none
} bb_kernel;

/// The cuda twin of a kernel, NULL in a build without CUDA.
#ifdef BB_HAVE_CUDA
#define BB_CUDA_TWIN(function) (function)
#else
#define BB_CUDA_TWIN(function) NULL
#endif

/// The same of OpenCL, NULL in a build without its headers.
#ifdef BB_HAVE_OPENCL
#define BB_OPENCL_TWIN(function) (function)
#else
#define BB_OPENCL_TWIN(function) NULL
#endif

typedef struct bb_device bb_device;

/// The table of one kind of device. `state` is what `open` made.
typedef struct bb_device_ops {
    bb_space space;
    /// Devices present; with none, writes one sentence that says why.
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
    /// Memory of the host's that the device reads and writes by itself; NULL: any is as good.
    bb_status (*host_allocate)(void *state, size_t bytes, void **out);
    void (*host_release)(void *state, void **block);
    bb_status (*host_lock)(void *state, void *block, size_t bytes); ///< NULL: as above
    void (*host_unlock)(void *state, void *block);
    bb_status (*launch)(void *state, const bb_kernel *kernel, bb_index items, void *arguments);
    bb_status (*wait)(void *state);
    bool (*is_idle)(void *state); ///< NULL: work is done when it is queued, or nobody knows
    /// Marks a moment in the device's order of work; elapsed is between two marks, in seconds.
    bb_status (*mark)(void *state, int which);
    bb_status (*elapsed)(void *state, double *seconds);
    /// NULL: it does not.
    bool (*is_processor)(void *state);
    /// Work that is queued between the two is noted in `*graph` and not done; NULL: it cannot be.
    bb_status (*record_start)(void *state);
    bb_status (*record_stop)(void *state, void **graph);
    bb_status (*replay)(void *state, void *graph);
    void (*forget)(void *state, void **graph);
} bb_device_ops;

extern const bb_device_ops bb_device_cpu_ops;
extern const bb_device_ops bb_device_cuda_ops;   ///< of builds with CUDA
extern const bb_device_ops bb_device_opencl_ops; ///< of builds with OpenCL's headers

/// Devices of a kind on this host; with none, `reason` (may be NULL) gets a sentence.
bb_index bb_device_count(bb_device_kind kind, char *reason, size_t reason_bytes);

/// Opens device `ordinal` of a kind. Errors: BB_DEVICE with the reason where it is absent,
/// BB_MEMORY. Owner: the caller, who closes it after releasing its memory.
BB_CHECKED bb_status bb_device_open(bb_device_kind kind, bb_index ordinal, bb_device **out);
void bb_device_close(bb_device **device);

bb_device_kind bb_device_kind_of(const bb_device *device);

/// Whether the host's processors compute: of the cpu device, and of an OpenCL device that says so.
bool bb_device_is_processor(const bb_device *device);

/// What `open` of its table made, for core/device alone.
void *bb_device_state(const bb_device *device);

BB_CHECKED bb_status bb_device_describe(bb_device *device, bb_device_report *out);

/// Device memory, contents undefined. Errors: BB_MEMORY with the bytes asked for and free.
BB_CHECKED bb_status bb_device_allocate(bb_device *device, size_t bytes, void **out);
void bb_device_release(bb_device *device, void **block);
BB_CHECKED bb_status bb_device_zero(bb_device *device, void *block, size_t bytes);

/// Memory of the host's that copies to and from the device are quickest with: page-locked on cuda,
/// from any thread, plain elsewhere; contents undefined. Errors: BB_MEMORY. Owner: the caller, who
/// releases it by the same device when no copy uses it any more.
BB_CHECKED bb_status bb_device_host_allocate(bb_device *device, size_t bytes, void **out);
void bb_device_host_release(bb_device *device, void **block);

/// Makes copies between a block of bb_memory_allocate and the device as quick as those of
/// bb_device_host_allocate: page-locks it on cuda, does nothing elsewhere. For gigabytes: all
/// threads touch the pages, which are large ones, where a driver that makes its own touches small
/// ones by one thread. Contents are undefined afterwards. From the thread that starts loops.
/// Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_device_host_lock(bb_device *device, void *block, size_t bytes);

/// Before the block is released, when no copy uses it any more; a block that is not locked, or
/// NULL, is left alone.
void bb_device_host_unlock(bb_device *device, void *block);

/// Copies between host and device memory, in the device's order of work. Of an upload, memory of
/// bb_device_host_allocate is borrowed until a wait behind it; other memory is free on return. A
/// download waits for its copy; a fetch does not: the bytes are there after the next wait, and the
/// memory is borrowed until then. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_device_upload(bb_device *device, void *target, const void *from_host,
                                      size_t bytes);
BB_CHECKED bb_status bb_device_download(bb_device *device, void *to_host, const void *source,
                                        size_t bytes);
BB_CHECKED bb_status bb_device_fetch(bb_device *device, void *to_host, const void *source,
                                     size_t bytes);

/// Device memory with a copy of `bytes` of the host's, in the device's order of work. Errors: those
/// of bb_device_allocate and bb_device_upload. Owner of `*out`: the caller, on failure too.
BB_CHECKED bb_status bb_device_allocate_copy(bb_device *device, const void *from_host, size_t bytes,
                                             void **out);

/// Runs a kernel over `items` items. Errors: BB_UNSUPPORTED where the kernel has no form on this
/// device, BB_DEVICE where the launch fails.
BB_CHECKED bb_status bb_device_launch(bb_device *device, const bb_kernel *kernel, bb_index items,
                                      void *arguments);

/// A sequence of work on a device that is queued again and again.
typedef struct bb_device_graph bb_device_graph;

/// Does work(context) once, so that what it needs is compiled and allocated, and notes its order.
/// Where the device can record (cuda), a replay is then one call for all of it and `work` is not
/// called again; elsewhere a replay calls it. Either way it queues the same on the same memory
/// every time: launches and zeroing, no copy from or to the host, no wait; what it works on and by
/// outlives the graph. Errors: those of `work`, BB_DEVICE, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_device_graph_create(bb_device *device, bb_status (*work)(void *context),
                                            void *context, bb_device_graph **out);
void bb_device_graph_destroy(bb_device_graph **graph);

/// Queues the work in the device's order. Errors: those of `work` where it is called, BB_DEVICE.
BB_CHECKED bb_status bb_device_graph_replay(bb_device_graph *graph);

/// Waits for all work; a failure of earlier work is returned here.
BB_CHECKED bb_status bb_device_wait(bb_device *device);

/// Whether a wait would find all work done, or may be asked for at once where the device cannot
/// tell.
bool bb_device_is_idle(const bb_device *device);

/// Time of the work between the two marks, measured on the device.
BB_CHECKED bb_status bb_device_timer_start(bb_device *device);
BB_CHECKED bb_status bb_device_timer_stop(bb_device *device, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
