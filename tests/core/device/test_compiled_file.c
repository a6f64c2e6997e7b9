// SPDX-License-Identifier: Apache-2.0
//
// The on-disk cache of objects: used if they are intact and match text, compiler, flags and
// processor, in a folder of the user only.
#include "core/device/compiled_file.h"
#include "core/device/host_compiler.h"
#include "core/memory.h"
#include "tests/core/device/counted_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/bitbudget-test-XXXXXX";
static char cache[48], script[48], calls[48];

static const char answer_text[] = "int answer(void) { return 42; }\n";

static void write_file(const char *path, const char *text, mode_t mode)
{
    write_text(path, text);
    assert_int_equal(chmod(path, mode), 0);
}

static void empty_cache(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %.47s %.47s", cache, calls);
    assert_int_equal(system(command), 0);
}

static int ready(void **state)
{
    (void)state;
    empty_cache();
    counted_compiler_write(script, calls);
    return setenv("BITBUDGET_CACHE", cache, 1) || unsetenv("CPATH");
}

static void expect_answer(const char *text)
{
    autorelease(bb_text) log = {0};
    const char *flags = NULL;
    void *library = NULL;
    int (*answer)(void) = NULL;
    check_ok(bb_host_compiler_load(text, &log, &flags, &library));
    assert_non_null(library);
    assert_non_null(strstr(flags, "-O3"));
    *(void **)&answer = dlsym(library, "answer");
    assert_non_null(answer);
    assert_int_equal(answer(), 42);
    (void)dlclose(library);
}

TEST(an_object_is_compiled_once, .setup_func = ready)
{
    char name[300];
    for (int i = 0; i < 3; ++i) {
        expect_answer(answer_text);
        assert_int_equal(counted_compiler_calls(calls), 1);
        assert_int_equal(counted_compiler_files(cache, name), 1);
    }
    expect_answer("int answer(void) { return 40 + 2; }\n");
    assert_int_equal(counted_compiler_calls(calls), 2);
    assert_int_equal(counted_compiler_files(cache, name), 2);
}

TEST(a_damaged_object_is_compiled_again, .setup_func = ready)
{
    char name[300];
    struct stat about;
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_files(cache, name), 1);
    assert_int_equal(stat(name, &about), 0);
    const off_t sizes[] = {0, 1, 31, 4096, about.st_size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        assert_int_equal(truncate(name, sizes[i]), 0);
        expect_answer(answer_text);
        assert_int_equal(counted_compiler_calls(calls), (bb_index)i + 2);
    }
    for (int place = 0; place < 3; ++place) {
        const int file = open(name, O_RDWR);
        char byte = 0;
        const off_t offset = place * (about.st_size - 1) / 2;
        assert_int_equal(pread(file, &byte, 1, offset), 1);
        byte = (char)(byte ^ 1);
        assert_int_equal(pwrite(file, &byte, 1, offset), 1);
        assert_int_equal(close(file), 0);
        expect_answer(answer_text);
        assert_int_equal(counted_compiler_calls(calls), place + 7);
    }
    assert_int_equal(counted_compiler_files(cache, name), 1);
}

TEST(what_a_compiler_says_is_said_each_time, .setup_func = ready)
{
    char name[300];
    for (int i = 1; i <= 2; ++i) {
        autorelease(bb_text) log = {0};
        const char *flags = NULL;
        void *library = NULL;
        check_ok(
            bb_host_compiler_load("#warning heed this\nint answer;\n", &log, &flags, &library));
        assert_non_null(strstr(bb_text_string(&log), "heed this"));
        assert_int_equal(counted_compiler_calls(calls), i);
        (void)dlclose(library);
    }
    assert_int_equal(counted_compiler_files(cache, name), 0);
}

static char *place_of(const char *text, const char *compiler, const char *flags)
{
    char *place = NULL;
    check_ok(bb_compiled_file_place(text, compiler, flags, &place));
    return place;
}

static void expect_place_differs(const char *place, const char *text, const char *flags)
{
    autofree char *changed = place_of(text, script, flags);
    assert_non_null(changed);
    assert_string_not_equal(place, changed);
}

