// SPDX-License-Identifier: Apache-2.0
//
// Vendors' libraries on the data of a kernel: a table of calls each, with what makes and runs one.
#ifndef BB_BENCH_PEERS_KERNEL_LIBRARY_H
#define BB_BENCH_PEERS_KERNEL_LIBRARY_H

#include "core/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_KERNEL_SITE_OBJECTS = 6 };

/// A kernel's objects where a library is to work on them, in the order of the description, in which
/// the one that is written comes last. Matrices are row-major.
typedef struct bb_kernel_site {
    bb_device *device;
    bb_index threads; ///< of the cpu
    bool is_double;
    bb_index columns[BB_KERNEL_SITE_OBJECTS], rows[BB_KERNEL_SITE_OBJECTS];
    void *blocks[BB_KERNEL_SITE_OBJECTS]; ///< in the device's memory; read alone
    bb_index entries;                     ///< of a sparse matrix, as its last row says
    void *output;                         ///< as large as the last block: the call's result
} bb_kernel_site;

/// A call that does what a kernel does.
typedef struct bb_kernel_call {
    const char *kernel;   ///< of the manager
    const char *names[2]; ///< in SP and DP; NULL: there is none
    int what;             ///< of the library's file
    bool is_other;        ///< close to what the kernel does: told, but nothing is held against it
    bool adds_to_input;   ///< adds to its output, which starts as the second object
} bb_kernel_call;

typedef struct bb_kernel_library {
    const char *name;
    const bb_kernel_call *calls; ///< [count]
    int count;
    /// Handles, plans and workspaces of a call. Errors: BB_DEVICE or BB_UNSUPPORTED, with what
    /// lacks; BB_MEMORY.
    bb_status (*open)(const bb_kernel_site *site, const bb_kernel_call *call, void **state);
    /// Queues the call once.
    bb_status (*queue)(void *state);
    void (*close)(void **state); ///< NULL is left alone
} bb_kernel_library;

extern const bb_kernel_library bb_kernel_library_cpu;    ///< OpenBLAS
extern const bb_kernel_library bb_kernel_library_opencl; ///< CLBlast, of builds with OpenCL
extern const bb_kernel_library bb_kernel_library_cuda; ///< cuBLAS and cuSPARSE, of those with CUDA

#ifdef __cplusplus
}
#endif

#endif
