// SPDX-License-Identifier: Apache-2.0
//
// Builds of the cpu: conformance tests, and failures of the compiler process.
#include "core/device/build_ops.h"
#include "core/device/host_compiler.h"
#include "core/thread.h"
#include "tests/core/device/build_conformance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const build_dialect c_texts = {
    .entries = "#include <math.h>\n#include <stdint.h>\n"
               "#define ENTRY(name) void name(const void *const *a, int64_t begin, int64_t end)\n"
               "ENTRY(axpy) {\n"
               "  float *y = (float *)a[0]; const float *x = a[1];\n"
               "  const float f = *(const float *)a[2];\n"
               "  const int32_t count = *(const int32_t *)a[3];\n"
               "  for (int64_t i = begin; i < end && i < count; ++i) y[i] = f * x[i] + y[i];\n"
               "}\n"
               "ENTRY(axpy_wide) {\n"
               "  double *y = (double *)a[0]; const double *x = a[1];\n"
               "  const double f = *(const double *)a[2];\n"
               "  for (int64_t i = begin; i < end; ++i) y[i] = f * x[i] + y[i];\n"
               "}\n"
               "ENTRY(copy) {\n"
               "  int32_t *target = (int32_t *)a[0]; const int32_t *source = a[1];\n"
               "  const int64_t columns = *(const int64_t *)a[2], rows = *(const int64_t *)a[3];\n"
               "  for (int64_t i = begin; i < end; ++i)\n"
               "    target[i % columns * rows + i / columns] = source[i];\n"
               "}\n"
               "ENTRY(scalars) {\n"
               "  double *out = (double *)a[0];\n"
               "  out[0] = *(const int32_t *)a[1]; out[1] = (double)*(const int64_t *)a[2];\n"
               "  out[2] = *(const float *)a[3]; out[3] = *(const double *)a[4];\n"
               "}\n"
               "ENTRY(quotient) {\n"
               "  float *out = (float *)a[0]; const float *x = a[1], *y = a[2];\n"
               "  for (int64_t i = begin; i < end; ++i) out[i] = x[i] / y[i] + sqrtf(x[i]);\n"
               "}\n"
               // A source that needs a library, whose functions are then visible to it.
               "ENTRY(wave) { *(double *)a[0] = sin((double)(end - begin)); }\n",
    .broken = "int first = unknown_name;\nint second = second_unknown;\n",
    .error = "source.c:1:13: error: ",
};

// TMPDIR.
static char home[] = "/tmp/bitbudget-test-XXXXXX";

static const char tiny[] = "void nothing(const void *const *a, long b, long e) {}\n";

static bb_index count_entries(const char *path)
{
    bb_index count = -2; // "." and ".."
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        ++count;
    }
    (void)closedir(folder);
    return count;
}

static bb_status build_tiny(void)
{
    autoptr(bb_build) build = NULL;
    bb_build_cpu_discard_unused();
    bb_status status = bb_build_create(device_under_test, tiny, NULL, &build);
    return status;
}

static int forget(void **state)
{
    (void)state;
    bb_build_cpu_discard_unused();
    return 0;
}

// BB_CC is a shell script with these lines, in a folder that is not TMPDIR.
static char scripts[] = "/tmp/bitbudget-test-XXXXXX";

static void pretend(const char *lines)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/compiler", scripts);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "#!/bin/sh\n%s\n", lines);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(setenv("BB_CC", path, 1), 0);
    bb_build_cpu_discard_unused();
}

static void pretend_no_more(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/compiler", scripts);
    (void)unlink(path);
    (void)unsetenv("BB_CC");
}

TEST(threads_do_not_change_bits, .setup_func = forget)
{
    enum { COUNT = 20011 };
    static float x[COUNT], y[2][COUNT];
    const float a = 1.0F / 3.0F;
    const int32_t count = COUNT;
    for (int run = 0; run < 2; ++run) {
        for (int i = 0; i < COUNT; ++i) {
            x[i] = (float)draw(i);
            y[run][i] = (float)draw(i + 3);
        }
        const bb_launch_argument arguments[] = {
            {.block = y[run]}, {.block = x}, SCALAR(a), SCALAR(count)};
        check_ok(bb_threads_set(run == 0 ? 1 : 4));
        check_ok(bb_build_launch(entries, "axpy", row_of(count, 1), arguments, 4));
    }
    check_ok(bb_threads_set(2));
    assert_memory_equal(y[0], y[1], sizeof y[0]);
}

