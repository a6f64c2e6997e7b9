// SPDX-License-Identifier: Apache-2.0
//
// Temporary folders and the programs that run in them: made below TMPDIR (or /tmp) for the user
// alone, reached by their descriptor, removed with all that is in them. A signal that ends the
// process ends the program and removes the folder.
#ifndef BB_CORE_WORK_FOLDER_H
#define BB_CORE_WORK_FOLDER_H

#include "core/status.h"

#include <stdbool.h>
#include <sys/types.h>

enum { BB_WORK_FOLDERS = 64 }; ///< at once in a process

typedef struct bb_work_folder bb_work_folder;

/// Makes a folder. `purpose` completes "a folder to ..": "compile in". Errors: BB_IO (with TMPDIR),
/// BB_INTERNAL (BB_WORK_FOLDERS of them stand). Owner: the caller.
BB_CHECKED bb_status bb_work_folder_create(const char *purpose, bb_work_folder **out);

/// Ends what runs in the folder and removes it.
void bb_work_folder_remove(bb_work_folder **folder);

/// Opens a file of the folder, which is no link: a descriptor, -1 with errno. `flags` as of open.
int bb_work_folder_open(const bb_work_folder *folder, const char *name, int flags);

/// Writes a new file of `bytes` bytes. Errors: BB_IO.
BB_CHECKED bb_status bb_work_folder_write(const bb_work_folder *folder, const char *name,
                                          const void *data, bb_index bytes);

/// A program with the folder as its working folder.
typedef struct bb_work_program {
    const char *const *arguments; ///< NULL ends them; the first is its name or path, as for execvp
    const char *const *environment; ///< NULL ends it; NULL: that of the process
    double seconds;                 ///< that it may take
} bb_work_program;

/// How a program ended.
typedef struct bb_work_end {
    int error;    ///< errno with which it could not be started; 0: it ran
    bool is_late; ///< it was ended, as it took longer than it may
    int ending;   ///< as of waitpid
    bool reaped;  ///< other code of the process waited for it: `ending` is not known
} bb_work_end;

/// Runs a program without a shell, in a process group of its own, and waits for its end. The first
/// `room` bytes of its output, stdout and stderr, go to `said`. All that it started ends with it,
/// and it with the thread that calls. Errors: BB_IO (no pipe).
BB_CHECKED bb_status bb_work_folder_run(bb_work_folder *folder, const bb_work_program *program,
                                        char *said, size_t room, size_t *said_bytes,
                                        bb_work_end *end);

/// Ends what runs in all folders of the process and removes them. Async-signal-safe: for handlers
/// of signals that end the program.
void bb_work_folder_abandon(void);

/// For a forked process: the folders are the parent's.
void bb_work_folder_disown(void);

#endif
