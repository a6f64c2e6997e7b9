// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/notation.h"

#include "core/suggestion.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The byte at this distance ahead, NUL past the end.
static char peek(const bb_notation_scanner *scanner, bb_index ahead)
{
    return scanner->length - scanner->offset > ahead ? scanner->bytes[scanner->offset + ahead]
                                                     : '\0';
}

static void step(bb_notation_scanner *scanner)
{
    const unsigned char byte = (unsigned char)scanner->bytes[scanner->offset++];
    if (byte == '\n') {
        ++scanner->place.line;
        scanner->place.column = 1;
    } else if ((byte & 0xC0U) != 0x80U) {
        ++scanner->place.column; // count characters, not bytes
    }
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

// Skips blanks, comments and, inside open brackets, ends of lines.
static bb_index skip_blanks(bb_notation_scanner *scanner)
{
    bb_index blanks = 0;
    bool line = false;
    while (scanner->offset < scanner->length) {
        const char byte = peek(scanner, 0);
        if (byte == '/' && peek(scanner, 1) == '/') {
            while (scanner->offset < scanner->length && peek(scanner, 0) != '\n') {
                step(scanner);
            }
            continue;
        }
        if (byte == '\n' && scanner->open == 0) {
            break;
        }
        if (byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n') {
            break;
        }
        line = line || byte == '\n';
        ++blanks;
        step(scanner);
    }
    return line ? 1 : blanks;
}

static void skip_digits(bb_notation_scanner *scanner)
{
    while (is_digit(peek(scanner, 0))) {
        step(scanner);
    }
}

static bb_notation_token_kind scan_number(bb_notation_scanner *scanner)
{
    bb_notation_token_kind kind = BB_NOTATION_INTEGER;
    skip_digits(scanner);
    if (peek(scanner, 0) == '.' && is_digit(peek(scanner, 1))) {
        kind = BB_NOTATION_FRACTION;
        step(scanner);
        skip_digits(scanner);
    }
    const bb_index sign = peek(scanner, 1) == '+' || peek(scanner, 1) == '-';
    if ((peek(scanner, 0) == 'e' || peek(scanner, 0) == 'E') && is_digit(peek(scanner, 1 + sign))) {
        kind = BB_NOTATION_FRACTION;
        for (bb_index i = 0; i <= sign; ++i) {
            step(scanner);
        }
        skip_digits(scanner);
    }
    return kind;
}

static void scan_sign(bb_notation_scanner *scanner)
{
    static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||"};
    const char byte = peek(scanner, 0);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        if (byte == pairs[i][0] && peek(scanner, 1) == pairs[i][1]) {
            step(scanner);
            break;
        }
    }
    if (byte == '(' || byte == '[') {
        ++scanner->open;
    } else if ((byte == ')' || byte == ']') && scanner->open > 0) {
        --scanner->open;
    }
    step(scanner);
    while (((unsigned char)peek(scanner, 0) & 0xC0U) == 0x80U) {
        step(scanner); // include the remaining bytes of a character
    }
}

bb_notation_token bb_notation_scanner_next(bb_notation_scanner *scanner)
{
    bb_notation_token token = {.kind = BB_NOTATION_END, .blanks = skip_blanks(scanner)};
    token.place = scanner->place;
    token.start = scanner->bytes + scanner->offset;
    const bb_index start = scanner->offset;
    if (start < scanner->length) {
        const char byte = peek(scanner, 0);
        if (byte == '\n') {
            token.kind = BB_NOTATION_LINE;
            step(scanner);
        } else if (is_letter(byte)) {
            token.kind = BB_NOTATION_WORD;
            while (is_letter(peek(scanner, 0)) || is_digit(peek(scanner, 0))) {
                step(scanner);
            }
        } else if (is_digit(byte)) {
            token.kind = scan_number(scanner);
        } else {
            token.kind = BB_NOTATION_SIGN;
            scan_sign(scanner);
        }
    }
    token.length = scanner->offset - start;
    return token;
}

