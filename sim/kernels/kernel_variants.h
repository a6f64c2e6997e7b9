// SPDX-License-Identifier: Apache-2.0
//
// The variants of generated kernels that a study's run takes: what `bitbudget tune` measured
// (wisdom.h), else what is shipped for the device, else the default; or those of
// an earlier result. A run measures nothing.
//
// Without a key the user's own file of measured variants counts, and only variants in the order of
// sums that the kernel's description has: the numbers are the same with and without it. Others are
// taken where the study says so and names the file, whose digest is then part of what the study is.
//
// Which kernels a run launched, at which sizes, and as which variant: the group /kernels of a
// result, by which the run is repeated with the same variants.
#ifndef BB_SIM_KERNELS_KERNEL_VARIANTS_H
#define BB_SIM_KERNELS_KERNEL_VARIANTS_H

#include "sim/kernels/kernel_keys.h"
#include "sim/kernels/wisdom.h"
#include "sim/output/output_table.h"
#include "solvers/kernels/objects/kernel_context.h"

struct bb_choice;
struct bb_wisdom_key;

/// A row for each kernel in one choice of types as one variant.
typedef struct bb_kernel_ledger bb_kernel_ledger;

/// Where a kernel runs as its default because nothing else is known.
extern const char bb_kernel_ledger_default[];

/// An empty one. Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_kernel_ledger_create(bb_kernel_ledger **out);
void bb_kernel_ledger_destroy(bb_kernel_ledger **ledger);

/// Notes that the kernel of `key` runs as a variant at its sizes; `origin` says why that one.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_ledger_add(bb_kernel_ledger *ledger, const struct bb_wisdom_key *key,
                                          const struct bb_choice *choice, const char *origin);

/// Notes that `taken` ran in the place of `failed`, at all sizes of the kernel that had that.
void bb_kernel_ledger_replace(bb_kernel_ledger *ledger, const struct bb_wisdom_key *key,
                              const struct bb_choice *failed, const struct bb_choice *taken);

extern const bb_output_table bb_kernel_ledger_axes, bb_kernel_ledger_outputs;

/// Writes /kernels; nothing where nothing was launched. The only variant of a kernel and its types
/// is written without sizes. Errors: those of bb_output_table_publish_records.
BB_CHECKED bb_status bb_kernel_ledger_publish(const bb_kernel_ledger *ledger, bb_results *results);

/// Appends a sentence where not all kernels of results ran as their default. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_ledger_report(const bb_results *results, bb_text *out);

/// Looks up which variant results have for the kernel, types, device and sizes of `key`: `*found`
/// is false where they have none. Errors: BB_IO (no text of a variant), BB_MEMORY.
BB_CHECKED bb_status bb_kernel_ledger_recall(const bb_results *results,
                                             const struct bb_wisdom_key *key, bool *found,
                                             struct bb_choice *out);

typedef struct bb_kernel_variants bb_kernel_variants;

/// For one run. `keys` and `wish` (NULL: nothing is asked) are borrowed for as long as it lives.
/// A file that the study names and that cannot be read is an error; the user's own is then left
/// aside with a warning. Errors: BB_IO, BB_INVALID, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_kernel_variants_create(const bb_kernel_keys *keys,
                                               const bb_kernel_wish *wish,
                                               bb_kernel_variants **out);
void bb_kernel_variants_destroy(bb_kernel_variants **variants);

/// Has a new context ask for its variants; contexts are destroyed before the variants, which may be
/// NULL: nothing is set then. Errors: BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_kernel_variants_join(bb_kernel_variants *variants,
                                             bb_kernel_context *context);

/// Writes what ran as /kernels, and says in the log where not all of it was the default. Errors:
/// those of bb_kernel_ledger_publish.
BB_CHECKED bb_status bb_kernel_variants_publish(const bb_kernel_variants *variants,
                                                bb_results *results);

/// The key of a site but its compiler. Errors: BB_MEMORY, BB_INVALID (too many types).
BB_CHECKED bb_status bb_kernel_variants_key(bb_device *device, const bb_kernel_site *site,
                                            bb_wisdom_key *out);

#endif
