// SPDX-License-Identifier: Apache-2.0
//
// Which kernels a run launched, at which sizes, and as which variant: the group /kernels of a
// result, by which the run is repeated with the same variants.
#ifndef BB_SIM_KERNELS_KERNEL_LEDGER_H
#define BB_SIM_KERNELS_KERNEL_LEDGER_H

#include "sim/output/output_table.h"

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

#endif
