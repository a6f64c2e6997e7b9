// SPDX-License-Identifier: Apache-2.0
//
// Proof that points may run in any order: no two points write the same element, and no point reads
// an element that another one writes.
//
// A write is injective if its coordinates determine all positions, one after another. A coordinate
// determines its open positions if it is linear in them and each coefficient is larger than the
// total range of the smaller ones. Two accesses of one object do not conflict if they address the
// same element only at the same point, if the intervals of a coordinate are disjoint, or if a
// coordinate differs modulo a small number for all positions (a red-black sweep writes one colour
// and reads the other).
#include "core/memory.h"
#include "solvers/kernels/program/affine.h"
#include "solvers/kernels/program/binding.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MODULUS = 16, MAX_FREE = 12, MAX_CASES = 1 << 20 };

typedef struct access {
    int step;
    bb_affine forms[BB_PROGRAM_DIMENSIONS];
    bb_interval intervals[BB_PROGRAM_DIMENSIONS];
    int count;
} access;

// Injectivity

static bool is_position(const bb_affine_system *system, int atom)
{
    return system->atoms[atom].kind == BB_ATOM_VALUE &&
           system->program->values[system->atoms[atom].value].kind == BB_VALUE_POSITION;
}

// True if an atom is determined: it contains only determined positions, and no data that is read.
static bool is_fixed(const bb_affine_system *system, const bool *fixed, int number)
{
    const bb_atom *atom = &system->atoms[number];
    if (fixed[number]) {
        return true;
    }
    if (atom->kind != BB_ATOM_QUOTIENT && atom->kind != BB_ATOM_REMAINDER) {
        return false;
    }
    for (int i = 0; i < atom->operand.count; ++i) {
        if (!is_fixed(system, fixed, atom->operand.terms[i].atom)) {
            return false;
        }
    }
    return true;
}

static int by_coefficient(const void *a, const void *b)
{
    const int64_t x = llabs(((const bb_affine_term *)a)->coefficient);
    const int64_t y = llabs(((const bb_affine_term *)b)->coefficient);
    return (x > y) - (x < y);
}

// Marks the positions that one coordinate determines; returns true if there are any.
static bool fix_by(const bb_affine_system *system, const bb_affine *form, bool *fixed)
{
    bb_affine_term open[BB_AFFINE_TERMS];
    int count = 0;
    for (int i = 0; i < form->count; ++i) {
        if (is_fixed(system, fixed, form->terms[i].atom)) {
            continue;
        }
        if (!is_position(system, form->terms[i].atom)) {
            return false;
        }
        open[count++] = form->terms[i];
    }
    qsort(open, (size_t)count, sizeof open[0], by_coefficient);
    int64_t reach = 0;
    for (int i = 0; i < count; ++i) {
        const bb_interval interval = system->atoms[open[i].atom].interval;
        int64_t width = 0;
        if (llabs(open[i].coefficient) <= reach ||
            __builtin_mul_overflow(llabs(open[i].coefficient), interval.maximum - interval.minimum,
                                   &width) ||
            __builtin_add_overflow(reach, width, &reach)) {
            return false;
        }
    }
    for (int i = 0; i < count; ++i) {
        fixed[open[i].atom] = true;
    }
    return count > 0;
}

// True if a boundary maps different coordinates of a write to different elements: periodic, if the
// range does not exceed the object. An access without a boundary that leaves its object has been
// reported already.
static bool is_boundary_injective(const bb_binding *binding, const access *write)
{
    const bb_step *step = &binding->program->steps[write->step];
    const bb_program_data *data = &binding->data[step->object];
    const int64_t extents[BB_PROGRAM_DIMENSIONS] = {data->columns, data->rows};
    bool apart = step->boundary == BB_BOUNDARY_PERIODIC;
    for (int k = 0; k < write->count && k < BB_PROGRAM_DIMENSIONS; ++k) {
        apart = apart && write->intervals[k].maximum - write->intervals[k].minimum < extents[k];
    }
    return apart || binding->is_inside[write->step] || step->boundary == BB_BOUNDARY_NONE ||
           step->boundary == BB_BOUNDARY_ZERO || step->boundary == BB_BOUNDARY_SKIP;
}

