// SPDX-License-Identifier: Apache-2.0
#include "sim/config/shipped_folder.h"

#include "build_info.h"
#include "core/memory.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Recognises the build tree: CMake links the shipped files into it, next to the program.
static bool is_build_tree(const char *folder)
{
    char path[PATH_MAX + 16];
    struct stat about;
    (void)snprintf(path, sizeof path, "%s/CMakeCache.txt", folder);
    if (stat(path, &about) != 0) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/configs", folder);
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

// Finds the folder with the shipped files; "" if the location of the program is unknown.
static bb_status find_share(char **out)
{
    const char *named = getenv("BITBUDGET_SHARE");
    char program[PATH_MAX];
    if (named != NULL && named[0] != '\0') {
        return bb_memory_text(named, out);
    }
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL) {
        return bb_memory_text("", out);
    }
    *slash = '\0';
    return bb_memory_printf(out, is_build_tree(program) ? "%s" : "%s/" BB_SHARE_FROM_PROGRAM,
                            program);
}

bb_status bb_shipped_folder_find(char *out[BB_SHIPPED_FOLDERS])
{
    bb_status status = BB_OK;
    char *share = NULL;
    char resolved[PATH_MAX];
    BB_TRY(find_share(&share));
    const char *plain = realpath(share, resolved); // without the ".." of bin/../share
    BB_TRY(bb_memory_text("configs/", &out[0]));
    BB_TRY(bb_memory_printf(&out[1], "%s/configs/", plain == NULL ? share : plain));
done:
    BB_RELEASE(&share);
    return status;
}

bool bb_shipped_folder_is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

bb_status bb_shipped_folder_first(const char *folder, const char *name, const char *const *endings,
                                  char **out)
{
    bb_status status = BB_OK;
    char *path = NULL;
    *out = NULL;
    for (int i = 0; endings[i] != NULL && *out == NULL; ++i) {
        BB_RELEASE(&path);
        BB_TRY(bb_memory_printf(&path, "%s%s%s", folder, name, endings[i]));
        if (bb_shipped_folder_is_file(path)) {
            *out = path;
            path = NULL;
        }
    }
done:
    BB_RELEASE(&path);
    return status;
}

static bool is_own(const char *name)
{
    return name[0] == '/' || name[0] == '.';
}

bb_status bb_shipped_folder_search(const char *name, const char *inner, const char *const *endings,
                                   bool only_share, char **out)
{
    bb_status status = BB_OK;
    char *folders[BB_SHIPPED_FOLDERS] = {NULL, NULL};
    char *path = NULL;
    *out = NULL;
    if (is_own(name)) {
        goto done;
    }
    BB_TRY(bb_shipped_folder_find(folders));
    for (int i = only_share; i < BB_SHIPPED_FOLDERS && *out == NULL; ++i) {
        BB_RELEASE(&path);
        BB_TRY(bb_memory_printf(&path, "%s%s", folders[i], inner));
        BB_TRY(bb_shipped_folder_first(path, name, endings, out));
    }
done:
    BB_RELEASE(&path);
    BB_RELEASE(&folders[0]);
    BB_RELEASE(&folders[1]);
    return status;
}

bb_status bb_shipped_folder_find_file(const char *name, const char *inner,
                                      const char *const *endings, char **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_shipped_folder_first("", name, endings, out));
    if (*out == NULL) {
        BB_TRY(bb_shipped_folder_search(name, inner, endings, false, out));
    }
    if (*out == NULL && (is_own(name) || access(name, F_OK) == 0)) {
        BB_TRY(bb_memory_text(name, out));
    }
done:
    return status;
}

