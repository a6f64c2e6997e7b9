// SPDX-License-Identifier: Apache-2.0
//
// Prebuilt forms: shared objects of texts of the cpu that were compiled beforehand, for machines
// that have no C compiler. They lie in one folder, which
// is trusted as the program itself is where it and the file belong to root, the user or the owner
// of the program:
// BITBUDGET_PREBUILT names it, else it is lib/bitbudget/kernels of the installation, or `kernels`
// beside the program in a build tree. A file's name is a digest of the text and of the flags that
// it was compiled by, and its bytes are sealed with that name (compiled_file.h): what is damaged,
// or is another text's, is not run. Code is for a stated baseline of the architecture, x86-64-v3 on
// x86-64, by the flags of host_compiler.h, so that numbers have the bits of what is compiled here.
#ifndef BB_CORE_DEVICE_PREBUILT_H
#define BB_CORE_DEVICE_PREBUILT_H

#include "core/text.h"

#include <stdbool.h>

/// Loads the form of a text. `*flags` is what it was compiled by (static text). Errors:
/// BB_UNSUPPORTED (there is none, with where it was looked for, another could have changed it, or
/// this processor lacks the baseline's instructions), BB_IO (it is damaged), BB_MEMORY. Owner: the
/// caller, who calls dlclose.
BB_CHECKED bb_status bb_prebuilt_load(const char *source, const char **flags, void **library);

/// From now on builds of the cpu are made into `folder` by bb_prebuilt_make and run from there; it
/// is made where it is missing. Not while other threads build. Errors: BB_IO (no such folder can be
/// made), BB_MEMORY.
BB_CHECKED bb_status bb_prebuilt_start_making(const char *folder);
void bb_prebuilt_stop_making(void);
bool bb_prebuilt_is_making(void);

/// Compiles the form of a text into the folder, in the place of what stands there. `log` and
/// errors: as of bb_host_compiler_make.
BB_CHECKED bb_status bb_prebuilt_make(const char *source, bb_text *log);

/// For tests: whether this processor has the instructions of the baseline.
void bb_prebuilt_set_processor(bool has_baseline);

#endif