// True if the coordinates determine all positions of the write's spaces.
static bb_status is_injective(const bb_binding *binding, bb_affine_system *system,
                              const access *write, bool *out)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    const int iterator = program->steps[write->step].iterator;
    const bb_iteration_space *const spaces[2] = {
        &program->space, iterator >= 0 ? &program->iterators[iterator].space : NULL};
    int positions[2 * BB_PROGRAM_DIMENSIONS];
    int count = 0;
    bool *fixed = NULL;
    for (int s = 0; s < 2 && spaces[s] != NULL; ++s) {
        for (int k = 0; k < spaces[s]->dimensions; ++k) {
            bb_affine form;
            BB_TRY(bb_affine_of_value(system, spaces[s]->positions[k], &form));
            positions[count++] = form.terms[0].atom;
        }
    }
    BB_TRY(BB_ZEROED(system->atom_count, &fixed));
    for (int i = 0; i < system->atom_count; ++i) {
        fixed[i] = is_position(system, i) && system->atoms[i].range < 0 &&
                   system->atoms[i].interval.maximum <= system->atoms[i].interval.minimum;
    }
    for (bool more = true; more;) {
        more = false;
        for (int k = 0; k < write->count; ++k) {
            more = fix_by(system, &write->forms[k], fixed) || more;
        }
    }
    *out = true;
    for (int i = 0; i < count; ++i) {
        *out = *out && fixed[positions[i]];
    }
done:
    BB_RELEASE(&fixed);
    return status;
}

// Residues

/// A free variable modulo m: an atom of one of the two points.
typedef struct residues {
    const bb_affine_system *system;
    int64_t modulus;
    int atoms[MAX_FREE], points[MAX_FREE];
    int64_t numbers[MAX_FREE];
    int count;
    bool full;
} residues;

static int free_number(residues *set, int atom, int point)
{
    for (int i = 0; i < set->count; ++i) {
        if (set->atoms[i] == atom && set->points[i] == point) {
            return i;
        }
    }
    if (set->count == MAX_FREE) {
        set->full = true;
        return 0;
    }
    set->atoms[set->count] = atom;
    set->points[set->count] = point;
    return set->count++;
}

// The form modulo m; a remainder by m is congruent to its operand, other atoms are free.
static int64_t residue_of(residues *set, const bb_affine *form, int point)
{
    int64_t sum = form->constant % set->modulus;
    for (int i = 0; i < form->count; ++i) {
        const bb_atom *atom = &set->system->atoms[form->terms[i].atom];
        const int64_t factor = form->terms[i].coefficient % set->modulus;
        if (factor == 0) {
            continue;
        }
        const int64_t number = atom->kind == BB_ATOM_REMAINDER && atom->divisor == set->modulus
                                   ? residue_of(set, &atom->operand, point)
                                   : set->numbers[free_number(set, form->terms[i].atom, point)];
        sum += factor * number;
    }
    return ((sum % set->modulus) + set->modulus) % set->modulus;
}

static bool differ(residues *set, const access *a, const access *b)
{
    for (int k = 0; k < a->count; ++k) {
        if (residue_of(set, &a->forms[k], 0) != residue_of(set, &b->forms[k], 1)) {
            return true;
        }
    }
    return false;
}

// True if some coordinate differs modulo m for all values of the free variables of both points.
static bool differ_modulo(const bb_affine_system *system, const access *a, const access *b,
                          int64_t modulus)
{
    residues set = {.system = system, .modulus = modulus};
    for (int k = 0; k < a->count; ++k) {
        (void)residue_of(&set, &a->forms[k], 0);
        (void)residue_of(&set, &b->forms[k], 1);
    }
    double cases = 1.0;
    for (int i = 0; i < set.count; ++i) {
        cases *= (double)modulus;
    }
    if (set.full || cases > MAX_CASES) {
        return false;
    }
    for (int64_t number = 0; number < (int64_t)cases; ++number) {
        int64_t rest = number;
        for (int i = 0; i < set.count; ++i) {
            set.numbers[i] = rest % modulus;
            rest /= modulus;
        }
        if (!differ(&set, a, b)) {
            return false;
        }
    }
    return true;
}

static void add_modulus(bool *moduli, int64_t number)
{
    const int64_t size = number < 0 ? -number : number;
    if (size >= 2 && size <= MAX_MODULUS) {
        moduli[size] = true;
    }
}

static void find_moduli(const bb_affine_system *system, const bb_affine *form, bool *moduli)
{
    for (int i = 0; i < form->count; ++i) {
        const bb_atom *atom = &system->atoms[form->terms[i].atom];
        add_modulus(moduli, form->terms[i].coefficient);
        if (atom->kind == BB_ATOM_REMAINDER) {
            add_modulus(moduli, atom->divisor);
            find_moduli(system, &atom->operand, moduli);
        }
    }
}

