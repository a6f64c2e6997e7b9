// SPDX-License-Identifier: Apache-2.0
//
// Files are complete or absent: full disks, limits, kills and signals during writing.
#include "core/file.h"
#include "core/interrupt.h"
#include "core/store.h"
#include "tests/sim/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { BYTES = 1 << 20, KILLS = 60 };

static unsigned char pattern[BYTES];

static int begin(void)
{
    fill_array(pattern, BYTES, i, (unsigned char)(i * 7 + i / 251));
    return bb_interrupt_install() == BB_OK ? 0 : -1;
}

static bool is_whole(const char *path)
{
    static unsigned char content[BYTES + 1];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(content, 1, sizeof content, file);
    (void)fclose(file);
    return length == BYTES && memcmp(content, pattern, BYTES) == 0;
}

// Number of files in a folder whose names end with `ending`.
static int count_files(const char *folder, const char *ending)
{
    int count = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
        size_t length = strlen(entry->d_name);
        count += length >= strlen(ending) &&
                 strcmp(entry->d_name + length - strlen(ending), ending) == 0;
    }
    (void)closedir(all);
    return count;
}

TEST(writing_and_replacing)
{
    check_ok(bb_file_check("a.h5", false, false, BYTES, NULL));
    check_ok(bb_file_write("a.h5", false, pattern, BYTES));
    assert_true(is_whole("a.h5"));
    check_fails(bb_file_check("a.h5", false, false, 0, NULL), BB_IO, "--force");
    check_fails(bb_file_write("a.h5", false, "other", 5), BB_IO, "exists");
    assert_true(is_whole("a.h5"));
    check_ok(bb_file_check("a.h5", false, true, 0, NULL));
    check_ok(bb_file_write("a.h5", true, pattern, BYTES));
    assert_int_equal(count_files(".", ".part"), 0);
}

// One file under four names, and another one that is not an input.
TEST(an_output_is_no_file_that_is_read)
{
    static const char *const names[] = {"read.h5", "./read.h5", "hard.h5", "soft.h5"};
    autorelease(bb_file_list) inputs = {0};
    check_ok(bb_file_write("read.h5", false, pattern, BYTES));
    check_ok(bb_file_write("free.h5", false, "x", 1));
    assert_int_equal(link("read.h5", "hard.h5"), 0);
    assert_int_equal(symlink("read.h5", "soft.h5"), 0);
    check_ok(bb_file_list_add(&inputs, "absent.h5"));
    check_ok(bb_file_list_add(&inputs, "read.h5"));
    check_ok(bb_file_list_add(&inputs, NULL));
    check_ok(bb_file_list_add(&inputs, "-"));
    assert_int_equal(inputs.count, 2);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        check_fails(bb_file_check(names[i], false, true, 0, &inputs), BB_INVALID,
                    "the input file 'read.h5'");
    }
    check_ok(bb_file_check("free.h5", false, true, 0, &inputs));
    check_ok(
        bb_file_check("-", false, true, 0, &inputs)); // a file of that name, not standard input
    assert_true(is_whole("read.h5"));
}