// Ranges have cpu_grain items and run on several threads: an entry records where it began.
TEST(ranges_are_of_the_grain, .setup_func = forget)
{
    static const char source[] =
        "void note(const void *const *a, long begin, long end) {\n"
        "  for (long i = begin; i < end; ++i) ((long *)a[0])[i] = end - begin;\n}\n";
    long got[100];
    const bb_launch_argument arguments[] = {{.block = got}};
    autoptr(bb_build) build = new_object(bb_build, device_under_test, source, NULL);
    check_ok(bb_build_launch(build, "note", (bb_launch_shape){{20, 5}, {1, 1}, 30}, arguments, 1));
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(got[i], i < 90 ? 30 : 10);
    }
}

TEST_FULL(many_builds_leave_nothing, .setup_func = forget)
{
    enum { BUILDS = 200, FIRST = 20 };
    const bb_index blocks = bb_memory_blocks();
    // After the first few the cache is used, which is faster.
    check_ok(build_tiny());
    const bb_index descriptors = count_entries("/proc/self/fd");
    for (int i = 0; i < BUILDS; ++i) {
        if (i == FIRST) {
            pretend("cc \"$@\" && cp library.so ${0%/*}/kept");
            check_ok(build_tiny());
            pretend("cp ${0%/*}/kept library.so");
        }
        check_ok(build_tiny());
    }
    char kept[64];
    (void)snprintf(kept, sizeof kept, "%s/kept", scripts);
    assert_int_equal(unlink(kept), 0);
    pretend_no_more();
    assert_int_equal(count_entries("/proc/self/fd"), descriptors);
    assert_int_equal(count_entries(home), 0);
    assert_int_equal(bb_memory_blocks(), blocks);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

// Loaded: the folder is removed while the build is alive, and it still works.
TEST(a_build_needs_no_file, .setup_func = forget)
{
    assert_int_equal(count_entries(home), 0);
    assert_non_null(strstr(bb_build_compiler(entries), "cc, "));
    assert_non_null(strstr(bb_build_compiler(entries), "-O3"));
    axpy_has_the_bits_of_c_in_fp64(state);
}

TEST(folders_that_cannot_be_used_are_named, .setup_func = forget)
{
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    check_fails(build_tiny(), BB_IO, "/nowhere/at/all");
    assert_int_equal(setenv("TMPDIR", home, 1), 0);
    // No space for the source.
    const struct rlimit none = {0, RLIM_INFINITY};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const bb_status status = build_tiny();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    check_fails(status, BB_IO, "source.c': File too large");
    // No space for the object.
    pretend("echo 'ld: final link failed: No space left on device'; exit 1");
    check_fails(build_tiny(), BB_IO, "no space left");
    pretend_no_more();
    assert_int_equal(count_entries(home), 0);
}

TEST(absent_compilers_are_named, .setup_func = forget)
{
    const char *path = getenv("PATH");
    char before[4096];
    assert_true(path != NULL && strlen(path) < sizeof before);
    (void)strcpy(before, path);
    assert_int_equal(setenv("PATH", home, 1), 0);
    check_fails(build_tiny(), BB_UNSUPPORTED, "no C compiler: cc is not in PATH");
    assert_int_equal(setenv("PATH", before, 1), 0);
    assert_int_equal(setenv("BB_CC", "no-such-compiler", 1), 0);
    check_fails(build_tiny(), BB_UNSUPPORTED, "no C compiler: no-such-compiler is not in PATH");
    assert_int_equal(setenv("BB_CC", "./no-such-compiler", 1), 0);
    check_fails(build_tiny(), BB_UNSUPPORTED, "/./no-such-compiler is not there");
    assert_int_equal(setenv("BB_CC", "/etc/passwd", 1), 0);
    check_fails(build_tiny(), BB_UNSUPPORTED, "cannot start /etc/passwd: Permission denied");
    assert_int_equal(setenv("BB_CC", "", 1), 0);
    check_ok(build_tiny());
    (void)unsetenv("BB_CC");
    assert_int_equal(count_entries(home), 0);
}

// BB_CC is relative to this process's folder, although the compiler runs in its own.
TEST(compilers_are_found_from_here, .setup_func = forget)
{
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    pretend("exec cc \"$@\"");
    assert_int_equal(chdir(scripts), 0);
    assert_int_equal(setenv("BB_CC", "./compiler", 1), 0);
    const bb_status status = build_tiny();
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, BB_OK);
    pretend_no_more();
}

