// SPDX-License-Identifier: Apache-2.0
#include "core/device/nvrtc_cuda.h"

#include "core/device/build_ops.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdio.h>

#define FUNCTIONS(X)                                                                               \
    X(nvrtcVersion)                                                                                \
    X(nvrtcGetErrorString)                                                                         \
    X(nvrtcCreateProgram)                                                                          \
    X(nvrtcCompileProgram)                                                                         \
    X(nvrtcGetProgramLogSize)                                                                      \
    X(nvrtcGetProgramLog)                                                                          \
    X(nvrtcGetCUBINSize)                                                                           \
    X(nvrtcGetCUBIN)                                                                               \
    X(nvrtcDestroyProgram)

static struct {
#define MEMBER(name) __typeof__(name) *(name);
    FUNCTIONS(MEMBER)
#undef MEMBER
    bool found;
} nvrtc;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const names[] = {
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so",
        BB_CUDA_LIBRARY_FOLDER "/libnvrtc.so.13",
        BB_CUDA_LIBRARY_FOLDER "/libnvrtc.so.12",
        BB_CUDA_LIBRARY_FOLDER "/libnvrtc.so",
    };
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof names / sizeof *names; ++i) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    nvrtc.found = library != NULL;
    // POSIX lets function addresses be returned as object pointers.
#define FIND(name)                                                                                 \
    *(void **)&nvrtc.name = library == NULL ? NULL : dlsym(library, #name);                        \
    nvrtc.found = nvrtc.found && nvrtc.name != NULL;
    FUNCTIONS(FIND)
#undef FIND
}

static bb_status check(nvrtcResult result, const char *call, int line)
{
    if (result == NVRTC_SUCCESS) {
        return BB_OK;
    }
    return bb_status_set(result == NVRTC_ERROR_OUT_OF_MEMORY ? BB_MEMORY : BB_DEVICE, __FILE__,
                         line, "%s: %s", call, nvrtc.nvrtcGetErrorString(result));
}

#define NVRTC_TRY(call) BB_TRY(check(nvrtc.call, #call, __LINE__))

static bb_status read_log(nvrtcProgram program, bb_text *log)
{
    bb_status status = BB_OK;
    char *output = NULL;
    size_t bytes = 0; // including the NUL
    NVRTC_TRY(nvrtcGetProgramLogSize(program, &bytes));
    BB_TRY(BB_ZEROED((bb_index)bytes + 1, &output));
    NVRTC_TRY(nvrtcGetProgramLog(program, output));
    BB_TRY(bb_build_add_log(output, bytes > 0 ? bytes - 1 : 0, log));
done:
    BB_RELEASE(&output);
    return status;
}

static bb_status read_image(nvrtcProgram program, char **out)
{
    bb_status status = BB_OK;
    char *image = NULL;
    size_t bytes = 0;
    NVRTC_TRY(nvrtcGetCUBINSize(program, &bytes));
    BB_TRY(BB_ALLOCATE((bb_index)bytes, &image));
    NVRTC_TRY(nvrtcGetCUBIN(program, image));
    *out = image;
    image = NULL;
done:
    BB_RELEASE(&image);
    return status;
}

bb_status bb_nvrtc_compile(const char *source, const char *architecture, bb_text *log, char **image)
{
    bb_status status = BB_OK;
    nvrtcProgram program = NULL;
    char target[64];
    const char *const options[] = {target, "--fmad=false", "--std=c++17", "-default-device"};
    enum { OPTIONS = sizeof options / sizeof *options };
    *image = NULL;
    (void)pthread_once(&once, load);
    BB_REQUIRE(nvrtc.found, BB_UNSUPPORTED,
               "no NVRTC: neither libnvrtc.so.13 nor libnvrtc.so.12 is in the system's folders, in "
               "LD_LIBRARY_PATH or in " BB_CUDA_LIBRARY_FOLDER);
    (void)snprintf(target, sizeof target, "--gpu-architecture=%.32s", architecture);
    NVRTC_TRY(nvrtcCreateProgram(&program, source, "source.cu", 0, NULL, NULL));
    const nvrtcResult result = nvrtc.nvrtcCompileProgram(program, OPTIONS, options);
    BB_TRY(read_log(program, log));
    BB_REQUIRE(result != NVRTC_ERROR_INVALID_OPTION, BB_UNSUPPORTED,
               "this NVRTC does not compile for %s: %.200s", architecture, bb_text_string(log));
    BB_TRY(result == NVRTC_ERROR_COMPILATION ? bb_build_fail("NVRTC", log) : BB_OK);
    BB_TRY(check(result, "nvrtcCompileProgram", __LINE__));
    BB_TRY(read_image(program, image));
done:
    if (program != NULL) {
        (void)nvrtc.nvrtcDestroyProgram(&program);
    }
    return status;
}

void bb_nvrtc_describe(char *out, size_t bytes)
{
    int major = 0;
    int minor = 0;
    if (nvrtc.found) {
        (void)nvrtc.nvrtcVersion(&major, &minor);
    }
    (void)snprintf(out, bytes, "NVRTC %d.%d", major, minor);
}
