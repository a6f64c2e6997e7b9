// SPDX-License-Identifier: Apache-2.0
//
// Source text compiled for a device while the program runs: C by the host's `cc`, OpenCL C by the
// device's own compiler, CUDA by NVRTC. Compilers and vendors' libraries are looked up when they
// are first asked for: neither building nor starting the program needs one.
#ifndef BB_CORE_DEVICE_BUILD_H
#define BB_CORE_DEVICE_BUILD_H

#include "core/device/device.h"

/// Compiled source of one device.
typedef struct bb_build bb_build;

/// One argument of a launch: a block of the device's memory, or a scalar handed by value.
typedef struct bb_launch_argument {
    void *block;        ///< of bb_device_allocate; NULL: a scalar
    const void *scalar; ///< borrowed during the call
    size_t scalar_bytes;
} bb_launch_argument;

enum { BB_LAUNCH_DIMENSIONS = 2, BB_LAUNCH_MAX_ARGUMENTS = 64 };

/// Where the entry runs: work-groups of work-items, padded to whole groups. On the cpu `groups` are
/// the items of the loop, whose ranges of `cpu_grain` the threads take.
typedef struct bb_launch_shape {
    bb_index groups[BB_LAUNCH_DIMENSIONS];      ///< each at least 1
    bb_index group_items[BB_LAUNCH_DIMENSIONS]; ///< each at least 1; 1 on the cpu
    bb_index cpu_grain;
} bb_launch_shape;

/// What limits the shape of a launch of an entry, as compiled.
typedef struct bb_build_limits {
    bb_index group_items; ///< the most in one work-group
    size_t local_bytes;   ///< of memory that a work-group shares, of the device
} bb_build_limits;

/// Compiles `source` for a device. Entries are
///   cpu     void ENTRY(const void *const *arguments, int64_t begin, int64_t end): arguments[i] is
///           the block, or points to the scalar; items [begin, end) of groups[0] * groups[1],
///           dimension 0 fastest; called by several threads at once
///   cuda    extern "C" __global__ void ENTRY(...), opencl: __kernel void ENTRY(...), with the
///           arguments in order
/// Contraction is off, divisions and square roots are rounded correctly where the device can (see
/// bb_build_rounds). Errors: BB_UNSUPPORTED (no compiler or library, with what was looked for),
/// BB_INVALID (the source does not compile: the compiler's first error, and all of its log in
/// `*log` where `log` is not NULL; owner: the caller, bb_memory_release), BB_DEVICE, BB_MEMORY,
/// BB_IO (no room for the compiler's files, which never outlive the call). Owner: the caller; the
/// device must outlive it.
BB_CHECKED bb_status bb_build_create(bb_device *device, const char *source, char **log,
                                     bb_build **out);
void bb_build_destroy(bb_build **build);

/// Errors: BB_INVALID (no such entry), BB_DEVICE.
BB_CHECKED bb_status bb_build_find_limits(bb_build *build, const char *entry,
                                          bb_build_limits *out);

/// Whether fp32 divisions and square roots of this device's builds are those of IEEE 754.
bool bb_build_rounds(bb_device *device);

/// Queues an entry in the device's order of work; on the cpu it has ended when the call returns.
/// Errors: BB_INVALID (no such entry, too many arguments), BB_UNSUPPORTED (a shape beyond the
/// limits), BB_DEVICE.
BB_CHECKED bb_status bb_build_launch(bb_build *build, const char *entry, bb_launch_shape shape,
                                     const bb_launch_argument *arguments, bb_index count);

/// What compiled it, for records: "cc (Debian 12.2.0-14) 12.2.0 -O3 ...", "NVRTC 13.0 sm_90".
const char *bb_build_compiler(const bb_build *build);

#endif
