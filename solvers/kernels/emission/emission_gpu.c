// SPDX-License-Identifier: Apache-2.0
//
// OpenCL C and CUDA C: entries executed by work-items.
#include "solvers/kernels/emission/emission_gpu.h"

#include "core/memory.h"

#include <stdio.h>

enum {
    WARP_ITEMS = 32,
    SUMS_FINISHED = 4, ///< points with sums by lanes that a work-group finishes
};

// NVIDIA's OpenCL lacks sub-groups but supports inline PTX.
static const char *const helpers_opencl =
    "#define bb_store(place, vector) (*(place) = (vector))\n"
    "#define bb_keep(value)\n"
    "#ifdef __NV_CL_C_VERSION\n"
    "#define BB_SHUFFLES\n"
    "BB_FUNCTION int bb_word_further(int x, int distance, int items)\n"
    "{\n"
    "    int y;\n"
    "    asm volatile(\"shfl.sync.down.b32 %0, %1, %2, %3, 0xffffffff;\" : \"=r\"(y)\n"
    "                 : \"r\"(x), \"r\"(distance), \"r\"(((32 - items) << 8) | 31));\n"
    "    return y;\n"
    "}\n"
    "BB_FUNCTION int bb_word_of_first(int x, int items)\n"
    "{\n"
    "    int y;\n"
    "    asm volatile(\"shfl.sync.idx.b32 %0, %1, 0, %2, 0xffffffff;\" : \"=r\"(y)\n"
    "                 : \"r\"(x), \"r\"(((32 - items) << 8) | 31));\n"
    "    return y;\n"
    "}\n"
    "#endif\n";

// Vector stores use explicit instructions, because NVVM (observed with 13.0) splits stores of a
// structure into its members. The shuffles exchange values between work-items of a warp, of which
// `items` form a team.
static const char *const helpers_cuda =
    "BB_FUNCTION void bb_keep(float x) { asm volatile(\"\" :: \"f\"(x)); }\n"
    "BB_FUNCTION void bb_keep(double x) { asm volatile(\"\" :: \"d\"(x)); }\n"
    "BB_FUNCTION void bb_keep(int x) { asm volatile(\"\" :: \"r\"(x)); }\n"
    "BB_FUNCTION void bb_store(float2 *p, float2 q)\n"
    "{ asm volatile(\"st.v2.f32 [%0], {%1, %2};\" :: \"l\"(p), \"f\"(q.x), \"f\"(q.y) : "
    "\"memory\"); }\n"
    "BB_FUNCTION void bb_store(float4 *p, float4 q)\n"
    "{ asm volatile(\"st.v4.f32 [%0], {%1, %2, %3, %4};\"\n"
    "      :: \"l\"(p), \"f\"(q.x), \"f\"(q.y), \"f\"(q.z), \"f\"(q.w) : \"memory\"); }\n"
    "BB_FUNCTION void bb_store(int2 *p, int2 q)\n"
    "{ asm volatile(\"st.v2.s32 [%0], {%1, %2};\" :: \"l\"(p), \"r\"(q.x), \"r\"(q.y) : "
    "\"memory\"); }\n"
    "BB_FUNCTION void bb_store(int4 *p, int4 q)\n"
    "{ asm volatile(\"st.v4.s32 [%0], {%1, %2, %3, %4};\"\n"
    "      :: \"l\"(p), \"r\"(q.x), \"r\"(q.y), \"r\"(q.z), \"r\"(q.w) : \"memory\"); }\n"
    "BB_FUNCTION void bb_store(double2 *p, double2 q)\n"
    "{ asm volatile(\"st.v2.f64 [%0], {%1, %2};\" :: \"l\"(p), \"d\"(q.x), \"d\"(q.y) : "
    "\"memory\"); }\n"
    "template <typename T> BB_FUNCTION T bb_further(T x, int distance, int items)\n"
    "{ return __shfl_down_sync(0xffffffffu, x, distance, items); }\n"
    "template <typename T> BB_FUNCTION T bb_of_first(T x, int items)\n"
    "{ return __shfl_sync(0xffffffffu, x, 0, items); }\n"
    "BB_FUNCTION float2 bb_further(float2 x, int distance, int items)\n"
    "{ return bb_pair_c(bb_further(x.x, distance, items), bb_further(x.y, distance, items)); }\n"
    "BB_FUNCTION float2 bb_of_first(float2 x, int items)\n"
    "{ return bb_pair_c(bb_of_first(x.x, items), bb_of_first(x.y, items)); }\n"
    "BB_FUNCTION double2 bb_further(double2 x, int distance, int items)\n"
    "{ return bb_pair_z(bb_further(x.x, distance, items), bb_further(x.y, distance, items)); }\n"
    "BB_FUNCTION double2 bb_of_first(double2 x, int items)\n"
    "{ return bb_pair_z(bb_of_first(x.x, items), bb_of_first(x.y, items)); }\n";

