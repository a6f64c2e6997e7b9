// SPDX-License-Identifier: Apache-2.0
//
// OpenCL C and CUDA C: entries that work-items run.
//
// Three forms of a body. By points: a work-item is a point of the space. By lanes: a work-group is
// a point and its work-items are the lanes of the point's sums, which is taken where an iterator
// has lanes; all work-items run the steps around it, the first one writes. With an ICF over the
// space a work-group is a chunk of it and its work-items are the lanes.
#include "core/memory.h"
#include "solvers/kernels/emission/emission_sums.h"

#include <stdio.h>

/// What the two languages say differently.
typedef struct gpu_words {
    const char *entry;  ///< before an entry's name
    const char *global; ///< before a pointer to the device's memory
    const char *local;  ///< before an array that a work-group shares
    const char *barrier;
    const char *item[BB_PROGRAM_DIMENSIONS]; ///< of the work-group
    const char *group[BB_PROGRAM_DIMENSIONS];
    const char *group_items[BB_PROGRAM_DIMENSIONS];
} gpu_words;

static const gpu_words words_opencl = {
    .entry = "__kernel void",
    .global = "__global ",
    .local = "__local ",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .item = {"(long)get_local_id(0)", "(long)get_local_id(1)"},
    .group = {"(long)get_group_id(0)", "(long)get_group_id(1)"},
    .group_items = {"(long)get_local_size(0)", "(long)get_local_size(1)"},
};
static const gpu_words words_cuda = {
    .entry = "extern \"C\" __global__ void",
    .global = "",
    .local = "__shared__ ",
    .barrier = "__syncthreads();",
    .item = {"(long long)threadIdx.x", "(long long)threadIdx.y"},
    .group = {"(long long)blockIdx.x", "(long long)blockIdx.y"},
    .group_items = {"(long long)blockDim.x", "(long long)blockDim.y"},
};

typedef struct gpu_writer {
    bb_emission_writer *base;
    const gpu_words *words;
    bool by_lanes; ///< work-items of a work-group are lanes
} gpu_writer;

static bb_status print_steps(gpu_writer *writer, const bb_step_list *list);

static bb_status print_open(gpu_writer *writer, const char *line)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_line(writer->base, "%s", line));
    ++writer->base->depth;
done:
    return status;
}

static bb_status print_close(gpu_writer *writer)
{
    --writer->base->depth;
    return bb_emission_line(writer->base, "}");
}

static bb_status print_item(gpu_writer *writer, const bb_iterator *iterator, const char *target)
{
    bb_status status = BB_OK;
    BB_TRY(print_steps(writer, &iterator->steps));
    BB_TRY(bb_emission_take(writer->base, &iterator->reduction, target));
done:
    return status;
}

// The lanes' parts, in t<number>, one a work-item, are joined into the first.
static bb_status print_tree(gpu_writer *writer, int number, bb_index lanes)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_line(writer->base, "%s", writer->words->barrier));
    BB_TRY(bb_emission_line(writer->base, "for (int w = %td; w > 0; w /= 2) {", lanes / 2));
    ++writer->base->depth;
    BB_TRY(bb_emission_line(writer->base,
                            "if (lane < w) bb_join_shared%d(t%d[lane], t%d[lane + w]);", number,
                            number, number));
    BB_TRY(bb_emission_line(writer->base, "%s", writer->words->barrier));
    BB_TRY(print_close(writer));
done:
    return status;
}

static bb_status print_shared_join(gpu_writer *writer, const bb_reduction *reduction, int number)
{
    bb_status status = BB_OK;
    const char *type = bb_emission_type(writer->base, reduction->type);
    const char *space = writer->words == &words_opencl ? "__local " : "";
    BB_TRY(bb_text_add(writer->base->out,
                       "BB_FUNCTION void bb_join_shared%d(%s%s *a, %s%s *b)\n{\n"
                       "    %s own[%d], other[%d];\n"
                       "    for (int k = 0; k < %d; ++k) { own[k] = a[k]; other[k] = b[k]; }\n"
                       "    bb_join%d(own, other);\n"
                       "    for (int k = 0; k < %d; ++k) a[k] = own[k];\n}\n",
                       number, space, type, space, type, type, reduction->count, reduction->count,
                       reduction->count, number, reduction->count));
done:
    return status;
}

