// SPDX-License-Identifier: Apache-2.0
//
// Builds for a cuda device: a module compiled by NVRTC, loaded and launched by the driver in the
// context and on the stream of the runtime. All calls go through bb_device_launch, which makes the
// device current and passes its stream. Open devices of one GPU share the module of a source, so
// each is compiled once whatever the number of streams.
#include "core/device/build_ops.h"
#include "core/device/nvrtc_cuda.h"
#include "core/memory.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FUNCTIONS(X)                                                                               \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuFuncGetAttribute)                                                                          \
    X(cuLaunchKernel)                                                                              \
    X(cuGetErrorString)

static struct {
#define MEMBER(name) __typeof__(name) *(name);
    FUNCTIONS(MEMBER)
#undef MEMBER
    /// Entry points in drivers since 12.4; NULL: arguments are not checked.
    CUresult (*cuFuncGetParamInfo)(CUfunction function, size_t index, size_t *offset,
                                   size_t *bytes);
    bool found;
} driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

enum { MOST_GROUPS_X = 2147483647, MOST_GROUPS_Y = 65535 }; // limit for every architecture

// A module loaded on a GPU.
typedef struct shared_module {
    struct shared_module *next;
    int ordinal;
    char *source;
    CUmodule module;
    bb_index users; // number of builds that use it
} shared_module;

static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;
static shared_module *modules; // list of modules, protected by the lock

typedef struct cuda_build {
    bb_device *device;
    shared_module *shared; // NULL: not yet loaded
    CUmodule module;       // module of `shared`
    size_t local_bytes;
    char compiler[128];
} cuda_build;

static void load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    driver.found = library != NULL;
    // POSIX lets function addresses be returned as object pointers.
#define FIND(name)                                                                                 \
    *(void **)&driver.name = library == NULL ? NULL : dlsym(library, #name);                       \
    driver.found = driver.found && driver.name != NULL;
    FUNCTIONS(FIND)
#undef FIND
    *(void **)&driver.cuFuncGetParamInfo =
        library == NULL ? NULL : dlsym(library, "cuFuncGetParamInfo");
}

static bb_status check(CUresult result, const char *call, int line)
{
    const char *text = NULL;
    if (result == CUDA_SUCCESS) {
        return BB_OK;
    }
    (void)driver.cuGetErrorString(result, &text);
    return bb_status_set(result == CUDA_ERROR_OUT_OF_MEMORY ? BB_MEMORY : BB_DEVICE, __FILE__, line,
                         "%s: %s", call, text == NULL ? "unknown error" : text);
}

#define DRIVER_TRY(call) BB_TRY(check(driver.call, #call, __LINE__))

// Calls `run` with the device as the current one.
static bb_status launch_on_device(bb_device *device, const char *name, bb_kernel_run run,
                                  void *task)
{
    const bb_kernel kernel = {.name = name, .run[BB_DEVICE_CUDA] = run};
    return bb_device_launch(device, &kernel, 1, task);
}

typedef struct loading {
    const char *source, *architecture;
    bb_text *log;
    cuda_build *build;
} loading;

static void release_module(shared_module **shared)
{
    if (*shared != NULL) {
        BB_RELEASE(&(*shared)->source);
        BB_RELEASE(shared);
    }
}

static bb_status add_module(const loading *task, int ordinal, shared_module **out)
{
    bb_status status = BB_OK;
    shared_module *made = NULL;
    char *image = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    made->ordinal = ordinal;
    BB_TRY(bb_memory_text(task->source, &made->source));
    BB_TRY(bb_nvrtc_compile(task->source, task->architecture, task->log, &image));
    DRIVER_TRY(cuModuleLoadData(&made->module, image));
    made->next = modules;
    modules = made;
    *out = made;
    made = NULL;
done:
    BB_RELEASE(&image);
    release_module(&made);
    return status;
}

static bb_status find_module(const loading *task, int ordinal, shared_module **out)
{
    bb_status status = BB_OK;
    *out = modules;
    while (*out != NULL &&
           ((*out)->ordinal != ordinal || strcmp((*out)->source, task->source) != 0)) {
        *out = (*out)->next;
    }
    if (*out == NULL) {
        BB_TRY(add_module(task, ordinal, out));
    }
    ++(*out)->users;
done:
    return status;
}

