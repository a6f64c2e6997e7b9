// SPDX-License-Identifier: Apache-2.0
#include "sim/input/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { UNIT_BYTES = 64, LIST_BYTES = 160 };

typedef struct known_unit {
    const char *text;
    double factor;
    const char *unit; // the program's unit
} known_unit;

static const known_unit responses[] = {
    {"m/K", 1.0, "m/K"},
    {"mm/K", 1e-3, "m/K"},
    {"um/K", 1e-6, "m/K"},
    {"nm/K", 1e-9, "m/K"},
};

// 1 arcsec is pi / 648000 rad.
static const double ARCSEC_PER_RAD = 206264.80624709636;
static const double ARCSEC2_PER_RAD2 = 206264.80624709636 * 206264.80624709636;

// Angles come first.
enum { ANGLES = 3 };
static const known_unit covariances[] = {
    {"arcsec^2", 1.0, "arcsec^2"},
    {"mas^2", 1e-6, "arcsec^2"},
    {"rad^2", ARCSEC2_PER_RAD2, "arcsec^2"},
    {"nm^2", 1.0, "nm^2"},
    {"um^2", 1e6, "nm^2"},
    {"m^2", 1e18, "nm^2"},
    {"1", 1.0, "1"},
};

static const known_unit influences[] = {
    {"m/V", 1.0, "m/V"}, {"um/V", 1e-6, "m/V"}, {"nm/V", 1e-9, "m/V"},
    {"m", 1.0, "m/V"},   {"um", 1e-6, "m/V"},   {"nm", 1e-9, "m/V"},
};

static const known_unit angles[] = {
    {"arcsec", 1.0, "arcsec"},
    {"mas", 1e-3, "arcsec"},
    {"rad", ARCSEC_PER_RAD, "arcsec"},
};

static const known_unit fractions[] = {
    {"1", 1.0, "1"},
    {"%", 1e-2, "1"},
};

#define COUNT(table) ((bb_index)(sizeof(table) / sizeof *(table)))

static const struct {
    const known_unit *units;
    bb_index count;
    const char *default_unit;
} quantities[] = {
    [BB_QUANTITY_RESPONSE] = {responses, COUNT(responses), "m/K"},
    [BB_QUANTITY_ANGLE_COVARIANCE] = {covariances, ANGLES, "arcsec^2"},
    [BB_QUANTITY_COVARIANCE] = {covariances, COUNT(covariances), "1"},
    [BB_QUANTITY_INFLUENCE] = {influences, COUNT(influences), "m/V"},
    [BB_QUANTITY_ANGLE] = {angles, COUNT(angles), "arcsec"},
    [BB_QUANTITY_FRACTION] = {fractions, COUNT(fractions), "1"},
};

// Names and symbols of three or more letters are case-insensitive.
static const struct {
    const char *name, *symbol;
} names[] = {
    {"rad", "rad"}, {"radian", "rad"},        {"arcsec", "arcsec"}, {"arcsecond", "arcsec"},
    {"mas", "mas"}, {"arc_second", "arcsec"}, {"marcsec", "mas"},   {"meter", "m"},
    {"metre", "m"}, {"micron", "um"},         {"kelvin", "K"},      {"degK", "K"},
    {"volt", "V"},  {"percent", "%"},
};

static const struct {
    const char *name, *symbol;
} prefixes[] = {{"", ""}, {"milli", "m"}, {"micro", "u"}, {"nano", "n"}};

// Finds the symbol of a name [length], also of a plural; false if there is none.
static bool find_symbol(const char *name, size_t length, const char **symbol)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const size_t own = strlen(names[i].name);
        const bool plural = length == own + 1 && (name[own] == 's' || name[own] == 'S');
        if ((length == own || plural) && strncasecmp(name, names[i].name, own) == 0) {
            *symbol = names[i].symbol;
            return true;
        }
    }
    return false;
}