// Adds the first `length` bytes of a name unless already present.
static bb_status add_name(bb_shipped_names *names, const char *name, size_t length)
{
    bb_status status = BB_OK;
    char *copy = NULL;
    BB_TRY(bb_memory_printf(&copy, "%.*s", (int)length, name));
    for (bb_index i = 0; i < names->count; ++i) {
        if (strcmp(names->names[i], copy) == 0) {
            goto done;
        }
    }
    if (names->count == names->capacity) {
        const bb_index capacity = names->capacity == 0 ? 64 : 2 * names->capacity;
        BB_TRY(bb_memory_resize(capacity, sizeof *names->names, (void **)&names->names));
        names->capacity = capacity;
    }
    names->names[names->count++] = copy;
    copy = NULL;
done:
    BB_RELEASE(&copy);
    return status;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Listed extension of a file name, or NULL.
static const char *find_ending(const bb_shipped_listing *listing, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 0; listing->endings[i] != NULL; ++i) {
        const size_t ending = strlen(listing->endings[i]);
        if (length > ending && strcmp(name + length - ending, listing->endings[i]) == 0) {
            return listing->endings[i];
        }
    }
    return NULL;
}

// Lists the files of folder `path`, with `prefix` before their names. A missing or unreadable
// folder has none.
static bb_status list_folder(const bb_shipped_listing *listing, const char *path,
                             const char *prefix, int depth, bb_shipped_names *out)
{
    bb_status status = BB_OK;
    char *inner = NULL;
    char *name = NULL;
    DIR *entries = opendir(path);
    for (const struct dirent *entry = NULL;
         entries != NULL && (entry = readdir(entries)) != NULL;) {
        struct stat about;
        BB_RELEASE(&inner);
        BB_RELEASE(&name);
        BB_TRY(bb_memory_printf(&inner, "%s%s", path, entry->d_name));
        BB_TRY(bb_memory_printf(&name, "%s%s", prefix, entry->d_name));
        if (entry->d_name[0] == '.' || stat(inner, &about) != 0 ||
            (listing->accepts != NULL && !listing->accepts(inner, name))) {
            continue;
        }
        const char *ending = S_ISREG(about.st_mode) ? find_ending(listing, name) : NULL;
        if (ending != NULL) {
            BB_TRY(add_name(out, name, strlen(name) - strlen(ending)));
        } else if (S_ISDIR(about.st_mode) && depth > 0) {
            BB_RELEASE(&inner);
            BB_RELEASE(&name);
            BB_TRY(bb_memory_printf(&inner, "%s%s/", path, entry->d_name));
            BB_TRY(bb_memory_printf(&name, "%s%s/", prefix, entry->d_name));
            BB_TRY(list_folder(listing, inner, name, depth - 1, out));
        }
    }
done:
    if (entries != NULL) {
        (void)closedir(entries);
    }
    BB_RELEASE(&name);
    BB_RELEASE(&inner);
    return status;
}

bb_status bb_shipped_names_list(const bb_shipped_listing *listing, bb_shipped_names *out)
{
    bb_status status = BB_OK;
    char *folders[BB_SHIPPED_FOLDERS] = {NULL, NULL};
    char *path = NULL;
    BB_TRY(bb_shipped_folder_find(folders));
    for (int i = 0; i < BB_SHIPPED_FOLDERS; ++i) {
        BB_RELEASE(&path);
        BB_TRY(bb_memory_printf(&path, "%s%s", folders[i], listing->folder));
        BB_TRY(list_folder(listing, path, "", listing->depth, out));
    }
    if (out->count > 0) {
        qsort(out->names, (size_t)out->count, sizeof *out->names, compare);
    }
done:
    BB_RELEASE(&path);
    for (int i = 0; i < BB_SHIPPED_FOLDERS; ++i) {
        BB_RELEASE(&folders[i]);
    }
    return status;
}

void bb_shipped_names_release(bb_shipped_names *names)
{
    for (bb_index i = 0; i < names->count; ++i) {
        BB_RELEASE(&names->names[i]);
    }
    BB_RELEASE(&names->names);
    *names = (bb_shipped_names){0};
}
