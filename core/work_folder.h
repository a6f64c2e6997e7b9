// SPDX-License-Identifier: Apache-2.0
//
// Temporary folders and the programs run in them: created below TMPDIR (or /tmp) for the user only,
// accessed by descriptor, removed with their contents. A signal that ends the process ends the
// program and removes the folder.
#ifndef BB_CORE_WORK_FOLDER_H
#define BB_CORE_WORK_FOLDER_H

#include "core/status.h"

#include <stdbool.h>
#include <sys/types.h>

enum { BB_WORK_FOLDERS = 64 }; ///< limit of folders at once per process

typedef struct bb_work_folder bb_work_folder;

/// Creates a folder. `purpose` completes "a folder to ..": "compile in". Errors: BB_IO (with
/// TMPDIR), BB_INTERNAL (more than BB_WORK_FOLDERS). Owner: the caller.
BB_CHECKED bb_status bb_work_folder_create(const char *purpose, bb_work_folder **out);

/// Ends the program that runs in the folder and removes the folder.
void bb_work_folder_remove(bb_work_folder **folder);

/// Opens a file of the folder, not through a link. Returns a descriptor, -1 with errno. `flags` as
/// for open.
int bb_work_folder_open(const bb_work_folder *folder, const char *name, int flags);

/// Writes a new file of `bytes` bytes. Errors: BB_IO.
BB_CHECKED bb_status bb_work_folder_write(const bb_work_folder *folder, const char *name,
                                          const void *data, bb_index bytes);

/// A program with the folder as its working folder.
typedef struct bb_work_program {
    const char *const *arguments; ///< ends with NULL; the first is its name or path, as for execvp
    const char *const *environment; ///< environment, ends with NULL; NULL: that of the process
    double seconds;                 ///< time limit
} bb_work_program;

/// How a program ended.
typedef struct bb_work_end {
    int error;    ///< errno if it could not be started; 0: it ran
    bool is_late; ///< it exceeded the time limit and was killed
    int ending;   ///< status as from waitpid
    bool reaped;  ///< other code of the process waited for it: `ending` is unknown
} bb_work_end;

/// Runs a program without a shell, in its own process group, and waits for its end. The first
/// `room` bytes of its output, stdout and stderr, go to `output`. Its descendants end with it, and
/// it ends with the calling thread. Errors: BB_IO (no pipe).
BB_CHECKED bb_status bb_work_folder_run(bb_work_folder *folder, const bb_work_program *program,
                                        char *output, size_t room, size_t *output_bytes,
                                        bb_work_end *end);

/// Ends the programs in all folders of the process and removes the folders. Async-signal-safe: for
/// handlers of terminating signals.
void bb_work_folder_abandon(void);

/// For a forked process: leaves the folders to the parent.
void bb_work_folder_disown(void);

#endif
