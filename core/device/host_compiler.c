// SPDX-License-Identifier: Apache-2.0
#include "core/device/host_compiler.h"

#include "core/clock.h"
#include "core/device/build_ops.h"
#include "core/device/compiled_file.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 10, POLL_NS = 1000000 };

static const double MOST_SECONDS = 60.0;
static double most_seconds = MOST_SECONDS;

// Names in the folder, which the compiler has as its working folder.
static const char source_name[] = "source.c";
static const char library_name[] = "library.so";

// What code is made for: whatever the compiler takes, this processor, or every one with the
// instructions of the baseline. The numbers are the same: contraction is off in all.
typedef enum target {
    TARGET_PLAIN, // of a compiler without -march=native
    TARGET_NATIVE,
    TARGET_BASELINE,
} target;

#define CONTRACT "-ffp-contract=off -fno-math-errno -fno-trapping-math -fno-tree-slp-vectorize"
#if defined(__x86_64__)
#define INSTRUCTIONS "x86-64-v3"
#define BASELINE     "-march=" INSTRUCTIONS " "
#else
#define INSTRUCTIONS ""
#define BASELINE     ""
#endif

const char bb_host_compiler_instructions[] = INSTRUCTIONS;

static const char *const target_flags[] = {
    [TARGET_PLAIN] = "-std=c17 -O3 " CONTRACT,
    [TARGET_NATIVE] = "-std=c17 -O3 -march=native " CONTRACT,
    [TARGET_BASELINE] = "-std=c17 -O3 " BASELINE CONTRACT,
};

// A process that compiles, and what it said so far.
typedef struct compilation {
    pid_t process;
    int pipe; // its words, until they end: -1
    char *said;
    size_t said_bytes;
    int ending;  // as of waitpid
    bool reaped; // by others of this process; it then counts as done, and what it made tells
} compilation;

void bb_host_compiler_set_limit(double seconds)
{
    most_seconds = seconds > 0.0 ? seconds : MOST_SECONDS;
}

const char *bb_host_compiler_name(void)
{
    const char *named = getenv("BB_CC");
    return named == NULL || named[0] == '\0' ? "cc" : named;
}