static bb_status load_module(bb_queue *queue, bb_index begin, bb_index end, void *arguments)
{
    bb_status status = BB_OK;
    const loading *task = arguments;
    int ordinal = 0;
    int bytes = 0;
    (void)queue;
    (void)begin;
    (void)end;
    BB_REQUIRE(cudaGetDevice(&ordinal) == cudaSuccess &&
                   cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlock, ordinal) ==
                       cudaSuccess,
               BB_DEVICE, "the GPU does not report its shared memory per block");
    task->build->local_bytes = (size_t)bytes;
    pthread_mutex_lock(&modules_lock);
    status = find_module(task, ordinal, &task->build->shared);
    pthread_mutex_unlock(&modules_lock);
    BB_TRY(status);
    task->build->module = task->build->shared->module;
done:
    return status;
}

// The last user unloads the module; each build waits for its own queued work, which needs it.
static bb_status unload_module(bb_queue *queue, bb_index begin, bb_index end, void *arguments)
{
    bb_status status = BB_OK;
    shared_module *shared = arguments;
    (void)begin;
    (void)end;
    (void)cudaStreamSynchronize((cudaStream_t)queue);
    pthread_mutex_lock(&modules_lock);
    if (--shared->users == 0) {
        shared_module **place = &modules;
        while (*place != shared) {
            place = &(*place)->next;
        }
        *place = shared->next;
        status = check(driver.cuModuleUnload(shared->module), "cuModuleUnload", __LINE__);
        release_module(&shared);
    }
    pthread_mutex_unlock(&modules_lock);
    return status;
}

static void destroy(void **build)
{
    cuda_build *cuda = *build;
    if (cuda != NULL && cuda->shared != NULL) {
        (void)launch_on_device(cuda->device, "unload", unload_module, cuda->shared);
    }
    bb_memory_release(build);
}

static bb_status create(bb_device *device, const char *source, bb_text *log, void **out)
{
    bb_status status = BB_OK;
    bb_device_report report;
    void *made = NULL;
    char version[32];
    (void)pthread_once(&once, load_driver);
    BB_REQUIRE(driver.found, BB_UNSUPPORTED, "no CUDA driver: libcuda.so.1 is missing or too old");
    BB_TRY(bb_memory_zeroed(1, sizeof(cuda_build), &made));
    cuda_build *build = made;
    build->device = device;
    BB_TRY(bb_device_describe(device, &report));
    BB_TRY(launch_on_device(device, "load", load_module,
                            &(loading){source, report.architecture, log, build}));
    bb_nvrtc_describe(version, sizeof version);
    (void)snprintf(build->compiler, sizeof build->compiler, "%s, %s, --fmad=false", version,
                   report.architecture);
    *out = made;
    made = NULL;
done:
    destroy(&made);
    return status;
}

static bb_status find_entry(const cuda_build *build, const char *entry, CUfunction *out)
{
    bb_status status = BB_OK;
    const CUresult result = driver.cuModuleGetFunction(out, build->module, entry);
    BB_REQUIRE(result != CUDA_ERROR_NOT_FOUND && result != CUDA_ERROR_INVALID_VALUE, BB_INVALID,
               "the source has no entry '%s'", entry);
    BB_TRY(check(result, "cuModuleGetFunction", __LINE__));
done:
    return status;
}

