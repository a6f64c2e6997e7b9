// SPDX-License-Identifier: Apache-2.0
//
// For OpenCL files only: the vendor-neutral loader, found at run time, and the state of an open
// device.
#ifndef BB_CORE_DEVICE_DEVICE_OPENCL_H
#define BB_CORE_DEVICE_DEVICE_OPENCL_H

#include "core/status.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

/// OpenCL 1.2 functions in use, one per line.
#define BB_OPENCL_FUNCTIONS(X)                                                                     \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clCreateContext)                                                                             \
    X(clReleaseContext)                                                                            \
    X(clCreateCommandQueue)                                                                        \
    X(clReleaseCommandQueue)                                                                       \
    X(clCreateBuffer)                                                                              \
    X(clReleaseMemObject)                                                                          \
    X(clGetMemObjectInfo)                                                                          \
    X(clEnqueueFillBuffer)                                                                         \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clEnqueueMarkerWithWaitList)                                                                 \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clFinish)                                                                                    \
    X(clWaitForEvents)                                                                             \
    X(clGetEventProfilingInfo)                                                                     \
    X(clReleaseEvent)                                                                              \
    X(clCreateProgramWithSource)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clGetProgramBuildInfo)                                                                       \
    X(clReleaseProgram)                                                                            \
    X(clCreateKernelsInProgram)                                                                    \
    X(clGetKernelInfo)                                                                             \
    X(clGetKernelWorkGroupInfo)                                                                    \
    X(clSetKernelArg)                                                                              \
    X(clReleaseKernel)

/// The functions under their own names.
typedef struct bb_opencl_library {
#define BB_OPENCL_MEMBER(name) __typeof__(name) *(name);
    BB_OPENCL_FUNCTIONS(BB_OPENCL_MEMBER)
#undef BB_OPENCL_MEMBER
} bb_opencl_library;

/// The loader, searched for once per process; NULL with a sentence in `reason` if it is missing.
const bb_opencl_library *bb_opencl_library_find(char *reason, size_t reason_bytes);

/// Returns BB_OK for CL_SUCCESS, BB_MEMORY if memory ran out, else BB_DEVICE. The message has the
/// call's name, the error number, and the meaning of common errors.
BB_CHECKED bb_status bb_opencl_library_check(cl_int error, const char *call, const char *file,
                                             int line);

/// Goes to `done:` if an OpenCL call fails.
#define BB_OPENCL_TRY(call) BB_TRY(bb_opencl_library_check((call), #call, __FILE__, __LINE__))

/// State of an open device, returned by bb_device_state.
typedef struct bb_opencl_state {
    const bb_opencl_library *library;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; ///< in-order, with profiling
    cl_event marks[2];
    size_t held_bytes; ///< total bytes of live blocks
} bb_opencl_state;

/// Reads a text property of the device or its platform, cut to `bytes`; "" if it has none.
void bb_opencl_state_read(const bb_opencl_state *state, cl_device_info what, char *out,
                          size_t bytes);
void bb_opencl_state_read_platform(const bb_opencl_state *state, cl_platform_info what, char *out,
                                   size_t bytes);

#endif
