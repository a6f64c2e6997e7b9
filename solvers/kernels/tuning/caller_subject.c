// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/caller_subject.h"

#include "core/memory.h"
#include "solvers/kernels/program/evaluation.h"

#include <stdio.h>
#include <string.h>

// Stand-in elements if only sizes are given: real numbers in [-1, 1) and truth values computed from
// object and index; integers below the largest extent for which the program binds. Integers that
// bound an iterator rise from 0 to a separate limit, like the row starts of a sparse matrix.

// INT32 elements are in [0, index); those that determine a range are in [0, range].
typedef struct caller_limits {
    bb_index index, range;
} caller_limits;

enum { MOST_LIMITS = 12, OBJECT_STRIDE = 7919, ROW_PERIOD = 4 };

// Marks the objects from which a value is read; each value is visited once.
static void mark(const bb_program *program, int number, bool *is_seen, bool *is_range)
{
    const bb_value *value = &program->values[number];
    if (is_seen[number]) {
        return;
    }
    is_seen[number] = true;
    if (value->kind == BB_VALUE_READ) {
        is_range[program->steps[value->owner].object] = true;
    } else if (value->kind == BB_VALUE_FUNCTION) {
        const bb_step *step = &program->steps[value->owner];
        for (int i = 0; i < step->expression.inputs; ++i) {
            mark(program, step->inputs[i], is_seen, is_range);
        }
    } else if (value->kind == BB_VALUE_REDUCTION && value->owner >= 0) {
        const bb_reduction *reduction = &program->iterators[value->owner].reduction;
        for (int i = 0; i < reduction->count; ++i) {
            mark(program, reduction->inputs[i], is_seen, is_range);
        }
    }
}

// Marks the objects [object_count] whose elements determine the range of an iterator.
static bb_status caller_elements_find_ranges(const bb_program *program, bool *is_range)
{
    bb_status status = BB_OK;
    bool *is_seen = NULL;
    BB_TRY(BB_ZEROED(program->value_count + 1, &is_seen));
    for (int i = 0; i < program->object_count; ++i) {
        is_range[i] = false;
    }
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_iteration_space *space = &program->iterators[i].space;
        for (int k = 0; k < space->dimensions; ++k) {
            mark(program, space->ranges[k], is_seen, is_range);
        }
    }
done:
    BB_RELEASE(&is_seen);
    return status;
}

static uint32_t hash_of(int object, bb_index index)
{
    return ((uint32_t)index + (uint32_t)object * OBJECT_STRIDE) * 2654435761U >> 8;
}

// Number in [-1, 1) that differs between objects, so that the difference of two objects is nonzero.
static inline double number_at(int object, bb_index index)
{
    return (double)hash_of(object, index) * 0x1p-23 - 1.0;
}

// Rises from 0 to `range`; two of four steps are 0, like empty rows.
static int32_t rising_at(bb_index index, bb_index count, bb_index range)
{
    const bb_index place =
        index % ROW_PERIOD < 3 && index + 1 < count ? index - index % ROW_PERIOD : index;
    return count < 2 ? 0 : (int32_t)((double)range * (double)place / (double)(count - 1));
}

static void fill_integers(const bool *is_range, caller_limits limits, int object, bb_index count,
                          int32_t *elements)
{
    for (bb_index k = 0; k < count; ++k) {
        elements[k] = is_range[object] ? rising_at(k, count, limits.range)
                                       : (int32_t)((bb_index)hash_of(object, k) % limits.index);
    }
}

// Fills an object's elements.
static void caller_elements_fill(const bb_program *program, const bool *is_range,
                                 caller_limits limits, int object, const bb_program_data *data)
{
    const bb_element_type type = program->objects[object].type;
    const bb_index count = data->columns * data->rows;
    if (type == BB_ELEMENT_INT32) {
        fill_integers(is_range, limits, object, count, data->elements);
        return;
    }
    for (bb_index k = 0; k < count && type == BB_ELEMENT_SP; ++k) {
        ((float *)data->elements)[k] = (float)number_at(object, k);
    }
    for (bb_index k = 0; k < count && type == BB_ELEMENT_DP; ++k) {
        ((double *)data->elements)[k] = number_at(object, k);
    }
    for (bb_index k = 0; k < count && type != BB_ELEMENT_SP && type != BB_ELEMENT_DP; ++k) {
        const double number = number_at(object, k);
        bb_evaluation_store(type, data->elements, k,
                            (bb_scalar){{number, -number}, hash_of(object, k) % 3 == 0});
    }
}

