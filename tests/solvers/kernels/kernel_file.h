// SPDX-License-Identifier: Apache-2.0
//
// Kernel descriptions in tests: files of the project, texts, and the messages of a reader.
#ifndef BB_TESTS_SOLVERS_KERNELS_KERNEL_FILE_H
#define BB_TESTS_SOLVERS_KERNELS_KERNEL_FILE_H

#include "solvers/kernels/language/description.h"
#include "tests/check.h"

typedef bb_status (*kernel_reader)(const char *bytes, bb_index length, const char *name,
                                   bb_problems *problems, bb_description *out);

/// Appends a file of the source tree.
static inline void add_kernel_file(const char *name, bb_text *out)
{
    char path[1024];
    char bytes[4096];
    (void)snprintf(path, sizeof path, "%s/%s", BB_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_error("%s is missing\n", path);
    }
    assert_non_null(file);
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        check_ok(bb_text_add_bytes(out, bytes, (bb_index)count));
    }
    (void)fclose(file);
}

/// Reads the text, expecting no problem. Its bytes fill a block exactly, so that a sanitizer
/// detects reads past the end. Release the description with bb_description_release.
static inline bb_description read_kernel(kernel_reader reader, const char *text)
{
    const size_t length = strlen(text);
    char *bytes = malloc(length + (length == 0));
    bb_problems problems = {0};
    bb_description description;
    assert_non_null(bytes);
    memcpy(bytes, text, length);
    check_ok(reader(bytes, (bb_index)length, "k", &problems, &description));
    free(bytes);
    if (problems.count > 0) {
        print_error("%s", bb_text_string(&problems.lines));
    }
    assert_int_equal(problems.count, 0);
    return description;
}

/// Reading the text gives exactly these problem lines.
static inline void check_problems(kernel_reader reader, const char *text, const char *lines)
{
    const size_t length = strlen(text);
    char *bytes = malloc(length + (length == 0));
    autorelease(bb_problems) problems = {0};
    autorelease(bb_description) description;
    assert_non_null(bytes);
    memcpy(bytes, text, length);
    check_ok(reader(bytes, (bb_index)length, "k", &problems, &description));
    free(bytes);
    assert_string_equal(bb_text_string(&problems.lines), lines);
}

static inline void check_same_element(const bb_element *got, const bb_element *expected)
{
    assert_true((got == NULL) == (expected == NULL));
    if (got == NULL || expected == NULL) {
        return;
    }
    assert_int_equal(got->construct, expected->construct);
    for (int key = 0; key < BB_DESCRIPTION_KEY_COUNT; ++key) {
        assert_true((got->values[key] == NULL) == (expected->values[key] == NULL));
        if (got->values[key] != NULL) {
            assert_string_equal(got->values[key], expected->values[key]);
        }
    }
    check_same_element(got->first, expected->first);
    check_same_element(got->next, expected->next);
}

#endif