TEST(refused_native_code_is_left_out, .setup_func = forget)
{
    pretend("for word; do\n"
            "  if [ \"$word\" = -march=native ]; then\n"
            "    echo \"cc1: error: bad value 'native' for '-march=' switch\" >&2; exit 1\n"
            "  fi\ndone\nexec cc \"$@\"");
    char *log = NULL;
    autoptr(bb_build) build = new_object(bb_build, device_under_test, tiny, &log);
    assert_null(strstr(bb_build_compiler(build), "-march"));
    assert_null(log);
    bb_build_destroy(&build);
    pretend_no_more();
    check_ok(bb_build_create(device_under_test, tiny, NULL, &build));
    assert_non_null(strstr(bb_build_compiler(build), "-march=native"));
}

// Its child processes end with it, and its files are removed.
TEST(compilers_that_hang_are_ended, .setup_func = forget)
{
    static const char *const hanging[] = {
        "echo $$ > ${0%/*}/pid; exec sleep 1000",
        "exec >&- 2>&-; echo $$ > ${0%/*}/pid; exec sleep 1000",
        "sleep 1000 & echo $! > ${0%/*}/pid; : > scratch; wait",
        "echo $$ > ${0%/*}/pid; trap '' TERM INT HUP; while :; do sleep 1; done",
        "echo $$ > ${0%/*}/pid; while :; do echo word; done",
    };
    bb_host_compiler_set_limit(0.5);
    for (size_t i = 0; i < sizeof hanging / sizeof *hanging; ++i) {
        char path[64];
        long process = 0;
        (void)snprintf(path, sizeof path, "%s/pid", scripts);
        pretend(hanging[i]);
        check_fails(build_tiny(), BB_DEVICE, "did not compile within 0.5 s");
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_int_equal(fscanf(file, "%ld", &process), 1);
        (void)fclose(file);
        (void)unlink(path);
        // A killed orphan exists until its parent reaps it, but no longer runs.
        char line[256] = "";
        (void)snprintf(path, sizeof path, "/proc/%ld/stat", process);
        for (int tries = 0; tries < 500; ++tries) {
            file = fopen(path, "r");
            if (file == NULL || fgets(line, sizeof line, file) == NULL ||
                strstr(line, ") Z ") != NULL) {
                break;
            }
            (void)fclose(file);
            file = NULL;
            assert_true(tries < 499);
            (void)usleep(10000);
        }
        if (file != NULL) {
            (void)fclose(file);
        }
        assert_int_equal(count_entries(home), 0);
    }
    bb_host_compiler_set_limit(0.0);
    pretend_no_more();
}

// A second process that holds the output pipe open does not delay the build.
TEST(compilers_leave_nobody_behind, .setup_func = forget)
{
    pretend("sleep 1000 & exec cc \"$@\"");
    check_ok(build_tiny());
    pretend_no_more();
    assert_int_equal(count_entries(home), 0);
}

