// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/assembled_kernel.h"

#include "core/memory.h"
#include "solvers/kernels/program/evaluation.h"

struct bb_assembled_kernel {
    bb_device *device;
    bb_choice choice;
    bb_program program; ///< program with the choice's order of sums
    bool *is_inside;    ///< [step_count]
    bb_emission emission;
    bb_build *build;
    void *parts[BB_PROGRAM_ACCUMULATORS]; ///< part buffers for the reduction over the space
    bb_index part_capacity;
    void **outgrown; ///< [outgrown_count] replaced part buffers, which a recorded graph may still
                     ///< refer to
    bb_index outgrown_count;
};

bb_status bb_assembled_kernel_print(bb_device_kind kind, const bb_program *program,
                                    const bool *is_inside, const bb_choice *choice,
                                    bb_emission *out)
{
    bb_status status = BB_OK;
    static const bb_emission_target targets[BB_DEVICE_KIND_COUNT] = {
        [BB_DEVICE_CPU] = BB_EMISSION_C,
        [BB_DEVICE_CUDA] = BB_EMISSION_CUDA,
        [BB_DEVICE_OPENCL] = BB_EMISSION_OPENCL,
    };
    const bb_choice taken = choice != NULL ? *choice : bb_choice_default(kind, program);
    bb_program ordered = {.name = NULL};
    char why[160];
    BB_REQUIRE(bb_choice_is_legal(&taken, kind, program, why, sizeof why), BB_INVALID,
               "kernel %s: illegal variant: %s", program->name, why);
    BB_TRY(bb_choice_apply(&taken, program, &ordered));
    BB_TRY(bb_emission_create(targets[kind], &ordered, is_inside, &taken, out));
done:
    bb_choice_release_program(&ordered);
    return status;
}

bb_status bb_assembled_kernel_create(bb_device *device, const bb_program *program,
                                     const bool *is_inside, const bb_choice *choice,
                                     bb_assembled_kernel **out)
{
    bb_status status = BB_OK;
    bb_assembled_kernel *kernel = NULL;
    bb_status_record record;
    BB_TRY(BB_ZEROED(1, &kernel));
    kernel->device = device;
    kernel->choice = choice != NULL ? *choice : bb_choice_default_on(device, program);
    BB_TRY(bb_choice_apply(&kernel->choice, program, &kernel->program));
    BB_TRY(BB_ALLOCATE(program->step_count, &kernel->is_inside));
    for (int i = 0; i < program->step_count; ++i) {
        kernel->is_inside[i] = is_inside[i];
    }
    BB_TRY(bb_assembled_kernel_print(bb_device_kind_of(device), program, is_inside, &kernel->choice,
                                     &kernel->emission));
    status =
        bb_build_create(device, bb_text_string(&kernel->emission.source), NULL, &kernel->build);
    if (status == BB_INVALID) {
        bb_status_save(&record);
        BB_FAIL(BB_INTERNAL, "the text of kernel %s does not compile: %s", program->name,
                record.message);
    }
    BB_TRY(status);
    *out = kernel;
    kernel = NULL;
done:
    bb_assembled_kernel_destroy(&kernel);
    return status;
}

void bb_assembled_kernel_destroy(bb_assembled_kernel **kernel)
{
    if (*kernel == NULL) {
        return;
    }
    for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
        bb_device_release((*kernel)->device, &(*kernel)->parts[k]);
    }
    for (bb_index k = 0; k < (*kernel)->outgrown_count; ++k) {
        bb_device_release((*kernel)->device, &(*kernel)->outgrown[k]);
    }
    BB_RELEASE(&(*kernel)->outgrown);
    bb_build_destroy(&(*kernel)->build);
    bb_emission_release(&(*kernel)->emission);
    bb_choice_release_program(&(*kernel)->program);
    BB_RELEASE(&(*kernel)->is_inside);
    BB_RELEASE(kernel);
}

const char *bb_assembled_kernel_compiler(const bb_assembled_kernel *kernel)
{
    return bb_build_compiler(kernel->build);
}

