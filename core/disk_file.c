// SPDX-License-Identifier: Apache-2.0
#include "core/disk_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOST_BYTES = 65, LONGEST_NAME = 255 };

// Temporary files. A handler may run at any time: a name is read only while its slot is HELD or
// READ, and changed only while it is neither. READ is a HELD slot whose name a thread is reading,
// so that no other thread frees it meanwhile.
enum { FREE, CHANGING, HELD, READ };
static struct {
    atomic_int state;
    char name[BB_DISK_PATH_BYTES];
} temporaries[BB_DISK_TEMPORARIES];

static void host_name(char out[HOST_BYTES])
{
    if (gethostname(out, HOST_BYTES) != 0) {
        (void)snprintf(out, HOST_BYTES, "host");
    }
    out[HOST_BYTES - 1] = '\0';
    for (char *letter = out; *letter != '\0'; ++letter) {
        if (*letter == '/') {
            *letter = '-';
        }
    }
}

bb_status bb_disk_file_name(const char *path, char name[BB_DISK_PATH_BYTES])
{
    bb_status status = BB_OK;
    const char *slash = strrchr(path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - path) + 1;
    char host[HOST_BYTES];
    char tail[HOST_BYTES + 64];
    unsigned long long number = 0;
    host_name(host);
    BB_REQUIRE(getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number, BB_IO,
               "cannot name a temporary file for '%s': %s", path, strerror(errno));
    const int tail_length =
        snprintf(tail, sizeof tail, ".%s.%ld.%016llx.part", host, (long)getpid(), number);
    const int length = snprintf(name, BB_DISK_PATH_BYTES, "%.*s.%.*s%s", folder, path,
                                LONGEST_NAME - 1 - tail_length, path + folder, tail);
    BB_REQUIRE(length > 0 && length < BB_DISK_PATH_BYTES, BB_IO, "path longer than %d bytes",
               BB_DISK_PATH_BYTES);
done:
    return status;
}

// Returns the slot of the name, -1 if none is free.
static int claim_slot(const char *name)
{
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&temporaries[i].state, &expected, CHANGING)) {
            (void)snprintf(temporaries[i].name, sizeof temporaries[i].name, "%s", name);
            atomic_store(&temporaries[i].state, HELD);
            return i;
        }
    }
    return -1;
}

bb_status bb_disk_file_create(const char *name, const char *path, int *out)
{
    bb_status status = BB_OK;
    *out = -1;
    const int place = claim_slot(name);
    BB_REQUIRE(place >= 0, BB_INTERNAL, "cannot write '%s': %d temporary files are being written",
               path, BB_DISK_TEMPORARIES);
    *out = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    const int error = errno;
    if (*out < 0) {
        atomic_store(&temporaries[place].state, FREE); // another process owns the file
    }
    BB_REQUIRE(*out >= 0, BB_IO, "cannot write '%s': %s", path, strerror(error));
done:
    return status;
}

// Changes HELD to READ; waits for another reading thread. False: the slot has no name.
static bool begin_reading(int place)
{
    int expected = HELD;
    while (!atomic_compare_exchange_weak(&temporaries[place].state, &expected, READ)) {
        if (expected == FREE || expected == CHANGING) {
            return false;
        }
        expected = HELD;
    }
    return true;
}

void bb_disk_file_finish(const char *name, bool remove_it)
{
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        if (!begin_reading(i)) {
            continue;
        }
        const bool found = strcmp(temporaries[i].name, name) == 0;
        if (found && remove_it) {
            (void)unlink(name);
        }
        atomic_store(&temporaries[i].state, found ? FREE : HELD);
    }
}

void bb_disk_file_abandon(void)
{
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        const int place = atomic_load(&temporaries[i].state);
        if (place == HELD || place == READ) {
            (void)unlink(temporaries[i].name);
        }
    }
}

void bb_disk_file_disown(void)
{
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        atomic_store(&temporaries[i].state, FREE);
    }
}

static bb_status check_kind(const char *path, const struct stat *about)
{
    const char *kind = S_ISDIR(about->st_mode)    ? "a folder"
                       : S_ISFIFO(about->st_mode) ? "a FIFO"
                       : S_ISLNK(about->st_mode)  ? "a link"
                                                  : "not a data file";
    if (S_ISREG(about->st_mode)) {
        return BB_OK;
    }
    return bb_status_set(BB_IO, __FILE__, __LINE__,
                         "cannot read '%s': it is %s, expected a regular file", path, kind);
}