// Lists the distinct extents, the largest first, then 1; returns their number.
static int list_limits(const bb_program *program, const bb_program_data *data,
                       bb_index out[MOST_LIMITS])
{
    int count = 0;
    bb_index below = INT32_MAX;
    while (count < MOST_LIMITS - 1) {
        bb_index largest = 1;
        for (int i = 0; i < 2 * program->object_count; ++i) {
            const bb_index extent = i % 2 == 0 ? data[i / 2].columns : data[i / 2].rows;
            largest = extent < below && extent > largest ? extent : largest;
        }
        if (largest == 1) {
            break;
        }
        out[count++] = largest;
        below = largest;
    }
    out[count++] = 1;
    return count;
}

// Allocates the integers, the only elements that are read when a program is bound.
static bb_status allocate_integers(const bb_program *program, bb_program_data *data)
{
    bb_status status = BB_OK;
    for (int i = 0; i < program->object_count; ++i) {
        if (program->objects[i].type == BB_ELEMENT_INT32 && program->objects[i].is_read &&
            data[i].columns >= 0 && data[i].rows >= 0) {
            BB_TRY(bb_memory_allocate(data[i].columns * data[i].rows, sizeof(int32_t),
                                      &data[i].elements));
        }
    }
done:
    return status;
}

static bb_status try_limits(const bb_program *program, const bb_scalar *parameters,
                            const bool *is_range, const bb_program_data *data, caller_limits limits,
                            bb_problems *problems, bb_binding *out)
{
    bb_status status = BB_OK;
    for (int i = 0; i < program->object_count; ++i) {
        if (data[i].elements != NULL) {
            caller_elements_fill(program, is_range, limits, i, &data[i]);
        }
    }
    bb_problems_release(problems);
    BB_TRY(bb_binding_create(program, data, parameters, problems, out));
    for (int i = 0; i < program->object_count && problems->count == 0; ++i) {
        out->data[i].elements = NULL;
    }
done:
    return status;
}

// Binds sizes `data` [object_count] without elements, with integers below the largest limits that
// bind. Problems with the smallest limits are added to `problems`; there is then no binding.
static bb_status caller_elements_bind(const bb_program *program, const bb_scalar *parameters,
                                      const bool *is_range, const bb_program_data *data,
                                      bb_problems *problems, caller_limits *limits, bb_binding *out)
{
    bb_status status = BB_OK;
    bb_program_data copies[BB_TRIAL_OBJECTS] = {{0}};
    bb_index list[MOST_LIMITS];
    bool has_indices = false;
    bool has_ranges = false;
    for (int i = 0; i < program->object_count; ++i) {
        copies[i] = (bb_program_data){.columns = data[i].columns, .rows = data[i].rows};
        const bool is_integer =
            program->objects[i].type == BB_ELEMENT_INT32 && program->objects[i].is_read;
        has_indices = has_indices || (is_integer && !is_range[i]);
        has_ranges = has_ranges || (is_integer && is_range[i]);
    }
    BB_TRY(allocate_integers(program, copies));
    const int count = list_limits(program, data, list);
    for (int r = has_ranges ? 0 : count - 1; r < count; ++r) {
        for (int i = has_indices ? 0 : count - 1; i < count; ++i) {
            *limits = (caller_limits){.index = list[i], .range = list[r]};
            BB_TRY(try_limits(program, parameters, is_range, copies, *limits, problems, out));
            if (problems->count == 0) {
                goto done;
            }
        }
    }
done:
    for (int i = 0; i < program->object_count; ++i) {
        BB_RELEASE(&copies[i].elements);
    }
    return status;
}

// Small shapes for verification. Extents of objects depend on each other in ways that only the
// program knows (equal, a fine grid of twice a coarse one, rows plus one). Sizes are therefore
// scaled in several ways, and those that bind become shapes: columns and rows separately, each
// extent as a multiple of the smallest plus a remainder (at most 16, otherwise in proportion); each
// extent by its rank; all by one factor. Extents up to 16 are kept, except by rank. Sizes that are
// small themselves are also a shape.

enum { CALLER_SHAPES = BB_TRIAL_SHAPES + 1 };

typedef struct caller_shape {
    bb_trial_data sizes; // without elements
    caller_limits limits;
} caller_shape;

enum { SMALL_EXTENT = 16, MOST_ELEMENTS = 1 << 18, MOST_OF_SET = 1 << 14 };