// Boundaries that map an access to another element; a mirror of more than one element preserves
// parity.
static bool preserves_residue(const bb_binding *binding, const access *a, int64_t modulus)
{
    const bb_step *step = &binding->program->steps[a->step];
    const bb_program_data *data = &binding->data[step->object];
    return binding->is_inside[a->step] || step->boundary == BB_BOUNDARY_ZERO ||
           step->boundary == BB_BOUNDARY_SKIP ||
           (step->boundary == BB_BOUNDARY_MIRROR && modulus == 2 && data->columns > 1 &&
            (a->count == 1 || data->rows > 1));
}

static bool are_disjoint(const bb_binding *binding, const bb_affine_system *system, const access *a,
                         const access *b)
{
    bool moduli[MAX_MODULUS + 1] = {false};
    const bool stays = preserves_residue(binding, a, 0) && preserves_residue(binding, b, 0);
    bool same = true;
    for (int k = 0; k < a->count; ++k) {
        if (stays && (a->intervals[k].maximum < b->intervals[k].minimum ||
                      b->intervals[k].maximum < a->intervals[k].minimum)) {
            return true;
        }
        same = same && bb_affine_equal(&a->forms[k], &b->forms[k]);
        find_moduli(system, &a->forms[k], moduli);
        find_moduli(system, &b->forms[k], moduli);
    }
    if (same && stays) {
        return true;
    }
    for (int64_t modulus = 2; modulus <= MAX_MODULUS; ++modulus) {
        if (moduli[modulus] && preserves_residue(binding, a, modulus) &&
            preserves_residue(binding, b, modulus) && differ_modulo(system, a, b, modulus)) {
            return true;
        }
    }
    return false;
}

// Accesses within the space; those after it cannot conflict.
static bb_status collect(const bb_binding *binding, bb_affine_system *system, access *accesses,
                         int *count)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    bool *is_final = NULL;
    BB_TRY(BB_ZEROED(program->step_count, &is_final));
    for (int i = 0; i < program->final.count; ++i) {
        is_final[program->final.steps[i]] = true;
    }
    for (int i = 0; i < program->step_count; ++i) {
        const bb_step *step = &program->steps[i];
        if ((step->kind != BB_STEP_READ && step->kind != BB_STEP_WRITE) || is_final[i]) {
            continue;
        }
        access *entry = &accesses[(*count)++];
        *entry = (access){.step = i, .count = step->expression.output_count};
        for (int k = 0; k < entry->count; ++k) {
            BB_TRY(bb_affine_of_selector(system, step, k, &entry->forms[k]));
            entry->intervals[k] = bb_affine_interval(system, &entry->forms[k]);
        }
    }
done:
    BB_RELEASE(&is_final);
    return status;
}

static bb_status check_write(const bb_binding *binding, bb_affine_system *system,
                             const access *accesses, int count, int number, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    const bb_step *write = &program->steps[accesses[number].step];
    const char *object = program->objects[write->object].name;
    bool injective = false;
    BB_TRY(is_injective(binding, system, &accesses[number], &injective));
    if (!injective || !is_boundary_injective(binding, &accesses[number])) {
        BB_TRY(bb_problems_add(problems, write->place,
                               "%s may write one element of %s at several points; use coordinates "
                               "that differ between points",
                               write->name, object));
    }
    for (int i = 0; i < count; ++i) {
        const bb_step *other = &program->steps[accesses[i].step];
        const bool is_pair = other->object == write->object && i != number &&
                             (other->kind == BB_STEP_READ || i > number);
        if (is_pair && !are_disjoint(binding, system, &accesses[i], &accesses[number])) {
            BB_TRY(bb_problems_add(problems, other->place,
                                   "%s %s elements of %s that %s may write at other points; write "
                                   "to another object",
                                   other->name, other->kind == BB_STEP_READ ? "reads" : "writes",
                                   object, write->name));
        }
    }
done:
    return status;
}

bb_status bb_binding_check_races(const bb_binding *binding, bb_affine_system *system,
                                 bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    access *accesses = NULL;
    int count = 0;
    if (binding->ranges[0] == 0 || binding->ranges[1] == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(program->step_count, &accesses));
    BB_TRY(collect(binding, system, accesses, &count));
    for (int i = 0; i < count; ++i) {
        if (program->steps[accesses[i].step].kind == BB_STEP_WRITE) {
            BB_TRY(check_write(binding, system, accesses, count, i, problems));
        }
    }
done:
    BB_RELEASE(&accesses);
    return status;
}
