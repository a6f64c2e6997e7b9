// SPDX-License-Identifier: Apache-2.0
//
// The host's C compiler: `cc` in PATH, or the program named by BB_CC in the environment. It runs
// without a shell, in its own folder below TMPDIR (or /tmp), which is removed before the call
// returns. Signals and other children of the caller are unaffected. Objects compiled without
// messages are cached for later processes (compiled_file.h).
#ifndef BB_CORE_DEVICE_HOST_COMPILER_H
#define BB_CORE_DEVICE_HOST_COMPILER_H

#include "core/text.h"

/// Compiles C source to a shared object, or uses a cached one, and loads it. `*flags` receives the
/// compiler flags (static text). The first 64 KiB of compiler output are appended to `log`. Errors:
/// BB_UNSUPPORTED (no compiler), BB_INVALID (the source does not compile or has an undefined
/// symbol), BB_IO (no space or no folder for files), BB_DEVICE (the compiler dies of a signal or
/// needs more than a minute), BB_MEMORY. Owner: the caller, who calls dlclose.
BB_CHECKED bb_status bb_host_compiler_load(const char *source, bb_text *log, const char **flags,
                                           void **library);

/// Compiles C source for the architecture's baseline, not for this processor only, and writes the
/// object with its seal to `place` (compiled_file.h). `log` and errors as above, and BB_IO (`place`
/// cannot be written).
BB_CHECKED bb_status bb_host_compiler_make(const char *source, const char *place, bb_text *log);

/// Return the flags of bb_host_compiler_make and its instruction set, "" for the architecture's own
/// baseline. Static texts.
const char *bb_host_compiler_baseline(void);
extern const char bb_host_compiler_instructions[];

/// Returns "cc", or the value of BB_CC.
const char *bb_host_compiler_name(void);

/// For tests: time limit of the compiler; 0 restores the default of a minute.
void bb_host_compiler_set_limit(double seconds);

#endif
