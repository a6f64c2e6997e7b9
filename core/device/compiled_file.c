// SPDX-License-Identifier: Apache-2.0
#include "core/device/compiled_file.h"

#include "core/digest.h"
#include "core/disk_file.h"
#include "core/memory.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

// Trailer of an object file, ignored by the loader.
typedef struct seal {
    char mark[8];
    uint64_t low, high; // digest of the preceding bytes and the file's name
} seal;

static const char mark[8] = "bbobj-2";
static const char ending[] = ".so";

// Finds the cache folder from the environment; NULL if caching is off.
static bb_status find_folder(char **out)
{
    bb_status status = BB_OK;
    const char *named = getenv("BITBUDGET_CACHE");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (named != NULL && named[0] != '\0') {
        if (strcmp(named, "off") != 0) {
            BB_TRY(bb_memory_text(named, out));
        }
    } else if (cache != NULL && cache[0] == '/') {
        BB_TRY(bb_memory_printf(out, "%s/bitbudget/kernels", cache));
    } else if (home != NULL && home[0] == '/') {
        BB_TRY(bb_memory_printf(out, "%s/.cache/bitbudget/kernels", home));
    }
done:
    return status;
}

// Creates a folder and its parents, accessible to the user only.
static void make_folders(char *folder)
{
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, S_IRWXU);
        *slash = '/';
    }
    (void)mkdir(folder, S_IRWXU);
}

// Code from the cache runs with the user's rights: nobody else may write it.
static bb_disk_trust user_alone(void)
{
    return (bb_disk_trust){.owner = geteuid(), .writers = S_IWGRP | S_IWOTH};
}

// Locates the program as posix_spawnp would.
static bool find_program(const char *name, char path[PATH_MAX], struct stat *about)
{
    const char *folders = getenv("PATH");
    const bool is_path = strchr(name, '/') != NULL;
    if (is_path || folders == NULL) {
        return is_path && snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && stat(path, about) == 0;
    }
    while (true) {
        const size_t bytes = strcspn(folders, ":");
        if (snprintf(path, PATH_MAX, "%.*s/%s", (int)bytes, folders, name) < PATH_MAX &&
            access(path, X_OK) == 0 && stat(path, about) == 0 && S_ISREG(about->st_mode)) {
            return true;
        }
        if (folders[bytes] == '\0') {
            return false;
        }
        folders += bytes + 1;
    }
}

// Features of the first core; `*found` is false if the system does not list them.
static bb_status add_processor(bb_text *key, bool *found)
{
    bb_status status = BB_OK;
    static const char *const output[] = {"vendor_id", "cpu family", "model",    "stepping",
                                         "flags",     "Features",   "CPU part", "isa"};
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t room = 0;
    *found = false;
    while (file != NULL && getline(&line, &room, file) > 1) { // a blank line ends a core
        for (size_t i = 0; i < sizeof output / sizeof output[0]; ++i) {
            if (strncmp(line, output[i], strlen(output[i])) == 0) {
                BB_TRY(bb_text_add(key, "%s", line));
                *found = true;
                break;
            }
        }
    }
done:
    free(line); // allocated by getline
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

static bb_status add_compiler(const char *compiler, bb_text *key, bool *found)
{
    bb_status status = BB_OK;
    static const char *const variables[] = {
        "COMPILER_PATH",        "GCC_EXEC_PREFIX",    "CPATH",  "C_INCLUDE_PATH", "LIBRARY_PATH",
        "CCC_OVERRIDE_OPTIONS", "CPLUS_INCLUDE_PATH", "SYSROOT"};
    char path[PATH_MAX];
    char *target = NULL;
    struct stat about;
    *found = find_program(compiler, path, &about);
    if (*found) {
        target = realpath(path, NULL);
        BB_TRY(bb_text_add(key, "%s %lld %lld.%09ld\n", target == NULL ? path : target,
                           (long long)about.st_size, (long long)about.st_mtim.tv_sec,
                           about.st_mtim.tv_nsec));
        for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
            const char *value = getenv(variables[i]);
            BB_TRY(bb_text_add(key, "%s=%s\n", variables[i], value == NULL ? "" : value));
        }
    }
done:
    free(target); // allocated by realpath
    return status;
}

bb_status bb_compiled_file_place(const char *text, const char *compiler, const char *flags,
                                 char **out)
{
    bb_status status = BB_OK;
    bb_text key = {0};
    char *folder = NULL;
    bool knows_compiler = false;
    bool knows_processor = false;
    int kept = -1;
    *out = NULL;
    BB_TRY(find_folder(&folder));
    if (folder == NULL) {
        goto done;
    }
    BB_TRY(add_compiler(compiler, &key, &knows_compiler));
    BB_TRY(add_processor(&key, &knows_processor));
    if (knows_compiler && knows_processor) {
        make_folders(folder);
    }
    if (knows_compiler && knows_processor &&
        bb_disk_trust_open_folder(folder, user_alone(), true, &kept) == BB_OK) {
        BB_TRY(bb_text_add(&key, "%s\n%s", flags, text));
        char digest[BB_DIGEST_BYTES];
        bb_digest_of(key.data, (size_t)key.length, digest);
        BB_TRY(bb_memory_printf(out, "%s/%s%s", folder, digest, ending));
    }
done:
    if (kept >= 0) {
        (void)close(kept);
    }
    bb_text_release(&key);
    BB_RELEASE(&folder);
    return status;
}

