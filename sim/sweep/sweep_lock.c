// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_lock.h"

#include "core/log.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WHO_BYTES = 80 };

// Describes the process that has the lock; in another container or node its number is unknown.
static void describe_owner(int descriptor, struct flock wanted, char who[WHO_BYTES])
{
    if (fcntl(descriptor, F_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK && wanted.l_pid > 0) {
        (void)snprintf(who, WHO_BYTES, "process %ld; wait for it or stop it: kill %ld",
                       (long)wanted.l_pid, (long)wanted.l_pid);
    } else {
        (void)snprintf(who, WHO_BYTES, "another process; wait for it or stop it");
    }
}

bb_status bb_sweep_lock_acquire(const char *folder, bool all, int *out)
{
    bb_status status = BB_OK;
    char *path = NULL;
    char who[WHO_BYTES];
    struct flock wanted = {.l_type = all ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
    *out = -1;
    BB_TRY(bb_memory_printf(&path, "%s/lock", folder));
    *out = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*out >= 0 && fcntl(*out, F_SETLK, &wanted) == 0) {
        goto done;
    }
    if (*out >= 0 && (errno == EACCES || errno == EAGAIN)) {
        describe_owner(*out, wanted, who);
        BB_FAIL(BB_IO, "folder '%s' is being computed by %s", folder, who);
    }
    bb_log_warning("cannot lock '%s': %s; start no second process for this folder", path,
                   strerror(errno));
    bb_sweep_lock_release(out);
done:
    if (status != BB_OK) {
        bb_sweep_lock_release(out);
    }
    BB_RELEASE(&path);
    return status;
}

void bb_sweep_lock_release(int *lock)
{
    if (*lock >= 0) {
        (void)close(*lock);
    }
    *lock = -1;
}
