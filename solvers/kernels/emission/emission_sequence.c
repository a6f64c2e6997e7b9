// SPDX-License-Identifier: Apache-2.0
//
// Layout of a table row: the member, the number of points, the number along dimension 0 and its
// reciprocal, each half a word; one address per object; values of half a word to two words. Names
// in the texts: `row` is the row of the step, `numbers` its halves, `item` the index of the
// work-item, p the index of a point, x0, x1 the point.
#include "solvers/kernels/emission/emission_sequence.h"

#include "core/device/build.h"
#include "core/memory.h"
#include "solvers/kernels/emission/emission_steps.h"
#include "solvers/kernels/program/evaluation.h"

/// Indices of half words.
enum { MEMBER, POINTS, COLUMNS, INVERSE, HEAD_HALVES };
enum { HALVES = 2, HALF_BYTES = 4 }; ///< bits of a word

/// p / n equals p (2^31 / n + 1) / 2^31 in integers if p n < 2^31, which holds for few points.
enum { INVERSE_BITS = 31 };

// Differences between C and CUDA. In C one thread runs all work-items in turn, so a step ends with
// the loop over them.
typedef struct sequence_words {
    const char *word;  ///< type of an element of the table
    const char *loop;  ///< text before the loop over a step's points
    const char *entry; ///< text up to where the row and the work-item of a step are known
    const char *end;   ///< text after the call of the step's function
} sequence_words;

static const sequence_words words_c = {
    .word = "uint64_t",
    .loop = "",
    .entry =
        "\nvoid " BB_EMISSION_BODY "(const void *const *arguments, int64_t begin, int64_t end)\n"
        "{\n"
        "    const bb_word *table = (const bb_word *)arguments[0];\n"
        "    const int first = *(const int32_t *)arguments[1];\n"
        "    const int behind = *(const int32_t *)arguments[2];\n"
        "    (void)begin;\n"
        "    (void)end;\n"
        "    for (int step = first; step < behind; ++step) {\n"
        "        const bb_word *row = table + (int64_t)step * bb_row_words;\n"
        "        for (int item = 0; item < bb_items; ++item) {\n",
    .end = "        }\n"
           "    }\n"
           "}\n",
};

// A step's row is loaded during the previous step. Loops are not unrolled, because points that wait
// for the writes of the previous step gain nothing from longer code.
static const sequence_words words_cuda = {
    .word = "unsigned long long",
    .loop = "#pragma unroll 1\n",
    .entry = "\nextern \"C\" __global__ void __launch_bounds__(bb_items) " BB_EMISSION_BODY
             "(const bb_word *table, const int first, const int behind)\n"
             "{\n"
             "    __shared__ __align__(16) bb_word rows[2][bb_row_words];\n"
             "    const int item = (int)threadIdx.x;\n"
             "    if (item < bb_row_words)\n"
             "        rows[first & 1][item] = table[first * bb_row_words + item];\n"
             "    __syncthreads();\n"
             "    for (int step = first; step < behind; ++step) {\n"
             "        const bb_word *row = rows[step & 1];\n"
             "        const bool fetches = item < bb_row_words && step + 1 < behind;\n"
             "        const bb_word next = fetches ? table[(step + 1) * bb_row_words + item] : 0;\n"
             "        {\n",
    .end = "        }\n"
           "        if (fetches) rows[(step + 1) & 1][item] = next;\n"
           "        __syncthreads();\n"
           "    }\n"
           "}\n",
};

bool bb_emission_sequence_supports(const bb_binding *binding)
{
    const int64_t limit = (int64_t)1 << 30; // sums and differences of two values do not overflow
    const bb_program *program = binding->program;
    int words = program->object_count;
    bool serves = !program->has_reduction && program->iterator_count == 0 &&
                  binding->ranges[0] * binding->ranges[1] <= BB_EMISSION_SEQUENCE_POINTS &&
                  binding->farthest < limit;
    for (int i = 0; i < program->object_count; ++i) {
        serves = serves && binding->data[i].columns * binding->data[i].rows < limit;
    }
    for (int i = 0; i < program->value_count; ++i) {
        const bb_value *value = &program->values[i];
        if (value->scope == BB_SCOPE_HOST) {
            const int64_t number = binding->values[i].integer;
            ++words;
            serves =
                serves && (value->type != BB_ELEMENT_INDEX || (number > -limit && number < limit));
        }
    }
    return serves && words <= BB_LAUNCH_MAX_ARGUMENTS;
}