TEST(a_file_that_is_replaced_keeps_its_permissions)
{
    struct stat about;
    check_ok(bb_file_write("kept", false, "x", 1));
    assert_int_equal(chmod("kept", 0640), 0);
    check_ok(bb_file_write("kept", true, "y", 1));
    assert_int_equal(stat("kept", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
}

// Starts a process with number 1 in a separate namespace, as in a container.
static pid_t start_alone(bb_status (*act)(int), int number)
{
    const pid_t outer = fork();
    assert_true(outer >= 0);
    if (outer == 0) {
        int how = 1;
        const pid_t inner = unshare(CLONE_NEWPID) == 0 ? fork() : -1;
        if (inner == 0) {
            _exit(getpid() == 1 && act(number) == BB_OK ? 0 : 2);
        }
        (void)waitpid(inner, &how, 0);
        _exit(inner > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : 77);
    }
    return outer;
}

static bb_status replace_often(int number)
{
    bb_status status = BB_OK;
    (void)number;
    for (int i = 0; i < 100; ++i) {
        BB_TRY(bb_file_write("shared.h5", true, pattern, BYTES));
    }
done:
    return status;
}

// Processes in two containers may have the same number and write the same file.
TEST(equal_process_numbers_do_not_meet)
{
    pid_t children[2];
    bool refused = false;
    for (int i = 0; i < 2; ++i) {
        children[i] = start_alone(replace_often, i);
    }
    for (int i = 0; i < 2; ++i) {
        int how = 0;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        refused = refused || (WIFEXITED(how) && WEXITSTATUS(how) == 77);
        assert_true(refused || (WIFEXITED(how) && WEXITSTATUS(how) == 0));
    }
    if (refused) {
        skip(); // process namespaces are not available
    }
    assert_true(is_whole("shared.h5"));
    assert_int_equal(count_files(".", ".part"), 0);
}

TEST(folders_that_are_none)
{
    check_fails(bb_file_check("missing/a.h5", false, false, 0, NULL), BB_IO, "No such file");
    check_ok(bb_file_check("made/a.h5", true, false, 0, NULL));
    assert_int_equal(rmdir("made"), 0);
    check_fails(bb_file_check("missing/deeper/a.h5", true, false, 0, NULL), BB_IO, "cannot make");
    check_ok(bb_file_write("plain", false, "x", 1));
    check_fails(bb_file_check("plain/a.h5", true, false, 0, NULL), BB_IO, "not a folder");
    check_fails(bb_file_check("folder/", false, true, 0, NULL), BB_IO, "has no file name");
    check_fails(bb_file_check("", false, true, 0, NULL), BB_IO, "has no file name");
    assert_int_equal(mkdir("folder", 0777), 0);
    check_fails(bb_file_check("folder", false, true, 0, NULL), BB_IO, "it is a folder");
    // Never rename over a device.
    check_fails(bb_file_check("/dev/full", false, true, 0, NULL), BB_IO, "not a regular file");
    check_fails(bb_file_write("missing/a.h5", false, pattern, BYTES), BB_IO, "No such file");
}

TEST(file_size_limits_are_errors)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {BYTES / 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bb_status status = bb_file_write("limited.h5", false, pattern, BYTES);
    bb_status checked = bb_file_check("limited.h5", false, false, BYTES, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, BB_IO);
    assert_int_equal(checked, BB_IO);
    assert_int_equal(access("limited.h5", F_OK), -1);
    assert_int_equal(count_files(".", ".part"), 0);
}

TEST(full_and_read_only_disks)
{
    assert_int_equal(mkdir("disk", 0777), 0);
    if (mount("none", "disk", "tmpfs", 0, "size=512k") != 0) {
        print_message("no tmpfs may be mounted here (%s)\n", strerror(errno));
        skip();
    }
    bb_status small = bb_file_write("disk/old.h5", false, pattern, 1000);
    bb_status planned = bb_file_check("disk/a.h5", false, false, BYTES, NULL);
    bb_status written = bb_file_write("disk/a.h5", false, pattern, BYTES);
    bb_status replaced = bb_file_write("disk/old.h5", true, pattern, BYTES);
    int rest = count_files("disk", ".h5");
    int parts = count_files("disk", ".part");
    struct stat old;
    int found = stat("disk/old.h5", &old);
    int remounted = mount("none", "disk", "tmpfs", MS_REMOUNT | MS_RDONLY, "size=512k");
    bb_status sealed = bb_file_check("disk/b.h5", false, false, 0, NULL);
    char message[200];
    (void)snprintf(message, sizeof message, "%s", bb_status_message());
    assert_int_equal(umount("disk"), 0);
    assert_int_equal(small, BB_OK);
    assert_int_equal(planned, BB_IO);
    assert_int_equal(written, BB_IO);
    assert_int_equal(replaced, BB_IO);
    assert_int_equal(rest, 1);
    assert_int_equal(parts, 0);
    assert_int_equal(found, 0);
    assert_int_equal(old.st_size, 1000);
    assert_int_equal(remounted, 0);
    assert_int_equal(sealed, BB_IO);
    assert_non_null(strstr(message, "Read-only"));
}

static void wait_nanoseconds(long nanoseconds)
{
    const struct timespec pause = {0, nanoseconds};
    (void)nanosleep(&pause, NULL);
}

// Starts a child that writes the same file repeatedly, and kills it after a delay.
static void kill_a_writer(int signal_number, long after, int *how)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (;;) {
            if (bb_file_write("victim.h5", true, pattern, BYTES) != BB_OK) {
                _exit(99);
            }
        }
    }
    wait_nanoseconds(after);
    assert_int_equal(kill(child, signal_number), 0);
    assert_int_equal(waitpid(child, how, 0), child);
}

TEST(kills_leave_whole_files_or_none)
{
    for (int i = 0; i < KILLS; ++i) {
        int how = 0;
        (void)unlink("victim.h5");
        kill_a_writer(SIGKILL, 100000L * (1 + i), &how);
        assert_true(WIFSIGNALED(how));
        if (access("victim.h5", F_OK) == 0) {
            assert_true(is_whole("victim.h5"));
        }
    }
}

TEST(signals_remove_the_part)
{
    assert_int_equal(system("rm -f *.part .*.part"), 0);
    for (int i = 0; i < 20; ++i) {
        int how = 0;
        static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
        const int number = numbers[i % 3];
        kill_a_writer(number, 300000L * (1 + i), &how);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 128 + number);
        assert_int_equal(count_files(".", ".part"), 0);
        if (access("victim.h5", F_OK) == 0) {
            assert_true(is_whole("victim.h5"));
        }
    }
}

// Temporary files get their names by this call, which the linker takes before the C library's: the
// signal arrives just before the rename, when all is written.
static int signal_before_rename;

int rename(const char *source, const char *target)
{
    if (signal_before_rename != 0) {
        (void)raise(signal_before_rename);
    }
    return renameat(AT_FDCWD, source, AT_FDCWD, target);
}

static void write_fixture(void)
{
    check_ok(bb_file_write("victim.h5", true, pattern, BYTES));
}

static void save_to_store(void)
{
    check_ok(bb_store_save(".", "state", "key", NULL, 0));
}

TEST(a_signal_before_the_name_removes_the_part)
{
    void (*const writers[])(void) = {write_fixture, save_to_store};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    (void)unlink("victim.h5");
    for (int i = 0; i < 6; ++i) {
        int how = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            signal_before_rename = numbers[i % 3];
            writers[i / 3]();
            _exit(99);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 128 + numbers[i % 3]);
        assert_int_equal(count_files(".", ".part"), 0);
        assert_int_equal(count_files(".", ".store"), 0);
        assert_int_equal(access("victim.h5", F_OK), -1);
    }
    save_to_store(); // the output that would have followed
    assert_int_equal(count_files(".", ".store"), 1);
}

TEST_GROUP(.begin = begin, .has_folder = true);