bool bb_notation_token_is(bb_notation_token token, const char *text)
{
    return token.kind != BB_NOTATION_LINE && (size_t)token.length == strlen(text) &&
           memcmp(token.start, text, (size_t)token.length) == 0;
}

// FNV-1a.
static size_t bucket_of(const char *text, bb_index length)
{
    uint32_t hash = 2166136261U;
    for (bb_index i = 0; i < length; ++i) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    }
    return hash % BB_NOTATION_BUCKETS;
}

bb_notation_name *bb_notation_names_find(const bb_notation_names *names, bb_notation_token token)
{
    bb_notation_name *name = names->buckets[bucket_of(token.start, token.length)];
    while (name != NULL && !bb_notation_token_is(token, name->text)) {
        name = name->next;
    }
    return name;
}

static bb_status add_name(bb_notation_names *names, bb_notation_token token, bb_notation_noun noun,
                          bb_arena *arena, bb_notation_name **out)
{
    bb_status status = BB_OK;
    bb_notation_name *name = NULL;
    bb_notation_name **bucket = &names->buckets[bucket_of(token.start, token.length)];
    BB_TRY(bb_arena_zeroed(arena, 1, sizeof *name, (void **)&name));
    BB_TRY(bb_arena_text(arena, token.start, (size_t)token.length, &name->text));
    name->noun = noun;
    name->place = token.place;
    name->next = *bucket;
    *bucket = name;
    *out = name;
done:
    return status;
}

void bb_notation_names_remove(bb_notation_names *names, const bb_notation_name *name)
{
    bb_notation_name **link = &names->buckets[bucket_of(name->text, (bb_index)strlen(name->text))];
    while (*link != name) {
        link = &(*link)->next;
    }
    *link = name->next;
}

// The name nearest to a word, excluding the kernel's; NULL if none is near.
static const char *nearest_name(const bb_notation_names *names, const char *word)
{
    const char *best = NULL;
    bb_index distance = PTRDIFF_MAX;
    for (size_t i = 0; i < BB_NOTATION_BUCKETS; ++i) {
        for (const bb_notation_name *name = names->buckets[i]; name != NULL; name = name->next) {
            if (name->noun != BB_NOTATION_KERNEL) {
                bb_suggestion_consider(word, name->text, &distance, &best);
            }
        }
    }
    return best;
}

enum {
    TOKEN_BYTES = 60, // bytes of a token shown in a message
    SUGGESTED = 100,  // number of problems that get a suggestion, which equals the number shown
};

// Functions of one value, then of two.
const char *const bb_notation_functions[BB_NOTATION_FUNCTION_COUNT] = {
    "sqrt", "fabs", "abs", "floor", "rint", "re", "im", "conj", "min", "max", "pair",
};
enum { OF_ONE_VALUE = 8 };

static const char *const keywords[] = {"kernel",  "for", "in", "let",    "sum",
                                       "product", "and", "or", "matrix", "vector"};

static const char *const boundaries[] = {"none", "clamp", "zero", "mirror", "periodic", "skip"};

void bb_notation_advance(bb_notation *notation)
{
    notation->cursor.token = bb_notation_scanner_next(&notation->cursor.scanner);
}

bool bb_notation_at(const bb_notation *notation, const char *text)
{
    return bb_notation_token_is(notation->cursor.token, text);
}

bb_status bb_notation_refuse(bb_notation *notation, bb_place place, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    BB_RETURN_IF_FAILED(bb_problems_add(notation->problems, place, "%s", message));
    notation->refused = true;
    return bb_status_set(BB_INVALID, __FILE__, __LINE__, "%s", message);
}

// A token as shown in messages.
static void copy_token(bb_notation_token token, char out[TOKEN_BYTES])
{
    const bb_index length = token.length < TOKEN_BYTES ? token.length : TOKEN_BYTES - 1;
    if (token.kind == BB_NOTATION_LINE || token.kind == BB_NOTATION_END) {
        (void)snprintf(out, TOKEN_BYTES, "the end of the %s",
                       token.kind == BB_NOTATION_LINE ? "line" : "file");
        return;
    }
    (void)snprintf(out, TOKEN_BYTES, "%.*s", (int)length, token.start);
}

