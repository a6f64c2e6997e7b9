// SPDX-License-Identifier: Apache-2.0
//
// Variants of generated kernels used by a study's run: those measured by `bitbudget tune`
// (wisdom.h), else those shipped for the device, else the default; or those of an earlier result. A
// run measures nothing.
//
// By default the user's file of measured variants is used, and only variants with the order of
// summation of the kernel's description, so that results do not depend on the file. Other variants
// are used if the study allows them and names the file, whose digest is then part of the study.
//
// The group /kernels of a result records the launched kernels, their sizes and variants; `rerun`
// repeats the run with the same variants.
#ifndef BB_SIM_KERNELS_KERNEL_VARIANTS_H
#define BB_SIM_KERNELS_KERNEL_VARIANTS_H

#include "sim/kernels/kernel_keys.h"
#include "sim/kernels/wisdom.h"
#include "sim/output/output_table.h"
#include "solvers/kernels/objects/kernel_context.h"

struct bb_choice;
struct bb_wisdom_key;

/// One row for each kernel, its types and variant.
typedef struct bb_kernel_ledger bb_kernel_ledger;

/// Origin of a default variant without records.
extern const char bb_kernel_ledger_default[];

/// Creates an empty ledger. Errors: BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_kernel_ledger_create(bb_kernel_ledger **out);
void bb_kernel_ledger_destroy(bb_kernel_ledger **ledger);

/// Records that the kernel of `key` runs in a variant at its sizes; `origin` is the reason. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_kernel_ledger_add(bb_kernel_ledger *ledger, const struct bb_wisdom_key *key,
                                          const struct bb_choice *choice, const char *origin);

/// Records that `replacement` replaced `failed` at all sizes of the kernel with that variant.
void bb_kernel_ledger_replace(bb_kernel_ledger *ledger, const struct bb_wisdom_key *key,
                              const struct bb_choice *failed, const struct bb_choice *replacement);

extern const bb_output_table bb_kernel_ledger_axes, bb_kernel_ledger_outputs;

/// Writes /kernels, or nothing if no kernel was launched. If a kernel with its types has only one
/// variant, sizes are omitted. Errors: from bb_output_table_publish_records.
BB_CHECKED bb_status bb_kernel_ledger_publish(const bb_kernel_ledger *ledger, bb_results *results);

/// Appends a sentence if a kernel of the results did not run in its default variant. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_kernel_ledger_report(const bb_results *results, bb_text *out);

/// Finds the variant recorded in results for kernel, types, device and sizes of `key`; `*found` is
/// false if there is none. Errors: BB_IO (not a variant), BB_MEMORY.
BB_CHECKED bb_status bb_kernel_ledger_recall(const bb_results *results,
                                             const struct bb_wisdom_key *key, bool *found,
                                             struct bb_choice *out);

typedef struct bb_kernel_variants bb_kernel_variants;

/// Creates the selection for one run. `keys` and `wish` (may be NULL) are borrowed for its
/// lifetime. An unreadable file named by the study is an error; the user's file is skipped with a
/// warning. Errors: BB_IO, BB_INVALID, BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_kernel_variants_create(const bb_kernel_keys *keys,
                                               const bb_kernel_wish *wish,
                                               bb_kernel_variants **out);
void bb_kernel_variants_destroy(bb_kernel_variants **variants);

/// Registers a new context, which then queries its variants here; destroy contexts before the
/// variants. `variants` may be NULL: nothing is registered. Errors: BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_kernel_variants_join(bb_kernel_variants *variants,
                                             bb_kernel_context *context);

/// Writes the variants that ran as /kernels and logs if some were not the default. Errors: those of
/// bb_kernel_ledger_publish.
BB_CHECKED bb_status bb_kernel_variants_publish(const bb_kernel_variants *variants,
                                                bb_results *results);

/// Key of a call site without its compiler. Errors: BB_MEMORY, BB_INVALID (too many types).
BB_CHECKED bb_status bb_kernel_variants_key(bb_device *device, const bb_kernel_site *site,
                                            bb_wisdom_key *out);

#endif