// Reads a whole file; NULL if it cannot be read. The extra byte covers empty files.
static bb_status read_all(FILE *file, char **out, size_t *bytes)
{
    bb_status status = BB_OK;
    struct stat about;
    char *data = NULL;
    if (fstat(fileno(file), &about) == 0) {
        BB_TRY(BB_ALLOCATE((bb_index)about.st_size + 1, &data));
        *bytes = fread(data, 1, (size_t)about.st_size + 1, file);
        if (*bytes == (size_t)about.st_size) {
            *out = data;
            data = NULL;
        }
    }
done:
    BB_RELEASE(&data);
    return status;
}

// Computes the seal of an object. Its digest includes the name, so that an object cannot pass for
// that of another source.
static seal seal_of(const char *place, const char *data, size_t bytes)
{
    seal made;
    const char *slash = strrchr(place, '/');
    const char *name = slash == NULL ? place : slash + 1;
    const XXH128_hash_t digest =
        XXH3_128bits_withSeed(data, bytes, XXH3_64bits(name, strlen(name)));
    memcpy(made.mark, mark, sizeof mark);
    made.low = digest.low64;
    made.high = digest.high64;
    return made;
}

static bool is_valid(const char *place, const char *data, size_t bytes)
{
    seal held;
    if (bytes <= sizeof held) {
        return false;
    }
    memcpy(&held, data + bytes - sizeof held, sizeof held);
    const seal expected = seal_of(place, data, bytes - sizeof held);
    return memcmp(held.mark, expected.mark, sizeof mark) == 0 && held.low == expected.low &&
           held.high == expected.high;
}

// dlopen returns an already loaded object for an equal path, so each call spells the descriptor's
// path differently.
void *bb_compiled_file_link(int object)
{
    static atomic_uint calls;
    char path[80] = "/proc/self/fd";
    size_t length = strlen(path);
    for (unsigned rest = atomic_fetch_add(&calls, 1); rest > 0; rest >>= 1) {
        path[length++] = '/';
        path[length++] = (rest & 1) != 0 ? '.' : '/';
    }
    (void)snprintf(path + length, sizeof path - length, "/%d", object);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static bb_status link_if_valid(const char *place, FILE *file, void **library)
{
    bb_status status = BB_OK;
    char *data = NULL;
    size_t bytes = 0;
    BB_TRY(read_all(file, &data, &bytes));
    if (data != NULL && is_valid(place, data, bytes)) {
        *library = bb_compiled_file_link(fileno(file));
    }
done:
    BB_RELEASE(&data);
    return status;
}

// Opens the folder of a file that may be loaded and finds the name within it.
static bb_status open_folder_of(const char *path, bb_disk_trust trust, bool is_private, int *folder,
                                const char **name)
{
    bb_status status = BB_OK;
    const char *slash = strrchr(path, '/');
    char *parent = NULL;
    BB_TRY(bb_memory_printf(&parent, "%.*s", slash == NULL ? 1 : (int)(slash - path),
                            slash == NULL ? "." : path));
    BB_TRY(bb_disk_trust_open_folder(parent[0] == '\0' ? "/" : parent, trust, is_private, folder));
    *name = slash == NULL ? path : slash + 1;
done:
    BB_RELEASE(&parent);
    return status;
}

// Opens a file in its folder; for a link, the target in its own folder.
static bb_status open_trusted(const char *place, bb_disk_trust trust, FILE **out)
{
    bb_status status = BB_OK;
    char resolved[PATH_MAX];
    const char *name = NULL;
    int folder = -1;
    struct stat about;
    BB_TRY(open_folder_of(place, trust, false, &folder, &name));
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode)) {
        (void)close(folder);
        folder = -1;
        BB_REQUIRE(realpath(place, resolved) != NULL, BB_IO, "'%s': %s", place, strerror(errno));
        BB_TRY(open_folder_of(resolved, trust, false, &folder, &name));
    }
    BB_TRY(bb_disk_trust_open_file(folder, name, trust, out));
done:
    if (folder >= 0) {
        (void)close(folder);
    }
    return status;
}