TEST(odd_compilers_are_survived, .setup_func = forget)
{
    static const struct {
        const char *lines;
        bb_status code;
        const char *text;
    } cases[] = {
        {"kill -9 $$", BB_DEVICE, "died of signal 9"},
        {"kill -11 $$", BB_DEVICE, "died of signal 11"},
        {"exit 3", BB_INVALID, "without a message"},
        {"exit 0", BB_INVALID, "without a message"},
        {"printf '\\001\\033[31mred\\000\\377\\n'; exit 1", BB_INVALID, ": ??[31mred?"},
        {"echo first; echo 'a.c:1: error: bad'; echo 'error: more'; exit 1", BB_INVALID,
         ": a.c:1: error: bad"},
        {"echo garbage > library.so", BB_IO, "cannot load the compiled library"},
        {"printf 'int other;' > other.c; exec cc -shared -fPIC -o library.so other.c", BB_INVALID,
         "different source"},
        {"mkdir folder; : > folder/file; exit 1", BB_INVALID, "without a message"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        pretend(cases[i].lines);
        const bb_index blocks = bb_memory_blocks();
        check_fails(build_tiny(), cases[i].code, cases[i].text);
        assert_int_equal(bb_memory_blocks(), blocks);
        assert_int_equal(count_entries(home), 0);
    }
    pretend_no_more();
}

TEST(words_without_end_are_cut, .setup_func = forget)
{
    autofree char *log = NULL;
    pretend("yes 'one more line' | head -c 1000000; exec cc \"$@\"");
    bb_build *build = new_object(bb_build, device_under_test, tiny, &log);
    assert_int_equal(strlen(log), 65536);
    bb_build_destroy(&build);
    pretend_no_more();
}

TEST(missing_functions_are_the_sources_fault, .setup_func = forget)
{
    bb_build *build = NULL;
    autofree char *log = NULL;
    static const char source[] = "double nowhere(double);\n"
                                 "void f(const void *const *a, long b, long e) { nowhere(1.0); }\n";
    check_fails(bb_build_create(device_under_test, source, &log, &build), BB_INVALID,
                "undefined symbol: nowhere");
    assert_non_null(strstr(log, "nowhere"));
}

// The compiler inherits neither ignored signals nor the signal mask of its caller.
TEST(compilers_have_the_usual_signals, .setup_func = forget)
{
    sigset_t masked;
    sigset_t found;
    (void)sigemptyset(&masked);
    (void)sigaddset(&masked, SIGTERM);
    void (*child)(int) = signal(SIGCHLD, SIG_IGN);
    void (*pipe)(int) = signal(SIGPIPE, SIG_IGN);
    assert_int_equal(sigprocmask(SIG_BLOCK, &masked, &found), 0);
    // Shells handle signals in their own way: here this program is the compiler.
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    assert_int_equal(setenv("BB_CC", path, 1), 0);
    bb_build *build = NULL;
    autofree char *log = NULL;
    check_fails(bb_build_create(device_under_test, tiny, &log, &build), BB_INVALID,
                "error: SIGCHLD 1, SIGPIPE 1, SIGTERM 1");
    assert_int_equal(sigprocmask(SIG_SETMASK, &found, NULL), 0);
    (void)signal(SIGCHLD, child);
    (void)signal(SIGPIPE, pipe);
    (void)unsetenv("BB_CC");
}

// A process that ignores SIGCHLD, or waits for all children, can build too; other children and the
// signal mask are unchanged.
TEST(signals_and_children_are_left_alone, .setup_func = forget)
{
    const pid_t other = fork();
    if (other == 0) {
        (void)usleep(20000);
        _exit(7);
    }
    sigset_t masked;
    sigset_t found;
    (void)sigemptyset(&masked);
    (void)sigaddset(&masked, SIGTERM);
    (void)sigaddset(&masked, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &masked, &found), 0);
    check_ok(build_tiny());
    assert_int_equal(sigprocmask(SIG_SETMASK, &found, &masked), 0);
    assert_int_equal(sigismember(&masked, SIGTERM), 1);
    int ending = 0;
    assert_int_equal(waitpid(other, &ending, 0), other);
    assert_int_equal(WEXITSTATUS(ending), 7);
    void (*handler)(int) = signal(SIGCHLD, SIG_IGN);
    check_ok(build_tiny());
    bb_build *build = NULL;
    check_fails(bb_build_create(device_under_test, c_texts.broken, NULL, &build), BB_INVALID,
                c_texts.error);
    assert_ptr_equal(signal(SIGCHLD, handler), SIG_IGN);
}