// Values of the host as arguments of a launch, each with its type.
typedef union host_number {
    int64_t index;
    int32_t integer;
    float single[2];
    double pair[2];
    unsigned char logic;
} host_number;

static bb_launch_argument scalar_argument(bb_element_type type, bb_scalar value, host_number *room)
{
    bb_evaluation_store(type, room, 0, value);
    return (bb_launch_argument){.scalar = room, .scalar_bytes = bb_element_type_row(type)->bytes};
}

static bb_status grow_parts(bb_assembled_kernel *kernel, bb_index count)
{
    bb_status status = BB_OK;
    const bb_reduction *parted = bb_emission_parted(&kernel->program);
    if (count <= kernel->part_capacity) {
        goto done;
    }
    count = count > 2 * kernel->part_capacity ? count : 2 * kernel->part_capacity;
    kernel->part_capacity = 0;
    BB_TRY(bb_memory_resize(kernel->outgrown_count + parted->count, sizeof *kernel->outgrown,
                            (void **)&kernel->outgrown));
    for (int k = 0; k < parted->count; ++k) {
        if (kernel->parts[k] != NULL) {
            kernel->outgrown[kernel->outgrown_count++] = kernel->parts[k];
            kernel->parts[k] = NULL;
        }
        BB_TRY(bb_device_allocate(kernel->device,
                                  (size_t)count * bb_element_type_row(parted->type)->bytes,
                                  &kernel->parts[k]));
    }
    kernel->part_capacity = count;
done:
    return status;
}

// Number of chunks of a sum of `items`; an empty sum has one empty chunk.
static bb_index chunk_count(bb_index items, bb_index chunk)
{
    return chunk == 0 || items <= chunk ? 1 : (items + chunk - 1) / chunk;
}

// Number of parts of each sum that is split into parts.
static bb_index part_count(const bb_assembled_kernel *kernel, const bb_binding *binding)
{
    const bb_program *program = &kernel->program;
    return chunk_count(program->has_reduction
                           ? binding->ranges[0] * binding->ranges[1]
                           : binding->values[program->iterators[0].space.ranges[0]].integer,
                       bb_emission_parted(program)->order.chunk);
}

static bb_index group_count(bb_index points, bb_index group_points)
{
    return (points + group_points - 1) / group_points;
}

// Number of items per thread call on the cpu; with cheap points enough of them to justify waking
// another thread.
static bb_index cpu_grain(const bb_assembled_kernel *kernel, const bb_binding *binding,
                          const bb_launch_shape *shape)
{
    enum { LEAST_POINTS = 1 << 14 };
    const bb_index item_points = (binding->ranges[0] + shape->groups[0] - 1) / shape->groups[0];
    const bool has_sums = kernel->program.has_reduction || kernel->program.iterator_count > 0;
    return has_sums || item_points >= LEAST_POINTS ? 1 : LEAST_POINTS / item_points;
}

static bb_status launch_entries(bb_assembled_kernel *kernel, const bb_binding *binding,
                                bb_index parts, const bb_launch_argument *arguments, bb_index count)
{
    bb_status status = BB_OK;
    const bb_emission *emission = &kernel->emission;
    const bool by_space = kernel->program.has_reduction;
    bb_launch_shape shape = {.group_items = {emission->body_items[0], emission->body_items[1]},
                             .cpu_grain = 1};
    if (!by_space && (binding->ranges[0] <= 0 || binding->ranges[1] <= 0)) {
        goto done;
    }
    shape.groups[0] = group_count(by_space ? parts : binding->ranges[0], emission->body_points[0]);
    shape.groups[1] = by_space ? 1
                      : emission->is_parted
                          ? parts
                          : group_count(binding->ranges[1], emission->body_points[1]);
    shape.cpu_grain = cpu_grain(kernel, binding, &shape);
    BB_TRY(bb_build_launch(kernel->build, BB_EMISSION_BODY, shape, arguments, count));
    if (emission->is_parted) {
        shape = (bb_launch_shape){
            .groups = {by_space ? 1 : group_count(binding->ranges[0], emission->finish_points), 1},
            .group_items = {emission->finish_items[0], emission->finish_items[1]},
            .cpu_grain = 1};
        BB_TRY(bb_build_launch(kernel->build, BB_EMISSION_FINISH, shape, arguments, count));
    }
done:
    return status;
}