static bb_status print_shared(gpu_writer *writer, const bb_reduction *reduction, int number)
{
    return bb_emission_line(writer->base, "%s%s t%d[%td][%d];", writer->words->local,
                            bb_emission_type(writer->base, reduction->type), number,
                            reduction->order.lanes, reduction->count);
}

// A chunk's items [c, e) by work-items, one a lane, into t<number>[lane]; k is the position.
static bb_status print_chunk_start(gpu_writer *writer, const bb_reduction *reduction, int number,
                                   const char *first)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_line(writer->base, "%s acc%d[%d];",
                            bb_emission_type(writer->base, reduction->type), number,
                            reduction->count));
    BB_TRY(bb_emission_line(writer->base,
                            "for (int k = 0; k < %d; ++k) acc%d[k] = %s && lane == 0 ? "
                            "bb_first%d(k) : bb_neutral%d(k);",
                            reduction->count, number, first, number, number));
done:
    return status;
}

static bb_status print_chunk_end(gpu_writer *writer, const bb_reduction *reduction, int number)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_line(writer->base, "for (int k = 0; k < %d; ++k) t%d[lane][k] = acc%d[k];",
                            reduction->count, number, number));
    BB_TRY(print_tree(writer, number, reduction->order.lanes));
done:
    return status;
}

// Chunks of an iterator, whose lanes are the work-items.
static bb_status print_lanes(gpu_writer *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_reduction *reduction = &iterator->reduction;
    char text[6 * BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_chunks(base, number));
    (void)snprintf(text, sizeof text, "c%d == 0", number);
    BB_TRY(print_chunk_start(writer, reduction, number, text));
    (void)snprintf(text, sizeof text,
                   "for (bb_index k%d_0 = c%d + lane; k%d_0 < e%d; k%d_0 += %td) {", number, number,
                   number, number, number, reduction->order.lanes);
    BB_TRY(print_open(writer, text));
    (void)snprintf(text, sizeof text, "acc%d", number);
    BB_TRY(print_item(writer, iterator, text));
    BB_TRY(print_close(writer));
    BB_TRY(print_chunk_end(writer, reduction, number));
    BB_TRY(bb_emission_line(base,
                            "if (lane == 0) { for (int k = 0; k < %d; ++k) u%d.lane[0][0][0][k] = "
                            "t%d[0][k]; bb_push%d(&u%d, 0, 1); }",
                            reduction->count, number, number, number, number));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    BB_TRY(print_close(writer));
    BB_TRY(bb_emission_line(base,
                            "if (lane == 0) { bb_total%d(&u%d, 1); for (int k = 0; k < %d; ++k) "
                            "t%d[0][k] = u%d.lane[0][0][0][k]; }",
                            number, number, reduction->count, number, number));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "const %s s%d = t%d[0][%d];",
                                bb_emission_type(base, reduction->type), reduction->output + k,
                                number, k));
    }
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
done:
    return status;
}

// Items one after another in a work-item, in chunks where there are some. The lanes of a sum, where
// it has any, are an array of the work-item's.
static bb_status print_serial(gpu_writer *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_reduction *reduction = &iterator->reduction;
    const bb_index chunk = reduction->order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    char text[6 * BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_chunks(base, number));
    BB_TRY(bb_emission_line(base, "bb_start%d(&u%d, 0, 1);", number, number));
    BB_TRY(bb_emission_line(base, "if (c%d == 0) bb_begin%d(&u%d, 1);", number, number, number));
    for (int k = iterator->space.dimensions - 1; k >= 0; --k) {
        (void)bb_emission_name(base, iterator->space.ranges[k], range);
        if (chunk > 0) {
            (void)snprintf(text, sizeof text, "for (bb_index k%d_0 = c%d; k%d_0 < e%d; ++k%d_0) {",
                           number, number, number, number, number);
        } else {
            (void)snprintf(text, sizeof text, "for (bb_index k%d_%d = 0; k%d_%d < %s; ++k%d_%d) {",
                           number, k, number, k, range, number, k);
        }
        BB_TRY(print_open(writer, text));
    }
    if (reduction->order.lanes > 1) {
        (void)snprintf(text, sizeof text, "u%d.lane[0][(k%d_0 - c%d) %% %td][0]", number, number,
                       number, reduction->order.lanes);
    } else {
        (void)snprintf(text, sizeof text, "u%d.lane[0][0][0]", number);
    }
    BB_TRY(print_item(writer, iterator, text));
    for (int k = 0; k < iterator->space.dimensions; ++k) {
        BB_TRY(print_close(writer));
    }
    BB_TRY(bb_emission_line(base, "bb_tree%d(&u%d, 0, 1);", number, number));
    BB_TRY(bb_emission_line(base, "bb_push%d(&u%d, 0, 1);", number, number));
    BB_TRY(print_close(writer));
    BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, 1);", number, number));
    BB_TRY(bb_emission_sum_outputs(base, reduction, number, "0"));