static bb_status make_folder(char **out)
{
    bb_status status = BB_OK;
    const char *parent = getenv("TMPDIR");
    char *folder = NULL;
    parent = parent == NULL || parent[0] == '\0' ? "/tmp" : parent;
    BB_TRY(bb_memory_printf(&folder, "%s/bitbudget-XXXXXX", parent));
    BB_REQUIRE(mkdtemp(folder) != NULL, BB_IO, "cannot make a folder to compile in, in '%s': %s",
               parent, strerror(errno));
    *out = folder;
    folder = NULL;
done:
    BB_RELEASE(&folder);
    return status;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

// With the compiler's own files, of one that was ended too.
static void remove_folder(char **folder)
{
    enum { DESCRIPTORS = 8 };
    if (*folder != NULL) {
        (void)nftw(*folder, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    }
    BB_RELEASE(folder);
}

static bb_status write_source(const char *folder, const char *source)
{
    bb_status status = BB_OK;
    FILE *file = NULL;
    char *path = NULL;
    BB_TRY(bb_memory_printf(&path, "%s/%s", folder, source_name));
    file = fopen(path, "wxe");
    BB_REQUIRE(file != NULL, BB_IO, "cannot write '%s': %s", path, strerror(errno));
    const bool written = fputs(source, file) >= 0;
    const bool closed = fclose(file) == 0;
    BB_REQUIRE(written && closed, BB_IO, "cannot write '%s': %s", path, strerror(errno));
done:
    BB_RELEASE(&path);
    return status;
}

// A name with a slash is one of this process's working folder, which the compiler leaves.
static bb_status find_program(char **out)
{
    bb_status status = BB_OK;
    const char *name = bb_host_compiler_name();
    char folder[PATH_MAX];
    if (name[0] == '/' || strchr(name, '/') == NULL) {
        BB_TRY(bb_memory_text(name, out));
    } else {
        BB_REQUIRE(getcwd(folder, sizeof folder) != NULL, BB_IO,
                   "cannot find the working folder: %s", strerror(errno));
        BB_TRY(bb_memory_printf(out, "%s/%s", folder, name));
    }
done:
    return status;
}

// The caller's variables, but words in English, and files of the compiler's in its folder.
static bb_status make_environment(char ***out)
{
    bb_status status = BB_OK;
    static char language[] = "LC_ALL=C";
    static char folder[] = "TMPDIR=.";
    bb_index count = 0;
    bb_index kept = 0;
    while (environ[count] != NULL) {
        ++count;
    }
    BB_TRY(BB_ZEROED(count + 3, out));
    (*out)[kept++] = language;
    (*out)[kept++] = folder;
    for (bb_index i = 0; i < count; ++i) {
        const bool replaced =
            strncmp(environ[i], "LC_ALL=", 7) == 0 || strncmp(environ[i], "TMPDIR=", 7) == 0;
        if (!replaced) {
            (*out)[kept++] = environ[i];
        }
    }
done:
    return status;
}

static int add_actions(posix_spawn_file_actions_t *actions, const char *folder, int words)
{
    int error = posix_spawn_file_actions_addchdir_np(actions, folder);
    error = error != 0
                ? error
                : posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(actions, words, STDOUT_FILENO);
    return error != 0 ? error
                      : posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
}

// A group of its own, so that all that it starts can be ended; signals as a shell would leave them.
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t usual;
    (void)sigemptyset(&none);
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGCHLD);
    (void)sigaddset(&usual, SIGPIPE);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    error = error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &usual);
    error = error != 0 ? error : posix_spawnattr_setpgroup(attributes, 0);
    return error != 0 ? error
                      : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
                                                                 POSIX_SPAWN_SETSIGDEF |
                                                                 POSIX_SPAWN_SETPGROUP);
}

enum { MOST_ARGUMENTS = 24 };

// The program, the words of its flags, which are parted in place, and its files.
static void list_arguments(const char *program, char *flags, const char *out[MOST_ARGUMENTS])
{
    static const char *const files[] = {"-shared", "-fPIC", "-o", library_name, source_name, "-lm"};
    enum { FILES = sizeof files / sizeof files[0] };
    char *rest = NULL;
    int count = 0;
    out[count++] = program;
    for (char *word = strtok_r(flags, " ", &rest);
         word != NULL && count < MOST_ARGUMENTS - FILES - 1; word = strtok_r(NULL, " ", &rest)) {
        out[count++] = word;
    }
    for (int i = 0; i < FILES; ++i) {
        out[count++] = files[i];
    }
    out[count] = NULL;
}

