// SPDX-License-Identifier: Apache-2.0
//
// Prebuilt kernels: shared objects compiled in advance from the cpu sources, for machines without a
// C compiler. Their folder is BITBUDGET_PREBUILT, else lib/bitbudget/kernels of the installation or
// `kernels` next to the program in a build tree. It is trusted like the program if it and the file
// belong to root, the user or the owner of the program. A file's name is a digest of the source and
// its flags, and a seal ties its bytes to that name (compiled_file.h): a damaged file or one of
// another source is not run. Code targets a fixed baseline of the architecture, x86-64-v3 on
// x86-64, with the flags of host_compiler.h, so results have the same bits as kernels compiled
// locally.
#ifndef BB_CORE_DEVICE_PREBUILT_H
#define BB_CORE_DEVICE_PREBUILT_H

#include "core/text.h"

#include <stdbool.h>

/// Loads the prebuilt kernel of a source. `*flags` receives its compiler flags (static text).
/// Errors: BB_UNSUPPORTED (none found, with the folder searched; someone else could have changed
/// it; or this processor lacks the baseline's instructions), BB_IO (damaged), BB_MEMORY. Owner: the
/// caller, who calls dlclose.
BB_CHECKED bb_status bb_prebuilt_load(const char *source, const char **flags, void **library);

/// From now on bb_prebuilt_make compiles cpu builds into `folder` and they run from there; the
/// folder is created if it is missing. Do not call while other threads build. Errors: BB_IO (the
/// folder cannot be created), BB_MEMORY.
BB_CHECKED bb_status bb_prebuilt_start_making(const char *folder);
void bb_prebuilt_stop_making(void);
bool bb_prebuilt_is_making(void);

/// Compiles the kernel of a source into the folder, replacing an existing file. `log` and errors:
/// see bb_host_compiler_make.
BB_CHECKED bb_status bb_prebuilt_make(const char *source, bb_text *log);

/// For tests: sets whether this processor has the baseline's instructions.
void bb_prebuilt_set_processor(bool has_baseline);

#endif
