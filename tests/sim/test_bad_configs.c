// SPDX-License-Identifier: Apache-2.0
//
// Loads every file of tests/configs/bad/. Comments of the file give the expected message, one
// comment per output line, in order; "..." matches any text, once per line:
//
//     # override: key=value
//     # expect: file.yaml:12:15: atmosphere.r0_m = 15: expected a number in (0, 5] m
#include "sim/run/experiment.h"
#include "tests/check.h"

#include <dirent.h>
#include <unistd.h>

enum { LINES = 32, FILE_BYTES = 1 << 16, LEAST_FILES = 40 };

typedef struct expectations {
    const char *overrides[LINES];
    bb_index override_count;
    const char *lines[LINES];
    bb_index count;
} expectations;

static char content[FILE_BYTES];

static void read_expectations(const char *name, expectations *out)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    size_t length = fread(content, 1, sizeof content - 1, file);
    content[length] = '\0';
    (void)fclose(file);
    for (char *line = strtok(content, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# override: ", 12) == 0) {
            assert_true(out->override_count < LINES);
            out->overrides[out->override_count++] = line + 12;
        } else if (strncmp(line, "# expect: ", 10) == 0) {
            assert_true(out->count < LINES);
            out->lines[out->count++] = line + 10;
        }
    }
}

static bool matches(const char *got, const char *expected)
{
    const char *dots = strstr(expected, "...");
    if (dots == NULL) {
        return strcmp(got, expected) == 0;
    }
    size_t before = (size_t)(dots - expected);
    size_t after = strlen(dots + 3);
    size_t length = strlen(got);
    return length >= before + after && strncmp(got, expected, before) == 0 &&
           strcmp(got + length - after, dots + 3) == 0;
}

static void check_file(const char *name)
{
    expectations expected = {0};
    autorelease(bb_problems) problems = {0};
    bb_config *config = NULL;
    read_expectations(name, &expected);
    bb_status status = bb_experiment_load(&bb_experiments, name, expected.overrides,
                                          expected.override_count, &problems, &config);
    assert_null(config);
    if (status != BB_INVALID || problems.count != expected.count) {
        print_error("%s: status %d, %td problems, expected %td:\n%s", name, (int)status,
                    problems.count, expected.count, bb_text_string(&problems.lines));
        fail();
    }
    bb_index i = 0;
    for (char *line = strtok(problems.lines.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (!matches(line, expected.lines[i])) {
            print_error("%s\n got      %s\n expected %s\n", name, line, expected.lines[i]);
            fail();
        }
        ++i;
    }
}

TEST(every_bad_file_says_what_it_must)
{
    struct dirent **names = NULL;
    assert_int_equal(chdir(BB_SOURCE_DIR "/tests/configs/bad"), 0);
    int count = scandir(".", &names, NULL, alphasort);
    bb_index checked = 0;
    for (int i = 0; i < count; ++i) {
        size_t length = strlen(names[i]->d_name);
        if (length > 5 && strcmp(names[i]->d_name + length - 5, ".yaml") == 0) {
            check_file(names[i]->d_name);
            ++checked;
        }
        free(names[i]);
    }
    free(names);
    assert_true(checked >= LEAST_FILES);
}

TEST(good_files_load)
{
    static const char *const names[] = {"../good/wafer.yaml", "../good/ao.yaml"};
    for (size_t i = 0; i < 2; ++i) {
        bb_problems problems = {0};
        autoptr(bb_config) config = NULL;
        check_ok(bb_experiment_load(&bb_experiments, names[i], NULL, 0, &problems, &config));
    }
}
