// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_source.h"

#include "core/disk_file.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "sim/config/scalar.h"
#include "sim/config/shipped_folder.h"
#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/language/xml_reader.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    bb_suggestion near = {.word = name};
    for (int i = 0; i < program->parameter_count; ++i) {
        bb_suggestion_add(&near, program->parameters[i].name);
    }
    return bb_problems_add(problems, place, "kernel %s has no parameter '%s'%s", program->name,
                           name, bb_suggestion_text(&near));
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
        BB_TRY(bb_problems_add(problems, place, "parameter %s is set twice", name));
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

bb_status bb_kernel_source_parameters(const bb_program *program, const char *const *words,
                                      bb_index count, const bb_scalar *fallback,
                                      bb_problems *problems, bb_scalar *out)
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
                                   "parameter %s (%s) has no value; set it with -p %s=VALUE",
                                   parameter->name, bb_element_type_row(parameter->type)->name,
                                   parameter->name));
        }
    }
done:
    BB_RELEASE(&given);
    return status;
}

static const char *const endings[] = {"", ".kernel", ".xml", NULL};
static const char folder_name[] = "kernels/";
enum { NAME_BYTES = 64, TITLE_BYTES = 200 };

static bb_status refuse_name(const char *name)
{
    bb_status status = BB_OK;
    bb_shipped_names known = {0};
    bb_suggestion near = {.word = name};
    BB_TRY(bb_kernel_source_list(&known));
    for (bb_index i = 0; i < known.count; ++i) {
        bb_suggestion_add(&near, known.names[i]);
    }
    BB_FAIL(BB_IO,
            "cannot read kernel '%s': no such file or shipped kernel%s; list kernels with "
            "'bitbudget kernel list'",
            name, bb_suggestion_text(&near));
done:
    bb_shipped_names_release(&known);
    return status;
}

bb_status bb_kernel_source_find(const char *name, char **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_shipped_folder_find_file(name, folder_name, endings, out));
    if (*out == NULL) {
        BB_TRY(refuse_name(name));
    }
done:
    return status;
}

// Reads the first `limit` bytes of a file, and one more if there are more.
static bb_status read_bytes(const char *path, bb_index limit, bb_text *out)
{
    bb_status status = BB_OK;
    char piece[4096];
    size_t length = 0;
    FILE *file = NULL;
    BB_TRY(bb_disk_file_open(path, true, &file));
    while (out->length <= limit && (length = fread(piece, 1, sizeof piece, file)) > 0) {
        BB_TRY(bb_text_add_bytes(out, piece, (bb_index)length));
    }
    BB_REQUIRE(ferror(file) == 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

// XML starts with '<' or the UTF-16 mark, which never starts the notation.
static bool is_xml(const bb_text *text)
{
    const unsigned char *first = (const unsigned char *)bb_text_string(text);
    if (first[0] == 0xFE || first[0] == 0xFF) {
        return true;
    }
    first += first[0] == 0xEF ? strspn((const char *)first, "\xEF\xBB\xBF") : 0;
    return first[strspn((const char *)first, " \t\r\n")] == '<';
}

bb_status bb_kernel_source_read(const char *name, bb_problems *problems, bb_kernel_source *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_kernel_source_find(name, &out->path));
    BB_TRY(read_bytes(out->path, BB_DESCRIPTION_MAX_BYTES, &text));
    const char *bytes = bb_text_string(&text);
    if (is_xml(&text)) {
        BB_TRY(bb_xml_reader_read(bytes, text.length, out->path, problems, &out->description));
    } else {
        BB_TRY(bb_notation_reader_read(bytes, text.length, out->path, problems, &out->description));
    }
done:
    bb_text_release(&text);
    return status;
}

// Splits "NAME=TYPE"; names are copied to `room`, types remain in place.
static bb_status split_words(char *const *words, bb_index count, bb_problems *problems,
                             char (*room)[NAME_BYTES], bb_type_binding *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        const char *equals = strchr(words[i], '=');
        const bb_place place = {.origin = words[i]};
        const int length = equals == NULL ? 0 : (int)(equals - words[i]);
        (void)snprintf(room[i], NAME_BYTES, "%.*s", length < NAME_BYTES ? length : 0, words[i]);
        out[i] = (bb_type_binding){room[i], equals == NULL ? "" : equals + 1};
        if (room[i][0] == '\0' || out[i].type[0] == '\0') {
            BB_TRY(bb_problems_add(problems, place, "expected NAME=TYPE, as T=SP"));
        }
        for (bb_index k = 0; k < i; ++k) {
            if (room[i][0] != '\0' && strcmp(room[i], room[k]) == 0) {
                BB_TRY(bb_problems_add(problems, place, "%s has two types", room[i]));
            }
        }
    }
done:
    return status;
}

bb_status bb_kernel_source_bind(bb_kernel_source *source, char *const *words, bb_index count,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    char(*room)[NAME_BYTES] = NULL; // [count]
    bb_type_binding *types = NULL;  // [count]
    source->words = words;
    source->word_count = count;
    BB_TRY(BB_ZEROED(count + 1, &room));
    BB_TRY(BB_ZEROED(count + 1, &types));
    BB_TRY(split_words(words, count, problems, room, types));
    if (problems->count == 0) {
        BB_TRY(bb_program_create(&source->description, types, count, problems, &source->program));
    }
done:
    BB_RELEASE(&types);
    BB_RELEASE(&room);
    return status;
}

bb_status bb_kernel_source_report(const bb_kernel_source *source, const bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_text_print(bb_text_string(&problems->lines), stderr);
    BB_REQUIRE(problems->count == 0, BB_INVALID, "kernel '%s': %td problem%s", source->path,
               problems->count, problems->count == 1 ? "" : "s");
done:
    return status;
}

bb_status bb_kernel_source_load(const char *name, char *const *words, bb_index count,
                                bb_kernel_source *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    BB_TRY(bb_kernel_source_read(name, &problems, out));
    BB_TRY(bb_kernel_source_report(out, &problems));
    BB_TRY(bb_kernel_source_bind(out, words, count, &problems));
    BB_TRY(bb_kernel_source_report(out, &problems));
done:
    bb_problems_release(&problems);
    return status;
}

void bb_kernel_source_release(bb_kernel_source *source)
{
    bb_program_release(&source->program);
    bb_description_release(&source->description);
    BB_RELEASE(&source->path);
}

bb_status bb_kernel_source_list(bb_shipped_names *out)
{
    const bb_shipped_listing listing = {.folder = folder_name, .endings = endings + 1};
    return bb_shipped_names_list(&listing, out);
}

bb_status bb_kernel_source_title(const char *name, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    char *path = NULL;
    BB_TRY(bb_kernel_source_find(name, &path));
    BB_TRY(read_bytes(path, 4096, &text));
    const char *comment = strstr(bb_text_string(&text), is_xml(&text) ? "<!--" : "//");
    if (comment != NULL) {
        comment += is_xml(&text) ? 4 : 2;
        comment += strspn(comment, " \t\r\n");
        size_t length = strcspn(comment, "\r\n");
        const char *end = is_xml(&text) ? strstr(comment, "-->") : NULL;
        length = end != NULL && (size_t)(end - comment) < length ? (size_t)(end - comment) : length;
        while (length > 0 && comment[length - 1] == ' ') {
            --length;
        }
        length = length < TITLE_BYTES ? length : TITLE_BYTES;
        BB_TRY(bb_text_add(out, "%.*s", (int)length, comment));
    }
done:
    BB_RELEASE(&path);
    bb_text_release(&text);
    return status;
}