static const bb_emission_words words_opencl = {
    .global = "__global ",
    .local = "__local ",
    .pointer = "__local ",
    .restricted = "restrict",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .fence = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .item = {"(long)get_local_id(0)", "(long)get_local_id(1)"},
    .group = {"(long)get_group_id(0)", "(long)get_group_id(1)"},
    .finish_items = 256,
    .helpers = helpers_opencl,
};
static const bb_emission_words words_cuda = {
    .global = "",
    .local = "__shared__ ",
    .pointer = "",
    .restricted = "__restrict__",
    .barrier = "__syncthreads();",
    .fence = "__syncthreads();",
    .item = {"(long long)threadIdx.x", "(long long)threadIdx.y"},
    .group = {"(long long)blockIdx.x", "(long long)blockIdx.y"},
    .finish_items = 1024,
    .shuffles = true,
    .helpers = helpers_cuda,
};

void bb_emission_gpu_ranges(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    char range[BB_EMISSION_NAME_BYTES];
    for (int k = 0; k < BB_PROGRAM_DIMENSIONS; ++k) {
        if (k < program->space.dimensions) {
            (void)bb_emission_name(writer, program->space.ranges[k], range);
            bb_emission_line(writer, "const bb_index n%d = %s > 0 ? %s : 0;", k, range, range);
        } else {
            bb_emission_line(writer, "const bb_index n%d = 1;", k);
        }
    }
}

void bb_emission_gpu_chunk(bb_emission_writer *writer)
{
    const bb_iterator *iterator = &writer->program->iterators[0];
    const bb_index chunk = iterator->reduction.order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(writer, iterator->space.ranges[0], range);
    bb_emission_line(writer, "const bb_index c0 = %s * %td;", writer->words->group[1], chunk);
    bb_emission_line(writer, "const bb_index e0 = %s - c0 < %td ? %s : c0 + %td;", range, chunk,
                     range, chunk);
}

/// Sum computed by one work-item, item after item, in chunks if there are any; its lanes, if any,
/// are an array of the work-item.
typedef struct own_sum {
    const bb_iterator *iterator;
    int number;
    bool has_lanes;
    bool has_parts; ///< the sum has chunks or lanes, which u<number> joins
} own_sum;

static void print_own_start(bb_emission_writer *writer, const own_sum *sum)
{
    const bb_reduction *reduction = &sum->iterator->reduction;
    const int number = sum->number;
    bb_emission_line(writer, "%s acc%d[%d];", bb_emission_type(writer, reduction->type), number,
                     reduction->count);
    if (sum->has_parts) {
        bb_emission_line(writer, "bb_sum%d u%d;", number, number);
        bb_emission_line(writer, "bb_clear%d(&u%d);", number, number);
    }
    bb_emission_chunks(writer, number);
    if (sum->has_lanes) {
        bb_emission_line(writer, "bb_start%d(&u%d, 0, 1);", number, number);
        bb_emission_line(writer, "if (c%d == 0) bb_begin%d(&u%d, 1);", number, number, number);
    } else {
        bb_emission_line(writer,
                         "for (int k = 0; k < %d; ++k) acc%d[k] = c%d == 0 ? bb_first%d(k) "
                         ": bb_neutral%d(k);",
                         reduction->count, number, number, number, number);
    }
}

