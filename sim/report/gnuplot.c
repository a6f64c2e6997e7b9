// SPDX-License-Identifier: Apache-2.0
#include "sim/report/gnuplot.h"

#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FOLDER_BYTES = 4096, MESSAGE_BYTES = 400, TAIL_BYTES = 64, MOST_FILES = 4 };

// What a picture that arrived whole ends with.
static const char *const ends[BB_FIGURE_FORMATS] = {"%%EOF", "</svg>", "IEND", "\\endgroup"};
static const char *const endings[BB_FIGURE_FORMATS] = {".pdf", ".svg", ".png", ".tex"};

// The folder where gnuplot works. Files there have one name, whatever the picture's is.
#define WORK_NAME "picture"

typedef struct workshop {
    char folder[FOLDER_BYTES];
} workshop;

static bb_status path_of(const workshop *place, const char *ending, char **out)
{
    return bb_memory_printf(out, "%s/" WORK_NAME "%s", place->folder, ending);
}

static bb_status open_workshop(workshop *out)
{
    bb_status status = BB_OK;
    const char *parent = getenv("TMPDIR");
    parent = parent == NULL || parent[0] == '\0' ? "/tmp" : parent;
    const int length = snprintf(out->folder, sizeof out->folder, "%s/bitbudget-XXXXXX", parent);
    const bool fits = length > 0 && (size_t)length < sizeof out->folder;
    errno = fits ? 0 : ENAMETOOLONG;
    if (!fits || mkdtemp(out->folder) == NULL) {
        out->folder[0] = '\0';
        BB_FAIL(BB_IO, "cannot make a folder for gnuplot in '%s': %s (TMPDIR names another)",
                parent, strerror(errno));
    }
done:
    return status;
}

static void close_workshop(workshop *place)
{
    static const char *const made[] = {".dat", ".gp", ".pdf", ".svg", ".png", ".tex", ".log"};
    char *path = NULL;
    for (size_t i = 0; place->folder[0] != '\0' && i < sizeof made / sizeof *made; ++i) {
        if (path_of(place, made[i], &path) == BB_OK) {
            (void)unlink(path);
        }
        BB_RELEASE(&path);
    }
    if (place->folder[0] != '\0') {
        (void)rmdir(place->folder);
    }
}

static bb_status write_text(const workshop *place, const char *ending, const bb_text *text)
{
    bb_status status = BB_OK;
    char *path = NULL;
    BB_TRY(path_of(place, ending, &path));
    BB_TRY(bb_file_write(path, false, bb_text_string(text), text->length));
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status read_back(const workshop *place, const char *ending, bb_text *out)
{
    bb_status status = BB_OK;
    char *path = NULL;
    char block[BUFSIZ];
    FILE *file = NULL;
    BB_TRY(path_of(place, ending, &path));
    file = fopen(path, "rbe");
    BB_REQUIRE(file != NULL, BB_IO, "gnuplot left no '%s': %s", path, strerror(errno));
    for (size_t count = fread(block, 1, sizeof block, file); count > 0;
         count = fread(block, 1, sizeof block, file)) {
        BB_TRY(bb_text_add_bytes(out, block, (bb_index)count));
    }
    BB_REQUIRE(ferror(file) == 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    BB_RELEASE(&path);
    return status;
}

// Starts gnuplot in the folder; what it prints goes to the log there.
static bb_status start(const workshop *place, pid_t *out)
{
    bb_status status = BB_OK;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    const char *const arguments[] = {"gnuplot", "--default-settings", WORK_NAME ".gp", NULL};
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    (void)sigemptyset(&none);
    BB_REQUIRE(posix_spawn_file_actions_init(&actions) == 0, BB_MEMORY, "cannot start gnuplot");
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        BB_FAIL(BB_MEMORY, "cannot start gnuplot");
    }
    int error = posix_spawn_file_actions_addchdir_np(&actions, place->folder);
    error = error != 0 ? error
                       : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                                          O_RDONLY, 0);
    error = error != 0 ? error
                       : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, WORK_NAME ".log",
                                                          flags, 0600);
    error = error != 0 ? error
                       : posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    error = error != 0 ? error : posix_spawnattr_setsigmask(&attributes, &none);
    error = error != 0 ? error : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    error = error != 0 ? error
                       : posix_spawnp(out, "gnuplot", &actions, &attributes,
                                      (char *const *)(uintptr_t)arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    BB_REQUIRE(error != ENOENT, BB_UNSUPPORTED,
               "no program 'gnuplot' in PATH, which draws the pictures; install the package "
               "gnuplot-nox (Debian, Ubuntu) or gnuplot");
    BB_REQUIRE(error == 0, BB_IO, "cannot start gnuplot: %s", strerror(error));
done:
    return status;
}

