// SPDX-License-Identifier: Apache-2.0
//
// Builds for an opencl device: a program of its own compiler, one kernel object per entry.
#include "core/device/build_ops.h"
#include "core/device/device_opencl.h"
#include "core/memory.h"

#include <stdio.h>
#include <string.h>

enum { ENTRY_BYTES = 128 };

typedef struct opencl_entry {
    char name[ENTRY_BYTES];
    cl_kernel kernel;
    bb_build_limits limits;
} opencl_entry;

typedef struct opencl_build {
    const bb_opencl_state *device;
    cl_program program;
    opencl_entry *entries; // [entry_count]
    bb_index entry_count;
    char compiler[320];
} opencl_build;

// OpenCL C contracts by default; line numbers count from the first line of the source.
static const char head[] = "#pragma OPENCL FP_CONTRACT OFF\n#line 1\n";

static void destroy(void **build)
{
    opencl_build *opencl = *build;
    if (opencl == NULL) {
        return;
    }
    for (bb_index i = 0; i < opencl->entry_count; ++i) {
        if (opencl->entries[i].kernel != NULL) {
            (void)opencl->device->library->clReleaseKernel(opencl->entries[i].kernel);
        }
    }
    BB_RELEASE(&opencl->entries);
    if (opencl->program != NULL) {
        (void)opencl->device->library->clReleaseProgram(opencl->program);
    }
    bb_memory_release(build);
}

static bool rounds(bb_device *device)
{
    const bb_opencl_state *state = bb_device_state(device);
    cl_device_fp_config config = 0;
    (void)state->library->clGetDeviceInfo(state->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config,
                                          &config, NULL);
    return (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

static bb_status read_log(const opencl_build *build, bb_text *log)
{
    bb_status status = BB_OK;
    const bb_opencl_library *library = build->device->library;
    char *output = NULL;
    size_t bytes = 0;
    BB_OPENCL_TRY(library->clGetProgramBuildInfo(build->program, build->device->device,
                                                 CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes));
    BB_TRY(BB_ZEROED((bb_index)bytes + 1, &output));
    BB_OPENCL_TRY(library->clGetProgramBuildInfo(build->program, build->device->device,
                                                 CL_PROGRAM_BUILD_LOG, bytes, output, NULL));
    BB_TRY(bb_build_add_log(output, strlen(output), log));
done:
    BB_RELEASE(&output);
    return status;
}

static bb_status compile(opencl_build *build, const char *source, const char *options, bb_text *log)
{
    bb_status status = BB_OK;
    const bb_opencl_library *library = build->device->library;
    const char *texts[] = {head, source};
    cl_int error = CL_SUCCESS;
    build->program =
        library->clCreateProgramWithSource(build->device->context, 2, texts, NULL, &error);
    BB_TRY(bb_opencl_library_check(error, "clCreateProgramWithSource", __FILE__, __LINE__));
    error = library->clBuildProgram(build->program, 1, &build->device->device, options, NULL, NULL);
    BB_REQUIRE(error != CL_COMPILER_NOT_AVAILABLE, BB_UNSUPPORTED,
               "the OpenCL device has no compiler");
    if (error == CL_SUCCESS || error == CL_BUILD_PROGRAM_FAILURE) {
        BB_TRY(read_log(build, log));
    }
    BB_TRY(error == CL_BUILD_PROGRAM_FAILURE ? bb_build_fail("OpenCL", log) : BB_OK);
    BB_TRY(bb_opencl_library_check(error, "clBuildProgram", __FILE__, __LINE__));
done:
    return status;
}

static bb_status describe_entry(const opencl_build *build, opencl_entry *entry)
{
    bb_status status = BB_OK;
    const bb_opencl_library *library = build->device->library;
    size_t items = 0;
    cl_ulong local = 0;
    BB_OPENCL_TRY(library->clGetKernelInfo(entry->kernel, CL_KERNEL_FUNCTION_NAME,
                                           sizeof entry->name, entry->name, NULL));
    BB_OPENCL_TRY(library->clGetKernelWorkGroupInfo(entry->kernel, build->device->device,
                                                    CL_KERNEL_WORK_GROUP_SIZE, sizeof items, &items,
                                                    NULL));
    BB_OPENCL_TRY(library->clGetDeviceInfo(build->device->device, CL_DEVICE_LOCAL_MEM_SIZE,
                                           sizeof local, &local, NULL));
    entry->limits = (bb_build_limits){.group_items = (bb_index)items, .local_bytes = local};
done:
    return status;
}

static bb_status find_entries(opencl_build *build)
{
    bb_status status = BB_OK;
    const bb_opencl_library *library = build->device->library;
    cl_kernel *kernels = NULL;
    cl_uint count = 0;
    BB_OPENCL_TRY(library->clCreateKernelsInProgram(build->program, 0, NULL, &count));
    BB_TRY(BB_ZEROED(count, &kernels));
    BB_TRY(BB_ZEROED(count, &build->entries));
    if (count > 0) {
        BB_OPENCL_TRY(library->clCreateKernelsInProgram(build->program, count, kernels, NULL));
    }
    build->entry_count = count;
    for (cl_uint i = 0; i < count; ++i) {
        build->entries[i].kernel = kernels[i];
    }
    for (cl_uint i = 0; i < count; ++i) {
        BB_TRY(describe_entry(build, &build->entries[i]));
    }
done:
    BB_RELEASE(&kernels);
    return status;
}

static bb_status create(bb_device *device, const char *source, bb_text *log, void **out)
{
    bb_status status = BB_OK;
    void *made = NULL;
    const char *options =
        rounds(device) ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
    char version[128];
    char driver[128];
    BB_TRY(bb_memory_zeroed(1, sizeof(opencl_build), &made));
    opencl_build *build = made;
    build->device = bb_device_state(device);
    BB_TRY(compile(build, source, options, log));
    BB_TRY(find_entries(build));
    bb_opencl_state_read_platform(build->device, CL_PLATFORM_VERSION, version, sizeof version);
    bb_opencl_state_read(build->device, CL_DRIVER_VERSION, driver, sizeof driver);
    (void)snprintf(build->compiler, sizeof build->compiler, "%.100s, driver %.100s, %s", version,
                   driver, options);
    *out = made;
    made = NULL;
done:
    destroy(&made);
    return status;
}

static bb_status find_entry(const opencl_build *build, const char *entry, const opencl_entry **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    for (bb_index i = 0; *out == NULL && i < build->entry_count; ++i) {
        if (strcmp(build->entries[i].name, entry) == 0) {
            *out = &build->entries[i];
        }
    }
    BB_REQUIRE(*out != NULL, BB_INVALID, "the source has no entry '%s'", entry);
done:
    return status;
}

static bb_status find_limits(void *build, const char *entry, bb_build_limits *out)
{
    bb_status status = BB_OK;
    const opencl_entry *found = NULL;
    BB_TRY(find_entry(build, entry, &found));
    *out = found->limits;
done:
    return status;
}

static bb_status set_arguments(const opencl_build *build, const opencl_entry *entry,
                               const bb_launch_argument *arguments, bb_index count)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        const bb_launch_argument *argument = &arguments[i];
        const bool scalar = argument->scalar != NULL;
        const cl_mem block = argument->block;
        const cl_int error = build->device->library->clSetKernelArg(
            entry->kernel, (cl_uint)i, scalar ? argument->scalar_bytes : sizeof block,
            scalar ? argument->scalar : &block);
        BB_REQUIRE(error != CL_INVALID_ARG_INDEX && error != CL_INVALID_ARG_SIZE &&
                       error != CL_INVALID_ARG_VALUE && error != CL_INVALID_MEM_OBJECT,
                   BB_INVALID, "%s: argument %td is invalid: %s of %zu bytes, OpenCL error %d",
                   entry->name, i, scalar ? "a scalar" : "a block",
                   scalar ? argument->scalar_bytes : sizeof block, error);
        BB_TRY(bb_opencl_library_check(error, "clSetKernelArg", __FILE__, __LINE__));
    }
done:
    return status;
}