static void print_own_items(bb_emission_writer *writer, const own_sum *sum)
{
    const bb_iterator *iterator = sum->iterator;
    char target[2 * BB_EMISSION_NAME_BYTES];
    if (sum->has_lanes) {
        (void)snprintf(target, sizeof target, "u%d.lane[0][(k%d_0 - c%d) %% %td][0]", sum->number,
                       sum->number, sum->number, iterator->reduction.order.lanes);
    } else {
        (void)snprintf(target, sizeof target, "acc%d", sum->number);
    }
    bb_emission_open_items(writer, sum->number, iterator->space.dimensions == 1, 0);
    bb_emission_gpu_steps(writer, &iterator->steps);
    bb_emission_accumulate(writer, &iterator->reduction, target);
    bb_emission_close_items(writer, sum->number);
}

static void print_own_end(bb_emission_writer *writer, const own_sum *sum)
{
    const bb_reduction *reduction = &sum->iterator->reduction;
    const int number = sum->number;
    char total[BB_EMISSION_NAME_BYTES];
    if (sum->has_lanes) {
        bb_emission_line(writer, "bb_tree%d(&u%d, 0, 1);", number, number);
    } else if (sum->has_parts) {
        bb_emission_line(writer, "for (int k = 0; k < %d; ++k) u%d.lane[0][0][0][k] = acc%d[k];",
                         reduction->count, number, number);
    }
    if (sum->has_parts) {
        bb_emission_line(writer, "bb_push%d(&u%d, 0, 1);", number, number);
    }
    bb_emission_line(writer, "}");
    if (sum->has_parts) {
        bb_emission_line(writer, "bb_total%d(&u%d, 1);", number, number);
    }
    (void)snprintf(total, sizeof total, sum->has_parts ? "u%d.lane[0][0][0]" : "acc%d", number);
    bb_emission_sum_outputs(writer, reduction, total);
}

static void print_own(bb_emission_writer *writer, int number)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    const bb_reduction_order order = iterator->reduction.order;
    const own_sum sum = {.iterator = iterator,
                         .number = number,
                         .has_lanes = order.lanes > 1,
                         .has_parts = order.lanes > 1 || order.chunk > 0};
    print_own_start(writer, &sum);
    print_own_items(writer, &sum);
    print_own_end(writer, &sum);
}

static void print_step(bb_emission_writer *writer, int number)
{
    const bb_step *step = &writer->program->steps[number];
    if (step->kind == BB_STEP_ITERATOR) {
        const bb_reduction *reduction = &writer->program->iterators[step->iterator].reduction;
        if (writer->team.items > 0 && reduction->order.lanes > 1) {
            bb_emission_gpu_team_iterator(writer, step->iterator);
        } else {
            print_own(writer, step->iterator);
        }
    } else if (step->kind == BB_STEP_WRITE && writer->is_guarded) {
        bb_emission_line(writer,
                         writer->team.items > 0 ? "if (active && item == 0) {" : "if (active) {");
        bb_emission_step(writer, number);
        bb_emission_line(writer, "}");
    } else {
        bb_emission_step(writer, number);
    }
}

void bb_emission_gpu_steps(bb_emission_writer *writer, const bb_step_list *list)
{
    for (int i = 0; i < list->count; ++i) {
        print_step(writer, list->steps[i]);
    }
}

void bb_emission_gpu_body(bb_emission_writer *writer, int begin, int end)
{
    const bb_step_list list = {.steps = writer->program->body.steps + begin, .count = end - begin};
    bb_emission_gpu_steps(writer, &list);
}

