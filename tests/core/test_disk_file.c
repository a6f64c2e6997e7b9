// SPDX-License-Identifier: Apache-2.0
//
// Files in shared folders: unique names, nothing created or read through an unintended link, no
// blocking on a FIFO.
#include "core/disk_file.h"
#include "tests/check.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(names_differ_and_fit_a_folder)
{
    char first[BB_DISK_PATH_BYTES];
    char second[BB_DISK_PATH_BYTES];
    char path[BB_DISK_PATH_BYTES];
    check_ok(bb_disk_file_name("some/where/a.h5", first));
    check_ok(bb_disk_file_name("some/where/a.h5", second));
    assert_string_not_equal(first, second);
    assert_memory_equal(first, "some/where/.a.h5.", 17);
    assert_string_equal(first + strlen(first) - 5, ".part");
    memset(path, 'n', sizeof path);
    path[255] = '\0';
    check_ok(bb_disk_file_name(path, first));
    assert_int_equal(strlen(first), 255);
    memset(path, 'n', sizeof path);
    path[4000] = '/';
    path[sizeof path - 1] = '\0';
    check_fails(bb_disk_file_name(path, first), BB_IO, "path longer than 4096 bytes");
}

TEST(what_is_there_is_never_opened_for_writing)
{
    int file = -1;
    check_ok(bb_disk_file_create("new", "a", &file));
    assert_int_equal(write(file, "x", 1), 1);
    assert_int_equal(close(file), 0);
    check_fails(bb_disk_file_create("new", "a", &file), BB_IO, "cannot write 'a': File exists");
    assert_int_equal(symlink("elsewhere", "planted"), 0);
    check_fails(bb_disk_file_create("planted", "a", &file), BB_IO, "cannot write 'a': File exists");
    assert_int_equal(access("elsewhere", F_OK), -1);
    bb_disk_file_abandon(); // only the first of these is ours
    assert_int_equal(access("new", F_OK), -1);
    struct stat about;
    assert_int_equal(lstat("planted", &about), 0);
    bb_disk_file_finish("new", false);
}

// Several temporary files at a time; a file with its final name stays.
TEST(temporary_files_are_abandoned)
{
    char name[BB_DISK_TEMPORARIES + 1][16];
    int file = -1;
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        (void)snprintf(name[i], sizeof name[i], "part-%d", i);
        check_ok(bb_disk_file_create(name[i], "whole", &file));
        assert_int_equal(close(file), 0);
    }
    check_fails(bb_disk_file_create("another", "whole", &file), BB_INTERNAL,
                "cannot write 'whole': 8 temporary files are being written");
    assert_int_equal(access("another", F_OK), -1);
    assert_int_equal(rename(name[1], "whole"), 0);
    bb_disk_file_finish(name[1], false);
    bb_disk_file_finish(name[2], true);
    assert_int_equal(access(name[2], F_OK), -1);
    check_ok(bb_disk_file_create(name[1], "again", &file)); // in the slot of the finished one
    assert_int_equal(close(file), 0);
    bb_disk_file_abandon();
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        assert_int_equal(access(name[i], F_OK), -1);
        bb_disk_file_finish(name[i], false);
    }
    assert_int_equal(access("whole", F_OK), 0);
}

static void *make_and_settle(void *context)
{
    const char *name = context;
    for (int i = 0; i < 2000; ++i) {
        int file = -1;
        if (bb_disk_file_create(name, "whole", &file) != BB_OK || close(file) != 0) {
            return context;
        }
        bb_disk_file_finish(name, true);
    }
    return NULL;
}

// Each thread finishes its own, and all slots are free at the end.
TEST(threads_settle_their_own)
{
    char name[BB_DISK_TEMPORARIES][16];
    pthread_t threads[BB_DISK_TEMPORARIES];
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        (void)snprintf(name[i], sizeof name[i], "thread-%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_settle, name[i]), 0);
    }
    for (int i = 0; i < BB_DISK_TEMPORARIES; ++i) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
        assert_int_equal(access(name[i], F_OK), -1);
    }
    temporary_files_are_abandoned(state);
}

// A FIFO without a writer would block a plain open forever.
TEST(only_regular_files_are_read)
{
    FILE *file = NULL;
    assert_int_equal(system("echo 1 > data && ln -s data link && mkfifo fifo && ln -s fifo pipe"),
                     0);
    check_ok(bb_disk_file_open("data", false, &file));
    assert_int_equal(fgetc(file), '1');
    (void)fclose(file);
    check_ok(bb_disk_file_open("link", true, &file));
    (void)fclose(file);
    check_fails(bb_disk_file_open("link", false, &file), BB_IO, "it is a link");
    check_fails(bb_disk_file_open("fifo", true, &file), BB_IO, "it is a FIFO, expected a regular");
    check_fails(bb_disk_file_open("pipe", true, &file), BB_IO, "it is a FIFO");
    check_fails(bb_disk_file_open(".", true, &file), BB_IO, "it is a folder");
    check_fails(bb_disk_file_open("none", true, &file), BB_IO, "No such file");
    check_fails(bb_disk_file_open("/dev/null", true, &file), BB_IO, "not a data file");
    assert_null(file);
    check_ok(bb_disk_file_check("link"));
    check_fails(bb_disk_file_check("pipe"), BB_IO, "it is a FIFO");
    check_fails(bb_disk_file_check("none"), BB_IO, "No such file");
}

// In user containers root and its files belong to another user.
TEST(folders_of_roots_owner_may_be_above)
{
    static const char *const paths[] = {"/above/own", "/above"};
    static const bb_status expected[] = {BB_OK, BB_UNSUPPORTED};
    const bb_disk_trust own = {.owner = geteuid(), .writers = S_IWGRP | S_IWOTH};
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(mkdir("jail", 0755) | mkdir("jail/above", 0755), 0);
    assert_int_equal(mkdir("jail/above/own", 0700), 0);
    assert_int_equal(chown("jail", 12345, 12345) | chown("jail/above", 12345, 12345), 0);
    for (int i = 0; i < 2; ++i) {
        int how = 0;
        int folder = -1;
        const pid_t child = fork();
        if (child == 0) {
            const bool inside = chroot("jail") == 0 && chdir("/") == 0;
            _exit(inside && bb_disk_trust_open_folder(paths[i], own, true, &folder) == expected[i]
                      ? 0
                      : 1);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_int_equal(how, 0);
    }
}

TEST_GROUP(.has_folder = true);
