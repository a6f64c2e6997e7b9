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

/// One argument of a launch: a block of the device's memory, or a scalar handed by value. All NULL:
/// a block of no bytes.
typedef struct bb_launch_argument {
    void *block;        ///< of bb_device_allocate; NULL: see above
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

/// Compiles `source` for a device; a text of the cpu that was compiled in this process before, by
/// the same compiler and without a word from it, may be taken as it is. Entries are
///   cpu     void ENTRY(const void *const *arguments, int64_t begin, int64_t end): arguments[i] is
///           the block, or points to the scalar; items [begin, end) of groups[0] * groups[1],
///           dimension 0 fastest; called by several threads at once
///   cuda    extern "C" __global__ void ENTRY(...), opencl: __kernel void ENTRY(...), with the
///           arguments in order
/// Contraction is off, divisions and square roots are rounded correctly where the device can (see
/// bb_build_rounds). The host's compiler is `cc` of PATH, or what the environment's BB_CC names;
/// where it is missing, what was prebuilt of this very text is taken (prebuilt.h), to the same
/// bits. What the compiler said, up to 64 KiB, is in `*log` where `log` is not NULL, after success
/// too (NULL: nothing; owner: the caller, bb_memory_release). Errors: BB_UNSUPPORTED (no compiler
/// or library, with what was looked for, and nothing prebuilt), BB_INVALID (the source does not
/// compile: the compiler's first error), BB_DEVICE (the compiler itself fails: a signal, more than
/// a minute), BB_MEMORY, BB_IO (no room for the compiler's files, which never outlive the call;
/// what is prebuilt is damaged). Owner: the caller; the device must outlive it.
BB_CHECKED bb_status bb_build_create(bb_device *device, const char *source, char **log,
                                     bb_build **out);
void bb_build_destroy(bb_build **build);

/// What an entry can be launched with; on the cpu 1 item and no local memory. Errors: BB_INVALID
/// (no such entry), BB_DEVICE.
BB_CHECKED bb_status bb_build_find_limits(bb_build *build, const char *entry, bb_build_limits *out);

/// Whether fp32 divisions and square roots of this device's builds are those of IEEE 754.
bool bb_build_rounds(bb_device *device);

/// Queues an entry in the device's order of work; on the cpu it has ended when the call returns.
/// Allocates nothing. One thread at a time launches on a device. Errors: BB_INVALID (no such entry,
/// too many arguments, a shape of less than 1), BB_UNSUPPORTED (a shape beyond the limits, found
/// before anything is queued), BB_DEVICE.
BB_CHECKED bb_status bb_build_launch(bb_build *build, const char *entry, bb_launch_shape shape,
                                     const bb_launch_argument *arguments, bb_index count);

/// What compiled it, for records: "cc, GCC 12.2.0, -std=c17 -O3 ...", "NVRTC 13.0, sm_90";
/// "prebuilt, GCC 12.2.0, -std=c17 -O3 -march=x86-64-v3 ..." of what was compiled beforehand.
const char *bb_build_compiler(const bb_build *build);

#endif
