// SPDX-License-Identifier: Apache-2.0
//
// `--dump NAMES`: operators that a run adds to its file.
#ifndef BB_SIM_RUN_DUMP_H
#define BB_SIM_RUN_DUMP_H

#include "core/status.h"

#include <stdbool.h>

/// Checks a list of names, "Cmm,Ctm" or NULL, against the operators of an experiment,
/// "Cmm,Ctm,Ctt,R". Errors: BB_INVALID with the valid names.
BB_CHECKED bb_status bb_dump_check(const char *names, const char *offered);

/// True if `name` is in the list.
bool bb_dump_wanted(const char *names, const char *name);

#endif
