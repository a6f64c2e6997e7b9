// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include "core/disk_file.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Returns the folder of a path, "." if it has none.
static void folder_of(const char *path, char out[BB_DISK_PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    const int length = slash == NULL || slash == path ? 1 : (int)(slash - path);
    (void)snprintf(out, BB_DISK_PATH_BYTES, "%.*s", length, slash == NULL ? "." : path);
}

static bool same_place(const char *a, const char *b)
{
    struct stat about_a;
    struct stat about_b;
    return stat(a, &about_a) == 0 && stat(b, &about_b) == 0 && about_a.st_dev == about_b.st_dev &&
           about_a.st_ino == about_b.st_ino;
}

bool bb_file_same(const char *a, const char *b)
{
    const char *slash_a = strrchr(a, '/');
    const char *slash_b = strrchr(b, '/');
    char folders[2][BB_DISK_PATH_BYTES];
    bool same = strcmp(a, b) == 0 || same_place(a, b);
    if (!same &&
        strcmp(slash_a == NULL ? a : slash_a + 1, slash_b == NULL ? b : slash_b + 1) == 0) {
        folder_of(a, folders[0]);
        folder_of(b, folders[1]);
        same = same_place(folders[0], folders[1]);
    }
    return same;
}

// `how` tells the user how to choose another name: " with -o", or "".
static bb_status check_target(const char *path, bool force, const char *how)
{
    bb_status status = BB_OK;
    struct stat about;
    if (lstat(path, &about) != 0) {
        BB_REQUIRE(errno == ENOENT, BB_IO, "cannot write output '%s': %s", path, strerror(errno));
        goto done;
    }
    BB_REQUIRE(S_ISREG(about.st_mode), BB_IO,
               "cannot write output '%s': it is %s, not a regular file", path,
               S_ISDIR(about.st_mode) ? "a folder" : "something else");
    BB_REQUIRE(force, BB_IO, "output '%s' exists; name another%s, or replace it with --force", path,
               how);
done:
    return status;
}

// Creates the temporary file. It gets the permissions of a file to be replaced.
static bb_status create_pending(const char *path, char name[BB_DISK_PATH_BYTES], int *out)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_TRY(bb_disk_file_name(path, name));
    BB_TRY(bb_disk_file_create(name, path, out));
    if (lstat(path, &about) == 0 && S_ISREG(about.st_mode)) {
        BB_REQUIRE(fchmod(*out, about.st_mode & 07777) == 0, BB_IO,
                   "cannot write output '%s': cannot set its permissions: %s", path,
                   strerror(errno));
    }
done:
    return status;
}

static bb_status reserve(int file, const char *path, double bytes)
{
    bb_status status = BB_OK;
    if (bytes < 1.0) {
        goto done;
    }
    int error = posix_fallocate(file, 0, (off_t)bytes);
    // File systems without preallocation are accepted: the write itself is checked.
    BB_REQUIRE(error == 0 || error == EOPNOTSUPP || error == EINVAL, BB_IO,
               "cannot write output '%s': no space for %.0f bytes: %s", path, bytes,
               strerror(error));
done:
    return status;
}

static bb_file_stamp stamp_of(const struct stat *about)
{
    return (bb_file_stamp){about->st_dev, about->st_ino, about->st_size, about->st_mtim};
}

bb_status bb_file_stamp_size(const char *path, double *bytes)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(stat(path, &about) == 0, BB_IO, "'%s': %s", path, strerror(errno));
    BB_REQUIRE(S_ISREG(about.st_mode), BB_IO, "'%s': not a regular file", path);
    *bytes = (double)about.st_size;
done:
    return status;
}

unsigned bb_file_stamp_patience(double bytes)
{
    return 60 + (unsigned)(bytes / (20 << 20));
}

bb_status bb_file_stamp_find(const char *path, bb_file_stamp *out)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(stat(path, &about) == 0, BB_IO, "'%s': %s", path, strerror(errno));
    *out = stamp_of(&about);
done:
    return status;
}

bb_status bb_file_stamp_read(int descriptor, bb_file_stamp *out)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(fstat(descriptor, &about) == 0, BB_IO, "cannot examine an open file: %s",
               strerror(errno));
    *out = stamp_of(&about);
done:
    return status;
}

bool bb_file_stamp_equal(const bb_file_stamp *a, const bb_file_stamp *b)
{
    return a->device == b->device && a->number == b->number && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

bb_status bb_file_list_add(bb_file_list *files, const char *path)
{
    bb_status status = BB_OK;
    if (path == NULL || strcmp(path, "-") == 0) {
        goto done;
    }
    BB_TRY(bb_memory_resize(files->count + 1, sizeof *files->paths, (void **)&files->paths));
    BB_TRY(bb_memory_text(path, &files->paths[files->count]));
    ++files->count;
done:
    return status;
}

void bb_file_list_release(bb_file_list *files)
{
    for (bb_index i = 0; i < files->count; ++i) {
        BB_RELEASE(&files->paths[i]);
    }
    BB_RELEASE(&files->paths);
    files->count = 0;
}

bb_status bb_file_list_refuse(const bb_file_list *files, const char *output)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < files->count; ++i) {
        BB_REQUIRE(!bb_file_same(files->paths[i], output), BB_INVALID,
                   "output '%s' is the input file '%s'; name another", output, files->paths[i]);
    }
