// SPDX-License-Identifier: Apache-2.0
#include "core/work_folder.h"

#include "core/clock.h"
#include "core/disk_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 10, POLL_NS = 1000000, MOST_TRIES = 500, MOST_DEPTH = 8, BLOCK_BYTES = 4096 };

// A handler may run at any time: it reads a folder only while it is HELD. While its program is
// STARTING, signals are blocked in the starting thread, so that a handler in another thread can
// wait for the process id.
enum { FREE, CHANGING, STARTING, HELD };

struct bb_work_folder {
    atomic_int state;
    int descriptor;
    pid_t process; // 0: none is running
    char path[BB_DISK_PATH_BYTES];
};

static bb_work_folder folders[BB_WORK_FOLDERS];

bb_status bb_work_folder_create(const char *purpose, bb_work_folder **out)
{
    bb_status status = BB_OK;
    const char *parent = getenv("TMPDIR");
    bb_work_folder *folder = NULL;
    struct stat about;
    *out = NULL;
    parent = parent == NULL || parent[0] == '\0' ? "/tmp" : parent;
    for (int i = 0; i < BB_WORK_FOLDERS && folder == NULL; ++i) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&folders[i].state, &expected, CHANGING)) {
            folder = &folders[i];
        }
    }
    BB_REQUIRE(folder != NULL, BB_INTERNAL, "cannot create a folder to %s: %d are in use", purpose,
               BB_WORK_FOLDERS);
    folder->process = 0;
    folder->descriptor = -1;
    const int length = snprintf(folder->path, sizeof folder->path, "%s/bitbudget-XXXXXX", parent);
    errno = ENAMETOOLONG;
    const bool made =
        length > 0 && (size_t)length < sizeof folder->path && mkdtemp(folder->path) != NULL;
    const bool opened =
        made && (folder->descriptor =
                     open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0;
    const int error = errno;
    // In a world-writable folder without the sticky bit it may have been replaced by now.
    const bool own = opened && fstat(folder->descriptor, &about) == 0 &&
                     about.st_uid == geteuid() && (about.st_mode & 0777) == S_IRWXU;
    if (!own && folder->descriptor >= 0) {
        (void)close(folder->descriptor);
    }
    if (made && !opened) {
        (void)rmdir(folder->path);
    }
    atomic_store(&folder->state, own ? HELD : FREE);
    BB_REQUIRE(opened, BB_IO,
               "cannot create a folder to %s, in '%s': %s (set TMPDIR to another folder)", purpose,
               parent, strerror(error));
    BB_REQUIRE(own, BB_IO, "the folder to %s, in '%s', was replaced (set TMPDIR to another folder)",
               purpose, parent);
    *out = folder;
done:
    return status;
}

// An entry as listed by the kernel: opendir allocates, which is not allowed in a handler.
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