bb_status bb_notation_refuse_token(bb_notation *notation, const char *expected)
{
    char got[TOKEN_BYTES];
    const bb_notation_token token = notation->cursor.token;
    const char *quote = token.kind == BB_NOTATION_LINE || token.kind == BB_NOTATION_END ? "" : "'";
    copy_token(token, got);
    return bb_notation_refuse(notation, token.place, "expected %s, got %s%s%s", expected, quote,
                              got, quote);
}

bb_status bb_notation_expect(bb_notation *notation, const char *text)
{
    char expected[TOKEN_BYTES];
    if (!bb_notation_at(notation, text)) {
        (void)snprintf(expected, sizeof expected, "'%s'", text);
        return bb_notation_refuse_token(notation, expected);
    }
    bb_notation_advance(notation);
    return BB_OK;
}

bb_status bb_notation_refuse_word(bb_notation *notation, bb_notation_token word, const char *what,
                                  const char *const *words, bb_index count, bool names)
{
    char got[TOKEN_BYTES];
    const char *best = NULL;
    bb_index distance = PTRDIFF_MAX;
    copy_token(word, got);
    for (bb_index i = 0; i < count; ++i) {
        bb_suggestion_consider(got, words[i], &distance, &best);
    }
    if (best == NULL && names && notation->problems->count < SUGGESTED) {
        best = nearest_name(&notation->names, got);
    }
    return bb_notation_refuse(notation, word.place, "unknown %s '%s'%s%s%s", what, got,
                              best == NULL ? "" : "; did you mean ", best == NULL ? "" : best,
                              best == NULL ? "" : "?");
}

bool bb_notation_at_end(const bb_notation *notation)
{
    return notation->cursor.token.kind >= BB_NOTATION_LINE;
}

bb_status bb_notation_expect_end(bb_notation *notation)
{
    return bb_notation_at_end(notation)
               ? BB_OK
               : bb_notation_refuse_token(notation, "an operator or the end of the line");
}

bb_status bb_notation_read_word(bb_notation *notation, const char *expected, const char **out)
{
    bb_status status = BB_OK;
    const bb_notation_token word = notation->cursor.token;
    if (word.kind != BB_NOTATION_WORD) {
        BB_TRY(bb_notation_refuse_token(notation, expected));
    }
    BB_TRY(bb_arena_text(&notation->description->arena, word.start, (size_t)word.length, out));
    bb_notation_advance(notation);
done:
    return status;
}

// Names of elements created by the lowering: calc_5, read_A_3, write_c_6.
static bool is_generated(bb_notation_token word)
{
    static const char *const starts[] = {"calc_", "read_", "write_"};
    const char last = word.start[word.length - 1];
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; ++i) {
        const bb_index length = (bb_index)strlen(starts[i]);
        if (word.length > length && memcmp(word.start, starts[i], (size_t)length) == 0) {
            return last >= '0' && last <= '9';
        }
    }
    return false;
}

// v0 ... v3, which denote values in selectors.
static bool is_selector_value(bb_notation_token word)
{
    return word.length == 2 && word.start[0] == 'v' && word.start[1] >= '0' && word.start[1] <= '3';
}

static bb_status check_name(bb_notation *notation, bb_notation_token word, bb_notation_noun noun)
{
    char text[TOKEN_BYTES];
    copy_token(word, text);
    bool reserved = bb_notation_function_values(word) > 0;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; ++i) {
        reserved = reserved || bb_notation_token_is(word, keywords[i]);
    }
    if (reserved) {
        return bb_notation_refuse(notation, word.place, "%s is a reserved word", text);
    }
    if (is_generated(word)) {
        return bb_notation_refuse(notation, word.place,
                                  "%s: this name is reserved for generated elements", text);
    }
    if (noun == BB_NOTATION_PARAMETER && is_selector_value(word)) {
        return bb_notation_refuse(
            notation, word.place,
            "%s: parameters cannot have the names v0 to v3, which denote values in selectors",
            text);
    }
    const bb_notation_name *name = bb_notation_names_find(&notation->names, word);
    if (name != NULL) {
        return bb_notation_refuse(notation, word.place,
                                  "name %s is used twice, first in line %td, column %td", text,
                                  name->place.line, name->place.column);
    }
    return BB_OK;
}

