// SPDX-License-Identifier: Apache-2.0
//
// The host's C compiler: `cc` of PATH, or the program that the environment's BB_CC names. It is
// started without a shell, in a folder of its own below TMPDIR (or /tmp), which is gone when the
// call returns. The caller's signals and other children are left alone. What it makes without a
// word is kept for later processes (compiled_file.h).
#ifndef BB_CORE_DEVICE_HOST_COMPILER_H
#define BB_CORE_DEVICE_HOST_COMPILER_H

#include "core/text.h"

/// Compiles C text to a shared object, or takes one that was kept, and loads it. `*flags` is what
/// it was compiled by (static text). What the compiler said is appended to `log`, its first 64 KiB.
/// Errors: BB_UNSUPPORTED (no compiler), BB_INVALID (the text does not compile or names what is
/// nowhere), BB_IO (no room or no folder for files), BB_DEVICE (the compiler dies of a signal or
/// takes more than a minute), BB_MEMORY. Owner: the caller, who calls dlclose.
BB_CHECKED bb_status bb_host_compiler_load(const char *source, bb_text *log, const char **flags,
                                           void **library);

/// Compiles C text for the baseline of the machine's architecture, not for this processor alone,
/// and writes the object with its seal to `place` (compiled_file.h). `log` and errors: as above,
/// and BB_IO (`place` cannot be written).
BB_CHECKED bb_status bb_host_compiler_make(const char *source, const char *place, bb_text *log);

/// What bb_host_compiler_make compiles by, and the instruction set of it, "" where that is the
/// architecture's own. Static texts.
const char *bb_host_compiler_baseline(void);
extern const char bb_host_compiler_instructions[];

/// "cc", or what BB_CC says.
const char *bb_host_compiler_name(void);

/// For tests: how long the compiler may take; 0 is again a minute.
void bb_host_compiler_set_limit(double seconds);

#endif
