// SPDX-License-Identifier: Apache-2.0
#include "core/device/host_compiler.h"

#include "core/device/build_ops.h"
#include "core/device/compiled_file.h"
#include "core/memory.h"
#include "core/work_folder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double MOST_SECONDS = 60.0;
static double most_seconds = MOST_SECONDS;

// File names in the compiler's working folder.
static const char source_name[] = "source.c";
static const char library_name[] = "library.so";

// Target of the code: the compiler's default, this processor, or the baseline instruction set. The
// numbers are the same: contraction is off in all.
typedef enum target {
    TARGET_PLAIN, // for compilers without -march=native
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

void bb_host_compiler_set_limit(double seconds)
{
    most_seconds = seconds > 0.0 ? seconds : MOST_SECONDS;
}

const char *bb_host_compiler_name(void)
{
    const char *named = getenv("BB_CC");
    return named == NULL || named[0] == '\0' ? "cc" : named;
}

// Resolves a program name with a slash, which is relative to the working folder of this process:
// the compiler runs in another one.
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

// Builds the caller's environment, with messages in English and the compiler's temporary files in
// its folder.
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

enum { MOST_ARGUMENTS = 24 };

// Arguments: the program, the words of its flags, which are split in place, and its files.
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

static bb_status check_end(const bb_work_end *end, const char *program)
{
    bb_status status = BB_OK;
    const char *name = bb_host_compiler_name();
    BB_REQUIRE(end->error != ENOENT, BB_UNSUPPORTED, "no C compiler: %s is not %s", program,
               strchr(program, '/') == NULL ? "in PATH" : "there");
    BB_REQUIRE(end->error == 0,
               end->error == ENOMEM || end->error == EAGAIN ? BB_MEMORY : BB_UNSUPPORTED,
               "no C compiler: cannot start %s: %s", program, strerror(end->error));
    BB_REQUIRE(!end->is_late, BB_DEVICE, "%s did not compile within %g s", name, most_seconds);
    BB_REQUIRE(!WIFSIGNALED(end->ending), BB_DEVICE, "%s died of signal %d", name,
               WTERMSIG(end->ending));
done:
    return status;
}

static bb_status run(bb_work_folder *folder, target kind, bb_text *log, int *ending)
{
    bb_status status = BB_OK;
    char *program = NULL;
    char *flags = NULL;
    char *output = NULL;
    size_t output_bytes = 0;
    char **environment = NULL;
    const char *arguments[MOST_ARGUMENTS];
    bb_work_end end;
    BB_TRY(find_program(&program));
    BB_TRY(make_environment(&environment));
    BB_TRY(bb_memory_text(target_flags[kind], &flags));
    BB_TRY(BB_ALLOCATE(BB_BUILD_LOG_BYTES, &output));
    list_arguments(program, flags, arguments);
    const bb_work_program compiler = {.arguments = arguments,
                                      .environment = (const char *const *)environment,
                                      .seconds = most_seconds};
    BB_TRY(bb_work_folder_run(folder, &compiler, output, BB_BUILD_LOG_BYTES, &output_bytes, &end));
    BB_TRY(bb_build_add_log(output, output_bytes, log));
    BB_TRY(check_end(&end, program));
    *ending = end.ending;
done:
    BB_RELEASE(&output);
    BB_RELEASE(&environment);
    BB_RELEASE(&flags);
    BB_RELEASE(&program);
    return status;
}

static bb_status load(int object, bb_text *log, void **out)
{
    bb_status status = BB_OK;
    *out = bb_compiled_file_link(object);
    if (*out == NULL) {
        const char *reason = dlerror();
        BB_TRY(bb_build_add_log(reason, strlen(reason), log));
        BB_REQUIRE(strstr(reason, "undefined symbol") != NULL, BB_IO,
                   "cannot load the compiled library: %s", reason);
        BB_FAIL(BB_INVALID, "%s rejects the source: %s", bb_host_compiler_name(), reason);
    }
done:
    return status;
}

// Compilers without -march=native name the option in their error.
static bool lacks_native(const bb_text *log)
{
    const char *text = bb_text_string(log);
    return strstr(text, "march") != NULL && strstr(text, "native") != NULL;
}

// Loads an object cached by an earlier process, else NULL and the cache path of each target.
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

// Compiles the source in the folder for `*kind` or its fallback. `*object` is a descriptor of the
// object. Owner: the caller.
static bb_status compile_in(bb_work_folder *folder, target *kind, bb_text *log, int *object)
{
    bb_status status = BB_OK;
    int ending = 0;
    BB_TRY(run(folder, *kind, log, &ending));
    *object = ending == 0 ? bb_work_folder_open(folder, library_name, O_RDONLY) : -1;
    if (*object < 0 && *kind == TARGET_NATIVE && lacks_native(log)) {
        *kind = TARGET_PLAIN;
        bb_text_release(log);
        BB_TRY(run(folder, *kind, log, &ending));
        *object = ending == 0 ? bb_work_folder_open(folder, library_name, O_RDONLY) : -1;
    }
    BB_REQUIRE(*object >= 0 || strstr(bb_text_string(log), "No space left on device") == NULL,
               BB_IO, "no space left for the files of %s", bb_host_compiler_name());
    BB_TRY(*object >= 0 ? BB_OK : bb_build_fail(bb_host_compiler_name(), log));
done:
    return status;
}

// Compiles a source in a temporary folder, which is removed afterwards.
static bb_status make_object(const char *source, target *kind, bb_text *log, int *object)
{
    bb_status status = BB_OK;
    bb_work_folder *folder = NULL;
    BB_TRY(bb_work_folder_create("compile in", &folder));
    BB_TRY(bb_work_folder_write(folder, source_name, source, (bb_index)strlen(source)));
    BB_TRY(compile_in(folder, kind, log, object));
done:
    bb_work_folder_remove(&folder);
    return status;
}

static bb_status compile(const char *source, char *const places[2], bb_text *log,
                         const char **flags, void **library)
{
    bb_status status = BB_OK;
    target kind = TARGET_NATIVE;
    int object = -1;
    BB_TRY(make_object(source, &kind, log, &object));
    BB_TRY(load(object, log, library));
    *flags = target_flags[kind];
    if (log->length == 0 && places[kind] != NULL) { // compiler messages are repeated each time
        BB_TRY(bb_compiled_file_save(places[kind], object));
    }
done:
    if (status != BB_OK && *library != NULL) {
        (void)dlclose(*library);
        *library = NULL;
    }
    if (object >= 0) {
        (void)close(object);
    }
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
    target kind = TARGET_BASELINE;
    int object = -1;
    BB_TRY(make_object(source, &kind, log, &object));
    BB_TRY(bb_compiled_file_write(place, object));
done:
    if (object >= 0) {
        (void)close(object);
    }
    return status;
}

const char *bb_host_compiler_baseline(void)
{
    return target_flags[TARGET_BASELINE];
}
