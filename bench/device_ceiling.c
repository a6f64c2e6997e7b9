// SPDX-License-Identifier: Apache-2.0
#include "bench/device_ceiling.h"

#include "core/memory.h"

#include <math.h>
#include <stdint.h>

enum { GROUP_ITEMS = 256, LOADS = 4, VECTOR_BYTES = 16, CHAINS = 8, TURNS = 4096, ROUNDS = 5 };

struct bb_device_ceiling {
    bb_device *device;
    bb_build *build;
    void *source, *target;
    int64_t vectors; ///< 16-byte vectors in each array
};

// Keywords that differ between OpenCL C and CUDA C.
#define WORDS_OPENCL                                                                               \
    "#define ENTRY __kernel void\n#define AT __global\n#define GROUP get_group_id(0)\n"            \
    "#define ITEM get_local_id(0)\n#define WIDE long\n"
#define WORDS_CUDA                                                                                 \
    "#define ENTRY extern \"C\" __global__ void\n#define AT\n#define GROUP blockIdx.x\n"           \
    "#define ITEM threadIdx.x\n#define WIDE long long\n"

// A work-item processes four vectors of 16 bytes, spaced by the work-group; a read writes only for
// a value that never occurs. The numbers have both signs and magnitudes in [0.5, 1), all different:
// zeros use less energy on a bus than data.
#define MEMORY_TEXT                                                                                \
    "ENTRY copy(AT const uint4 *a, AT uint4 *b, const WIDE n)\n"                                   \
    "{\n"                                                                                          \
    "    const WIDE i = (WIDE)GROUP * 1024 + ITEM;\n"                                              \
    "    uint4 v[4];\n"                                                                            \
    "    for (int k = 0; k < 4; ++k) if (i + 256 * k < n) v[k] = a[i + 256 * k];\n"                \
    "    for (int k = 0; k < 4; ++k) if (i + 256 * k < n) b[i + 256 * k] = v[k];\n"                \
    "}\n"                                                                                          \
    "ENTRY read(AT const uint4 *a, AT uint4 *b, const WIDE n)\n"                                   \
    "{\n"                                                                                          \
    "    const WIDE i = (WIDE)GROUP * 1024 + ITEM;\n"                                              \
    "    unsigned v = 0;\n"                                                                        \
    "    for (int k = 0; k < 4; ++k)\n"                                                            \
    "        if (i + 256 * k < n) { const uint4 u = a[i + 256 * k]; v ^= u.x ^ u.y ^ u.z ^ u.w; "  \
    "}\n"                                                                                          \
    "    if (v == 0x9e3779b9u) b[0].x = v;\n"                                                      \
    "}\n"                                                                                          \
    "ENTRY fill(AT uint4 *a, const WIDE n)\n"                                                      \
    "{\n"                                                                                          \
    "    const WIDE i = (WIDE)GROUP * 256 + ITEM;\n"                                               \
    "    unsigned v[4];\n"                                                                         \
    "    for (int k = 0; k < 4; ++k) {\n"                                                          \
    "        unsigned h = (unsigned)i * 4u + (unsigned)k;\n"                                       \
    "        h = (h ^ (h >> 16)) * 0x85ebca6bu; h = (h ^ (h >> 13)) * 0xc2b2ae35u;\n"              \
    "        v[k] = ((h ^ (h >> 16)) & 0x807fffffu) | 0x3f000000u;\n"                              \
    "    }\n"                                                                                      \
    "    if (i < n) { a[i].x = v[0]; a[i].y = v[1]; a[i].z = v[2]; a[i].w = v[3]; }\n"             \
    "}\n"

// Chains of fma, enough to hide the latency; T and FMA depend on the type.
#define CHAINS_TEXT(type, function)                                                                \
    "#define T " type "\n#define FMA " function "\n"                                               \
    "ENTRY chains(AT T *b)\n"                                                                      \
    "{\n"                                                                                          \
    "    T v[8];\n"                                                                                \
    "    for (int k = 0; k < 8; ++k) v[k] = (T)(k + (int)ITEM);\n"                                 \
    "    for (int i = 0; i < 4096; ++i)\n"                                                         \
    "        for (int k = 0; k < 8; ++k) v[k] = FMA(v[k], (T)0.999, (T)0.5);\n"                    \
    "    T sum = 0;\n"                                                                             \
    "    for (int k = 0; k < 8; ++k) sum += v[k];\n"                                               \
    "    if (sum == (T)0.25) b[0] = sum;\n"                                                        \
    "}\n"