// Ways to scale sizes, in the order in which every second shape tries them.
typedef enum scaling { BY_AXIS, BY_RANK, BY_LARGE_RANK, BY_FACTOR, SCALINGS } scaling;

typedef struct search {
    const bb_binding *set;
    const bb_scalar *parameters;
    const bool *is_range;
    bb_problems problems; // problems of the last sizes that did not bind
} search;

static bb_index extent_of(const bb_program_data *data, int slot)
{
    return slot % 2 == 0 ? data[slot / 2].columns : data[slot / 2].rows;
}

// Smallest extent above SMALL_EXTENT, of columns (0), rows (1) or both (2); 0: there is none.
static bb_index find_base(const search *self, int axis)
{
    bb_index base = 0;
    for (int slot = 0; slot < 2 * self->set->program->object_count; ++slot) {
        const bb_index extent = extent_of(self->set->data, slot);
        if ((axis == 2 || slot % 2 == axis) && extent > SMALL_EXTENT &&
            (base == 0 || extent < base)) {
            base = extent;
        }
    }
    return base;
}

// Number of distinct extents that are larger.
static int rank_of(const search *self, bb_index extent)
{
    int rank = 0;
    for (int slot = 0; slot < 2 * self->set->program->object_count; ++slot) {
        const bb_index larger = extent_of(self->set->data, slot);
        bool is_new = larger > extent;
        for (int k = 0; k < slot && is_new; ++k) {
            is_new = extent_of(self->set->data, k) != larger;
        }
        rank += is_new;
    }
    return rank;
}

// Scales a multiple of the base plus a remainder, or in proportion.
static bb_index scaled(bb_index extent, bb_index base, bb_index target)
{
    if (extent <= SMALL_EXTENT || base == 0) {
        return extent;
    }
    const bb_index factor = (extent + base / 2) / base;
    const bb_index remainder = extent - factor * base;
    if (remainder >= -SMALL_EXTENT && remainder <= SMALL_EXTENT) {
        return factor * target + remainder > 0 ? factor * target + remainder : 1;
    }
    return (bb_index)((double)extent * (double)target / (double)base) + 1;
}

static bb_index replaced(const search *self, scaling way, const bb_index *shape, int slot)
{
    const bb_index extent = extent_of(self->set->data, slot);
    const int axis = way == BY_AXIS ? slot % 2 : 2;
    if (extent <= 1 || (way == BY_LARGE_RANK && extent <= SMALL_EXTENT)) {
        return extent;
    }
    if (way == BY_RANK || way == BY_LARGE_RANK) {
        const int rank = rank_of(self, extent);
        return rank < BB_TRIAL_EXTENTS ? shape[rank] : shape[BB_TRIAL_EXTENTS - 1];
    }
    return scaled(extent, find_base(self, axis), shape[axis == 2 ? 0 : axis]);
}

static double elements_of(const bb_program *program, const bb_program_data *data)
{
    double elements = 0.0;
    for (int i = 0; i < program->object_count; ++i) {
        elements += (double)data[i].columns * (double)data[i].rows;
    }
    return elements;
}

// True if sizes bind and have points; `strictly`: accesses may leave objects only where those of
// the set do.
static bb_status try_sizes(search *self, bool strictly, caller_shape *shape, bool *binds)
{
    bb_status status = BB_OK;
    const bb_program *program = self->set->program;
    bb_binding binding = {.program = NULL};
    *binds = false;
    if (elements_of(program, shape->sizes.objects) > MOST_ELEMENTS) {
        goto done;
    }
    BB_TRY(caller_elements_bind(program, self->parameters, self->is_range, shape->sizes.objects,
                                &self->problems, &shape->limits, &binding));
    *binds = self->problems.count == 0 && binding.ranges[0] > 0 && binding.ranges[1] > 0 &&
             (!strictly ||
              bb_binding_find_outside(&binding, self->set->is_inside) == program->step_count);
done:
    bb_binding_release(&binding);
    return status;
}

static bool has_sizes(const bb_trial_data *data, const bb_program_data *sizes)
{
    bool is_same = true;
    for (int i = 0; i < data->count; ++i) {
        is_same = is_same && data->objects[i].columns == sizes[i].columns &&
                  data->objects[i].rows == sizes[i].rows;
    }
    return is_same;
}

static bool is_known(const caller_shape *shapes, int count)
{
    bool known = false;
    for (int i = 0; i < count; ++i) {
        known = known || has_sizes(&shapes[i].sizes, shapes[count].sizes.objects);
    }
    return known;
}

