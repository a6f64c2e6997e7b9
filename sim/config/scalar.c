// SPDX-License-Identifier: Apache-2.0
#include "sim/config/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9') {
        ++text;
    }
    return text;
}

// Skips "0" or digits without leading 0, after an optional minus; NULL if there are none.
static const char *skip_integer(const char *text)
{
    text += *text == '-';
    const char *end = skip_digits(text);
    return end == text || (*text == '0' && end - text > 1) ? NULL : end;
}

bool bb_scalar_double(const char *text, double *out)
{
    const char *end = skip_integer(text);
    if (end != NULL && *end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        end = end == fraction ? NULL : end;
    }
    if (end != NULL && (*end == 'e' || *end == 'E')) {
        const char *exponent = end + 1;
        exponent += *exponent == '-' || *exponent == '+';
        end = skip_digits(exponent);
        end = end == exponent ? NULL : end;
    }
    if (end == NULL || *end != '\0') {
        return false;
    }
    double value = strtod(text, NULL);
    bool vanished = value == 0.0 && strcspn(text, "123456789") < strcspn(text, "eE");
    if (!isfinite(value) || vanished) {
        return false;
    }
    *out = value;
    return true;
}

bool bb_scalar_integer(const char *text, bb_index *out)
{
    const char *end = skip_integer(text);
    if (end == NULL || *end != '\0') {
        return false;
    }
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno != 0 || value <= PTRDIFF_MIN) {
        return false;
    }
    *out = (bb_index)value;
    return true;
}

// Number of decimal digits of the shortest text that reads back to the same bits, and the decimal
// exponent of the first digit.
static int shortest(double value, int *exponent)
{
    char digits[BB_SCALAR_BYTES];
    int precision = 1;
    for (; precision <= 17; ++precision) {
        (void)snprintf(digits, sizeof digits, "%.*e", precision - 1, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    *exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    return precision;
}

void bb_scalar_print(double value, char out[BB_SCALAR_BYTES])
{
    int exponent = 0;
    int precision = shortest(value, &exponent);
    if (exponent >= -4 && exponent < 6) {
        int decimals = precision - 1 - exponent;
        (void)snprintf(out, BB_SCALAR_BYTES, "%.*f", decimals < 1 ? 1 : decimals, value);
    } else {
        // YAML 1.1 needs the decimal point to recognise a number.
        (void)snprintf(out, BB_SCALAR_BYTES, "%.*e", precision < 2 ? 1 : precision - 1, value);
    }
}

bool bb_scalar_guess(const char *text, char out[BB_SCALAR_BYTES])
{
    char kept[BB_SCALAR_BYTES];
    size_t length = 0;
    double value = 0.0;
    const char *start = text + (*text == '+');
    if (strchr(text, ':') != NULL || strncasecmp(text, "0x", 2) == 0) {
        return false;
    }
    // Removes leading zeros and separators, replaces a decimal comma by a point and cuts a trailing
    // unit.
    while (start[0] == '0' && isdigit((unsigned char)start[1])) {
        ++start;
    }
    if (start[0] == '.' && isdigit((unsigned char)start[1])) {
        kept[length++] = '0';
    }
    for (const char *c = start; *c != '\0' && length + 1 < sizeof kept; ++c) {
        if (*c == '_') {
            continue;
        }
        if (strchr("0123456789.,-+eE", *c) == NULL) {
            break;
        }
        kept[length++] = *c == ',' ? '.' : *c;
    }
    while (length > 0 && strchr(".eE+-", kept[length - 1]) != NULL) {
        --length;
    }
    kept[length] = '\0';
    (void)snprintf(out, BB_SCALAR_BYTES, "%s", kept);
    return length > 0 && strcmp(kept, text) != 0 && bb_scalar_double(kept, &value);
}

bool bb_scalar_plain(const char *text)
{
    static const char *const words[] = {"yes",   "no",   "on",  "off", "true",
                                        "false", "null", "nan", "inf", "all"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        if (strcasecmp(text, words[i]) == 0) {
            return false;
        }
    }
    if (!isalpha((unsigned char)text[0])) {
        return false;
    }
    for (const char *c = text; *c != '\0'; ++c) {
        bool inside = c[0] == ' ' && c[1] != '\0' && c[1] != ' ';
        if ((unsigned char)*c >= 0x80 ||
            (!isalnum((unsigned char)*c) && !inside && strchr("_-./", *c) == NULL)) {
            return false;
        }
    }
    return true;
}