bb_status bb_device_ceiling_peak(bb_device_ceiling *ceiling, bool is_double, double *flops_per_s)
{
    bb_status status = BB_OK;
    static const char *const texts[2][2] = {
        {WORDS_OPENCL CHAINS_TEXT("float", "fma"),
         "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" WORDS_OPENCL CHAINS_TEXT("double",
                                                                                    "fma")},
        {WORDS_CUDA CHAINS_TEXT("float", "fmaf"), WORDS_CUDA CHAINS_TEXT("double", "fma")}};
    const bool is_cuda = bb_device_kind_of(ceiling->device) == BB_DEVICE_CUDA;
    const bb_launch_argument argument = {.block = ceiling->target};
    bb_device_report report;
    bb_build *build = NULL;
    double best = INFINITY;
    BB_TRY(bb_device_describe(ceiling->device, &report));
    BB_TRY(bb_build_create(ceiling->device, texts[is_cuda][is_double], NULL, &build));
    const bb_launch_shape shape = {
        .groups = {16 * report.units, 1}, .group_items = {GROUP_ITEMS, 1}, .cpu_grain = 1};
    for (int round = 0; round < ROUNDS; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_device_timer_start(ceiling->device));
        BB_TRY(bb_build_launch(build, "chains", shape, &argument, 1));
        BB_TRY(bb_device_timer_stop(ceiling->device, &seconds));
        best = fmin(best, seconds);
    }
    *flops_per_s = 2.0 * CHAINS * TURNS * GROUP_ITEMS * (double)shape.groups[0] / best;
done:
    bb_build_destroy(&build);
    return status;
}

static bb_status fill_source(bb_device_ceiling *ceiling)
{
    const int64_t vectors = 2 * ceiling->vectors;
    const bb_launch_argument arguments[] = {{.block = ceiling->source},
                                            {.scalar = &vectors, .scalar_bytes = sizeof vectors}};
    const bb_launch_shape shape = {
        .groups = {((bb_index)vectors + GROUP_ITEMS - 1) / GROUP_ITEMS, 1},
        .group_items = {GROUP_ITEMS, 1},
        .cpu_grain = 1};
    return bb_build_launch(ceiling->build, "fill", shape, arguments, 2);
}

bb_status bb_device_ceiling_create(bb_device *device, double bytes, bb_device_ceiling **out)
{
    bb_status status = BB_OK;
    bb_device_ceiling *ceiling = NULL;
    const bb_device_kind kind = bb_device_kind_of(device);
    BB_REQUIRE(kind != BB_DEVICE_CPU, BB_UNSUPPORTED, "device cpu has no ceiling of this kind");
    BB_TRY(BB_ZEROED(1, &ceiling));
    ceiling->device = device;
    ceiling->vectors = (int64_t)(bytes / 2.0 / VECTOR_BYTES) + 1;
    const size_t block = (size_t)ceiling->vectors * VECTOR_BYTES;
    BB_TRY(bb_build_create(
        device, kind == BB_DEVICE_CUDA ? WORDS_CUDA MEMORY_TEXT : WORDS_OPENCL MEMORY_TEXT, NULL,
        &ceiling->build));
    BB_TRY(bb_device_allocate(device, 2 * block, &ceiling->source));
    BB_TRY(bb_device_allocate(device, block, &ceiling->target));
    BB_TRY(fill_source(ceiling));
    *out = ceiling;
    ceiling = NULL;
done:
    bb_device_ceiling_destroy(&ceiling);
    return status;
}

void bb_device_ceiling_destroy(bb_device_ceiling **ceiling)
{
    if (*ceiling == NULL) {
        return;
    }
    bb_device_release((*ceiling)->device, &(*ceiling)->source);
    bb_device_release((*ceiling)->device, &(*ceiling)->target);
    bb_build_destroy(&(*ceiling)->build);
    BB_RELEASE(ceiling);
}

bb_status bb_device_ceiling_measure(bb_device_ceiling *ceiling, bool reads, double *seconds)
{
    bb_status status = BB_OK;
    const int64_t vectors = reads ? 2 * ceiling->vectors : ceiling->vectors;
    const bb_launch_argument arguments[] = {{.block = ceiling->source},
                                            {.block = ceiling->target},
                                            {.scalar = &vectors, .scalar_bytes = sizeof vectors}};
    const bb_index group = (bb_index)GROUP_ITEMS * LOADS;
    const bb_launch_shape shape = {.groups = {((bb_index)vectors + group - 1) / group, 1},
                                   .group_items = {GROUP_ITEMS, 1},
                                   .cpu_grain = 1};
    BB_TRY(bb_device_timer_start(ceiling->device));
    BB_TRY(bb_build_launch(ceiling->build, reads ? "read" : "copy", shape, arguments, 3));
    BB_TRY(bb_device_timer_stop(ceiling->device, seconds));
done:
    return status;
}