done:
    return status;
}

static bb_status print_step(gpu_writer *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_step *step = &base->program->steps[number];
    if (step->kind == BB_STEP_ITERATOR) {
        const bb_reduction *reduction = &base->program->iterators[step->iterator].reduction;
        BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", step->iterator, step->iterator));
        BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", step->iterator, step->iterator));
        BB_TRY(writer->by_lanes && reduction->order.lanes > 1
                   ? print_lanes(writer, step->iterator)
                   : print_serial(writer, step->iterator));
    } else if (step->kind == BB_STEP_WRITE && writer->by_lanes && step->iterator < 0) {
        BB_TRY(print_open(writer, "if (lane == 0) {"));
        BB_TRY(bb_emission_step(base, number));
        BB_TRY(print_close(writer));
    } else {
        BB_TRY(bb_emission_step(base, number));
    }
done:
    return status;
}

static bb_status print_steps(gpu_writer *writer, const bb_step_list *list)
{
    bb_status status = BB_OK;
    for (int i = 0; i < list->count; ++i) {
        BB_TRY(print_step(writer, list->steps[i]));
    }
done:
    return status;
}

// Entries

static bb_status print_points(gpu_writer *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    char range[BB_EMISSION_NAME_BYTES];
    for (int k = 0; k < program->space.dimensions; ++k) {
        if (writer->by_lanes) {
            BB_TRY(bb_emission_line(base, "const bb_index x%d = %s;", k, writer->words->group[k]));
        } else {
            BB_TRY(bb_emission_line(base, "const bb_index x%d = %s * %s + %s;", k,
                                    writer->words->group[k], writer->words->group_items[k],
                                    writer->words->item[k]));
            BB_TRY(bb_emission_line(base, "if (x%d >= %s) return;", k,
                                    bb_emission_name(base, program->space.ranges[k], range)));
        }
    }
    BB_TRY(print_open(writer, "for (int once = 0; once < 1; ++once) {"));
    BB_TRY(print_steps(writer, &program->body));
    BB_TRY(print_close(writer));
done:
    return status;
}

// A chunk of the space is a work-group, one item after another a lane.
static bb_status print_reduction(gpu_writer *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    const bb_reduction *reduction = &program->reduction;
    const int number = program->iterator_count;
    const bb_index chunk = reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX;
    char ranges[BB_PROGRAM_DIMENSIONS][BB_EMISSION_NAME_BYTES] = {"", "1"};
    char text[BB_EMISSION_NAME_BYTES];
    for (int k = 0; k < program->space.dimensions; ++k) {
        (void)bb_emission_name(base, program->space.ranges[k], ranges[k]);
    }
    BB_TRY(bb_emission_line(base, "const bb_index n0 = %s > 0 ? %s : 0, n1 = %s > 0 ? %s : 0;",
                            ranges[0], ranges[0], ranges[1], ranges[1]));
    BB_TRY(bb_emission_line(base, "const bb_index n = n0 * n1, chunk = %td%s;", chunk,
                            base->dialect->index_suffix));
    BB_TRY(bb_emission_line(base, "const bb_index item = %s;", writer->words->group[0]));
    BB_TRY(bb_emission_line(base, "const bb_index c = item > 0 ? item * chunk : 0;"));
    BB_TRY(bb_emission_line(base, "const bb_index z = n - c < chunk ? n : c + chunk;"));
    BB_TRY(print_chunk_start(writer, reduction, number, "c == 0"));
    (void)snprintf(text, sizeof text, "acc%d", number);
    BB_TRY(bb_emission_line(base, "for (bb_index j = c + lane; j < z; j += %td) {",
                            reduction->order.lanes));
    ++base->depth;
    BB_TRY(bb_emission_line(base, program->space.dimensions == 1
                                      ? "const bb_index x0 = j;"
                                      : "const bb_index x1 = j / n0, x0 = j - x1 * n0;"));
    BB_TRY(print_steps(writer, &program->body));
    BB_TRY(bb_emission_take(base, reduction, text));
    BB_TRY(print_close(writer));
    BB_TRY(print_chunk_end(writer, reduction, number));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "if (lane == 0) p%d[item] = t%d[0][%d];", k, number, k));
    }