// Replaces a name by its symbol with prefix; other words are copied.
static void spell_name(const char *name, size_t length, char out[UNIT_BYTES])
{
    const char *symbol = NULL;
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; ++k) {
        const size_t own = strlen(prefixes[k].name);
        if (length > own && strncasecmp(name, prefixes[k].name, own) == 0 &&
            find_symbol(name + own, length - own, &symbol)) {
            const bool is_mas = prefixes[k].symbol[0] == 'm' && strcmp(symbol, "arcsec") == 0;
            (void)snprintf(out, UNIT_BYTES, "%s%s", is_mas ? "" : prefixes[k].symbol,
                           is_mas ? "mas" : symbol);
            return;
        }
    }
    (void)snprintf(out, UNIT_BYTES, "%.*s", (int)length, name);
}

// Converts to plain text: u for micro, a Latin-1 or Greek character, 2 for the superscript, a blank
// for a centred dot.
static void replace_signs(const char *text, char out[UNIT_BYTES])
{
    static const char *const signs[][2] = {
        {"\xc2\xb5", "u"}, {"\xce\xbc", "u"}, {"\xc2\xb2", "2"}, {"\xc2\xb7", " "}};
    size_t length = 0;
    while (*text != '\0' && length + 1 < UNIT_BYTES) {
        const char *sign = NULL;
        for (size_t k = 0; k < sizeof signs / sizeof *signs; ++k) {
            sign = strncmp(text, signs[k][0], 2) == 0 ? signs[k][1] : sign;
        }
        out[length++] = sign != NULL ? *sign : *text;
        text += sign != NULL ? 2 : 1;
    }
    out[length] = '\0';
}

// Exponent after a name, 1 if absent.
enum { MOST_POWER = 99 };

static long read_power(const char **text)
{
    const char *digits = *text + strspn(*text, "^*");
    char *end = NULL;
    const long power = strtol(digits, &end, 10);
    if (end == digits || *digits == ' ') {
        return 1;
    }
    *text = end;
    return power < -MOST_POWER || power > MOST_POWER ? MOST_POWER
                                                     : power; // out of the range of any unit
}

// Normalises a product of powers: "m K-1", "m per K" and "Metres/kelvin" all give "m1 K-1 ".
static void spell(const char *text, char out[UNIT_BYTES])
{
    char plain[UNIT_BYTES], symbol[UNIT_BYTES];
    const char *next = plain;
    long sign = 1;
    size_t used = 0;
    replace_signs(text, plain);
    out[0] = '\0';
    for (next += strspn(next, " .*"); *next != '\0'; next += strspn(next, " .*")) {
        size_t length = strcspn(next, " .*/^+-0123456789");
        if (*next == '/' || (length == 3 && strncmp(next, "per", 3) == 0)) {
            sign = -1;
            next += *next == '/' ? 1 : 3;
            continue;
        }
        length = length == 0 ? 1 : length; // the digit 1, or an invalid unit
        spell_name(next, length, symbol);
        next += length;
        const long power = sign * read_power(&next);
        used += (size_t)snprintf(out + used, UNIT_BYTES - used, "%s%ld ", symbol, power);
        if (used >= UNIT_BYTES) {
            return;
        }
        sign = 1;
    }
    if (sign < 0) { // division without a divisor
        (void)snprintf(out + used, UNIT_BYTES - used, "/");
    }
}

bool bb_unit_is(const char *text, const char *unit)
{
    char got[UNIT_BYTES];
    char known[UNIT_BYTES];
    spell(text, got);
    spell(unit, known);
    return got[0] == '\0' || strcmp(got, known) == 0;
}

bb_status bb_unit_find(bb_quantity quantity, const char *text, const char **unit, double *factor)
{
    bb_status status = BB_OK;
    char list[LIST_BYTES] = "";
    size_t used = 0;
    *unit = quantities[quantity].default_unit;
    *factor = 1.0;
    if (text[strspn(text, " ")] == '\0') {
        goto done;
    }
    for (bb_index i = 0; i < quantities[quantity].count; ++i) {
        const known_unit *row = &quantities[quantity].units[i];
        if (bb_unit_is(text, row->text)) {
            *unit = row->unit;
            *factor = row->factor;
            goto done;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ",
                                 row->text);
    }
    BB_FAIL(BB_INVALID, "values in '%s', expected one of: %s", text, list);
done:
    return status;
}