bb_status bb_assembled_kernel_launch(bb_assembled_kernel *kernel, const bb_binding *binding,
                                     void *const *blocks)
{
    bb_status status = BB_OK;
    const bb_program *program = &kernel->program;
    const bb_emission *emission = &kernel->emission;
    const bb_index count = program->object_count + emission->value_count +
                           (emission->is_parted ? bb_emission_parted(program)->count + 1 : 0);
    bb_launch_argument arguments[BB_LAUNCH_MAX_ARGUMENTS];
    host_number rooms[BB_LAUNCH_MAX_ARGUMENTS];
    const int64_t parts = emission->is_parted ? (int64_t)part_count(kernel, binding) : 0;
    bb_index place = 0;
    BB_REQUIRE(count <= BB_LAUNCH_MAX_ARGUMENTS, BB_UNSUPPORTED,
               "kernel %s has %td objects, sizes and parameters, the limit is %d", program->name,
               count, BB_LAUNCH_MAX_ARGUMENTS);
    const int outside = bb_binding_find_outside(binding, kernel->is_inside);
    BB_REQUIRE(outside == program->step_count, BB_INVALID,
               "kernel %s: at these sizes %s leaves its object; assemble the kernel for them",
               program->name, program->steps[outside].name);
    for (int i = 0; i < program->object_count; ++i) {
        arguments[place++] = (bb_launch_argument){.block = blocks[i]};
    }
    for (int i = 0; i < emission->value_count; ++i, ++place) {
        const int value = emission->values[i];
        arguments[place] =
            scalar_argument(program->values[value].type, binding->values[value], &rooms[place]);
    }
    if (emission->is_parted) {
        const bb_index sums = program->has_reduction ? 1 : binding->ranges[0];
        BB_TRY(grow_parts(kernel, sums * (bb_index)parts));
        for (int k = 0; k < bb_emission_parted(program)->count; ++k) {
            arguments[place++] = (bb_launch_argument){.block = kernel->parts[k]};
        }
        arguments[place++] = (bb_launch_argument){.scalar = &parts, .scalar_bytes = sizeof parts};
    }
    BB_TRY(launch_entries(kernel, binding, (bb_index)parts, arguments, place));
done:
    return status;
}

static size_t object_bytes(const bb_binding *binding, int object)
{
    return bb_element_type_row(binding->program->objects[object].type)->bytes *
           (size_t)binding->data[object].columns * (size_t)binding->data[object].rows;
}

bb_status bb_assembled_kernel_compute(bb_assembled_kernel *kernel, const bb_binding *binding)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    bb_device *device = kernel->device;
    void **blocks = NULL;
    BB_TRY(BB_ZEROED(program->object_count, &blocks));
    for (int i = 0; i < program->object_count; ++i) {
        const size_t bytes = object_bytes(binding, i);
        // An object without elements still needs an argument.
        BB_TRY(bb_device_allocate(device, bytes > 0 ? bytes : 1, &blocks[i]));
        if (bytes > 0) {
            BB_TRY(bb_device_upload(device, blocks[i], binding->data[i].elements, bytes));
        }
    }
    BB_TRY(bb_assembled_kernel_launch(kernel, binding, blocks));
    for (int i = 0; i < program->object_count; ++i) {
        if (program->objects[i].is_written && object_bytes(binding, i) > 0) {
            BB_TRY(bb_device_download(device, binding->data[i].elements, blocks[i],
                                      object_bytes(binding, i)));
        }
    }
    BB_TRY(bb_device_wait(device));
done:
    for (int i = 0; blocks != NULL && i < program->object_count; ++i) {
        bb_device_release(device, &blocks[i]);
    }
    BB_RELEASE(&blocks);
    return status;
}