done:
    return status;
}

// One work-group joins the chunks' parts, its work-items being lanes, and the first one runs what
// comes after the space.
static bb_status print_finish(gpu_writer *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    const bb_reduction *reduction = &program->reduction;
    const int number = program->iterator_count;
    const bb_index chunk = reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX;
    BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
    BB_TRY(bb_emission_line(base, "if (parts == 1) {"));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "    u%d.lane[0][0][0][%d] = p%d[0];", number, k, k));
    }
    BB_TRY(bb_emission_line(base, "} else {"));
    ++base->depth;
    BB_TRY(bb_emission_line(base, "for (bb_index c = 0; c < parts; c += %td%s) {", chunk,
                            base->dialect->index_suffix));
    ++base->depth;
    BB_TRY(bb_emission_line(base, "const bb_index z = parts - c < %td%s ? parts : c + %td%s;",
                            chunk, base->dialect->index_suffix, chunk,
                            base->dialect->index_suffix));
    BB_TRY(print_chunk_start(writer, reduction, number, "0"));
    BB_TRY(bb_emission_line(base, "for (bb_index j = c + lane; j < z; j += %td) {",
                            reduction->order.lanes));
    ++base->depth;
    BB_TRY(bb_emission_line(base, "%s part[%d];", bb_emission_type(base, reduction->type),
                            reduction->count));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "part[%d] = p%d[j];", k, k));
    }
    BB_TRY(bb_emission_line(base, "bb_join%d(acc%d, part);", number, number));
    BB_TRY(print_close(writer));
    BB_TRY(print_chunk_end(writer, reduction, number));
    BB_TRY(bb_emission_line(base,
                            "if (lane == 0) { for (int k = 0; k < %d; ++k) u%d.lane[0][0][0][k] = "
                            "t%d[0][k]; bb_push%d(&u%d, 0, 1); }",
                            reduction->count, number, number, number, number));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    BB_TRY(print_close(writer));
    BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, 1);", number, number));
    BB_TRY(print_close(writer));
    BB_TRY(bb_emission_line(base, "if (lane > 0) return;"));
    BB_TRY(bb_emission_sum_outputs(base, reduction, number, "0"));
    BB_TRY(print_open(writer, "for (int once = 0; once < 1; ++once) {"));
    writer->by_lanes = false;
    BB_TRY(print_steps(writer, &program->final));
    writer->by_lanes = true;
    BB_TRY(print_close(writer));
done:
    return status;
}

// "(__global const float *restrict o0, ..., const long parts)"
static bb_status print_signature(gpu_writer *writer, const bb_emission *emission, const char *entry)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    const char *restricted = writer->words == &words_opencl ? "restrict" : "__restrict__";
    BB_TRY(bb_text_add(base->out, "\n%s %s(", writer->words->entry, entry));
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        BB_TRY(bb_text_add(base->out, "%s%s%s%s *%s o%d", i > 0 ? ", " : "", writer->words->global,
                           object->is_written ? "" : "const ", bb_emission_type(base, object->type),
                           restricted, i));
    }
    for (int i = 0; i < emission->value_count; ++i) {
        const int value = emission->values[i];
        BB_TRY(bb_text_add(base->out, ", const %s h%d",
                           bb_emission_type(base, program->values[value].type), value));
    }
    for (int k = 0; program->has_reduction && k < program->reduction.count; ++k) {
        BB_TRY(bb_text_add(base->out, ", %s%s *%s p%d", writer->words->global,
                           bb_emission_type(base, program->reduction.type), restricted, k));
    }
    BB_TRY(
        bb_text_add(base->out, "%s)\n{\n", program->has_reduction ? ", const bb_index parts" : ""));