static void compute_sizes(const search *self, int way, const bb_index *shape, bb_trial_data *out)
{
    const bb_program *program = self->set->program;
    *out = (bb_trial_data){.count = program->object_count};
    for (int i = 0; i < program->object_count; ++i) {
        bb_program_data *object = &out->objects[i];
        object->columns =
            shape == NULL ? self->set->data[i].columns : replaced(self, (scaling)way, shape, 2 * i);
        object->rows = shape == NULL ? self->set->data[i].rows
                                     : replaced(self, (scaling)way, shape, 2 * i + 1);
    }
    (void)snprintf(out->name, sizeof out->name, "%.24s=%tdx%td", program->objects[0].name,
                   out->objects[0].columns, out->objects[0].rows);
}

// Adds a shape by the first scaling that binds and is new.
static bb_status add_shape(search *self, int number, caller_shape *shapes, int *count)
{
    bb_status status = BB_OK;
    for (int k = 0; k < 2 * SCALINGS; ++k) {
        const bool strictly = k < SCALINGS;
        const int place = k % SCALINGS;
        const int way = number % 2 == 1 && place < 2 ? 1 - place : place;
        bool binds = false;
        compute_sizes(self, way, bb_trial_shapes[number], &shapes[*count].sizes);
        BB_TRY(try_sizes(self, strictly, &shapes[*count], &binds));
        if (binds && !is_known(shapes, *count)) {
            ++*count;
            break;
        }
    }
done:
    return status;
}

// Finds 1 to CALLER_SHAPES distinct shapes with points. `set` is the program bound to its sizes,
// `limits` those of its integers; a small set is the first shape. Shapes whose accesses leave
// objects only where those of the set do are preferred.
static bb_status caller_shapes_find(const bb_binding *set, const bb_scalar *parameters,
                                    const bool *is_range, caller_limits limits,
                                    caller_shape *shapes, int *count)
{
    bb_status status = BB_OK;
    search self = {.set = set, .parameters = parameters, .is_range = is_range};
    compute_sizes(&self, 0, NULL, &shapes[0].sizes);
    shapes[0].limits = limits;
    *count = elements_of(set->program, set->data) <= MOST_OF_SET;
    for (int i = 0; i < BB_TRIAL_SHAPES; ++i) {
        BB_TRY(add_shape(&self, i, shapes, count));
    }
    const bb_text *lines = &self.problems.lines;
    BB_REQUIRE(*count > 0, BB_INVALID,
               "kernel %s: no small shape derived from these sizes binds and has points, so "
               "variants cannot be verified%s%.*s",
               set->program->name, lines->length > 0 ? ": " : "",
               lines->length > 0 ? (int)lines->length - 1 : 0, bb_text_string(lines));
done:
    bb_problems_release(&self.problems);
    return status;
}

struct bb_caller_subject {
    const bb_program *program;
    const char *name;
    bb_program_data data[BB_TRIAL_OBJECTS]; // elements borrowed, or NULL
    bool has_elements;
    bool is_range[BB_TRIAL_OBJECTS];
    caller_limits limits; // limits of the set's integers
    caller_shape shapes[CALLER_SHAPES];
    int shape_count;
    bb_tuning_subject table;
};

// Fills the caller's elements, or stand-ins for them.
static void fill(const bb_caller_subject *self, bool is_set, caller_limits limits,
                 bb_trial_data *data)
{
    for (int i = 0; i < data->count; ++i) {
        const size_t bytes = bb_trial_data_object_bytes(self->program, data, i);
        if (!is_set || self->data[i].elements == NULL) {
            caller_elements_fill(self->program, self->is_range, limits, i, &data->objects[i]);
        } else if (bytes > 0) {
            memcpy(data->objects[i].elements, self->data[i].elements, bytes);
        }
    }
}

static bb_status create_shape(const bb_tuning_subject *subject, int number, bb_trial_data *out)
{
    bb_status status = BB_OK;
    const bb_caller_subject *self = subject->context;
    const caller_shape *shape = &self->shapes[number];
    *out = shape->sizes;
    BB_TRY(bb_trial_data_allocate(self->program, out));
    fill(self, has_sizes(out, self->data), shape->limits, out);
done:
    return status;
}

