// SPDX-License-Identifier: Apache-2.0
//
// Backing file of a tile store, found independently: the only open file of the process without a
// name.
#ifndef BB_TESTS_SOLVERS_FACTOR_TILES_SWAP_FILE_H
#define BB_TESTS_SOLVERS_FACTOR_TILES_SWAP_FILE_H

#include "core/memory.h"
#include "tests/check.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/// Its descriptor in this process, or in process `pid`; -1 if none.
static inline int swap_file_find(const char *pid)
{
    char folder[64], path[sizeof folder + 256], name[4096];
    int found = -1;
    (void)snprintf(folder, sizeof folder, "/proc/%s/fd", pid);
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const ssize_t length = readlink(path, name, sizeof name - 1);
        name[length > 0 ? length : 0] = '\0';
        if (strstr(name, "/bitbudget-") != NULL && strstr(name, " (deleted)") != NULL) {
            found = atoi(entry->d_name);
        }
    }
    (void)closedir(files);
    return found;
}

/// Bytes of the file in the page cache; -1 if the file system is in memory.
static inline ptrdiff_t swap_file_cached_bytes(void)
{
    struct stat file;
    struct statfs system;
    const int descriptor = swap_file_find("self");
    const bb_index page = sysconf(_SC_PAGESIZE);
    ptrdiff_t bytes = 0;
    assert_true(descriptor >= 0);
    assert_int_equal(fstat(descriptor, &file), 0);
    assert_int_equal(fstatfs(descriptor, &system), 0);
    if (system.f_type == 0x01021994) {
        return -1;
    }
    void *view = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    assert_true(view != MAP_FAILED);
    unsigned char *pages = new_array(unsigned char, (file.st_size + page - 1) / page);
    assert_int_equal(mincore(view, (size_t)file.st_size, pages), 0);
    for (bb_index i = 0; i < (file.st_size + page - 1) / page; ++i) {
        bytes += pages[i] & 1 ? page : 0;
    }
    BB_RELEASE(&pages);
    assert_int_equal(munmap(view, (size_t)file.st_size), 0);
    return bytes;
}

/// Number of files in a folder with the name prefix of stores.
static inline int swap_file_count(const char *folder)
{
    int count = 0;
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        count += strncmp(entry->d_name, "bitbudget-", 10) == 0;
    }
    (void)closedir(files);
    return count;
}

#endif