static bb_status spawn(const char *folder, target kind, int words, pid_t *out)
{
    bb_status status = BB_OK;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *program = NULL;
    char *flags = NULL;
    char **environment = NULL;
    const char *arguments[MOST_ARGUMENTS];
    int error = ENOMEM;
    BB_TRY(find_program(&program));
    BB_TRY(make_environment(&environment));
    BB_TRY(bb_memory_text(target_flags[kind], &flags));
    list_arguments(program, flags, arguments);
    BB_REQUIRE(posix_spawn_file_actions_init(&actions) == 0, BB_MEMORY, "cannot start %s", program);
    if (posix_spawnattr_init(&attributes) == 0) {
        error = add_actions(&actions, folder, words);
        error = error != 0 ? error : set_attributes(&attributes);
        error = error != 0 ? error
                           : posix_spawnp(out, program, &actions, &attributes,
                                          (char *const *)(uintptr_t)arguments, environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    BB_REQUIRE(error != ENOENT, BB_UNSUPPORTED, "no C compiler: %s is not %s", program,
               strchr(program, '/') == NULL ? "in PATH" : "there");
    BB_REQUIRE(error == 0, error == ENOMEM || error == EAGAIN ? BB_MEMORY : BB_UNSUPPORTED,
               "no C compiler: cannot start %s: %s", program, strerror(error));
done:
    BB_RELEASE(&environment);
    BB_RELEASE(&flags);
    BB_RELEASE(&program);
    return status;
}

// Takes what there is to read; what no longer fits is dropped.
static void read_words(compilation *work)
{
    char block[4096];
    ssize_t count = 0;
    while ((count = read(work->pipe, block, sizeof block)) > 0) {
        const size_t room = BB_BUILD_LOG_BYTES - work->said_bytes;
        const size_t bytes = (size_t)count < room ? (size_t)count : room;
        memcpy(work->said + work->said_bytes, block, bytes);
        work->said_bytes += bytes;
        if (work->said_bytes == BB_BUILD_LOG_BYTES) {
            break; // the caller looks at the clock meanwhile
        }
    }
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        (void)close(work->pipe);
        work->pipe = -1;
    }
}

static bool has_ended(compilation *work)
{
    siginfo_t found = {0};
    const int failed = waitid(P_PID, (id_t)work->process, &found, WEXITED | WNOHANG | WNOWAIT);
    work->reaped = failed != 0 && errno == ECHILD;
    return work->reaped || found.si_pid == work->process;
}

static bb_status await(compilation *work, const char *name)
{
    bb_status status = BB_OK;
    const int64_t limit = bb_clock_ns() + (int64_t)(1e9 * most_seconds);
    bool late = false;
    while (!has_ended(work) && !late) {
        if (work->pipe >= 0) {
            struct pollfd words = {.fd = work->pipe, .events = POLLIN};
            (void)poll(&words, 1, POLL_MS);
            read_words(work);
        } else {
            (void)bb_clock_sleep_until(bb_clock_ns() + POLL_NS);
        }
        late = bb_clock_ns() >= limit;
    }
    // All that it started goes with it; its number is its own as long as it was not waited for.
    if (!work->reaped) {
        (void)kill(-work->process, SIGKILL);
    }
    while (!work->reaped && waitpid(work->process, &work->ending, 0) < 0 && errno == EINTR) {
    }
    if (work->pipe >= 0) {
        read_words(work);
    }
    BB_REQUIRE(!late, BB_DEVICE, "%s takes more than %g s to compile", name, most_seconds);
    BB_REQUIRE(!WIFSIGNALED(work->ending), BB_DEVICE, "%s died of signal %d", name,
               WTERMSIG(work->ending));
done:
    return status;
}

static bb_status run(const char *folder, target kind, bb_text *log, int *ending)
{
    bb_status status = BB_OK;
    compilation work = {.pipe = -1};
    int ends[2] = {-1, -1};
    BB_TRY(BB_ALLOCATE(BB_BUILD_LOG_BYTES, &work.said));
    BB_REQUIRE(pipe2(ends, O_CLOEXEC) == 0, BB_IO, "cannot make a pipe: %s", strerror(errno));
    work.pipe = ends[0];
    (void)fcntl(work.pipe, F_SETFL, O_NONBLOCK);
    BB_TRY(spawn(folder, kind, ends[1], &work.process));
    (void)close(ends[1]);
    ends[1] = -1;
    bb_status waited = await(&work, bb_host_compiler_name());
    BB_TRY(bb_build_add_log(work.said, work.said_bytes, log));
    BB_TRY(waited);
    *ending = work.ending;
done:
    if (ends[1] >= 0) {
        (void)close(ends[1]);
    }
    if (work.pipe >= 0) {
        (void)close(work.pipe);
    }
    BB_RELEASE(&work.said);
    return status;
}

static bb_status load(const char *path, bb_text *log, void **out)
{
    bb_status status = BB_OK;
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*out == NULL) {
        const char *reason = dlerror();
        BB_TRY(bb_build_add_log(reason, strlen(reason), log));
        BB_REQUIRE(strstr(reason, "undefined symbol") != NULL, BB_IO,
                   "cannot load what was compiled: %s", reason);
        BB_FAIL(BB_INVALID, "%s refuses the source: %s", bb_host_compiler_name(), reason);
    }
done:
    return status;
}