bb_status bb_compiled_file_open(const char *place, uid_t owner, void **library)
{
    bb_status status = BB_OK;
    const bb_disk_trust trust = {.owner = owner, .writers = S_IWOTH};
    FILE *file = NULL;
    *library = NULL;
    BB_TRY(open_trusted(place, trust, &file));
    BB_TRY(link_if_valid(place, file, library));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

bb_status bb_compiled_file_load(const char *place, void **library)
{
    bb_status status = BB_OK;
    const bb_disk_trust own = user_alone();
    const char *name = NULL;
    FILE *file = NULL;
    int folder = -1;
    *library = NULL;
    status = open_folder_of(place, own, true, &folder, &name);
    if (status != BB_OK) {
        status = status == BB_MEMORY ? BB_MEMORY : BB_OK; // no file is cached there
        goto done;
    }
    if (bb_disk_trust_open_file(folder, name, own, &file) == BB_OK) {
        BB_TRY(link_if_valid(place, file, library));
    }
    if (*library != NULL) {
        (void)futimens(fileno(file), NULL); // marks the file as just used
    } else if (file != NULL) {
        (void)unlinkat(folder, name, 0);
    }
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    return status;
}

typedef struct kept_file {
    char name[40];
    struct timespec used;
} kept_file;

static int compare_used(const void *a, const void *b)
{
    const struct timespec *one = &((const kept_file *)a)->used;
    const struct timespec *two = &((const kept_file *)b)->used;
    return one->tv_sec != two->tv_sec
               ? (one->tv_sec < two->tv_sec ? -1 : 1)
               : (one->tv_nsec > two->tv_nsec) - (one->tv_nsec < two->tv_nsec);
}

static bool is_object(const char *name)
{
    const size_t length = strlen(name);
    return length < sizeof((kept_file *)0)->name && length > strlen(ending) &&
           strcmp(name + length - strlen(ending), ending) == 0 && name[0] != '.';
}

// Frees space: deletes the least recently used quarter of a full folder.
static bb_status make_room(const char *place)
{
    bb_status status = BB_OK;
    char folder[PATH_MAX];
    DIR *entries = NULL;
    kept_file *files = NULL;
    bb_index count = 0;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(place, '/') - place), place);
    entries = opendir(folder);
    BB_TRY(BB_ALLOCATE((bb_index)BB_COMPILED_FILE_LIMIT, &files));
    for (struct dirent *entry = NULL;
         entries != NULL && count < BB_COMPILED_FILE_LIMIT && (entry = readdir(entries)) != NULL;) {
        struct stat about;
        if (is_object(entry->d_name) && fstatat(dirfd(entries), entry->d_name, &about, 0) == 0) {
            (void)snprintf(files[count].name, sizeof files->name, "%.*s",
                           (int)sizeof files->name - 1, entry->d_name);
            files[count++].used = about.st_mtim;
        }
    }
    if (count == BB_COMPILED_FILE_LIMIT) {
        qsort(files, (size_t)count, sizeof *files, compare_used);
        for (bb_index i = 0; i < count / 4; ++i) {
            (void)unlinkat(dirfd(entries), files[i].name, 0);
        }
    }
done:
    if (entries != NULL) {
        (void)closedir(entries);
    }
    BB_RELEASE(&files);
    return status;
}

static bool write_all(int descriptor, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(descriptor, data, bytes);
        if (written <= 0 && errno != EINTR) {
            return false;
        }
        data += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

// Writes the bytes and their seal to `place`, completely or not at all.
static bool write_sealed(const char *place, const char *data, size_t bytes)
{
    char name[BB_DISK_PATH_BYTES];
    int descriptor = -1;
    bool written = false;
    const seal held = seal_of(place, data, bytes);
    if (bb_disk_file_name(place, name) == BB_OK &&
        bb_disk_file_create(name, place, &descriptor) == BB_OK) {
        written = write_all(descriptor, data, bytes) &&
                  write_all(descriptor, (const char *)&held, sizeof held);
        written = close(descriptor) == 0 && written && rename(name, place) == 0;
        bb_disk_file_finish(name, !written);
    }
    return written;
}

static bb_status write_copy(const char *place, int object, bool *written)
{
    bb_status status = BB_OK;
    const int copy = dup(object);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "rb");
    char *data = NULL;
    size_t bytes = 0;
    *written = false;
    if (file != NULL && fseek(file, 0, SEEK_SET) == 0) {
        BB_TRY(read_all(file, &data, &bytes));
        *written = data != NULL && bytes > 0 && write_sealed(place, data, bytes);
    }
done:
    BB_RELEASE(&data);
    if (file != NULL) {
        (void)fclose(file);
    } else if (copy >= 0) {
        (void)close(copy);
    }
    return status;
}

bb_status bb_compiled_file_write(const char *place, int object)
{
    bb_status status = BB_OK;
    bool written = false;
    BB_TRY(write_copy(place, object, &written));
    BB_REQUIRE(written, BB_IO, "cannot write '%s': %s", place, strerror(errno));
done:
    return status;
}

bb_status bb_compiled_file_save(const char *place, int object)
{
    bb_status status = BB_OK;
    bool written = false;
    BB_TRY(make_room(place));
    BB_TRY(write_copy(place, object, &written));
done:
    return status;
}