done:
    return status;
}

static bb_status print_entry(gpu_writer *writer, const bb_emission *emission, const char *entry,
                             const bb_text *body)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    BB_TRY(print_signature(writer, emission, entry));
    base->depth = 1;
    if (writer->by_lanes) {
        BB_TRY(bb_emission_line(base, "const bb_index lane = %s;", writer->words->item[0]));
        for (int i = 0; i < program->iterator_count && !program->has_reduction; ++i) {
            if (program->iterators[i].reduction.order.lanes > 1) {
                BB_TRY(print_shared(writer, &program->iterators[i].reduction, i));
            }
        }
        if (program->has_reduction) {
            BB_TRY(print_shared(writer, &program->reduction, program->iterator_count));
        }
    }
    BB_TRY(bb_text_add(base->out, "%s}\n", bb_text_string(body)));
done:
    return status;
}

static bb_status print_sums(gpu_writer *writer)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->base->program;
    for (int i = 0; i <= program->iterator_count; ++i) {
        const bb_reduction *reduction =
            i < program->iterator_count ? &program->iterators[i].reduction : &program->reduction;
        if (i < program->iterator_count || program->has_reduction) {
            BB_TRY(bb_emission_sum(writer->base, reduction, i, 1));
            BB_TRY(print_shared_join(writer, reduction, i));
        }
    }
done:
    return status;
}

// Whether work-items are lanes: of the space's ICF, or of an iterator of each point.
static bool runs_by_lanes(const bb_program *program)
{
    bool by_lanes = program->has_reduction;
    for (int i = 0; i < program->iterator_count; ++i) {
        by_lanes = by_lanes || program->iterators[i].reduction.order.lanes > 1;
    }
    return by_lanes;
}

bb_status bb_emission_fill_gpu(bb_emission_writer *base, bb_emission_target target,
                               bb_emission *emission)
{
    bb_status status = BB_OK;
    const bb_program *program = base->program;
    bb_text bodies[2] = {{0}, {0}};
    gpu_writer writer = {.base = base,
                         .words = target == BB_EMISSION_OPENCL ? &words_opencl : &words_cuda,
                         .by_lanes = runs_by_lanes(program)};
    base->depth = 1;
    base->out = &bodies[0];
    if (program->has_reduction) {
        // Iterators inside a chunk's item are the work-item's own.
        writer.by_lanes = false;
        BB_TRY(print_reduction(&writer));
        writer.by_lanes = true;
        base->out = &bodies[1];
        BB_TRY(print_finish(&writer));
        emission->tile = 0;
        emission->finish_items = program->reduction.order.lanes;
    } else {
        BB_TRY(print_points(&writer));
        emission->tile = writer.by_lanes ? 1 : emission->body_items[0];
        emission->finish_items = 1;
    }
    if (writer.by_lanes) {
        emission->body_items[0] =
            program->has_reduction ? program->reduction.order.lanes : BB_PROGRAM_LANES;
        emission->body_items[1] = 1;
    }
    BB_TRY(bb_emission_list_values(base, emission));
    base->out = &emission->source;
    base->depth = 0;
    BB_TRY(bb_emission_prologue(base));
    BB_TRY(print_sums(&writer));
    BB_TRY(print_entry(&writer, emission, BB_EMISSION_BODY, &bodies[0]));
    if (program->has_reduction) {
        BB_TRY(print_entry(&writer, emission, BB_EMISSION_FINISH, &bodies[1]));
    }
done:
    bb_text_release(&bodies[0]);
    bb_text_release(&bodies[1]);
    return status;
}
