// SPDX-License-Identifier: Apache-2.0
//
// Shared objects of the host's compiler, kept from one process to the next: BITBUDGET_CACHE names
// the folder, "off" keeps none, and unset it is bitbudget/kernels of $XDG_CACHE_HOME or ~/.cache. A
// file's name is a digest of the text and of all that decides what it becomes: flags, the compiler
// and its time of change, the variables that move its headers and libraries, and, as code is made
// for this processor, what the processor can do. Only a folder that is the user's and that nobody
// else can write is used, below folders of root or the user in which others write nothing or have
// the sticky bit (disk_file.h). Objects are opened in that folder and loaded by their descriptor.
// Keeping is a convenience: where anything fails, nothing is kept.
//
// A file is an object and, behind it, a seal: a digest of its bytes and of its name. What is
// prebuilt (prebuilt.h) has the same form.
#ifndef BB_CORE_DEVICE_COMPILED_FILE_H
#define BB_CORE_DEVICE_COMPILED_FILE_H

#include "core/text.h"

#include <sys/types.h>

enum { BB_COMPILED_FILE_LIMIT = 2048 }; ///< of the folder; those longest without use go

/// Where the object of a text stands or would stand, the folder made where it was missing; NULL
/// where none is kept. `compiler` is a program's name or path, as for posix_spawnp. Errors:
/// BB_MEMORY. Owner: the caller, bb_memory_release.
BB_CHECKED bb_status bb_compiled_file_place(const char *text, const char *compiler,
                                            const char *flags, char **out);

/// Loads the object, whole and as it was kept; `*library` is NULL where there is none, or where its
/// bytes are not those that were kept. Errors: BB_MEMORY. Owner: the caller, who calls dlclose.
BB_CHECKED bb_status bb_compiled_file_load(const char *place, void **library);

/// The same for an object that stays as it is, also behind a link. File and folders belong to root,
/// the user or `owner`, and not everybody can write them; their group may. Errors: BB_IO (it cannot
/// be read), BB_UNSUPPORTED (another could have changed it), BB_MEMORY. Owner: the caller, who
/// calls dlclose.
BB_CHECKED bb_status bb_compiled_file_open(const char *place, uid_t owner, void **library);

/// Loads an object by a descriptor of it, whatever its name stands for by now: a handle of dlopen,
/// NULL with the reason in dlerror. Owner: the caller, who calls dlclose.
void *bb_compiled_file_link(int object);

/// Writes a copy of an object, open for reading, with its seal, at once for all processes or not at
/// all. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_compiled_file_write(const char *place, int object);

/// Keeps a copy of an object, open for reading, at once for all processes or not at all. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_compiled_file_save(const char *place, int object);

#endif
