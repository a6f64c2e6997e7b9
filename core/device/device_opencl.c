// SPDX-License-Identifier: Apache-2.0
//
// The opencl device: counterpart of device_cpu.c. One in-order queue per open device. A block of
// memory is an opaque cl_mem, not an address: no pointer arithmetic on it.
#include "core/device/device_opencl.h"

#include "core/device/device.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bb_opencl_library functions;
static char absence[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Vendor libraries behind the loader start threads of their own, so the loader is never closed.
static void load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)snprintf(absence, sizeof absence,
                       "no OpenCL loader (libOpenCL.so.1; package ocl-icd-libopencl1)");
        return;
    }
    // POSIX lets function addresses be returned as object pointers.
#define FIND(name)                                                                                 \
    *(void **)&functions.name = dlsym(library, #name);                                             \
    if (functions.name == NULL) {                                                                  \
        (void)snprintf(absence, sizeof absence, "libOpenCL.so.1 has no " #name ": OpenCL < 1.2");  \
    }
    BB_OPENCL_FUNCTIONS(FIND)
#undef FIND
}

const bb_opencl_library *bb_opencl_library_find(char *reason, size_t reason_bytes)
{
    (void)pthread_once(&once, load);
    (void)snprintf(reason, reason_bytes, "%s", absence);
    return absence[0] == '\0' ? &functions : NULL;
}

static const char *meaning_of(cl_int error)
{
    static const struct {
        cl_int error;
        const char *text;
    } rows[] = {
        {CL_DEVICE_NOT_AVAILABLE, "the device is not available"},
        {CL_COMPILER_NOT_AVAILABLE, "the device has no compiler"},
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, "no memory for a block"},
        {CL_OUT_OF_RESOURCES, "out of resources"},
        {CL_OUT_OF_HOST_MEMORY, "out of memory on the host"},
        {CL_INVALID_MEM_OBJECT, "not a block of this device"},
        {CL_INVALID_BUFFER_SIZE, "a block of zero or too many bytes"},
        {CL_INVALID_ARG_INDEX, "too many arguments"},
        {CL_INVALID_ARG_VALUE, "an argument of the wrong kind"},
        {CL_INVALID_ARG_SIZE, "an argument of the wrong size"},
        {CL_INVALID_KERNEL_ARGS, "too few arguments"},
        {CL_INVALID_WORK_GROUP_SIZE, "work-group size not supported by the device"},
        {CL_INVALID_WORK_ITEM_SIZE, "more work-items in a dimension than the device supports"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (rows[i].error == error) {
            return rows[i].text;
        }
    }
    return "see CL/cl.h";
}

bb_status bb_opencl_library_check(cl_int error, const char *call, const char *file, int line)
{
    const bool memory = error == CL_OUT_OF_HOST_MEMORY || error == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (error == CL_SUCCESS) {
        return BB_OK;
    }
    return bb_status_set(memory ? BB_MEMORY : BB_DEVICE, file, line, "%s: OpenCL error %d, %s",
                         call, error, meaning_of(error));
}

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64, NAME_BYTES = 128 };
enum { FILLED_BYTES = 1 << 30, PIECE_BYTES = 1 << 25 };

// A device of this host with its sort keys.
typedef struct place {
    cl_platform_id platform;
    cl_device_id device;
    int rank, order;
    char platform_name[NAME_BYTES], name[NAME_BYTES];
} place;

typedef struct places {
    place items[MOST_DEVICES];
    int count;
} places;

void bb_opencl_state_read(const bb_opencl_state *state, cl_device_info what, char *out,
                          size_t bytes)
{
    char text[1024] = "";
    if (state->library->clGetDeviceInfo(state->device, what, sizeof text - 1, text, NULL) !=
        CL_SUCCESS) {
        text[0] = '\0';
    }
    (void)snprintf(out, bytes, "%s", text + strspn(text, " "));
}