bb_status bb_notation_declare(bb_notation *notation, bb_notation_noun noun, bb_notation_name **out)
{
    bb_status status = BB_OK;
    const bb_notation_token word = notation->cursor.token;
    if (word.kind != BB_NOTATION_WORD) {
        BB_TRY(bb_notation_refuse_token(notation, "a name"));
    }
    BB_TRY(check_name(notation, word, noun));
    BB_TRY(add_name(&notation->names, word, noun, &notation->description->arena, out));
    bb_notation_advance(notation);
done:
    return status;
}

bb_status bb_notation_emit(bb_notation *notation, const char *owner, const char *port,
                           const char *type, const bb_notation_emitter **out)
{
    bb_status status = BB_OK;
    bb_notation_emitter *emitter = NULL;
    bb_arena *arena = &notation->description->arena;
    BB_TRY(bb_arena_zeroed(arena, 1, sizeof *emitter, (void **)&emitter));
    BB_TRY(bb_arena_printf(arena, &emitter->port, "%s.%s", owner, port));
    emitter->type = type;
    *out = emitter;
done:
    return status;
}

bb_status bb_notation_add(bb_notation *notation, bb_element *parent, const char *name,
                          bb_place place, bb_element **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_description_add(notation->description, parent, name, place, notation->problems, out));
    BB_REQUIRE(*out != NULL, BB_INTERNAL, "the notation produces <%s> where it is not allowed",
               name);
done:
    return status;
}

bb_status bb_notation_set(bb_notation *notation, bb_element *element, bb_description_key key,
                          const char *value, bb_place place)
{
    return bb_description_set(notation->description, element, bb_description_key_name(key), value,
                              place, notation->problems);
}

bb_status bb_notation_wire(bb_notation *notation, const bb_notation_emitter *emitter,
                           const char *owner, const char *port, bb_index index, bb_place place)
{
    bb_status status = BB_OK;
    bb_element *connection = NULL;
    const char *acceptor = NULL;
    bb_arena *arena = &notation->description->arena;
    if (index < 0) {
        BB_TRY(bb_arena_printf(arena, &acceptor, "%s.%s", owner, port));
    } else {
        BB_TRY(bb_arena_printf(arena, &acceptor, "%s.%s(%td)", owner, port, index));
    }
    BB_TRY(bb_notation_add(notation, notation->connections, "Connection", place, &connection));
    BB_TRY(bb_notation_set(notation, connection, BB_DESCRIPTION_SOURCE, emitter->port, place));
    BB_TRY(bb_notation_set(notation, connection, BB_DESCRIPTION_DESTINATION, acceptor, place));
done:
    return status;
}

bb_status bb_notation_boundary(bb_notation *notation, const char **out)
{
    enum { COUNT = sizeof boundaries / sizeof boundaries[0] };
    for (int i = 0; i < COUNT; ++i) {
        if (bb_notation_at(notation, boundaries[i])) {
            *out = boundaries[i];
            bb_notation_advance(notation);
            return BB_OK;
        }
    }
    if (notation->cursor.token.kind != BB_NOTATION_WORD) {
        return bb_notation_refuse_token(notation, "none, clamp, zero, mirror, periodic or skip");
    }
    return bb_notation_refuse_word(notation, notation->cursor.token, "boundary", boundaries, COUNT,
                                   false);
}

int bb_notation_function_values(bb_notation_token word)
{
    for (int i = 0; i < BB_NOTATION_FUNCTION_COUNT; ++i) {
        if (bb_notation_token_is(word, bb_notation_functions[i])) {
            return i < OF_ONE_VALUE ? 1 : 2;
        }
    }
    return 0;
}
