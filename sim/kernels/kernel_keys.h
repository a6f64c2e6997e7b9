// SPDX-License-Identifier: Apache-2.0
//
// Key `kernels:` of a study and further options of a run: selection of the variants of generated
// kernels (kernel_variants.h).
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
    bool reorder;       ///< allow variants with another order of summation
    const char *wisdom; ///< file of measured variants; NULL: the user's
} bb_kernel_keys;

extern const bb_schema bb_kernel_keys_schema;

/// Row for a study's table; `type` has a member bb_kernel_keys `kernels`.
#define BB_KERNELS_KEY(type)                                                                       \
    {                                                                                              \
        .name = "kernels", .kind = BB_KEY_GROUP, .schema = &bb_kernel_keys_schema,                 \
        .offset = offsetof(type, kernels), .meaning = "Variants of generated kernels."             \
    }

/// Checks the keys: reorder needs a file, and a named file must contain measured variants. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_kernel_keys_check(const bb_kernel_keys *keys, const bb_config *config,
                                          bb_problems *problems);

/// Reads the file named by the keys, which must have records. Errors: BB_IO, BB_INVALID, BB_MEMORY.
/// The caller owns the content of `*out`, also on failure.
BB_CHECKED bb_status bb_kernel_keys_read(const bb_kernel_keys *keys, struct bb_wisdom_file *out);

/// Options of a run beyond the study; members may be unset.
typedef struct bb_kernel_wish {
    bool is_deterministic;    ///< use the default of every kernel, ignore measurements
    const bb_results *replay; ///< results of an earlier run whose variants are reused; borrowed
    void *context;
    /// Called once for every kernel with its types and sizes, when the run prepares it. Errors end
    /// the run.
    bb_status (*visit)(void *context, bb_device *device, const struct bb_kernel_site *site);
} bb_kernel_wish;

#endif