void bb_opencl_state_read_platform(const bb_opencl_state *state, cl_platform_info what, char *out,
                                   size_t bytes)
{
    char text[1024] = "";
    if (state->library->clGetPlatformInfo(state->platform, what, sizeof text - 1, text, NULL) !=
        CL_SUCCESS) {
        text[0] = '\0';
    }
    (void)snprintf(out, bytes, "%s", text);
}

// Returns the sort rank of a device: GPUs first.
static int rank_of(const bb_opencl_library *library, cl_device_id device)
{
    cl_device_type type = 0;
    (void)library->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return (type & CL_DEVICE_TYPE_GPU) != 0           ? 0
           : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 1
           : (type & CL_DEVICE_TYPE_CPU) != 0         ? 2
                                                      : 3;
}

// Platforms arrive in the order of the loader's files; the last comparison makes the sort stable.
static int compare(const void *first, const void *second)
{
    const place *a = first;
    const place *b = second;
    int order = a->rank - b->rank;
    order = order != 0 ? order : strcmp(a->platform_name, b->platform_name);
    order = order != 0 ? order : strcmp(a->name, b->name);
    return order != 0 ? order : a->order - b->order;
}

static void list_platform(const bb_opencl_library *library, cl_platform_id platform, places *out)
{
    cl_device_id devices[MOST_DEVICES];
    cl_uint count = 0;
    if (library->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count) !=
        CL_SUCCESS) {
        return; // an error here means a platform without devices
    }
    for (cl_uint d = 0; d < count && d < MOST_DEVICES && out->count < MOST_DEVICES; ++d) {
        place *next = &out->items[out->count];
        const bb_opencl_state about = {
            .library = library, .platform = platform, .device = devices[d]};
        *next = (place){.platform = platform,
                        .device = devices[d],
                        .rank = rank_of(library, devices[d]),
                        .order = out->count};
        bb_opencl_state_read_platform(&about, CL_PLATFORM_NAME, next->platform_name, NAME_BYTES);
        bb_opencl_state_read(&about, CL_DEVICE_NAME, next->name, NAME_BYTES);
        ++out->count;
    }
}

static void list(const bb_opencl_library *library, places *out)
{
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    out->count = 0;
    if (library->clGetPlatformIDs(MOST_PLATFORMS, platforms, &count) != CL_SUCCESS) {
        count = 0; // an error here means a loader without platforms
    }
    for (cl_uint p = 0; p < count && p < MOST_PLATFORMS; ++p) {
        list_platform(library, platforms[p], out);
    }
    qsort(out->items, (size_t)out->count, sizeof *out->items, compare);
}

// Selects devices whose name, or platform name, contains `part`; if none, lists the devices
// present.
static void choose(const char *part, places *among, char *reason, size_t reason_bytes)
{
    char names[512] = "";
    int kept = 0;
    for (int i = 0; i < among->count; ++i) {
        const place *item = &among->items[i];
        const size_t length = strlen(names);
        (void)snprintf(names + length, sizeof names - length, "%s%s (%s)", i == 0 ? "" : ", ",
                       item->name, item->platform_name);
        if (strcasestr(item->name, part) != NULL || strcasestr(item->platform_name, part) != NULL) {
            among->items[kept++] = *item;
        }
    }
    if (kept == 0) {
        (void)snprintf(reason, reason_bytes, "BB_OPENCL_DEVICE is '%.40s', available: %.150s", part,
                       names);
    }
    among->count = kept;
}

// Lists the usable devices in an order that does not depend on the loader's files.
static const bb_opencl_library *find(places *out, char *reason, size_t reason_bytes)
{
    const char *part = getenv("BB_OPENCL_DEVICE");
    const bb_opencl_library *library = bb_opencl_library_find(reason, reason_bytes);
    out->count = 0;
    if (library == NULL) {
        return NULL;
    }
    list(library, out);
    if (out->count == 0) {
        (void)snprintf(reason, reason_bytes,
                       "no OpenCL device on this host (pocl-opencl-icd provides one for the cpu)");
    } else if (part != NULL && part[0] != '\0') {
        choose(part, out, reason, reason_bytes);
    }
    return library;
}