static bb_status run(const workshop *place)
{
    bb_status status = BB_OK;
    bb_text said = {0};
    pid_t child = -1;
    int how = 0;
    BB_TRY(start(place, &child));
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
        BB_TRY(read_back(place, ".log", &said));
        const char *text = bb_text_string(&said);
        text += strspn(text, " \n");
        BB_FAIL(BB_IO, "gnuplot %s %d: %.*s", WIFSIGNALED(how) ? "died of signal" : "failed, exit",
                WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how), MESSAGE_BYTES, text);
    }
done:
    bb_text_release(&said);
    return status;
}

// A full disk can end a picture early without a word of gnuplot's.
static bb_status check_whole(const bb_text *picture, bb_figure_format format)
{
    bb_status status = BB_OK;
    const char *end = ends[format];
    const bb_index length = (bb_index)strlen(end);
    bool found = false;
    for (bb_index back = length; !found && back <= picture->length && back <= TAIL_BYTES; ++back) {
        found = memcmp(picture->data + picture->length - back, end, (size_t)length) == 0;
    }
    BB_REQUIRE(found, BB_IO,
               "gnuplot wrote part of a picture, %td bytes: is the folder of "
               "temporary files full?",
               picture->length);
done:
    return status;
}

// The picture as gnuplot left it, whole, but for two texts. Cells of a map are flat: viewers of SVG
// blend pixels that they enlarge unless each image says otherwise, and gnuplot 5.4 does not say it.
// LaTeX reads the lines from the file `stem`.pdf.
static bb_status read_picture(const workshop *place, bb_figure_format format, const char *stem,
                              bb_text *out)
{
    static const char *const marks[BB_FIGURE_FORMATS] = {
        [BB_FIGURE_SVG] = "<image ", [BB_FIGURE_TEX] = "{./" WORK_NAME "}"};
    const char *mark = marks[format];
    bb_status status = BB_OK;
    bb_text picture = {0};
    BB_TRY(read_back(place, endings[format], &picture));
    BB_TRY(check_whole(&picture, format));
    const char *rest = picture.data;
    const char *end = picture.data + picture.length;
    const char *found = NULL;
    while (mark != NULL && (found = strstr(rest, mark)) != NULL) {
        BB_TRY(bb_text_add_bytes(out, rest, found - rest));
        BB_TRY(format == BB_FIGURE_TEX
                   ? bb_text_add(out, "{%s}", stem)
                   : bb_text_add(out, "%sstyle='image-rendering:pixelated' ", mark));
        rest = found + strlen(mark);
    }
    BB_TRY(bb_text_add_bytes(out, rest, end - rest));
done:
    bb_text_release(&picture);
    return status;
}

static bb_status deliver(const workshop *place, bb_figure_format format, const char *path,
                         bool force)
{
    bb_status status = BB_OK;
    bb_text picture = {0};
    char *stem = NULL;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    BB_TRY(bb_memory_printf(&stem, "%.*s", (int)(strlen(name) - strlen(endings[format])), name));
    BB_TRY(read_picture(place, format, stem, &picture));
    BB_TRY(bb_file_write(path, force, picture.data, picture.length));
done:
    BB_RELEASE(&stem);
    bb_text_release(&picture);
    return status;
}