TEST(a_name_is_of_all_that_decides, .setup_func = ready)
{
    autofree char *place = place_of("x", script, "-O3");
    autofree char *same = place_of("x", script, "-O3");
    assert_non_null(place);
    assert_string_equal(place, same);
    expect_place_differs(place, "y", "-O3");
    expect_place_differs(place, "x", "-O2");
    assert_int_equal(setenv("CPATH", "/include", 1), 0);
    expect_place_differs(place, "x", "-O3");
    assert_int_equal(unsetenv("CPATH"), 0);
    struct stat about;
    assert_int_equal(stat(script, &about), 0);
    const struct timespec later = {about.st_mtim.tv_sec + 1, about.st_mtim.tv_nsec};
    assert_int_equal(utimensat(AT_FDCWD, script, (const struct timespec[]){later, later}, 0), 0);
    expect_place_differs(place, "x", "-O3"); // another version of the compiler
    BB_RELEASE(&same);
    same = place_of("x", "cc", "-O3"); // from PATH
    assert_non_null(same);
    assert_string_not_equal(place, same);
    assert_null(place_of("x", "no-such-compiler", "-O3"));
    assert_null(place_of("x", "/no/such/compiler", "-O3"));
}

static void expect_no_place(void)
{
    assert_null(place_of("x", script, ""));
    expect_answer(answer_text); // compiled, and not cached
}

TEST(a_folder_is_the_users_alone, .setup_func = ready)
{
    char behind[64];
    assert_int_equal(setenv("BITBUDGET_CACHE", "off", 1), 0);
    expect_no_place();
    assert_int_equal(setenv("BITBUDGET_CACHE", "/dev/null/folder", 1), 0);
    expect_no_place();
    assert_int_equal(setenv("BITBUDGET_CACHE", cache, 1), 0);
    expect_answer(answer_text);
    const bb_index count = counted_compiler_calls(calls);
    assert_int_equal(chmod(cache, 0770), 0);
    expect_no_place();
    assert_int_equal(chmod(cache, 0702), 0);
    expect_no_place();
    assert_int_equal(chmod(cache, 0755), 0);
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_calls(calls), count + 2);
    (void)snprintf(behind, sizeof behind, "%s/link", root);
    assert_int_equal(symlink(cache, behind), 0);
    assert_int_equal(setenv("BITBUDGET_CACHE", behind, 1), 0);
    expect_no_place();
    assert_int_equal(unlink(behind), 0);
}

// Parent folders matter too: whoever can rename one can replace it.
TEST(folders_above_are_the_users_or_sticky, .setup_func = ready)
{
    char above[64], below[80];
    (void)snprintf(above, sizeof above, "%s/above", root);
    (void)snprintf(below, sizeof below, "%s/kernels", above);
    assert_int_equal(mkdir(above, 0700), 0);
    assert_int_equal(setenv("BITBUDGET_CACHE", below, 1), 0);
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_calls(calls), 1);
    assert_int_equal(chmod(above, 0777), 0);
    expect_no_place();
    assert_int_equal(counted_compiler_calls(calls), 2);
    assert_int_equal(chmod(above, 01777), 0);
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_calls(calls), 2);
    if (geteuid() == 0) { // owned by another user
        assert_int_equal(chown(above, 12345, 12345), 0);
        expect_no_place();
        assert_int_equal(counted_compiler_calls(calls), 3);
    }
}

// An object of another user, or writable by others, is compiled again; links are not followed.
TEST(an_object_is_the_users_alone, .setup_func = ready)
{
    char name[300], behind[320];
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_files(cache, name), 1);
    assert_int_equal(chmod(name, 0666), 0);
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_calls(calls), 2);
    if (geteuid() == 0) {
        assert_int_equal(chown(name, 12345, 12345), 0);
        expect_answer(answer_text);
        assert_int_equal(counted_compiler_calls(calls), 3);
    }
    const bb_index count = counted_compiler_calls(calls);
    (void)snprintf(behind, sizeof behind, "%s.behind", name);
    assert_int_equal(rename(name, behind), 0);
    assert_int_equal(symlink(behind, name), 0);
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_calls(calls), count + 1);
}