// Position of the next value. Integers have 32 bits in rows; other values are aligned to their
// size, but at most to a word. Advances the position.
static int place_value(bb_element_type type, int *next)
{
    const size_t bytes = type == BB_ELEMENT_INDEX ? HALF_BYTES : bb_element_type_row(type)->bytes;
    const int halves = bytes < HALF_BYTES ? 1 : (int)(bytes / HALF_BYTES);
    const int place = halves > 1 ? (*next + 1) / HALVES * HALVES : *next;
    *next = place + halves;
    return place;
}

// Appends "const float h3 = *(const float *)(numbers + 5);"
static void print_value(bb_emission_writer *writer, int value, int place)
{
    const bb_element_type type = writer->program->values[value].type;
    const bb_element_row *row = bb_element_type_row(type);
    const char *name = bb_emission_type(writer, type);
    if (row->parts == 2) { // a type may have a larger alignment than a word
        const char *part = bb_emission_type(writer, row->part);
        return bb_emission_line(writer,
                                "const %s h%d = bb_pair_%c(((const %s *)(numbers + %d))[0], "
                                "((const %s *)(numbers + %d))[1]);",
                                name, value, type == BB_ELEMENT_SP2 ? 'c' : 'z', part, place, part,
                                place);
    }
    bb_emission_line(writer, "const %s h%d = *(const %s *)(numbers + %d);", name, value, name,
                     place);
}

// Appends the declarations of a member's row, and returns its length in words.
static void print_row(bb_emission_writer *writer, const bb_emission_member *member, bb_index *words)
{
    const bb_program *program = writer->program;
    const char *natural = writer->dialect->unsigned_names[0];
    int next = HEAD_HALVES;
    bb_emission_line(writer, "const int *numbers = (const int *)row;");
    bb_emission_line(writer, "const int points = numbers[%d];", POINTS);
    bb_emission_line(writer, "if (item >= points) return;");
    if (program->space.dimensions == 2) {
        bb_emission_line(writer, "const int n0 = numbers[%d];", COLUMNS);
        bb_emission_line(writer, "const %s inverse = (%s)numbers[%d];", natural, natural, INVERSE);
    }
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        const char *constant = object->is_written ? "" : "const ";
        const char *type = bb_emission_type(writer, object->type);
        bb_emission_line(writer, "%s%s *o%d = (%s%s *)row[%d];", constant, type, i, constant, type,
                         next / HALVES);
        next += HALVES;
    }
    for (int i = 0; i < member->value_count; ++i) {
        const int value = member->values[i];
        print_value(writer, value, place_value(program->values[value].type, &next));
    }
    *words = (next + HALVES - 1) / HALVES;
}

// A skipped point continues with the next one of the loop.
static void print_points(bb_emission_writer *writer, const sequence_words *language)
{
    const bb_program *program = writer->program;
    const char *natural = writer->dialect->unsigned_names[0];
    writer->depth = 1;
    bb_emission_add(writer, "%s", language->loop);
    bb_emission_line(writer, "for (int p = item; p < points; p += bb_items) {");
    if (program->space.dimensions == 2) {
        bb_emission_line(writer, "const bb_index x1 = (bb_index)((bb_word)(%s)p * inverse >> %d);",
                         natural, INVERSE_BITS);
        bb_emission_line(writer, "const bb_index x0 = p - x1 * n0;");
    } else {
        bb_emission_line(writer, "const bb_index x0 = p;");
    }
    for (int i = 0; i < program->body.count; ++i) {
        bb_emission_step(writer, program->body.steps[i]);
    }
    bb_emission_line(writer, "}");
}

// Appends the function of a member; its row layout is known only after its body.
static void print_member(bb_emission_writer *writer, const sequence_words *language,
                         bb_emission_member *member, int number, bb_index *row_words)
{
    bb_emission listed = {.values = NULL};
    bb_text body = {0};
    bb_text *out = writer->out;
    bb_index words = 0;
    writer->program = member->program;
    writer->is_inside = member->is_inside;
    if (!bb_emission_try(writer, BB_ZEROED(member->program->value_count, &writer->is_used))) {
        goto done;
    }
    writer->out = &body;
    print_points(writer, language);
    bb_emission_list_values(writer, &listed);
    member->values = listed.values;
    member->value_count = listed.value_count;
    writer->out = out;
    writer->depth = 0;
    bb_emission_line(writer, "\nBB_FUNCTION void bb_step%d(const bb_word *row, const int item)",
                     number);
    bb_emission_line(writer, "{");
    print_row(writer, member, &words);
    bb_emission_add(writer, "%s}\n", bb_text_string(&body));
    *row_words = words > *row_words ? words : *row_words;
done:
    bb_text_release(&body);
    BB_RELEASE(&writer->is_used);
}

