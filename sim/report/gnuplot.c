// SPDX-License-Identifier: Apache-2.0
#include "sim/report/gnuplot.h"

#include "core/memory.h"
#include "core/work_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_BYTES = 4096, MESSAGE_BYTES = 400, LOG_BYTES = 4096, TAIL_BYTES = 64 };

// Last bytes of a complete picture.
static const char *const ends[BB_FIGURE_FORMATS] = {"%%EOF", "</svg>", "IEND", "\\endgroup"};
static const char *const endings[BB_FIGURE_FORMATS] = {".pdf", ".svg", ".png", ".tex"};

// Files in gnuplot's working folder have a fixed name, independent of the picture's.
#define WORK_NAME "picture"

static const double MOST_SECONDS = 60.0;
static double most_seconds = MOST_SECONDS;

void bb_gnuplot_set_limit(double seconds)
{
    most_seconds = seconds > 0.0 ? seconds : MOST_SECONDS;
}

static bb_status read_back(const bb_work_folder *place, const char *ending, bb_text *out)
{
    bb_status status = BB_OK;
    char name[32];
    char block[BUFSIZ];
    ssize_t count = 0;
    (void)snprintf(name, sizeof name, WORK_NAME "%s", ending);
    const int file = bb_work_folder_open(place, name, O_RDONLY);
    BB_REQUIRE(file >= 0, BB_IO, "gnuplot did not write '%s': %s", name, strerror(errno));
    while ((count = read(file, block, sizeof block)) > 0) {
        BB_TRY(bb_text_add_bytes(out, block, (bb_index)count));
    }
    BB_REQUIRE(count == 0, BB_IO, "cannot read '%s': %s", name, strerror(errno));
done:
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}

static bb_status run(bb_work_folder *place)
{
    bb_status status = BB_OK;
    const char *const arguments[] = {"gnuplot", "--default-settings", WORK_NAME ".gp", NULL};
    const bb_work_program program = {.arguments = arguments, .seconds = most_seconds};
    char log[LOG_BYTES];
    size_t bytes = 0;
    bb_work_end end;
    BB_TRY(bb_work_folder_run(place, &program, log, sizeof log - 1, &bytes, &end));
    BB_REQUIRE(
        end.error != ENOENT, BB_UNSUPPORTED,
        "gnuplot is not in PATH; install the package gnuplot-nox (Debian, Ubuntu) or gnuplot");
    BB_REQUIRE(end.error == 0, BB_IO, "cannot start gnuplot: %s", strerror(end.error));
    BB_REQUIRE(!end.is_late, BB_IO, "gnuplot did not finish within %g s", most_seconds);
    log[bytes] = '\0';
    const int how = end.ending;
    BB_REQUIRE(WIFEXITED(how) && WEXITSTATUS(how) == 0, BB_IO, "gnuplot %s %d: %.*s",
               WIFSIGNALED(how) ? "was ended by signal" : "failed with exit code",
               WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how), MESSAGE_BYTES,
               log + strspn(log, " \n"));
done:
    return status;
}

// Draws a figure in a separate folder.
static bb_status work(const bb_figure *figure, bb_work_folder **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_work_folder_create("run gnuplot in", out));
    BB_TRY(bb_work_folder_write(*out, WORK_NAME ".dat", bb_text_string(&figure->data),
                                figure->data.length));
    BB_TRY(bb_work_folder_write(*out, WORK_NAME ".gp", bb_text_string(&figure->script),
                                figure->script.length));
    BB_TRY(run(*out));
done:
    return status;
}

// A full disk can truncate a picture without an error message of gnuplot.
static bb_status check_whole(const bb_text *picture, bb_figure_format format)
{
    bb_status status = BB_OK;
    const char *end = ends[format];
    const bb_index length = (bb_index)strlen(end);
    bool found = false;
    for (bb_index back = length; !found && back <= picture->length && back <= TAIL_BYTES; ++back) {
        found = memcmp(bb_text_string(picture) + picture->length - back, end, (size_t)length) == 0;
    }
    BB_REQUIRE(found, BB_IO,
               "gnuplot wrote an incomplete picture of %td bytes; check whether the folder of "
               "temporary files is full",
               picture->length);
done:
    return status;
}

// Reads the complete picture with two changes. Cells of a map are marked as pixelated, because SVG
// viewers otherwise interpolate enlarged pixels and gnuplot 5.4 does not mark them. LaTeX reads the
// lines from the file `stem`.pdf.
static bb_status read_picture(const bb_work_folder *place, bb_figure_format format,
                              const char *stem, bb_text *out)
{
    static const char *const marks[BB_FIGURE_FORMATS] = {
        [BB_FIGURE_SVG] = "<image ", [BB_FIGURE_TEX] = "{./" WORK_NAME "}"};
    const char *mark = marks[format];
    bb_status status = BB_OK;
    bb_text picture = {0};
    BB_TRY(read_back(place, endings[format], &picture));
    BB_TRY(check_whole(&picture, format));
    const char *rest = bb_text_string(&picture);
    const char *end = rest + picture.length;
    const char *found = NULL;
    BB_REQUIRE(format != BB_FIGURE_TEX || strstr(rest, mark) != NULL, BB_IO,
               "gnuplot's LaTeX output does not include picture '%s'", mark);
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

static bb_status deliver(const bb_work_folder *place, bb_figure_format format, const char *path,
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

// Files of a picture: the stem's path with their extensions.
typedef struct output_names {
    char *graphic, *script, *data;
} output_names;

static bb_status name_outputs(const bb_figure *figure, const char *path, bool scripts, bool force,
                              const bb_file_list *inputs, output_names *out)
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

static bb_status write_all(const bb_figure *figure, const bb_work_folder *place,
                           const output_names *names, const char *path, bool force)
{
    bb_status status = BB_OK;
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

bb_status bb_gnuplot_draw(const bb_figure *figure, const char *path, bool scripts, bool force,
                          const bb_file_list *inputs)
{
    bb_status status = BB_OK;
    bb_work_folder *place = NULL;
    output_names names = {NULL, NULL, NULL};
    BB_TRY(name_outputs(figure, path, scripts, force, inputs, &names));
    BB_TRY(work(figure, &place));
    BB_TRY(write_all(figure, place, &names, path, force));
done:
    bb_work_folder_remove(&place);
    BB_RELEASE(&names.graphic);
    BB_RELEASE(&names.script);
    BB_RELEASE(&names.data);
    return status;
}

bool bb_gnuplot_is_there(void)
{
    const char *path = getenv("PATH");
    char name[NAME_BYTES];
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
    bb_work_folder *place = NULL;
    BB_TRY(work(figure, &place));
    BB_TRY(read_picture(place, figure->format, "", out));
done:
    bb_work_folder_remove(&place);
    return status;
}
