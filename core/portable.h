// SPDX-License-Identifier: Apache-2.0
//
// Macros for scalar functions shared by C and CUDA device code, and for several instruction-set
// versions of a hot loop in one portable binary.
#ifndef BB_CORE_PORTABLE_H
#define BB_CORE_PORTABLE_H

/// Marks the functions of *_core.h headers.
#if defined(__CUDACC__)
#define BB_DEVICE_FUNCTION static __host__ __device__ inline
#else
#define BB_DEVICE_FUNCTION static inline
#endif

/// Function clones per instruction set, chosen when the program starts. Contraction is off
/// everywhere, so every clone gives the same bits. Sanitizers cannot run where clones are chosen.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) &&     \
    !defined(BB_SANITIZED)
#define BB_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BB_CLONES
#endif

#endif