TEST(builds_have_names_of_their_own, .setup_func = forget)
{
    static const char *const sources[] = {
        "void same(const void *const *a, long b, long e) { *(int *)a[0] = 1; }\n",
        "void same(const void *const *a, long b, long e) { *(int *)a[0] = 2; }\n"};
    bb_build *builds[2] = {NULL, NULL};
    int got = 0;
    const bb_launch_argument arguments[] = {{.block = &got}};
    for (int i = 0; i < 2; ++i) {
        check_ok(bb_build_create(device_under_test, sources[i], NULL, &builds[i]));
    }
    for (int i = 0; i < 2; ++i) {
        check_ok(bb_build_launch(builds[i], "same", row_of(1, 1), arguments, 1));
        assert_int_equal(got, i + 1);
    }
    bb_build_destroy(&builds[0]);
    check_ok(bb_build_launch(builds[1], "same", row_of(1, 1), arguments, 1));
    assert_int_equal(got, 2);
    bb_build_destroy(&builds[1]);
}

// Started by compilers_have_the_usual_signals: prints 1 for a signal with default handling. glibc
// passes the arguments of main to constructors.
__attribute__((constructor)) static void say_signals(int count, char **arguments)
{
    if (count < 2 || strcmp(arguments[1], "-std=c17") != 0) {
        return;
    }
    static const int signals[] = {SIGCHLD, SIGPIPE, SIGTERM};
    int usual[3];
    sigset_t masked;
    (void)sigprocmask(SIG_BLOCK, NULL, &masked);
    for (int i = 0; i < 3; ++i) {
        usual[i] = signal(signals[i], SIG_DFL) == SIG_DFL && sigismember(&masked, signals[i]) == 0;
    }
    (void)printf("error: SIGCHLD %d, SIGPIPE %d, SIGTERM %d\n", usual[0], usual[1], usual[2]);
    exit(1);
}

// A second build of a text, concurrent or later, starts no compiler, unless the compiler has
// another name or printed a message.
TEST(a_text_is_compiled_once, .setup_func = forget)
{
    bb_build *builds[2] = {NULL, NULL};
    char *log = NULL;
    check_ok(bb_build_create(device_under_test, tiny, NULL, &builds[0]));
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    check_ok(bb_build_create(device_under_test, tiny, NULL, &builds[1]));
    bb_build_destroy(&builds[0]);
    bb_build_destroy(&builds[1]);
    check_ok(bb_build_create(device_under_test, tiny, NULL, &builds[0]));
    bb_build_destroy(&builds[0]);
    assert_int_equal(setenv("BB_CC", "gcc", 1), 0);
    check_fails(bb_build_create(device_under_test, tiny, NULL, &builds[0]), BB_IO, "/nowhere");
    assert_int_equal(setenv("TMPDIR", home, 1), 0);
    pretend("echo noted; exec cc \"$@\"");
    for (int i = 0; i < 2; ++i) {
        check_ok(bb_build_create(device_under_test, tiny, &log, &builds[0]));
        assert_non_null(strstr(log, "noted"));
        BB_RELEASE(&log);
        bb_build_destroy(&builds[0]);
    }
    pretend_no_more();
}

static bb_device *cpu;

static int begin(void)
{
    (void)setenv("BITBUDGET_CACHE", "off", 1); // the compiler itself is under test
    (void)unsetenv("BB_CC");
    if (mkdtemp(home) == NULL || mkdtemp(scripts) == NULL || setenv("TMPDIR", home, 1) != 0 ||
        bb_device_open(BB_DEVICE_CPU, 0, &cpu) != BB_OK) {
        return 1;
    }
    return build_tests_begin(cpu, &c_texts);
}

static void end(void)
{
    bb_build_destroy(&entries);
    bb_device_close(&cpu);
    (void)rmdir(home);
    (void)rmdir(scripts);
}

TEST_GROUP(.begin = begin, .end = end, .threads = 2);
