// SPDX-License-Identifier: Apache-2.0
//
// Operations table of one kind of device that compiles source, for core/device only; see build.h.
#ifndef BB_CORE_DEVICE_BUILD_OPS_H
#define BB_CORE_DEVICE_BUILD_OPS_H

#include "core/device/build.h"
#include "core/text.h"

/// `build` comes from `create`. Shapes and arguments are already validated as build.h requires;
/// `launch` checks the limits of the entry.
typedef struct bb_build_ops {
    bb_status (*create)(bb_device *device, const char *source, bb_text *log, void **build);
    void (*destroy)(void **build);
    bb_status (*find_limits)(void *build, const char *entry, bb_build_limits *out);
    bool (*rounds)(bb_device *device);
    bb_status (*launch)(void *build, const char *entry, const bb_launch_shape *shape,
                        const bb_launch_argument *arguments, bb_index count);
    const char *(*compiler)(const void *build);
} bb_build_ops;

extern const bb_build_ops bb_build_cpu_ops;
extern const bb_build_ops bb_build_cuda_ops;   ///< in builds with CUDA
extern const bb_build_ops bb_build_opencl_ops; ///< in builds with OpenCL's headers

/// Appends compiler output, at most BB_BUILD_LOG_BYTES of it, with control characters as '?'.
BB_CHECKED bb_status bb_build_add_log(const char *output, size_t bytes, bb_text *log);

/// Fails with BB_INVALID and the first line of the log that contains "error:", else its first line.
BB_CHECKED bb_status bb_build_fail(const char *compiler, const bb_text *log);

/// Returns BB_OK if the product of group_items is at most `limit`, else BB_UNSUPPORTED.
BB_CHECKED bb_status bb_build_check_group(const char *entry, const bb_launch_shape *shape,
                                          bb_index limit);

enum { BB_BUILD_LOG_BYTES = 65536 };

/// For tests: drops cached cpu sources that nothing uses, so that they are compiled again.
void bb_build_cpu_discard_unused(void);

#endif
