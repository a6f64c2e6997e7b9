// SPDX-License-Identifier: Apache-2.0
//
// What one study of a process leaves to the next: pieces of work that are the same in both, by a
// text of all that they depend on. A single run keeps nothing; who runs many studies in one process
// allows it so many bytes.
#ifndef BB_SIM_WARM_H
#define BB_SIM_WARM_H

#include "core/schema.h"
#include "core/text.h"

#include <stdbool.h>

/// Pieces of at most `bytes` in all are kept from now on; 0: none, and those there are go.
void bb_warm_allow(double bytes);

/// Whether a piece of so many bytes could be kept.
bool bb_warm_has_room(double bytes);

/// A study begins: pieces that the studies before it used may make room from now on, those that
/// were used longest ago first.
void bb_warm_next_study(void);

/// The piece of a key, NULL where there is none; `*bytes` of it. It stays in place during the
/// study.
const void *bb_warm_find(const char *key, bb_index *bytes);

/// Takes `*block`, of core/memory.h, into the store; NULL where there is no room, and the block is
/// then still the caller's.
const void *bb_warm_keep(const char *key, void **block, bb_index bytes);

/// Appends what of a study a piece depends on, as a key: `what`, then all of the study's keys but
/// those of the outermost level that are named in `others`, NULL-terminated. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_warm_describe(const char *what, const bb_schema *schema, const void *study,
                                      const char *const *others, bb_text *out);

#endif