static void print_text(bb_emission_writer *writer, const sequence_words *language,
                       bb_emission_sequence *sequence)
{
    bb_text functions = {0};
    writer->out = &functions;
    for (int i = 0; i < sequence->count; ++i) {
        print_member(writer, language, &sequence->members[i], i, &sequence->row_words);
    }
    sequence->row_words += sequence->row_words % 2; // rows begin at a multiple of two words
    writer->out = &sequence->source;
    bb_emission_add(writer, "%s", language == &words_c ? bb_emission_plain_loops : "");
    bb_emission_prologue(writer);
    bb_emission_add(writer, "typedef %s bb_word;\nenum { bb_items = %td, bb_row_words = %td };\n%s",
                    language->word, sequence->items, sequence->row_words,
                    bb_text_string(&functions));
    bb_emission_add(writer, "%s            switch (((const int *)row)[%d]) {\n", language->entry,
                    MEMBER);
    for (int i = 0; i < sequence->count; ++i) {
        bb_emission_add(writer, "            case %d: bb_step%d(row, item); break;\n", i, i);
    }
    bb_emission_add(writer, "            }\n%s", language->end);
    bb_text_release(&functions);
}

bb_status bb_emission_sequence_create(bb_emission_target target, const bb_emission_member *members,
                                      int count, bb_emission_sequence *out)
{
    bb_status status = BB_OK;
    const bool is_c = target == BB_EMISSION_C;
    bb_expression_dialect narrow = is_c ? bb_expression_dialect_c : bb_expression_dialect_cuda;
    bb_emission_writer writer = {.dialect = &narrow};
    bb_emission_sequence sequence = {.count = count, .items = BB_EMISSION_SEQUENCE_ITEMS};
    narrow.type_names[BB_ELEMENT_INDEX] = narrow.type_names[BB_ELEMENT_INT32];
    narrow.unsigned_names[1] = narrow.unsigned_names[0];
    narrow.index_suffix = "";
    BB_TRY(BB_ZEROED(count, &sequence.members));
    for (int i = 0; i < count; ++i) {
        sequence.members[i] =
            (bb_emission_member){.program = members[i].program, .is_inside = members[i].is_inside};
    }
    print_text(&writer, is_c ? &words_c : &words_cuda, &sequence);
    BB_TRY(writer.status);
    *out = sequence;
    sequence = (bb_emission_sequence){.count = 0};
done:
    bb_emission_sequence_release(&sequence);
    return status;
}

void bb_emission_sequence_release(bb_emission_sequence *sequence)
{
    for (int i = 0; sequence->members != NULL && i < sequence->count; ++i) {
        BB_RELEASE(&sequence->members[i].values);
    }
    BB_RELEASE(&sequence->members);
    bb_text_release(&sequence->source);
    *sequence = (bb_emission_sequence){.count = 0};
}

void bb_emission_sequence_row(const bb_emission_sequence *sequence, int member,
                              const bb_binding *binding, void *const *blocks, uint64_t *row)
{
    const bb_emission_member *function = &sequence->members[member];
    const bb_program *program = function->program;
    const uint64_t columns = (uint64_t)binding->ranges[0];
    uint32_t *numbers = (uint32_t *)row;
    int next = HEAD_HALVES;
    numbers[MEMBER] = (uint32_t)member;
    numbers[POINTS] = (uint32_t)(columns * (uint64_t)binding->ranges[1]);
    numbers[COLUMNS] = (uint32_t)columns;
    numbers[INVERSE] = (uint32_t)(columns > 0 ? ((uint64_t)1 << INVERSE_BITS) / columns + 1 : 0);
    for (int i = 0; i < program->object_count; ++i) {
        row[next / HALVES] = (uint64_t)(uintptr_t)blocks[i];
        next += HALVES;
    }
    for (int i = 0; i < function->value_count; ++i) {
        const int value = function->values[i];
        const bb_element_type type = program->values[value].type;
        bb_evaluation_store(type == BB_ELEMENT_INDEX ? BB_ELEMENT_INT32 : type,
                            numbers + place_value(type, &next), 0, binding->values[value]);
    }
}