// Compilers that know no -march=native name it.
static bool lacks_native(const bb_text *log)
{
    const char *text = bb_text_string(log);
    return strstr(text, "march") != NULL && strstr(text, "native") != NULL;
}

// An object that an earlier process kept, else NULL and where each would stand.
static bb_status load_kept(const char *source, char *places[2], const char **flags, void **library)
{
    bb_status status = BB_OK;
    char *program = NULL;
    BB_TRY(find_program(&program));
    for (int kind = TARGET_NATIVE; kind >= TARGET_PLAIN && *library == NULL; --kind) {
        BB_TRY(bb_compiled_file_place(source, program, target_flags[kind], &places[kind]));
        if (places[kind] != NULL) {
            BB_TRY(bb_compiled_file_load(places[kind], library));
            *flags = target_flags[kind];
        }
    }
done:
    BB_RELEASE(&program);
    return status;
}

// Compiles in a folder that has the source, for `*kind` or what takes its place; `path` is the
// object.
static bb_status compile_in(const char *folder, const char *path, target *kind, bb_text *log)
{
    bb_status status = BB_OK;
    int ending = 0;
    BB_TRY(run(folder, *kind, log, &ending));
    bool made = ending == 0 && access(path, R_OK) == 0;
    if (!made && *kind == TARGET_NATIVE && lacks_native(log)) {
        *kind = TARGET_PLAIN;
        bb_text_release(log);
        BB_TRY(run(folder, *kind, log, &ending));
        made = ending == 0 && access(path, R_OK) == 0;
    }
    BB_REQUIRE(made || strstr(bb_text_string(log), "No space left on device") == NULL, BB_IO,
               "no space left for the files of %s", bb_host_compiler_name());
    BB_TRY(made ? BB_OK : bb_build_fail(bb_host_compiler_name(), log));
done:
    return status;
}

static bb_status make_source(const char *source, char **folder, char **path)
{
    bb_status status = BB_OK;
    BB_TRY(make_folder(folder));
    BB_TRY(write_source(*folder, source));
    BB_TRY(bb_memory_printf(path, "%s/%s", *folder, library_name));
done:
    return status;
}

static bb_status compile(const char *source, char *const places[2], bb_text *log,
                         const char **flags, void **library)
{
    bb_status status = BB_OK;
    char *folder = NULL;
    char *path = NULL;
    target kind = TARGET_NATIVE;
    BB_TRY(make_source(source, &folder, &path));
    BB_TRY(compile_in(folder, path, &kind, log));
    BB_TRY(load(path, log, library));
    *flags = target_flags[kind];
    if (log->length == 0 && places[kind] != NULL) { // what a compiler says is said each time
        BB_TRY(bb_compiled_file_keep(places[kind], path));
    }
done:
    if (status != BB_OK && *library != NULL) {
        (void)dlclose(*library);
        *library = NULL;
    }
    BB_RELEASE(&path);
    remove_folder(&folder);
    return status;
}

bb_status bb_host_compiler_load(const char *source, bb_text *log, const char **flags,
                                void **library)
{
    bb_status status = BB_OK;
    char *places[2] = {NULL, NULL};
    *library = NULL;
    BB_TRY(load_kept(source, places, flags, library));
    if (*library == NULL) {
        BB_TRY(compile(source, places, log, flags, library));
    }
done:
    BB_RELEASE(&places[0]);
    BB_RELEASE(&places[1]);
    return status;
}

bb_status bb_host_compiler_make(const char *source, const char *place, bb_text *log)
{
    bb_status status = BB_OK;
    char *folder = NULL;
    char *path = NULL;
    target kind = TARGET_BASELINE;
    BB_TRY(make_source(source, &folder, &path));
    BB_TRY(compile_in(folder, path, &kind, log));
    BB_TRY(bb_compiled_file_write(place, path));
done:
    BB_RELEASE(&path);
    remove_folder(&folder);
    return status;
}

const char *bb_host_compiler_baseline(void)
{
    return target_flags[TARGET_BASELINE];
}