done:
    return status;
}

bb_status bb_file_check(const char *path, bool make_folder, bool force, double bytes,
                        const bb_file_list *inputs)
{
    bb_status status = BB_OK;
    char folder[BB_DISK_PATH_BYTES];
    char pending[BB_DISK_PATH_BYTES] = "";
    int file = -1;
    struct stat about;
    BB_REQUIRE(path[0] != '\0' && path[strlen(path) - 1] != '/', BB_IO,
               "output '%s' has no file name", path);
    BB_TRY(inputs == NULL ? BB_OK : bb_file_list_refuse(inputs, path));
    folder_of(path, folder);
    if (make_folder && mkdir(folder, 0777) != 0) {
        BB_REQUIRE(errno == EEXIST, BB_IO, "cannot make output folder '%s': %s", folder,
                   strerror(errno));
    }
    BB_REQUIRE(stat(folder, &about) == 0, BB_IO, "output folder '%s': %s", folder, strerror(errno));
    BB_REQUIRE(S_ISDIR(about.st_mode), BB_IO, "output folder '%s' is not a folder", folder);
    BB_TRY(check_target(path, force, make_folder ? " with -o" : ""));
    BB_TRY(create_pending(path, pending, &file));
    BB_TRY(reserve(file, path, bytes));
done:
    bb_disk_file_finish(pending, true);
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}

static bb_status write_all(int file, const char *path, const char *data, bb_index bytes)
{
    bb_status status = BB_OK;
    for (bb_index written = 0; written < bytes;) {
        ssize_t count = write(file, data + written, (size_t)(bytes - written));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        BB_REQUIRE(count > 0, BB_IO, "cannot write output '%s': %s after %td of %td bytes", path,
                   strerror(errno), written, bytes);
        written += count;
    }
    BB_REQUIRE(fsync(file) == 0, BB_IO, "cannot write output '%s': %s", path, strerror(errno));
done:
    return status;
}

// Gives the temporary file its final name; without `force` only if that name is still free.
static bb_status rename_pending(const char *pending, const char *path, bool force)
{
    bb_status status = BB_OK;
    if (!force) {
        if (link(pending, path) == 0) {
            goto done;
        }
        BB_REQUIRE(errno != EEXIST, BB_IO,
                   "output '%s' appeared during the run and is not replaced", path);
        // No hard links on this file system: rename, after checking again.
        BB_TRY(check_target(path, false, ""));
    }
    BB_REQUIRE(rename(pending, path) == 0, BB_IO, "cannot write output '%s': %s", path,
               strerror(errno));
done:
    return status;
}

static void sync_folder(const char *path)
{
    char folder[BB_DISK_PATH_BYTES];
    folder_of(path, folder);
    int id = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (id >= 0) {
        // The file is complete under its name; the sync only makes the name survive a power
        // failure.
        (void)fsync(id);
        (void)close(id);
    }
}

// Closes the temporary file and gives it its final name.
static bb_status publish(int *file, const char *pending, const char *path, bool force)
{
    bb_status status = BB_OK;
    int closed = close(*file);
    *file = -1;
    BB_REQUIRE(closed == 0, BB_IO, "cannot write output '%s': %s", path, strerror(errno));
    BB_TRY(rename_pending(pending, path, force));
    sync_folder(path);
done:
    return status;
}

bb_status bb_file_write(const char *path, bool force, const void *data, bb_index bytes)
{
    bb_status status = BB_OK;
    char pending[BB_DISK_PATH_BYTES] = "";
    int file = -1;
    BB_TRY(check_target(path, force, ""));
    BB_TRY(create_pending(path, pending, &file));
    BB_TRY(reserve(file, path, (double)bytes));
    BB_TRY(write_all(file, path, data, bytes));
    BB_TRY(publish(&file, pending, path, force));
done:
    bb_disk_file_finish(pending, true);
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}

bb_status bb_file_write_by(const char *path, bool force,
                           bb_status (*write)(const char *temporary, void *context), void *context)
{
    bb_status status = BB_OK;
    char pending[BB_DISK_PATH_BYTES] = "";
    int file = -1;
    BB_TRY(check_target(path, force, ""));
    BB_TRY(create_pending(path, pending, &file));
    BB_TRY(write(pending, context));
    BB_REQUIRE(fsync(file) == 0, BB_IO, "cannot write output '%s': %s", path, strerror(errno));
    BB_TRY(publish(&file, pending, path, force));
done:
    bb_disk_file_finish(pending, true);
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}