// Objects are loaded by descriptor: two objects with equal descriptor numbers, one after the other
// and at once, are distinguished.
TEST(objects_of_one_descriptor_are_told_apart, .setup_func = ready)
{
    static const char *const texts[] = {"int answer(void) { return 1; }\n",
                                        "int answer(void) { return 2; }\n",
                                        "int answer(void) { return 3; }\n"};
    void *libraries[3] = {NULL};
    for (int pass = 0; pass < 2; ++pass) { // compiled, then cached
        for (int i = 0; i < 3; ++i) {
            autorelease(bb_text) log = {0};
            const char *flags = NULL;
            int (*answer)(void) = NULL;
            check_ok(bb_host_compiler_load(texts[i], &log, &flags, &libraries[i]));
            *(void **)&answer = dlsym(libraries[i], "answer");
            assert_int_equal(answer(), i + 1);
        }
        for (int i = 0; i < 3; ++i) {
            (void)dlclose(libraries[i]);
        }
    }
    assert_int_equal(counted_compiler_calls(calls), 3);
}

TEST(without_a_compiler_no_folder_is_made, .setup_func = ready)
{
    assert_null(place_of("x", "no-such-compiler", ""));
    assert_int_not_equal(access(cache, F_OK), 0);
    autofree char *place = place_of("x", script, "");
    assert_non_null(place);
    assert_int_equal(access(cache, F_OK), 0);
}

static void expect_place_in(const char *folder)
{
    autofree char *place = place_of("x", script, "");
    char expected[128];
    (void)snprintf(expected, sizeof expected, "%s/%s", cache, folder);
    assert_non_null(place);
    assert_int_equal(strncmp(place, expected, strlen(expected)), 0);
    assert_int_equal(strlen(place), strlen(expected) + strlen("/.so") + 32);
}

TEST(the_usual_place_is_the_users_cache, .setup_func = ready)
{
    const char *home = getenv("HOME");
    autofree char *kept = NULL;
    check_ok(bb_memory_text(home == NULL ? "/" : home, &kept));
    assert_int_equal(unsetenv("BITBUDGET_CACHE"), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
    expect_place_in("bitbudget/kernels");
    assert_int_equal(setenv("XDG_CACHE_HOME", "not/whole", 1), 0);
    assert_int_equal(setenv("HOME", cache, 1), 0);
    expect_place_in(".cache/bitbudget/kernels");
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_null(place_of("x", script, ""));
    assert_int_equal(setenv("HOME", kept, 1), 0);
}

// The least recently used files of a full folder are deleted.
TEST(a_full_folder_makes_room, .setup_func = ready)
{
    char name[300];
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_files(cache, name), 1);
    for (int i = 1; i < BB_COMPILED_FILE_LIMIT; ++i) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%032d.so", cache, i);
        write_file(path, "x", 0600);
        const struct timespec times[2] = {{.tv_sec = i}, {.tv_sec = i}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    const struct timespec old[2] = {{.tv_sec = 0}, {.tv_sec = 0}};
    assert_int_equal(utimensat(AT_FDCWD, name, old, 0), 0);
    expect_answer(answer_text); // now the most recently used
    assert_int_equal(counted_compiler_calls(calls), 1);
    expect_answer("int answer(void) { return 41 + 1; }\n");
    assert_int_equal(counted_compiler_files(cache, name), BB_COMPILED_FILE_LIMIT / 4 * 3 + 1);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%032d.so", cache, BB_COMPILED_FILE_LIMIT / 4);
    assert_int_not_equal(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/%032d.so", cache, BB_COMPILED_FILE_LIMIT / 4 + 1);
    assert_int_equal(access(path, F_OK), 0);
    expect_answer(answer_text);
    assert_int_equal(counted_compiler_calls(calls), 2);
}

// For each allocation; the second pass finds a cached object.
TEST(allocations_that_fail_leave_nothing, .setup_func = ready)
{
    for (int pass = 0; pass < 2; ++pass) {
        failing_allocation walk = {0};
        bb_status status = BB_OK;
        while (fail_next(&walk, status)) {
            autorelease(bb_text) log = {0};
            const char *flags = NULL;
            void *library = NULL;
            status = bb_host_compiler_load(answer_text, &log, &flags, &library);
            assert_true((library == NULL) == (status != BB_OK));
            if (library != NULL) {
                (void)dlclose(library);
            }
        }
        assert_true(walk.k > 5);
    }
}

static int begin(void)
{
    if (mkdtemp(root) == NULL) {
        return 1;
    }
    (void)snprintf(cache, sizeof cache, "%s/cache", root);
    (void)snprintf(script, sizeof script, "%s/compiler", root);
    (void)snprintf(calls, sizeof calls, "%s/calls", root);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

TEST_GROUP(.begin = begin, .leave = leave, .commands = "cc");