static bb_status find_group_limit(CUfunction function, int *out)
{
    bb_status status = BB_OK;
    DRIVER_TRY(cuFuncGetAttribute(out, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
done:
    return status;
}

typedef struct question {
    const cuda_build *build;
    const char *entry;
    bb_build_limits *out;
} question;

static bb_status answer(bb_queue *queue, bb_index begin, bb_index end, void *arguments)
{
    bb_status status = BB_OK;
    const question *task = arguments;
    CUfunction function = NULL;
    int items = 0;
    (void)queue;
    (void)begin;
    (void)end;
    BB_TRY(find_entry(task->build, task->entry, &function));
    BB_TRY(find_group_limit(function, &items));
    *task->out = (bb_build_limits){.group_items = items, .local_bytes = task->build->local_bytes};
done:
    return status;
}

static bb_status find_limits(void *build, const char *entry, bb_build_limits *out)
{
    const cuda_build *cuda = build;
    return launch_on_device(cuda->device, "limits", answer, &(question){cuda, entry, out});
}

static bool rounds(bb_device *device)
{
    (void)device;
    return true;
}

typedef struct call {
    const cuda_build *build;
    const char *entry;
    const bb_launch_shape *shape;
    const bb_launch_argument *arguments;
    bb_index count;
} call;

static size_t bytes_of(const bb_launch_argument *argument)
{
    return argument->scalar != NULL ? argument->scalar_bytes : sizeof argument->block;
}

// The driver reads as many bytes as the entry declares, from any address.
static bb_status check_arguments(CUfunction function, const call *task)
{
    bb_status status = BB_OK;
    size_t offset = 0;
    size_t bytes = 0;
    for (bb_index i = 0; driver.cuFuncGetParamInfo != NULL && i < task->count; ++i) {
        const CUresult result = driver.cuFuncGetParamInfo(function, (size_t)i, &offset, &bytes);
        BB_REQUIRE(result == CUDA_SUCCESS && bytes == bytes_of(&task->arguments[i]), BB_INVALID,
                   "%s: argument %td is invalid: a %s of %zu bytes", task->entry, i,
                   task->arguments[i].scalar != NULL ? "scalar" : "block",
                   bytes_of(&task->arguments[i]));
    }
    BB_REQUIRE(driver.cuFuncGetParamInfo == NULL ||
                   driver.cuFuncGetParamInfo(function, (size_t)task->count, &offset, &bytes) !=
                       CUDA_SUCCESS,
               BB_INVALID, "%s has more than %td arguments", task->entry, task->count);
done:
    return status;
}

static bb_status launch_entry(bb_queue *queue, bb_index begin, bb_index end, void *arguments)
{
    bb_status status = BB_OK;
    const call *task = arguments;
    const bb_launch_shape *shape = task->shape;
    void *places[BB_LAUNCH_MAX_ARGUMENTS];
    CUfunction function = NULL;
    int items = 0;
    (void)begin;
    (void)end;
    BB_TRY(find_entry(task->build, task->entry, &function));
    BB_TRY(find_group_limit(function, &items));
    BB_TRY(bb_build_check_group(task->entry, shape, items));
    BB_REQUIRE(shape->groups[0] <= MOST_GROUPS_X && shape->groups[1] <= MOST_GROUPS_Y,
               BB_UNSUPPORTED, "%s: %td x %td work-groups; the device's limit is %d x %d",
               task->entry, shape->groups[0], shape->groups[1], MOST_GROUPS_X, MOST_GROUPS_Y);
    BB_TRY(check_arguments(function, task));
    for (bb_index i = 0; i < task->count; ++i) {
        const bb_launch_argument *argument = &task->arguments[i];
        const void *place = argument->scalar != NULL ? argument->scalar : &argument->block;
        places[i] = (void *)(uintptr_t)place; // read-only for the driver
    }
    const CUresult result =
        driver.cuLaunchKernel(function, (unsigned)shape->groups[0], (unsigned)shape->groups[1], 1,
                              (unsigned)shape->group_items[0], (unsigned)shape->group_items[1], 1,
                              0, (CUstream)queue, places, NULL);
    BB_REQUIRE(
        result != CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, BB_UNSUPPORTED,
        "%s: work-groups of %td x %td items exceed the registers or shared memory of the device",
        task->entry, shape->group_items[0], shape->group_items[1]);
    BB_TRY(check(result, "cuLaunchKernel", __LINE__));
done:
    return status;
}

static bb_status launch(void *build, const char *entry, const bb_launch_shape *shape,
                        const bb_launch_argument *arguments, bb_index count)
{
    const cuda_build *cuda = build;
    return launch_on_device(cuda->device, entry, launch_entry,
                            &(call){cuda, entry, shape, arguments, count});
}

static const char *compiler(const void *build)
{
    return ((const cuda_build *)build)->compiler;
}

const bb_build_ops bb_build_cuda_ops = {
    .create = create,
    .destroy = destroy,
    .find_limits = find_limits,
    .rounds = rounds,
    .launch = launch,
    .compiler = compiler,
};
