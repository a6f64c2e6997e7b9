// SPDX-License-Identifier: Apache-2.0
//
// Units of values in user files: factors of known units in all spellings, and messages for others.
#include "sim/input/unit.h"
#include "tests/check.h"

TEST(known_units_have_their_factors)
{
    static const double arcsec = 3.14159265358979323846 / (180.0 * 3600.0); // in rad
    static const struct {
        bb_quantity quantity;
        const char *text, *unit;
        double factor;
    } cases[] = {
        {BB_QUANTITY_RESPONSE, "m/K", "m/K", 1.0},
        {BB_QUANTITY_RESPONSE, "mm/K", "m/K", 1e-3},
        {BB_QUANTITY_RESPONSE, "um/K", "m/K", 1e-6},
        {BB_QUANTITY_RESPONSE, "\xc2\xb5m/K", "m/K", 1e-6},
        {BB_QUANTITY_RESPONSE, "\xce\xbcm/K", "m/K", 1e-6},
        {BB_QUANTITY_RESPONSE, "nm/K", "m/K", 1e-9},
        {BB_QUANTITY_RESPONSE, "", "m/K", 1.0},
        {BB_QUANTITY_ANGLE_COVARIANCE, "arcsec2", "arcsec^2", 1.0},
        {BB_QUANTITY_ANGLE_COVARIANCE, "arcsec**2", "arcsec^2", 1.0},
        {BB_QUANTITY_ANGLE_COVARIANCE, "mas^2", "arcsec^2", 1e-6},
        {BB_QUANTITY_ANGLE_COVARIANCE, "rad^2", "arcsec^2", 1.0 / (arcsec * arcsec)},
        {BB_QUANTITY_ANGLE_COVARIANCE, "", "arcsec^2", 1.0},
        {BB_QUANTITY_COVARIANCE, "mas2", "arcsec^2", 1e-6},
        {BB_QUANTITY_COVARIANCE, "um^2", "nm^2", 1e6},
        {BB_QUANTITY_COVARIANCE, "m^2", "nm^2", 1e18},
        {BB_QUANTITY_COVARIANCE, "1", "1", 1.0},
        {BB_QUANTITY_COVARIANCE, "", "1", 1.0},
        {BB_QUANTITY_INFLUENCE, "um/V", "m/V", 1e-6},
        {BB_QUANTITY_INFLUENCE, "nm", "m/V", 1e-9},
        {BB_QUANTITY_INFLUENCE, "", "m/V", 1.0},
        {BB_QUANTITY_ANGLE, "mas", "arcsec", 1e-3},
        {BB_QUANTITY_ANGLE, "rad", "arcsec", 1.0 / arcsec},
        {BB_QUANTITY_ANGLE, "", "arcsec", 1.0},
        {BB_QUANTITY_FRACTION, "%", "1", 1e-2},
        {BB_QUANTITY_FRACTION, "percent", "1", 1e-2},
        {BB_QUANTITY_FRACTION, " ", "1", 1.0},
        {BB_QUANTITY_RESPONSE, "meters per Kelvin", "m/K", 1.0},
        {BB_QUANTITY_RESPONSE, "m.K-1", "m/K", 1.0},
        {BB_QUANTITY_RESPONSE, "m K^-1", "m/K", 1.0},
        {BB_QUANTITY_RESPONSE, " micrometre / degK ", "m/K", 1e-6},
        {BB_QUANTITY_RESPONSE, "nm\xc2\xb7K-1", "m/K", 1e-9},
        {BB_QUANTITY_ANGLE_COVARIANCE, "arcsec\xc2\xb2", "arcsec^2", 1.0},
        {BB_QUANTITY_ANGLE_COVARIANCE, "milliarcseconds^2", "arcsec^2", 1e-6},
        {BB_QUANTITY_ANGLE_COVARIANCE, "radian2", "arcsec^2", 1.0 / (arcsec * arcsec)},
        {BB_QUANTITY_INFLUENCE, "microns/volt", "m/V", 1e-6},
        {BB_QUANTITY_INFLUENCE, "m V-1", "m/V", 1.0},
        {BB_QUANTITY_ANGLE, "Radians", "arcsec", 1.0 / arcsec},
        {BB_QUANTITY_ANGLE, "arc_seconds", "arcsec", 1.0},
        {BB_QUANTITY_ANGLE, "MAS ", "arcsec", 1e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *unit = NULL;
        double factor = 0.0;
        check_ok(bb_unit_find(cases[i].quantity, cases[i].text, &unit, &factor));
        assert_string_equal(unit, cases[i].unit);
        check_relative(factor, cases[i].factor, 1e-15);
    }
}

TEST(a_unit_has_many_spellings)
{
    static const char *const spellings[] = {"",    "rad",  "radian",  "radians",
                                            "Rad", "rad ", " RADIANS"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; ++i) {
        assert_true(bb_unit_is(spellings[i], "rad"));
    }
    assert_false(bb_unit_is("deg", "rad") || bb_unit_is("mrad", "rad") || bb_unit_is("1", "rad"));
}

TEST(other_units_are_refused_with_those_expected)
{
    static const struct {
        bb_quantity quantity;
        const char *text, *words;
    } cases[] = {
        {BB_QUANTITY_RESPONSE, "K", "values in 'K', expected one of: m/K, mm/K, um/K, nm/K"},
        {BB_QUANTITY_RESPONSE, "1", "values in '1', expected one of: m/K"},
        {BB_QUANTITY_RESPONSE, "Mm/K", "values in 'Mm/K'"},
        {BB_QUANTITY_ANGLE_COVARIANCE, "nm^2", "expected one of: arcsec^2, mas^2, rad^2"},
        {BB_QUANTITY_COVARIANCE, "arcsec", "arcsec^2, mas^2, rad^2, nm^2, um^2, m^2, 1"},
        {BB_QUANTITY_INFLUENCE, "rad", "expected one of: m/V, um/V, nm/V, m, um, nm"},
        {BB_QUANTITY_FRACTION, "m/K", "expected one of: 1, %"},
        {BB_QUANTITY_FRACTION, "12", "values in '12'"},
        {BB_QUANTITY_RESPONSE, "m K", "values in 'm K'"},
        {BB_QUANTITY_RESPONSE, "m/K-9223372036854775808", "values in 'm/K-9223372036854775808'"},
        {BB_QUANTITY_RESPONSE, "K/m", "values in 'K/m'"},
        {BB_QUANTITY_RESPONSE, "m/K2", "values in 'm/K2'"},
        {BB_QUANTITY_RESPONSE, "m/K/", "values in 'm/K/'"},
        {BB_QUANTITY_ANGLE, "rad-1", "values in 'rad-1'"},
        {BB_QUANTITY_ANGLE, "grad", "values in 'grad'"},
        {BB_QUANTITY_ANGLE, "milliradian", "values in 'milliradian'"},
        {BB_QUANTITY_INFLUENCE, "M", "values in 'M'"},
        {BB_QUANTITY_INFLUENCE, "meters (surface)", "values in 'meters (surface)'"},
        {BB_QUANTITY_INFLUENCE,
         "nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm nm",
         "values in 'nm nm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *unit = NULL;
        double factor = 0.0;
        check_fails(bb_unit_find(cases[i].quantity, cases[i].text, &unit, &factor), BB_INVALID,
                    cases[i].words);
    }
}