// Removes the contents of a folder as far as possible. Async-signal-safe.
static void remove_contents(int descriptor, int depth)
{
    _Alignas(struct entry) char block[BLOCK_BYTES];
    long bytes = 0;
    (void)lseek(descriptor, 0, SEEK_SET);
    while ((bytes = syscall(SYS_getdents64, descriptor, block, sizeof block)) > 0) {
        for (long place = 0; place < bytes;) {
            const struct entry *next = (const struct entry *)(const void *)(block + place);
            place += next->bytes;
            if (strcmp(next->name, ".") == 0 || strcmp(next->name, "..") == 0 ||
                unlinkat(descriptor, next->name, 0) == 0 || depth == MOST_DEPTH) {
                continue;
            }
            const int inner =
                openat(descriptor, next->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (inner >= 0) {
                remove_contents(inner, depth + 1);
                (void)close(inner);
                (void)unlinkat(descriptor, next->name, AT_REMOVEDIR);
            }
        }
    }
}

// Ends the program and removes the folder; processes that are being ended may still create a file.
static void end_and_remove(const bb_work_folder *folder)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    if (folder->process > 0) {
        (void)kill(-folder->process, SIGKILL);
    }
    for (int i = 0; i < MOST_TRIES; ++i) {
        remove_contents(folder->descriptor, 0);
        if (rmdir(folder->path) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) {
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
}

// The folder stays HELD until it is removed: a handler that runs in between removes the rest.
void bb_work_folder_remove(bb_work_folder **folder)
{
    if (*folder != NULL && atomic_load(&(*folder)->state) == HELD) {
        end_and_remove(*folder);
        atomic_store(&(*folder)->state, CHANGING);
        (void)close((*folder)->descriptor);
        atomic_store(&(*folder)->state, FREE);
    }
    *folder = NULL;
}

void bb_work_folder_abandon(void)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    for (int i = 0; i < BB_WORK_FOLDERS; ++i) {
        for (int k = 0; k < MOST_TRIES && atomic_load(&folders[i].state) == STARTING; ++k) {
            (void)nanosleep(&pause, NULL);
        }
        if (atomic_load(&folders[i].state) == HELD) {
            end_and_remove(&folders[i]);
        }
    }
}

void bb_work_folder_disown(void)
{
    for (int i = 0; i < BB_WORK_FOLDERS; ++i) {
        if (atomic_load(&folders[i].state) != FREE) {
            (void)close(folders[i].descriptor);
            atomic_store(&folders[i].state, FREE);
        }
    }
}

int bb_work_folder_open(const bb_work_folder *folder, const char *name, int flags)
{
    return openat(folder->descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bb_status bb_work_folder_write(const bb_work_folder *folder, const char *name, const void *data,
                               bb_index bytes)
{
    bb_status status = BB_OK;
    const char *rest = data;
    const int file = bb_work_folder_open(folder, name, O_WRONLY | O_CREAT | O_EXCL);
    BB_REQUIRE(file >= 0, BB_IO, "cannot write '%s/%s': %s", folder->path, name, strerror(errno));
    while (bytes > 0) {
        const ssize_t count = write(file, rest, (size_t)bytes);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        BB_REQUIRE(count > 0, BB_IO, "cannot write '%s/%s': %s", folder->path, name,
                   strerror(errno));
        rest += count;
        bytes -= count;
    }
done:
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}

// Runs in the child, which shares the parent's memory until exec: only system calls. A process
// group of its own, so that all its descendants can be ended; signals as a shell would set them.
static _Noreturn void exec_program(const bb_work_folder *folder, const bb_work_program *program,
                                   int pipe_end, pid_t parent, int report)
{
    static const int usual[] = {SIGCHLD, SIGPIPE, SIGINT, SIGTERM, SIGHUP};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)setpgid(0, 0);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; ++i) {
        struct sigaction present;
        const bool ends = i >= 2; // ignored signals (nohup) stay ignored
        if (!ends || (sigaction(usual[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)) {
            (void)signal(usual[i], SIG_DFL);
        }
    }
    const int nothing = open("/dev/null", O_RDONLY);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && // it may have ended
        fchdir(folder->descriptor) == 0 && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
        dup2(pipe_end, STDOUT_FILENO) >= 0 && dup2(pipe_end, STDERR_FILENO) >= 0) {
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execvpe(program->arguments[0], (char *const *)(uintptr_t)program->arguments,
                      program->environment == NULL
                          ? environ
                          : (char *const *)(uintptr_t)program->environment);
    }
    const int error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(127);
}

// Starts the program without fork, which would copy the page tables of a large process. The child
// reports errors by a pipe that exec closes: under a sanitizer vfork may be fork.
static int start(bb_work_folder *folder, const bb_work_program *program, int pipe_end)
{
    int error = 0;
    int report[2];
    const pid_t parent = getpid();
    sigset_t all;
    sigset_t present;
    if (pipe2(report, O_CLOEXEC) != 0) {
        return errno;
    }
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &present);
    atomic_store(&folder->state, STARTING);
    // NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
    const pid_t process = vfork(); // posix_spawn sets no signal for the parent's end
    if (process == 0) {
        exec_program(folder, program, pipe_end, parent, report[1]);
    }
    // NOLINTEND(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
    error = process < 0 ? errno : 0;
    (void)close(report[1]);
    if (process > 0 && read(report[0], &error, sizeof error) > 0) {
        (void)waitpid(process, NULL, 0);
    }
    (void)close(report[0]);
    folder->process = error == 0 ? process : 0;
    atomic_store(&folder->state, HELD);
    (void)pthread_sigmask(SIG_SETMASK, &present, NULL);
    return error;
}

// Reads the available output and drops what does not fit. Closes the pipe at its end.
static void read_output(int *pipe_end, char *output, size_t room, size_t *output_bytes)
{
    char block[BLOCK_BYTES];
    ssize_t count = 0;
    while ((count = read(*pipe_end, block, sizeof block)) > 0) {
        const size_t left = room - *output_bytes;
        const size_t bytes = (size_t)count < left ? (size_t)count : left;
        memcpy(output + *output_bytes, block, bytes);
        *output_bytes += bytes;
        if (*output_bytes == room) {
            break; // the caller checks the time limit meanwhile
        }
    }
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        (void)close(*pipe_end);
        *pipe_end = -1;
    }
}

static bool has_ended(const bb_work_folder *folder, bb_work_end *end)
{
    siginfo_t found = {0};
    const int failed = waitid(P_PID, (id_t)folder->process, &found, WEXITED | WNOHANG | WNOWAIT);
    end->reaped = failed != 0 && errno == ECHILD;
    return end->reaped || found.si_pid == folder->process;
}

static void await(bb_work_folder *folder, double seconds, int *pipe_end, char *output, size_t room,
                  size_t *output_bytes, bb_work_end *end)
{
    const int64_t limit = bb_clock_ns() + (int64_t)(1e9 * seconds);
    while (!has_ended(folder, end) && !end->is_late) {
        if (*pipe_end >= 0) {
            struct pollfd ready = {.fd = *pipe_end, .events = POLLIN};
            (void)poll(&ready, 1, POLL_MS);
            read_output(pipe_end, output, room, output_bytes);
        } else {
            (void)bb_clock_sleep_until(bb_clock_ns() + POLL_NS);
        }
        end->is_late = bb_clock_ns() >= limit;
    }
    // Kills the whole group; its id is not reused before the process has been waited for.
    if (!end->reaped) {
        (void)kill(-folder->process, SIGKILL);
    }
    const pid_t process = folder->process;
    folder->process = 0;
    while (!end->reaped && waitpid(process, &end->ending, 0) < 0 && errno == EINTR) {
    }
    if (*pipe_end >= 0) {
        read_output(pipe_end, output, room, output_bytes);
    }
}

bb_status bb_work_folder_run(bb_work_folder *folder, const bb_work_program *program, char *output,
                             size_t room, size_t *output_bytes, bb_work_end *end)
{
    bb_status status = BB_OK;
    int ends[2] = {-1, -1};
    *output_bytes = 0;
    *end = (bb_work_end){.error = 0};
    BB_REQUIRE(pipe2(ends, O_CLOEXEC) == 0, BB_IO, "cannot make a pipe: %s", strerror(errno));
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    end->error = start(folder, program, ends[1]);
    (void)close(ends[1]);
    if (end->error == 0) {
        await(folder, program->seconds, &ends[0], output, room, output_bytes, end);
    }
    if (ends[0] >= 0) {
        (void)close(ends[0]);
    }
done:
    return status;
}