// What is written beside a picture: the stem's path with endings of their own.
typedef struct beside {
    char *graphic, *script, *data;
} beside;

static bb_status name_beside(const bb_figure *figure, const char *path, bool scripts, bool force,
                             const bb_file_list *inputs, beside *out)
{
    bb_status status = BB_OK;
    const int stem = (int)(strlen(path) - strlen(endings[figure->format]));
    BB_TRY(bb_file_check(path, false, force, 0.0, inputs));
    if (figure->format == BB_FIGURE_TEX) {
        BB_TRY(bb_memory_printf(&out->graphic, "%.*s.pdf", stem, path));
        BB_TRY(bb_file_check(out->graphic, false, force, 0.0, inputs));
    }
    if (scripts) {
        BB_TRY(bb_memory_printf(&out->script, "%.*s.gp", stem, path));
        BB_TRY(bb_memory_printf(&out->data, "%.*s.dat", stem, path));
        BB_TRY(bb_file_check(out->script, false, force, 0.0, inputs));
        BB_TRY(bb_file_check(out->data, false, force, 0.0, inputs));
    }
done:
    return status;
}

static bb_status draw(const bb_figure *figure, const workshop *place, const beside *names,
                      const char *path, bool force)
{
    bb_status status = BB_OK;
    BB_TRY(write_text(place, ".dat", &figure->data));
    BB_TRY(write_text(place, ".gp", &figure->script));
    BB_TRY(run(place));
    if (names->graphic != NULL) {
        BB_TRY(deliver(place, BB_FIGURE_PDF, names->graphic, force));
    }
    if (names->script != NULL) {
        BB_TRY(bb_file_write(names->data, force, figure->data.data, figure->data.length));
        BB_TRY(bb_file_write(names->script, force, figure->script.data, figure->script.length));
    }
    BB_TRY(deliver(place, figure->format, path, force));
done:
    return status;
}

// Signals that end the program wait until the folder is gone; gnuplot's own end it at once.
static void hold_signals(sigset_t *present)
{
    sigset_t ending;
    (void)sigemptyset(&ending);
    (void)sigaddset(&ending, SIGINT);
    (void)sigaddset(&ending, SIGTERM);
    (void)sigaddset(&ending, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ending, present);
}

bb_status bb_gnuplot_draw(const bb_figure *figure, const char *path, bool scripts, bool force,
                          const bb_file_list *inputs)
{
    bb_status status = BB_OK;
    workshop place = {.folder = ""};
    beside names = {NULL, NULL, NULL};
    sigset_t present;
    hold_signals(&present);
    BB_TRY(name_beside(figure, path, scripts, force, inputs, &names));
    BB_TRY(open_workshop(&place));
    BB_TRY(draw(figure, &place, &names, path, force));
done:
    close_workshop(&place);
    BB_RELEASE(&names.graphic);
    BB_RELEASE(&names.script);
    BB_RELEASE(&names.data);
    (void)sigprocmask(SIG_SETMASK, &present, NULL);
    return status;
}

bool bb_gnuplot_is_there(void)
{
    const char *path = getenv("PATH");
    char name[FOLDER_BYTES];
    while (path != NULL && *path != '\0') {
        const int length = (int)strcspn(path, ":");
        (void)snprintf(name, sizeof name, "%.*s/gnuplot", length, path);
        if (access(name, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

bb_status bb_gnuplot_render(const bb_figure *figure, bb_text *out)
{
    bb_status status = BB_OK;
    workshop place = {.folder = ""};
    sigset_t present;
    hold_signals(&present);
    BB_TRY(open_workshop(&place));
    BB_TRY(write_text(&place, ".dat", &figure->data));
    BB_TRY(write_text(&place, ".gp", &figure->script));
    BB_TRY(run(&place));
    BB_TRY(read_picture(&place, figure->format, "", out));
done:
    close_workshop(&place);
    (void)sigprocmask(SIG_SETMASK, &present, NULL);
    return status;
}
