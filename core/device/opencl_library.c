// SPDX-License-Identifier: Apache-2.0
#include "core/device/opencl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static bb_opencl_library functions;
static char absence[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Vendors' libraries behind the loader start threads of their own: it is never closed.
static void load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)snprintf(absence, sizeof absence,
                       "no OpenCL loader (libOpenCL.so.1; package ocl-icd-libopencl1)");
        return;
    }
    // POSIX has addresses of functions come as those of objects.
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
        {CL_INVALID_MEM_OBJECT, "no block of this device"},
        {CL_INVALID_BUFFER_SIZE, "a block of no or too many bytes"},
        {CL_INVALID_ARG_INDEX, "an argument too many"},
        {CL_INVALID_ARG_VALUE, "an argument of another kind"},
        {CL_INVALID_ARG_SIZE, "an argument of another size"},
        {CL_INVALID_KERNEL_ARGS, "an argument too few"},
        {CL_INVALID_WORK_GROUP_SIZE, "a work-group that the device does not take"},
        {CL_INVALID_WORK_ITEM_SIZE, "more items in a dimension than the device takes"},
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