// Entries

// "(__global const float *restrict o0, ..., const long parts)"
static void print_signature(bb_emission_writer *writer, const bb_emission *emission,
                            const char *entry, const bb_index items[BB_PROGRAM_DIMENSIONS])
{
    const bb_program *program = writer->program;
    // A known work-group size lets compilers assign more registers.
    if (writer->words == &words_opencl) {
        bb_emission_add(writer,
                        "\n__kernel __attribute__((reqd_work_group_size(%td, %td, 1))) void %s(",
                        items[0], items[1], entry);
    } else {
        bb_emission_add(writer, "\nextern \"C\" __global__ void __launch_bounds__(%td) %s(",
                        items[0] * items[1], entry);
    }
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        bb_emission_add(writer, "%s%s%s%s *%s o%d", i > 0 ? ", " : "", writer->words->global,
                        object->is_written ? "" : "const ", bb_emission_type(writer, object->type),
                        writer->words->restricted, i);
    }
    for (int i = 0; i < emission->value_count; ++i) {
        const int value = emission->values[i];
        bb_emission_add(writer, ", const %s h%d",
                        bb_emission_type(writer, program->values[value].type), value);
    }
    const bb_reduction *parted = bb_emission_parted(program);
    for (int k = 0; emission->is_parted && k < parted->count; ++k) {
        bb_emission_add(writer, ", %s%s *%s p%d", writer->words->global,
                        bb_emission_type(writer, parted->type), writer->words->restricted, k);
    }
    bb_emission_add(writer, "%s)\n{\n", emission->is_parted ? ", const bb_index parts" : "");
}

void bb_emission_gpu_signature_opencl(bb_emission_writer *writer, const bb_emission *emission,
                                      const char *entry)
{
    writer->words = &words_opencl;
    print_signature(writer, emission, entry, (const bb_index[BB_PROGRAM_DIMENSIONS]){1, 1});
}

/// One entry: its text, and the team for which it was printed.
typedef struct gpu_entry {
    const char *name;
    const bb_index *items; ///< [BB_PROGRAM_DIMENSIONS]
    bb_text body;
    bb_text local;
    bb_emission_team team;
    bool *is_shared; ///< [iterator_count + 1]
} gpu_entry;

static void print_entry(bb_emission_writer *writer, const bb_emission *emission,
                        const gpu_entry *entry)
{
    const bb_program *program = writer->program;
    print_signature(writer, emission, entry->name, entry->items);
    writer->depth = 1;
    if (entry->team.items > 0) {
        bb_emission_line(writer, "const bb_index item = %s, team = %s;", writer->words->item[0],
                         writer->words->item[1]);
    }
    for (int i = 0; i <= program->iterator_count; ++i) {
        const bb_reduction *reduction =
            i < program->iterator_count ? &program->iterators[i].reduction : &program->reduction;
        if (entry->is_shared[i]) {
            bb_emission_line(writer, "%s%s t%d[%td][%td][%d];", writer->words->local,
                             bb_emission_type(writer, reduction->type), i, entry->team.teams,
                             reduction->order.lanes, reduction->count);
        }
    }
    bb_emission_add(writer, "%s%s}\n", bb_text_string(&entry->local), bb_text_string(&entry->body));
}

static void print_functions(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    for (int i = 0; i <= program->iterator_count; ++i) {
        const bb_reduction *reduction =
            i < program->iterator_count ? &program->iterators[i].reduction : &program->reduction;
        if (i < program->iterator_count || program->has_reduction) {
            bb_emission_sum(writer, reduction, i, writer->choice->points);
            bb_emission_gpu_team_functions(writer, reduction, i);
        }
    }
}

typedef void print_function(bb_emission_writer *writer);

