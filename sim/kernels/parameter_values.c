// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/parameter_values.h"

#include "core/memory.h"
#include "core/suggestion.h"
#include "sim/config/scalar.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const char *const expectations[BB_ELEMENT_TYPE_COUNT] = {
    [BB_ELEMENT_B] = "false or true",
    [BB_ELEMENT_INT32] = "an integer in [-2147483648, 2147483647]",
    [BB_ELEMENT_SP] = "a number of at most 3.4e38, nan or inf",
    [BB_ELEMENT_DP] = "a number, nan or inf",
    [BB_ELEMENT_SP2] = "two numbers RE,IM of at most 3.4e38, nan or inf",
    [BB_ELEMENT_DP2] = "two numbers RE,IM, nan or inf",
};

static bool read_float(const char *text, bool single, double *out)
{
    const bool minus = text[0] == '-';
    if (strcmp(text + minus, "inf") == 0 || strcmp(text, "nan") == 0) {
        *out = text[minus] == 'n' ? NAN : minus ? -INFINITY : INFINITY;
        return true;
    }
    if (!bb_scalar_double(text, out) || (single && fabs(*out) > (double)FLT_MAX)) {
        return false;
    }
    *out = single ? (double)(float)*out : *out;
    return true;
}

static bool read_complex(const char *text, bool single, double out[2])
{
    char real[BB_SCALAR_BYTES];
    const size_t length = strcspn(text, ",");
    if (text[length] == '\0' || length >= sizeof real) {
        return false;
    }
    memcpy(real, text, length);
    real[length] = '\0';
    return read_float(real, single, &out[0]) && read_float(text + length + 1, single, &out[1]);
}

static bool read_value(bb_element_type type, const char *text, bb_scalar *out)
{
    const bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    bb_index integer = 0;
    *out = (bb_scalar){.integer = 0};
    switch (type) {
    case BB_ELEMENT_B:
        out->integer = is_true;
        return is_true || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    case BB_ELEMENT_INT32:
        if (!bb_scalar_integer(text, &integer) || integer < INT32_MIN || integer > INT32_MAX) {
            return false;
        }
        out->integer = (int64_t)integer;
        return true;
    case BB_ELEMENT_SP2:
    case BB_ELEMENT_DP2:
        return read_complex(text, type == BB_ELEMENT_SP2, out->parts);
    default:
        return read_float(text, type == BB_ELEMENT_SP, &out->parts[0]);
    }
}

static bb_status refuse_unknown(const bb_program *program, const char *name, bb_place place,
                                bb_problems *problems)
{
    const char *nearest = NULL;
    bb_index distance = PTRDIFF_MAX;
    for (int i = 0; i < program->parameter_count; ++i) {
        bb_suggestion_consider(name, program->parameters[i].name, &distance, &nearest);
    }
    return bb_problems_add(problems, place, "kernel %s has no parameter '%s'%s%s%s", program->name,
                           name, nearest == NULL ? "" : " (did you mean ",
                           nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?)");
}

static bb_status read_word(const bb_program *program, const char *word, bool *given,
                           bb_problems *problems, bb_scalar *out)
{
    bb_status status = BB_OK;
    char *name = NULL;
    char *origin = NULL;
    const size_t length = strcspn(word, "=");
    int found = 0;
    BB_TRY(bb_memory_printf(&name, "%.*s", (int)length, word));
    BB_TRY(bb_memory_printf(&origin, "-p %s", word));
    const bb_place place = {.origin = origin};
    if (word[length] == '\0') {
        BB_TRY(bb_problems_add(problems, place, "expected PARAM=VALUE"));
        goto done;
    }
    while (found < program->parameter_count && strcmp(program->parameters[found].name, name) != 0) {
        ++found;
    }
    if (found == program->parameter_count) {
        BB_TRY(refuse_unknown(program, name, place, problems));
        goto done;
    }
    const bb_element_type type = program->parameters[found].type;
    if (given[found]) {
        BB_TRY(bb_problems_add(problems, place, "parameter %s has a value already", name));
    } else if (!read_value(type, word + length + 1, &out[found])) {
        BB_TRY(bb_problems_add(problems, place, "parameter %s is of type %s: expected %s", name,
                               bb_element_type_row(type)->name, expectations[type]));
    }
    given[found] = true;
done:
    BB_RELEASE(&origin);
    BB_RELEASE(&name);
    return status;
}

bb_status bb_parameter_values_read(const bb_program *program, const char *const *words,
                                   bb_index count, const bb_scalar *fallback, bb_problems *problems,
                                   bb_scalar *out)
{
    bb_status status = BB_OK;
    bool *given = NULL; // [parameter_count]
    BB_TRY(BB_ZEROED(program->parameter_count + 1, &given));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(read_word(program, words[i], given, problems, out));
    }
    for (int i = 0; i < program->parameter_count; ++i) {
        const bb_program_parameter *parameter = &program->parameters[i];
        if (!given[i] && fallback != NULL) {
            out[i] = fallback[i];
        } else if (!given[i]) {
            BB_TRY(bb_problems_add(problems, parameter->place,
                                   "parameter %s (%s) has no value; give it by -p %s=VALUE",
                                   parameter->name, bb_element_type_row(parameter->type)->name,
                                   parameter->name));
        }
    }
done:
    BB_RELEASE(&given);
    return status;
}
