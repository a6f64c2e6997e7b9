// SPDX-License-Identifier: Apache-2.0
#include "sim/input/unit.h"

#include <stdio.h>
#include <string.h>

enum { UNIT_BYTES = 64, LIST_BYTES = 160 };

typedef struct known_unit {
    const char *text;
    double factor;
    const char *unit; // the program's
} known_unit;

static const known_unit responses[] = {
    {"m/K", 1.0, "m/K"},
    {"mm/K", 1e-3, "m/K"},
    {"um/K", 1e-6, "m/K"},
    {"nm/K", 1e-9, "m/K"},
};

// An arcsec is pi / 648000 rad.
static const double ARCSEC_PER_RAD = 206264.80624709636;
static const double ARCSEC2_PER_RAD2 = 206264.80624709636 * 206264.80624709636;

// Angles first.
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
    const char *unsaid;
} quantities[] = {
    [BB_QUANTITY_RESPONSE] = {responses, COUNT(responses), "m/K"},
    [BB_QUANTITY_ANGLE_COVARIANCE] = {covariances, ANGLES, "arcsec^2"},
    [BB_QUANTITY_COVARIANCE] = {covariances, COUNT(covariances), "1"},
    [BB_QUANTITY_INFLUENCE] = {influences, COUNT(influences), "m/V"},
    [BB_QUANTITY_ANGLE] = {angles, COUNT(angles), "arcsec"},
    [BB_QUANTITY_FRACTION] = {fractions, COUNT(fractions), "1"},
};

// Without marks of a power, and micro as u: its sign in UTF-8, of Latin-1 or Greek.
static void spell(const char *text, char out[UNIT_BYTES])
{
    size_t length = 0;
    for (const char *next = text; *next != '\0' && length + 1 < UNIT_BYTES; ++next) {
        if (strncmp(next, "\xc2\xb5", 2) == 0 || strncmp(next, "\xce\xbc", 2) == 0) {
            out[length++] = 'u';
            ++next;
        } else if (*next != '^' && *next != '*') {
            out[length++] = *next;
        }
    }
    out[length] = '\0';
}

bb_status bb_unit_find(bb_quantity quantity, const char *text, const char **unit, double *factor)
{
    bb_status status = BB_OK;
    char got[UNIT_BYTES];
    char known[UNIT_BYTES];
    char list[LIST_BYTES] = "";
    size_t used = 0;
    *unit = quantities[quantity].unsaid;
    *factor = 1.0;
    if (text[0] == '\0') {
        goto done;
    }
    spell(text, got);
    for (bb_index i = 0; i < quantities[quantity].count; ++i) {
        const known_unit *row = &quantities[quantity].units[i];
        spell(row->text, known);
        if (strcmp(got, known) == 0) {
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
