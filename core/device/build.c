// SPDX-License-Identifier: Apache-2.0
#include "core/device/build_ops.h"
#include "core/memory.h"

#include <string.h>

struct bb_build {
    const bb_build_ops *ops;
    void *state;
};

enum { LINE_BYTES = 400 }; // length limit of the compiler log quoted in a message

static const bb_build_ops *const kinds[BB_DEVICE_KIND_COUNT] = {
    [BB_DEVICE_CPU] = &bb_build_cpu_ops,
    [BB_DEVICE_CUDA] = BB_CUDA_TWIN(&bb_build_cuda_ops),
    [BB_DEVICE_OPENCL] = BB_OPENCL_TWIN(&bb_build_opencl_ops),
};

bb_status bb_build_create(bb_device *device, const char *source, char **log, bb_build **out)
{
    bb_status status = BB_OK;
    bb_build *build = NULL;
    bb_text output = {0};
    const bb_device_kind kind = bb_device_kind_of(device);
    *out = NULL;
    if (log != NULL) {
        *log = NULL;
    }
    BB_REQUIRE(kinds[kind] != NULL, BB_UNSUPPORTED, "device %s compiles no source in this build",
               bb_device_names[kind]);
    BB_TRY(BB_ZEROED(1, &build));
    build->ops = kinds[kind];
    BB_TRY(build->ops->create(device, source, &output, &build->state));
    *out = build;
    build = NULL;
done:
    if (log != NULL) {
        *log = output.data;
        output = (bb_text){0};
    }
    bb_text_release(&output);
    BB_RELEASE(&build);
    return status;
}

void bb_build_destroy(bb_build **build)
{
    if (*build != NULL) {
        (*build)->ops->destroy(&(*build)->state);
        BB_RELEASE(build);
    }
}

bb_status bb_build_find_limits(bb_build *build, const char *entry, bb_build_limits *out)
{
    return build->ops->find_limits(build->state, entry, out);
}

bool bb_build_rounds(bb_device *device)
{
    const bb_build_ops *ops = kinds[bb_device_kind_of(device)];
    return ops != NULL && ops->rounds(device);
}

static bb_status check_shape(const char *entry, const bb_launch_shape *shape)
{
    bb_status status = BB_OK;
    bb_index items = 1;
    for (int d = 0; d < BB_LAUNCH_DIMENSIONS; ++d) {
        BB_REQUIRE(shape->groups[d] >= 1 && shape->group_items[d] >= 1, BB_INVALID,
                   "%s: %td work-groups of %td items in dimension %d, expected at least 1", entry,
                   shape->groups[d], shape->group_items[d], d);
        BB_REQUIRE(!__builtin_mul_overflow(items, shape->groups[d], &items) &&
                       !__builtin_mul_overflow(items, shape->group_items[d], &items),
                   BB_UNSUPPORTED, "%s: the number of work-items overflows", entry);
    }
    BB_REQUIRE(shape->cpu_grain >= 1, BB_INVALID, "%s: cpu_grain %td, expected at least 1", entry,
               shape->cpu_grain);
done:
    return status;
}

bb_status bb_build_launch(bb_build *build, const char *entry, bb_launch_shape shape,
                          const bb_launch_argument *arguments, bb_index count)
{
    bb_status status = BB_OK;
    BB_REQUIRE(count >= 0 && count <= BB_LAUNCH_MAX_ARGUMENTS, BB_INVALID,
               "%s: %td arguments, expected at most %d", entry, count, BB_LAUNCH_MAX_ARGUMENTS);
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE((arguments[i].scalar != NULL) == (arguments[i].scalar_bytes > 0) &&
                       (arguments[i].block == NULL || arguments[i].scalar == NULL),
                   BB_INVALID, "%s: argument %td is neither a block nor a scalar", entry, i);
    }
    BB_TRY(check_shape(entry, &shape));
    BB_TRY(build->ops->launch(build->state, entry, &shape, arguments, count));
done:
    return status;
}

const char *bb_build_compiler(const bb_build *build)
{
    return build->ops->compiler(build->state);
}

bb_status bb_build_add_log(const char *output, size_t bytes, bb_text *log)
{
    const bb_index first = log->length;
    if (bytes == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(bb_text_add_bytes(
        log, output, (bb_index)(bytes < BB_BUILD_LOG_BYTES ? bytes : BB_BUILD_LOG_BYTES)));
    for (bb_index i = first; i < log->length; ++i) {
        const unsigned char byte = (unsigned char)log->data[i];
        if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f) {
            log->data[i] = '?';
        }
    }
    return BB_OK;
}

bb_status bb_build_fail(const char *compiler, const bb_text *log)
{
    const char *text = bb_text_string(log);
    const char *line = text + strspn(text, " \t\n");
    const char *error = strstr(text, "error:");
    if (error != NULL) {
        for (line = error; line > text && line[-1] != '\n'; --line) {
        }
    }
    const size_t bytes = strcspn(line, "\n");
    if (bytes == 0) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "%s rejects the source without a message", compiler);
    }
    return bb_status_set(BB_INVALID, __FILE__, __LINE__, "%s rejects the source: %.*s", compiler,
                         (int)(bytes < LINE_BYTES ? bytes : LINE_BYTES), line);
}

bb_status bb_build_check_group(const char *entry, const bb_launch_shape *shape, bb_index limit)
{
    const bb_index items = shape->group_items[0] * shape->group_items[1];
    if (items > limit) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "%s: work-groups of %td x %td items, the device's limit is %td", entry,
                             shape->group_items[0], shape->group_items[1], limit);
    }
    return BB_OK;
}
