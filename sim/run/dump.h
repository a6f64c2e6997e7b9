// SPDX-License-Identifier: Apache-2.0
//
// `--dump NAMES`: which operators a run adds to its file.
#ifndef BB_SIM_RUN_DUMP_H
#define BB_SIM_RUN_DUMP_H

#include "core/status.h"

#include <stdbool.h>

/// Holds a list of names, "Cmm,Ctm" or NULL, to those that an experiment offers, "Cmm,Ctm,Ctt,R".
/// Errors: BB_INVALID with the offer.
BB_CHECKED bb_status bb_dump_check(const char *names, const char *offered);

/// Whether `name` is in the list.
bool bb_dump_wanted(const char *names, const char *name);

#endif
