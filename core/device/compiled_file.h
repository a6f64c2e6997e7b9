// SPDX-License-Identifier: Apache-2.0
//
// On-disk cache of shared objects from the host compiler. BITBUDGET_CACHE names the folder, "off"
// disables it, and by default it is bitbudget/kernels of $XDG_CACHE_HOME or ~/.cache. A file's name
// is a digest of the source and of everything that determines the object: flags, the compiler and
// its modification time, the variables that change its headers and libraries, and the processor's
// features, as code is generated for this processor. The folder must belong to the user and be
// writable by nobody else, and its parents must belong to root or the user and be closed to others
// or sticky (disk_file.h). Objects are opened in that folder and loaded by descriptor. The cache is
// a convenience: on any failure nothing is cached.
//
// A file is an object followed by a seal, a digest of its bytes and its name. Prebuilt kernels
// (prebuilt.h) have the same form.
#ifndef BB_CORE_DEVICE_COMPILED_FILE_H
#define BB_CORE_DEVICE_COMPILED_FILE_H

#include "core/text.h"

#include <sys/types.h>

enum { BB_COMPILED_FILE_LIMIT = 2048 }; ///< limit of a folder; the least recently used are deleted

/// Path of a source's cached object, whether or not it exists; the folder is created if it is
/// missing. NULL if nothing is cached. `compiler` is a program's name or path, as for posix_spawnp.
/// Errors: BB_MEMORY. Owner: the caller, bb_memory_release.
BB_CHECKED bb_status bb_compiled_file_place(const char *text, const char *compiler,
                                            const char *flags, char **out);

/// Loads a cached object; `*library` is NULL if there is none or its bytes do not match the seal.
/// Errors: BB_MEMORY. Owner: the caller, who calls dlclose.
BB_CHECKED bb_status bb_compiled_file_load(const char *place, void **library);

/// As bb_compiled_file_load for an object that is never replaced, also behind a link. File and
/// folders belong to root, the user or `owner` and are not world-writable; their group may write
/// them. Errors: BB_IO (unreadable), BB_UNSUPPORTED (someone else could have changed it),
/// BB_MEMORY. Owner: the caller, who calls dlclose.
BB_CHECKED bb_status bb_compiled_file_open(const char *place, uid_t owner, void **library);

/// Loads an object by its descriptor, whatever file its name refers to by now: a handle of dlopen,
/// or NULL with the reason in dlerror. Owner: the caller, who calls dlclose.
void *bb_compiled_file_link(int object);

/// Writes a copy of an object, open for reading, with its seal; atomic for all processes. Errors:
/// BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_compiled_file_write(const char *place, int object);

/// Caches a copy of an object, open for reading; atomic for all processes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_compiled_file_save(const char *place, int object);

#endif