static void size_set(const bb_tuning_subject *subject, int number, bb_trial_data *out)
{
    const bb_caller_subject *self = subject->context;
    (void)number;
    (void)snprintf(out->name, sizeof out->name, "%s", self->name);
    out->count = self->program->object_count;
    for (int i = 0; i < out->count; ++i) {
        out->objects[i] =
            (bb_program_data){.columns = self->data[i].columns, .rows = self->data[i].rows};
    }
}

static bb_status fill_set(const bb_tuning_subject *subject, int number, bb_trial_data *data)
{
    const bb_caller_subject *self = subject->context;
    (void)number;
    fill(self, true, self->limits, data);
    return BB_OK;
}

// Without elements from the caller, integers that determine a range cannot be invented.
static bb_status check_ranges(const bb_caller_subject *self)
{
    bb_status status = BB_OK;
    for (int i = 0; i < self->program->object_count && !self->has_elements; ++i) {
        BB_REQUIRE(!self->is_range[i], BB_UNSUPPORTED,
                   "kernel %s: the bounds of a sum depend on the elements of %s, not only on sizes",
                   self->program->name, self->program->objects[i].name);
    }
done:
    return status;
}

static bb_status bind(bb_caller_subject *self, const bb_scalar *parameters, bb_problems *problems,
                      bb_binding *out)
{
    bb_status status = BB_OK;
    const char *name = NULL;
    bb_index limit = 0;
    if (self->has_elements) {
        BB_TRY(bb_binding_create(self->program, self->data, parameters, problems, out));
        goto done;
    }
    BB_TRY(caller_elements_bind(self->program, parameters, self->is_range, self->data, problems,
                                &self->limits, out));
    name = bb_caller_subject_synthetic(self, &limit);
    BB_REQUIRE(
        problems->count == 0 || name == NULL, BB_UNSUPPORTED,
        "kernel %s does not bind with stand-in integers for %s, neither below an extent nor all 0",
        self->program->name, name);
done:
    return status;
}

static bb_status copy_data(bb_caller_subject *self, const bb_program_data *data)
{
    bb_status status = BB_OK;
    BB_REQUIRE(self->program->object_count <= BB_TRIAL_OBJECTS, BB_INVALID,
               "kernel %s has %d objects, but tuning supports at most %d", self->program->name,
               self->program->object_count, BB_TRIAL_OBJECTS);
    self->has_elements = false;
    for (int i = 0; i < self->program->object_count; ++i) {
        self->data[i] = data[i];
        self->has_elements = self->has_elements || data[i].elements != NULL;
    }
    BB_TRY(caller_elements_find_ranges(self->program, self->is_range));
    BB_TRY(check_ranges(self));
done:
    return status;
}

bb_status bb_caller_subject_create(const bb_program *program, const char *name,
                                   const bb_program_data *data, const bb_scalar *parameters,
                                   bb_problems *problems, bb_caller_subject **out)
{
    bb_status status = BB_OK;
    bb_caller_subject *made = NULL;
    bb_binding set = {.program = NULL};
    BB_TRY(BB_ZEROED(1, &made));
    made->program = program;
    made->name = name;
    BB_TRY(copy_data(made, data));
    BB_TRY(bind(made, parameters, problems, &set));
    if (problems->count > 0) {
        goto done;
    }
    BB_REQUIRE(set.ranges[0] > 0 && set.ranges[1] > 0, BB_INVALID,
               "kernel %s has no points at these sizes", program->name);
    BB_TRY(caller_shapes_find(&set, parameters, made->is_range, made->limits, made->shapes,
                              &made->shape_count));
    made->table = (bb_tuning_subject){.program = program,
                                      .parameters = parameters,
                                      .context = made,
                                      .shape_count = made->shape_count,
                                      .set_count = 1,
                                      .make_shape = create_shape,
                                      .size_set = size_set,
                                      .fill_set = fill_set};
    *out = made;
    made = NULL;
done:
    bb_binding_release(&set);
    bb_caller_subject_destroy(&made);
    return status;
}

void bb_caller_subject_destroy(bb_caller_subject **subject)
{
    BB_RELEASE(subject);
}

const bb_tuning_subject *bb_caller_subject_table(const bb_caller_subject *subject)
{
    return &subject->table;
}

const char *bb_caller_subject_synthetic(const bb_caller_subject *subject, bb_index *limit)
{
    for (int i = 0; i < subject->program->object_count && !subject->has_elements; ++i) {
        const bb_program_object *object = &subject->program->objects[i];
        if (object->type == BB_ELEMENT_INT32 && object->is_read) {
            *limit = subject->limits.index;
            return object->name;
        }
    }
    return NULL;
}
