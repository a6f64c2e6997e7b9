// SPDX-License-Identifier: Apache-2.0
//
// Subjects: the text of all that a result depends on, by which it is found in a store
// (core/store.h) or gone on from.
#ifndef BB_SIM_OUTPUT_SUBJECT_H
#define BB_SIM_OUTPUT_SUBJECT_H

#include "core/schema.h"
#include "core/text.h"

/// Appends, for another process, the keys of a study as YAML, but for paths and for the keys of the
/// outermost level that `others` names, NULL-terminated; the digest of each file that the study
/// names, wherever it lies; compiler, flags and libraries. Errors: BB_MEMORY, BB_IO (a file that
/// cannot be read).
BB_CHECKED bb_status bb_subject_write(const bb_schema *schema, const void *study,
                                      const char *const *others, bb_text *out);

/// The same for this process, behind `what`: a file is known by its stamp. Errors: those above.
BB_CHECKED bb_status bb_subject_write_key(const char *what, const bb_schema *schema,
                                          const void *study, const char *const *others,
                                          bb_text *out);

#endif
