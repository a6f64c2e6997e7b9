// SPDX-License-Identifier: Apache-2.0
//
// `kernels:` of a study, and what callers of a run ask for beside it: which variants of generated
// kernels run (kernel_variants.h).
#ifndef BB_SIM_KERNELS_KERNEL_KEYS_H
#define BB_SIM_KERNELS_KERNEL_KEYS_H

#include "core/device/device.h"
#include "core/schema.h"
#include "sim/config/config.h"
#include "sim/output/results.h"

struct bb_kernel_site;
struct bb_wisdom_file;

/// Keys of `kernels:` in a study.
typedef struct bb_kernel_keys {
    bool reorder;       ///< variants of other orders of sums may be taken too
    const char *wisdom; ///< file of measured variants; NULL: the user's
} bb_kernel_keys;

extern const bb_schema bb_kernel_keys_schema;

/// The row of a study's table; `type` has a bb_kernel_keys called `kernels`.
#define BB_KERNELS_KEY(type)                                                                       \
    {                                                                                              \
        .name = "kernels", .kind = BB_KEY_GROUP, .schema = &bb_kernel_keys_schema,                 \
        .offset = offsetof(type, kernels), .meaning = "Which variants of generated kernels run."   \
    }

/// Holds the keys to their rules: reorder names a file, and a file that is named is one of measured
/// variants. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_keys_check(const bb_kernel_keys *keys, const bb_config *config,
                                          bb_problems *problems);

/// Reads the file that the keys name, which has records. Errors: BB_IO, BB_INVALID, BB_MEMORY.
/// Owner of what `*out` holds: the caller, also where it fails.
BB_CHECKED bb_status bb_kernel_keys_read(const bb_kernel_keys *keys, struct bb_wisdom_file *out);

/// What a caller of a run asks for beside the study; members may be unset.
typedef struct bb_kernel_wish {
    bool is_deterministic;    ///< every kernel as its default, whatever was measured
    const bb_results *replay; ///< results of an earlier run, whose variants are taken; borrowed
    void *context;
    /// Told of every kernel, its types and sizes once, as the run readies it. Errors end the run.
    bb_status (*meet)(void *context, bb_device *device, const struct bb_kernel_site *site);
} bb_kernel_wish;

#endif
