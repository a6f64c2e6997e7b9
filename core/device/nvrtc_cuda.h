// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's compiler of source at run time, found as the program runs: in the folders of the system
// and of LD_LIBRARY_PATH, else in that of the toolkit which the build had. It needs no GPU.
#ifndef BB_CORE_DEVICE_NVRTC_CUDA_H
#define BB_CORE_DEVICE_NVRTC_CUDA_H

#include "core/text.h"

/// Compiles CUDA C++ text for an architecture ("sm_90") into a module's image. Contraction is off,
/// functions that do not say otherwise are the device's. What the compiler said is appended to
/// `log`. Errors: BB_UNSUPPORTED (no NVRTC, or it does not know the architecture), BB_INVALID (the
/// text does not compile), BB_DEVICE (NVRTC itself fails), BB_MEMORY. Owner: the caller,
/// bb_memory_release.
BB_CHECKED bb_status bb_nvrtc_compile(const char *source, const char *architecture, bb_text *log,
                                      char **image);

/// "NVRTC 13.0", once it was found.
void bb_nvrtc_describe(char *out, size_t bytes);

#endif