bb_status bb_disk_file_check(const char *path)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(stat(path, &about) == 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
    BB_TRY(check_kind(path, &about));
done:
    return status;
}

bb_status bb_disk_file_open(const char *path, bool through_links, FILE **out)
{
    bb_status status = BB_OK;
    struct stat about;
    const int links = through_links ? 0 : O_NOFOLLOW;
    *out = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | links);
    if (file < 0 && errno == ELOOP && lstat(path, &about) == 0) {
        BB_TRY(check_kind(path, &about));
    }
    BB_REQUIRE(file >= 0 && fstat(file, &about) == 0, BB_IO, "cannot read '%s': %s", path,
               strerror(errno));
    BB_TRY(check_kind(path, &about));
    *out = fdopen(file, "rb");
    BB_REQUIRE(*out != NULL, BB_IO, "cannot read '%s': %s", path, strerror(errno));
    file = -1;
done:
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}

// Rejects files that an untrusted user owns or can write. `is_excused`: the sticky bit suffices,
// and so does ownership by `root`, the owner of "/", whose id is not 0 in user containers.
static bb_status check_trust(const char *what, const struct stat *about, bb_disk_trust trust,
                             bool is_excused, uid_t root)
{
    bb_status status = BB_OK;
    const bool is_ours = about->st_uid == 0 || about->st_uid == geteuid() ||
                         about->st_uid == trust.owner || (is_excused && about->st_uid == root);
    const bool is_kept = is_excused && (about->st_mode & S_ISVTX) != 0;
    BB_REQUIRE(is_ours, BB_UNSUPPORTED, "'%s' is owned by user %lu, who is not trusted", what,
               (unsigned long)about->st_uid);
    BB_REQUIRE(is_kept || (about->st_mode & trust.writers) == 0, BB_UNSUPPORTED,
               "'%s' is writable by other users; remove their write permission", what);
done:
    return status;
}

bb_status bb_disk_trust_check(FILE *file, const char *path, bb_disk_trust trust)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(fstat(fileno(file), &about) == 0, BB_IO, "cannot read '%s': %s", path,
               strerror(errno));
    BB_TRY(check_trust(path, &about, trust, false, 0));
done:
    return status;
}

bb_status bb_disk_trust_open_folder(const char *path, bb_disk_trust trust, bool is_private,
                                    int *out)
{
    bb_status status = BB_OK;
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    char resolved[PATH_MAX];
    struct stat about;
    uid_t root = 0;
    int folder = -1;
    *out = -1;
    BB_REQUIRE(!is_private || (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)), BB_IO,
               "'%s' is a link, or not a folder", path);
    BB_REQUIRE(realpath(path, resolved) != NULL, BB_IO, "'%s': %s", path, strerror(errno));
    folder = open("/", flags);
    for (char *end = resolved;;) { // name below `folder`, which is "/" at first
        const char kept = *end;
        const bool is_last = kept == '\0' || end[1] == '\0';
        *end = '\0';
        BB_REQUIRE(folder >= 0 && fstat(folder, &about) == 0, BB_IO, "'%s': %s", resolved,
                   strerror(errno));
        root = end == resolved ? about.st_uid : root;
        BB_TRY(check_trust(end == resolved ? "/" : resolved, &about, trust, !is_last || !is_private,
                           root));
        *end = kept;
        if (is_last) {
            break;
        }
        const char *part = end + 1;
        end += 1 + strcspn(part, "/");
        const char next = *end;
        *end = '\0';
        const int inner = openat(folder, part, flags);
        (void)close(folder);
        folder = inner;
        *end = next;
    }
    *out = folder;
    folder = -1;
done:
    if (folder >= 0) {
        (void)close(folder);
    }
    return status;
}

bb_status bb_disk_trust_open_file(int folder, const char *name, bb_disk_trust trust, FILE **out)
{
    bb_status status = BB_OK;
    struct stat about;
    *out = NULL;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    BB_REQUIRE(file >= 0 && fstat(file, &about) == 0, BB_IO, "cannot read '%s': %s", name,
               strerror(errno));
    BB_TRY(check_kind(name, &about));
    BB_TRY(check_trust(name, &about, trust, false, 0));
    *out = fdopen(file, "rb");
    BB_REQUIRE(*out != NULL, BB_IO, "cannot read '%s': %s", name, strerror(errno));
    file = -1;
done:
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}
