// SPDX-License-Identifier: Apache-2.0
#include "core/device/prebuilt.h"

#include "core/device/compiled_file.h"
#include "core/device/host_compiler.h"
#include "core/digest.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static char *making; // output folder; NULL: prebuilt kernels are only read
static bool lacks_baseline;

void bb_prebuilt_set_processor(bool has_baseline)
{
    lacks_baseline = !has_baseline;
}

#if defined(__x86_64__)
// Tests features one by one: not every compiler's __builtin_cpu_supports accepts x86-64-v3, F16C,
// LZCNT and MOVBE.
static bool has_baseline(void)
{
    enum { MOVBE = 1 << 22, F16C = 1 << 29, LZCNT = 1 << 5 };
    unsigned words[4] = {0};
    const bool has_first = __get_cpuid(1, &words[0], &words[1], &words[2], &words[3]) != 0 &&
                           (words[2] & (MOVBE | F16C)) == (MOVBE | F16C);
    const bool has_second =
        __get_cpuid(0x80000001U, &words[0], &words[1], &words[2], &words[3]) != 0 &&
        (words[2] & LZCNT) != 0;
    return !lacks_baseline && has_first && has_second && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma");
}
#else
static bool has_baseline(void)
{
    return !lacks_baseline;
}
#endif

bb_status bb_prebuilt_start_making(const char *folder)
{
    bb_status status = BB_OK;
    struct stat about;
    bb_prebuilt_stop_making();
    const int failed = mkdir(folder, S_IRWXU | S_IRWXG | S_IRWXO);
    BB_REQUIRE(failed == 0 || errno == EEXIST, BB_IO, "cannot make the folder '%s': %s", folder,
               strerror(errno));
    BB_REQUIRE(stat(folder, &about) == 0 && S_ISDIR(about.st_mode), BB_IO, "'%s' is not a folder",
               folder);
    BB_TRY(bb_memory_text(folder, &making));
done:
    return status;
}

void bb_prebuilt_stop_making(void)
{
    BB_RELEASE(&making);
}

bool bb_prebuilt_is_making(void)
{
    return making != NULL;
}

// Finds the folder of the build tree if there is one, else that of the installation.
static bb_status find_beside_program(char **out)
{
    bb_status status = BB_OK;
    char program[PATH_MAX];
    char resolved[PATH_MAX];
    char *path = NULL;
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    BB_REQUIRE(slash != NULL, BB_UNSUPPORTED,
               "the folder of prebuilt kernels is unknown: no /proc/self/exe");
    *slash = '\0';
    BB_TRY(bb_memory_printf(&path, "%s/kernels", program));
    if (access(path, F_OK) != 0) {
        BB_RELEASE(&path);
        BB_TRY(bb_memory_printf(&path, "%s/" BB_KERNELS_FROM_PROGRAM, program));
    }
    const char *plain = realpath(path, resolved); // without the ".." of bin/../lib
    BB_TRY(bb_memory_text(plain == NULL ? path : plain, out));
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status find_folder(char **out)
{
    const char *named = making != NULL ? making : getenv("BITBUDGET_PREBUILT");
    return named != NULL && named[0] != '\0' ? bb_memory_text(named, out)
                                             : find_beside_program(out);
}

static bb_status find_place(const char *folder, const char *source, char **out)
{
    bb_status status = BB_OK;
    char *key = NULL;
    char digest[BB_DIGEST_BYTES];
    BB_TRY(bb_memory_printf(&key, "%s\n%s", bb_host_compiler_baseline(), source));
    bb_digest_of(key, strlen(key), digest);
    BB_TRY(bb_memory_printf(out, "%s/%s.so", folder, digest));
done:
    BB_RELEASE(&key);
    return status;
}

bb_status bb_prebuilt_load(const char *source, const char **flags, void **library)
{
    bb_status status = BB_OK;
    char *folder = NULL;
    char *place = NULL;
    struct stat program;
    *library = NULL;
    BB_TRY(find_folder(&folder));
    BB_TRY(find_place(folder, source, &place));
    BB_REQUIRE(access(place, F_OK) == 0, BB_UNSUPPORTED,
               "no prebuilt kernel for this source in '%s'", folder);
    BB_REQUIRE(has_baseline(), BB_UNSUPPORTED, "prebuilt kernels in '%s' need a processor with %s",
               folder, bb_host_compiler_instructions);
    const uid_t owner = stat("/proc/self/exe", &program) == 0 ? program.st_uid : geteuid();
    status = bb_compiled_file_open(place, owner, library);
    if (status == BB_IO || status == BB_UNSUPPORTED) {
        bb_status_record record;
        bb_status_save(&record);
        BB_FAIL(status, "the prebuilt kernel '%s' is not used: %s", place, record.message);
    }
    BB_TRY(status);
    BB_REQUIRE(*library != NULL, BB_IO,
               "the prebuilt kernel '%s' is damaged, or was made for another source or system: "
               "reinstall bitbudget, or install a C compiler",
               place);
    *flags = bb_host_compiler_baseline();
done:
    BB_RELEASE(&place);
    BB_RELEASE(&folder);
    return status;
}

bb_status bb_prebuilt_make(const char *source, bb_text *log)
{
    bb_status status = BB_OK;
    char *place = NULL;
    BB_REQUIRE(making != NULL, BB_INTERNAL, "no folder to write prebuilt kernels to");
    BB_TRY(find_place(making, source, &place));
    BB_TRY(bb_host_compiler_make(source, place, log));
done:
    BB_RELEASE(&place);
    return status;
}