static void fill_entry(bb_emission_writer *writer, print_function *print, gpu_entry *entry)
{
    if (!bb_emission_try(writer,
                         BB_ZEROED(writer->program->iterator_count + 1, &entry->is_shared))) {
        return;
    }
    writer->is_shared = entry->is_shared;
    writer->local = &entry->local;
    writer->team = entry->team;
    writer->out = &entry->body;
    writer->depth = 1;
    print(writer);
}

// Launch parameters of the entries.
static void shape_launch(const bb_emission_words *words, const bb_choice *choice,
                         const bb_program *program, bb_emission *emission)
{
    const bb_form form = bb_choice_form(program);
    for (int k = 0; k < BB_PROGRAM_DIMENSIONS; ++k) {
        const int points[BB_PROGRAM_DIMENSIONS] = {choice->points, choice->rows};
        emission->body_items[k] = choice->group[k];
        emission->body_points[k] = form == BB_FORM_POINTS ? choice->group[k] * points[k] : 1;
    }
    if (form != BB_FORM_POINTS) {
        emission->body_points[0] = choice->group[1];
    }
    emission->is_parted = program->has_reduction || choice->is_split;
    emission->finish_points = form == BB_FORM_POINTS  ? BB_EMISSION_FINISH_ITEMS
                              : form == BB_FORM_LANES ? SUMS_FINISHED
                                                      : 1;
    emission->finish_items[0] = BB_EMISSION_FINISH_ITEMS;
    emission->finish_items[1] = 1;
    if (emission->is_parted && form != BB_FORM_POINTS) {
        const bb_index lanes = bb_emission_parted(program)->order.lanes;
        const bool by_sums = form == BB_FORM_LANES;
        emission->finish_items[0] = by_sums && lanes > WARP_ITEMS ? WARP_ITEMS : lanes;
        emission->finish_items[1] = by_sums ? SUMS_FINISHED : words->finish_items / lanes;
    }
}

bb_status bb_emission_fill_gpu(bb_emission_writer *writer, bb_emission *emission)
{
    static print_function *const printers[][2] = {
        [BB_FORM_POINTS] = {bb_emission_gpu_tiles, bb_emission_gpu_tiles_finish},
        [BB_FORM_LANES] = {bb_emission_gpu_lanes, bb_emission_gpu_lanes_finish},
        [BB_FORM_SPACE] = {bb_emission_gpu_space, bb_emission_gpu_space_finish},
    };
    const bb_form form = bb_choice_form(writer->program);
    const bb_choice *choice = writer->choice;
    gpu_entry entries[2] = {{.name = BB_EMISSION_BODY, .items = emission->body_items},
                            {.name = BB_EMISSION_FINISH, .items = emission->finish_items}};
    writer->words = writer->target == BB_EMISSION_OPENCL ? &words_opencl : &words_cuda;
    shape_launch(writer->words, choice, writer->program, emission);
    if (form != BB_FORM_POINTS) {
        entries[0].team =
            (bb_emission_team){choice->group[0], choice->group[1], choice->distribution};
        entries[1].team = (bb_emission_team){emission->finish_items[0], emission->finish_items[1],
                                             BB_DISTRIBUTION_INTERLEAVED};
    }
    const int entry_count = emission->is_parted ? 2 : 1;
    for (int i = 0; i < entry_count; ++i) {
        fill_entry(writer, printers[form][i], &entries[i]);
    }
    bb_emission_list_values(writer, emission);
    writer->out = &emission->source;
    writer->depth = 0;
    bb_emission_prologue(writer);
    bb_emission_add(writer, "%s", writer->words->helpers);
    print_functions(writer);
    for (int i = 0; i < entry_count && writer->status == BB_OK; ++i) {
        print_entry(writer, emission, &entries[i]);
    }
    for (int i = 0; i < 2; ++i) {
        bb_text_release(&entries[i].body);
        bb_text_release(&entries[i].local);
        BB_RELEASE(&entries[i].is_shared);
    }
    return writer->status;
}