static bb_index opencl_count(char *reason, size_t reason_bytes)
{
    places found;
    (void)find(&found, reason, reason_bytes);
    return found.count;
}

static void opencl_close(void **state)
{
    bb_opencl_state *opencl = *state;
    if (opencl == NULL) {
        return;
    }
    for (int m = 0; m < 2; ++m) {
        if (opencl->marks[m] != NULL) {
            (void)opencl->library->clReleaseEvent(opencl->marks[m]);
        }
    }
    if (opencl->queue != NULL) {
        (void)opencl->library->clFinish(opencl->queue);
        (void)opencl->library->clReleaseCommandQueue(opencl->queue);
    }
    if (opencl->context != NULL) {
        (void)opencl->library->clReleaseContext(opencl->context);
    }
    bb_memory_release(state);
}

static bb_status opencl_open(bb_index ordinal, void **state)
{
    bb_status status = BB_OK;
    void *opened = NULL;
    places found;
    char reason[256] = "";
    cl_int error = CL_SUCCESS;
    BB_TRY(bb_memory_zeroed(1, sizeof(bb_opencl_state), &opened));
    bb_opencl_state *opencl = opened;
    opencl->library = find(&found, reason, sizeof reason);
    BB_REQUIRE(ordinal < found.count, BB_DEVICE, "OpenCL device %td is no longer available: %s",
               ordinal, reason);
    opencl->platform = found.items[ordinal].platform;
    opencl->device = found.items[ordinal].device;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)opencl->platform, 0};
    opencl->context =
        opencl->library->clCreateContext(properties, 1, &opencl->device, NULL, NULL, &error);
    BB_TRY(bb_opencl_library_check(error, "clCreateContext", __FILE__, __LINE__));
    opencl->queue = opencl->library->clCreateCommandQueue(opencl->context, opencl->device,
                                                          CL_QUEUE_PROFILING_ENABLE, &error);
    BB_TRY(bb_opencl_library_check(error, "clCreateCommandQueue", __FILE__, __LINE__));
    *state = opened;
    opened = NULL;
done:
    opencl_close(&opened);
    return status;
}

