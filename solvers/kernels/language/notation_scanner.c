// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/notation_scanner.h"

#include <string.h>

// The byte that stands so far ahead, NUL past the end.
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
        ++scanner->place.column; // of characters
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

// Passes blanks, comments and, where a bracket is open, ends of lines.
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
        step(scanner); // the rest of a character
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
