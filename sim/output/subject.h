// SPDX-License-Identifier: Apache-2.0
//
// Subjects: the text of all that a result depends on, used to find it in a store (core/store.h) or
// to resume it.
#ifndef BB_SIM_OUTPUT_SUBJECT_H
#define BB_SIM_OUTPUT_SUBJECT_H

#include "core/schema.h"
#include "core/text.h"

/// Appends a subject for other processes: the keys of a study as YAML, except paths and the
/// top-level keys in `others` (NULL-terminated); the digest of each file named by the study,
/// independent of its path; compiler, flags and libraries. Errors: BB_MEMORY, BB_IO (a file that
/// cannot be read).
BB_CHECKED bb_status bb_subject_write(const bb_schema *schema, const void *study,
                                      const char *const *others, bb_text *out);

/// Appends a subject for this process, after `what`: a file is identified by its stamp. Errors:
/// those above.
BB_CHECKED bb_status bb_subject_write_key(const char *what, const bb_schema *schema,
                                          const void *study, const char *const *others,
                                          bb_text *out);

#endif