// Writes the compute capability of an NVIDIA GPU, else kind and vendor, such as "cpu GenuineIntel".
static void name_architecture(const bb_opencl_state *opencl, char *out, size_t bytes)
{
    enum { MAJOR = 0x4000, MINOR = 0x4001 }; // from cl_nv_device_attribute_query
    static const char *const kinds[] = {"gpu", "accelerator", "cpu", "other"};
    cl_uint major = 0;
    cl_uint minor = 0;
    char vendor[NAME_BYTES];
    char extensions[1024];
    bb_opencl_state_read(opencl, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    if (strstr(extensions, "cl_nv_device_attribute_query") != NULL &&
        opencl->library->clGetDeviceInfo(opencl->device, MAJOR, sizeof major, &major, NULL) ==
            CL_SUCCESS &&
        opencl->library->clGetDeviceInfo(opencl->device, MINOR, sizeof minor, &minor, NULL) ==
            CL_SUCCESS) {
        (void)snprintf(out, bytes, "sm_%u%u", major, minor);
        return;
    }
    bb_opencl_state_read(opencl, CL_DEVICE_VENDOR, vendor, sizeof vendor);
    (void)snprintf(out, bytes, "%s %.19s", kinds[rank_of(opencl->library, opencl->device)], vendor);
}

static bb_status opencl_report(void *state, bb_device_report *out)
{
    bb_status status = BB_OK;
    const bb_opencl_state *opencl = state;
    cl_ulong memory = 0;
    cl_uint units = 0;
    char platform[NAME_BYTES];
    char driver[NAME_BYTES];
    *out = (bb_device_report){0};
    bb_opencl_state_read(opencl, CL_DEVICE_NAME, out->name, sizeof out->name);
    bb_opencl_state_read_platform(opencl, CL_PLATFORM_NAME, platform, sizeof platform);
    bb_opencl_state_read(opencl, CL_DRIVER_VERSION, driver, sizeof driver);
    (void)snprintf(out->driver, sizeof out->driver, "%.38s, driver %.16s", platform, driver);
    name_architecture(opencl, out->architecture, sizeof out->architecture);
    BB_OPENCL_TRY(opencl->library->clGetDeviceInfo(opencl->device, CL_DEVICE_GLOBAL_MEM_SIZE,
                                                   sizeof memory, &memory, NULL));
    BB_OPENCL_TRY(opencl->library->clGetDeviceInfo(opencl->device, CL_DEVICE_MAX_COMPUTE_UNITS,
                                                   sizeof units, &units, NULL));
    out->memory_bytes = memory;
    // Only own blocks are subtracted: OpenCL does not report the memory used by other processes.
    out->free_memory_bytes = memory > opencl->held_bytes ? memory - opencl->held_bytes : 0;
    out->units = units;
done:
    return status;
}

static bb_status opencl_allocate(void *state, size_t bytes, void **out)
{
    bb_status status = BB_OK;
    bb_opencl_state *opencl = state;
    cl_int error = CL_SUCCESS;
    *out = NULL;
    if (bytes == 0) {
        return BB_OK;
    }
    // Some drivers create a buffer of any size and fail when it is used.
    cl_ulong memory = 0;
    BB_OPENCL_TRY(opencl->library->clGetDeviceInfo(opencl->device, CL_DEVICE_GLOBAL_MEM_SIZE,
                                                   sizeof memory, &memory, NULL));
    cl_mem block = NULL;
    if (bytes > memory) {
        error = CL_INVALID_BUFFER_SIZE;
    } else {
        block = opencl->library->clCreateBuffer(opencl->context, CL_MEM_READ_WRITE, bytes, NULL,
                                                &error);
    }
    if (error == CL_INVALID_BUFFER_SIZE || error == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
        error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY) {
        BB_FAIL(BB_MEMORY, "OpenCL memory exhausted: %zu bytes requested, %zu of %llu in use",
                bytes, opencl->held_bytes, (unsigned long long)memory);
    }
    BB_TRY(bb_opencl_library_check(error, "clCreateBuffer", __FILE__, __LINE__));
    opencl->held_bytes += bytes;
    *out = block;
done:
    return status;
}

static void opencl_release(void *state, void **block)
{
    bb_opencl_state *opencl = state;
    size_t bytes = 0;
    (void)opencl->library->clGetMemObjectInfo(*block, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    (void)opencl->library->clReleaseMemObject(*block);
    opencl->held_bytes -= bytes;
    *block = NULL;
}

// Above 2 GiB NVIDIA's driver (580.159) accepts a fill and fails at the next wait, together with
// earlier work: zeros are then copied from the host, piece by piece.
static bb_status opencl_zero(void *state, void *block, size_t bytes)
{
    bb_status status = BB_OK;
    const bb_opencl_state *opencl = state;
    const cl_uchar zero = 0;
    const size_t filled = bytes < FILLED_BYTES ? bytes : FILLED_BYTES;
    void *zeros = NULL;
    BB_OPENCL_TRY(opencl->library->clEnqueueFillBuffer(opencl->queue, block, &zero, sizeof zero, 0,
                                                       filled, 0, NULL, NULL));
    if (bytes > filled) {
        BB_TRY(bb_memory_zeroed(PIECE_BYTES, 1, &zeros));
    }
    for (size_t begin = filled; begin < bytes; begin += PIECE_BYTES) {
        const size_t piece = bytes - begin < PIECE_BYTES ? bytes - begin : PIECE_BYTES;
        BB_OPENCL_TRY(opencl->library->clEnqueueWriteBuffer(opencl->queue, block, CL_TRUE, begin,
                                                            piece, zeros, 0, NULL, NULL));
    }
done:
    bb_memory_release(&zeros);
    return status;
}

// Waits until the host's bytes are copied: the caller may change them.
static bb_status opencl_upload(void *state, void *target, const void *source, size_t bytes)
{
    bb_status status = BB_OK;
    const bb_opencl_state *opencl = state;
    BB_OPENCL_TRY(opencl->library->clEnqueueWriteBuffer(opencl->queue, target, CL_TRUE, 0, bytes,
                                                        source, 0, NULL, NULL));
done:
    return status;
}

static bb_status read_block(const bb_opencl_state *opencl, cl_bool waits, void *target,
                            const void *source, size_t bytes)
{
    bb_status status = BB_OK;
    BB_OPENCL_TRY(opencl->library->clEnqueueReadBuffer(opencl->queue, (cl_mem)(uintptr_t)source,
                                                       waits, 0, bytes, target, 0, NULL, NULL));
done:
    return status;
}

static bb_status opencl_download(void *state, void *target, const void *source, size_t bytes)
{
    return read_block(state, CL_TRUE, target, source, bytes);
}

static bb_status opencl_fetch(void *state, void *target, const void *source, size_t bytes)
{
    return read_block(state, CL_FALSE, target, source, bytes);
}

static bb_status opencl_launch(void *state, const bb_kernel *kernel, bb_index items,
                               void *arguments)
{
    const bb_opencl_state *opencl = state;
    return kernel->run[BB_DEVICE_OPENCL]((bb_queue *)opencl->queue, 0, items, arguments);
}

static bb_status opencl_wait(void *state)
{
    bb_status status = BB_OK;
    const bb_opencl_state *opencl = state;
    BB_OPENCL_TRY(opencl->library->clFinish(opencl->queue));
done:
    return status;
}

static bb_status opencl_mark(void *state, int which)
{
    bb_status status = BB_OK;
    bb_opencl_state *opencl = state;
    if (opencl->marks[which] != NULL) {
        (void)opencl->library->clReleaseEvent(opencl->marks[which]);
        opencl->marks[which] = NULL;
    }
    BB_OPENCL_TRY(opencl->library->clEnqueueMarkerWithWaitList(opencl->queue, 0, NULL,
                                                               &opencl->marks[which]));
done:
    return status;
}

static bb_status opencl_elapsed(void *state, double *seconds)
{
    bb_status status = BB_OK;
    const bb_opencl_state *opencl = state;
    cl_ulong ends[2] = {0, 0};
    BB_OPENCL_TRY(opencl->library->clWaitForEvents(2, opencl->marks));
    for (int m = 0; m < 2; ++m) {
        BB_OPENCL_TRY(opencl->library->clGetEventProfilingInfo(
            opencl->marks[m], CL_PROFILING_COMMAND_END, sizeof ends[m], &ends[m], NULL));
    }
    *seconds = 1e-9 * ((double)ends[1] - (double)ends[0]);
done:
    return status;
}

static bool opencl_is_processor(void *state)
{
    const bb_opencl_state *opencl = state;
    cl_device_type type = 0;
    (void)opencl->library->clGetDeviceInfo(opencl->device, CL_DEVICE_TYPE, sizeof type, &type,
                                           NULL);
    return (type & CL_DEVICE_TYPE_CPU) != 0;
}

const bb_device_ops bb_device_opencl_ops = {
    .space = BB_SPACE_OPENCL,
    .count = opencl_count,
    .open = opencl_open,
    .close = opencl_close,
    .report = opencl_report,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .fill_zero = opencl_zero,
    .upload = opencl_upload,
    .download = opencl_download,
    .fetch = opencl_fetch,
    .launch = opencl_launch,
    .wait = opencl_wait,
    .mark = opencl_mark,
    .elapsed = opencl_elapsed,
    .is_processor = opencl_is_processor,
};
