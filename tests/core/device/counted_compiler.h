// SPDX-License-Identifier: Apache-2.0
//
// A compiler that counts its calls, and the files in a folder.
#ifndef BB_TESTS_CORE_DEVICE_COUNTED_COMPILER_H
#define BB_TESTS_CORE_DEVICE_COUNTED_COMPILER_H

#include "core/status.h"
#include "tests/check.h"

#include <dirent.h>
#include <sys/stat.h>

/// Writes the compiler to `script`, which records each call in `calls`, and sets BB_CC to it.
static inline void counted_compiler_write(const char *script, const char *calls)
{
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\necho call >> %s\nexec cc \"$@\"\n", calls) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(script, 0700), 0);
    assert_int_equal(setenv("BB_CC", script, 1), 0);
}

static inline bb_index counted_compiler_calls(const char *calls)
{
    FILE *file = fopen(calls, "r");
    bb_index count = 0;
    for (int letter = 0; file != NULL && (letter = fgetc(file)) != EOF;) {
        count += letter == '\n';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

/// Number of files in a folder, and the path of one; "" if there is none.
static inline bb_index counted_compiler_files(const char *folder, char path[300])
{
    DIR *open_folder = opendir(folder);
    bb_index count = 0;
    path[0] = '\0';
    for (struct dirent *entry = NULL;
         open_folder != NULL && (entry = readdir(open_folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, 300, "%.40s/%.255s", folder, entry->d_name);
            ++count;
        }
    }
    if (open_folder != NULL) {
        (void)closedir(open_folder);
    }
    return count;
}

#endif
