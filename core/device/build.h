// SPDX-License-Identifier: Apache-2.0
//
// Source text compiled for a device while the program runs: C by the host's `cc`, OpenCL C by the
// device's own compiler, CUDA by NVRTC. Compilers and vendor libraries are located at their first
// use: neither building nor starting the program needs one.
#ifndef BB_CORE_DEVICE_BUILD_H
#define BB_CORE_DEVICE_BUILD_H

#include "core/device/device.h"

/// Compiled source of one device.
typedef struct bb_build bb_build;

/// One argument of a launch: a block of device memory, or a scalar passed by value. All NULL: a
/// block of no bytes.
typedef struct bb_launch_argument {
    void *block;        ///< from bb_device_allocate; NULL: see above
    const void *scalar; ///< borrowed during the call
    size_t scalar_bytes;
} bb_launch_argument;

enum { BB_LAUNCH_DIMENSIONS = 2, BB_LAUNCH_MAX_ARGUMENTS = 64 };

/// Launch geometry of an entry: work-groups of work-items, padded to whole groups. On the cpu
/// `groups` are the items of the loop, which the threads process in ranges of `cpu_grain`.
typedef struct bb_launch_shape {
    bb_index groups[BB_LAUNCH_DIMENSIONS];      ///< each at least 1
    bb_index group_items[BB_LAUNCH_DIMENSIONS]; ///< each at least 1; 1 on the cpu
    bb_index cpu_grain;
} bb_launch_shape;

/// Launch limits of a compiled entry.
typedef struct bb_build_limits {
    bb_index group_items; ///< largest work-group
    size_t local_bytes;   ///< memory shared by a work-group
} bb_build_limits;

/// Compiles `source` for a device. On the cpu, a source that the same compiler has already compiled
/// in this process without messages may be reused. Entries are
///   cpu     void ENTRY(const void *const *arguments, int64_t begin, int64_t end): arguments[i] is
///           the block, or points to the scalar; items [begin, end) of groups[0] * groups[1],
///           dimension 0 fastest; called by several threads at once
///   cuda    extern "C" __global__ void ENTRY(...), opencl: __kernel void ENTRY(...), with the
///           arguments in order
/// Contraction is off; divisions and square roots are rounded correctly where the device supports
/// it (see bb_build_rounds). The host compiler is `cc` in PATH, or the program named by BB_CC in
/// the environment. Without a compiler, the prebuilt kernel of exactly this source is used
/// (prebuilt.h), with the same bits. If `log` is not NULL, `*log` receives up to 64 KiB of compiler
/// output, after success too (NULL: no output; owner: the caller, bb_memory_release). Errors:
/// BB_UNSUPPORTED (no compiler or library, with the names tried, and no prebuilt kernel),
/// BB_INVALID (the source does not compile: the compiler's first error), BB_DEVICE (the compiler
/// itself fails: a signal, more than a minute), BB_MEMORY, BB_IO (no space for the compiler's
/// temporary files, or a damaged prebuilt kernel). Owner: the caller; the device must outlive it.
BB_CHECKED bb_status bb_build_create(bb_device *device, const char *source, char **log,
                                     bb_build **out);
void bb_build_destroy(bb_build **build);

/// Returns the launch limits of an entry; on the cpu 1 item and no local memory. Errors: BB_INVALID
/// (no such entry), BB_DEVICE.
BB_CHECKED bb_status bb_build_find_limits(bb_build *build, const char *entry, bb_build_limits *out);

/// Returns whether fp32 divisions and square roots compiled for this device are rounded as IEEE 754
/// requires.
bool bb_build_rounds(bb_device *device);

/// Queues an entry on the device; on the cpu it has completed when the call returns. Allocates
/// nothing. Only one thread at a time may launch on a device. Errors: BB_INVALID (no such entry,
/// too many arguments, a dimension below 1), BB_UNSUPPORTED (geometry beyond the limits, checked
/// before anything is queued), BB_DEVICE.
BB_CHECKED bb_status bb_build_launch(bb_build *build, const char *entry, bb_launch_shape shape,
                                     const bb_launch_argument *arguments, bb_index count);

/// Compiler and flags, for records: "cc, GCC 12.2.0, -std=c17 -O3 ...", "NVRTC 13.0, sm_90";
/// "prebuilt, GCC 12.2.0, -std=c17 -O3 -march=x86-64-v3 ..." for a prebuilt kernel.
const char *bb_build_compiler(const bb_build *build);

#endif
