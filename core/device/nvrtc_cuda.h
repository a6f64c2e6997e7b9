// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's run-time compiler, loaded at run time from the system's folders or LD_LIBRARY_PATH, else
// from the toolkit of the build. It needs no GPU.
#ifndef BB_CORE_DEVICE_NVRTC_CUDA_H
#define BB_CORE_DEVICE_NVRTC_CUDA_H

#include "core/text.h"

/// Compiles CUDA C++ source for an architecture ("sm_90") into a module image. Contraction is off;
/// functions are device functions by default. Compiler output is appended to `log`. Errors:
/// BB_UNSUPPORTED (no NVRTC, or an unknown architecture), BB_INVALID (the source does not compile),
/// BB_DEVICE (NVRTC itself fails), BB_MEMORY. Owner: the caller, bb_memory_release.
BB_CHECKED bb_status bb_nvrtc_compile(const char *source, const char *architecture, bb_text *log,
                                      char **image);

/// Returns the version found, such as "NVRTC 13.0".
void bb_nvrtc_describe(char *out, size_t bytes);

#endif