static bb_status launch(void *build, const char *entry, const bb_launch_shape *shape,
                        const bb_launch_argument *arguments, bb_index count)
{
    bb_status status = BB_OK;
    const opencl_build *opencl = build;
    const opencl_entry *found = NULL;
    size_t global[BB_LAUNCH_DIMENSIONS];
    size_t local[BB_LAUNCH_DIMENSIONS];
    BB_TRY(find_entry(opencl, entry, &found));
    BB_TRY(bb_build_check_group(entry, shape, found->limits.group_items));
    for (int d = 0; d < BB_LAUNCH_DIMENSIONS; ++d) {
        local[d] = (size_t)shape->group_items[d];
        global[d] = (size_t)shape->groups[d] * local[d];
    }
    BB_TRY(set_arguments(opencl, found, arguments, count));
    const cl_int error = opencl->device->library->clEnqueueNDRangeKernel(
        opencl->device->queue, found->kernel, BB_LAUNCH_DIMENSIONS, NULL, global, local, 0, NULL,
        NULL);
    BB_REQUIRE(error != CL_INVALID_KERNEL_ARGS, BB_INVALID, "%s has more than %td arguments", entry,
               count);
    BB_REQUIRE(error != CL_INVALID_WORK_GROUP_SIZE && error != CL_INVALID_WORK_ITEM_SIZE &&
                   error != CL_INVALID_GLOBAL_WORK_SIZE && error != CL_OUT_OF_RESOURCES,
               BB_UNSUPPORTED,
               "%s: the device rejects %td x %td work-groups of %td x %td items (OpenCL error %d)",
               entry, shape->groups[0], shape->groups[1], shape->group_items[0],
               shape->group_items[1], error);
    BB_TRY(bb_opencl_library_check(error, "clEnqueueNDRangeKernel", __FILE__, __LINE__));
done:
    return status;
}

static const char *compiler(const void *build)
{
    return ((const opencl_build *)build)->compiler;
}

const bb_build_ops bb_build_opencl_ops = {
    .create = create,
    .destroy = destroy,
    .find_limits = find_limits,
    .rounds = rounds,
    .launch = launch,
    .compiler = compiler,
};
