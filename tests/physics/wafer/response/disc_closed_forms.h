// SPDX-License-Identifier: Apache-2.0
//
// Closed forms of the heated disc, docs/lab/physics-wafer.md 2.3, items 1 to 4, for silicon of
// wafer_defaults.h.
#ifndef BB_TESTS_DISC_CLOSED_FORMS_H
#define BB_TESTS_DISC_CLOSED_FORMS_H

#include <gsl/gsl_integration.h>
#include <gsl/gsl_sf_bessel.h>
#include <math.h>
#include <stdbool.h>

static const double DISC_RADIUS = 0.150;
static const double DISC_POISSON = 0.28;
static const double DISC_EXPANSION = 2.6e-6;

typedef struct disc_profile {
    double width; // of the Gaussian; 0 is uniform
    double scale; // l_s
    int kind;     // 0: T s, 1: I0 T s, 2: K0 T s
} disc_profile;

static inline double disc_temperature(double r, double width)
{
    return width == 0.0 ? 0.1 : 0.1 * exp(-r * r / (width * width));
}

static inline double disc_integrand(double s, void *context)
{
    const disc_profile *profile = context;
    double bessel = profile->kind == 0   ? 1.0
                    : profile->kind == 1 ? gsl_sf_bessel_I0(s / profile->scale)
                                         : gsl_sf_bessel_K0(s / profile->scale);
    return s > 0.0 ? bessel * disc_temperature(s, profile->width) * s : 0.0;
}

static inline double disc_integral(int kind, double width, double scale, double start, double end)
{
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(200);
    disc_profile profile = {width, scale, kind};
    gsl_function function = {disc_integrand, &profile};
    double value = 0.0;
    double error = 0.0;
    (void)gsl_integration_qag(&function, start, end, 1e-18, 1e-11, 200, 6, work, &value, &error);
    gsl_integration_workspace_free(work);
    return value;
}

// Item 3: free disc.
static inline double free_disc(double r, double width)
{
    double inner = disc_integral(0, width, 1.0, 0.0, r);
    double total = disc_integral(0, width, 1.0, 0.0, DISC_RADIUS);
    return DISC_EXPANSION * ((1.0 + DISC_POISSON) / r * inner +
                             (1.0 - DISC_POISSON) * r / (DISC_RADIUS * DISC_RADIUS) * total);
}

// Item 3: its radial stress over E.
static inline double free_disc_stress(double r, double width)
{
    double inner = disc_integral(0, width, 1.0, 0.0, r);
    double total = disc_integral(0, width, 1.0, 0.0, DISC_RADIUS);
    return DISC_EXPANSION * (total / (DISC_RADIUS * DISC_RADIUS) - inner / (r * r));
}

// Item 4: disc on springs; A from N_r(R) = 0, that is u' + nu u / R = (1 + nu) alpha T at R.
static inline double sprung_disc(double r, double width, double scale)
{
    double i1 = gsl_sf_bessel_I1(DISC_RADIUS / scale);
    double k1 = gsl_sf_bessel_K1(DISC_RADIUS / scale);
    double i1_slope = gsl_sf_bessel_I0(DISC_RADIUS / scale) - i1 * scale / DISC_RADIUS;
    double k1_slope = -gsl_sf_bessel_K0(DISC_RADIUS / scale) - k1 * scale / DISC_RADIUS;
    double factor = (1.0 + DISC_POISSON) * DISC_EXPANSION / scale;
    double total = factor * disc_integral(1, width, scale, 0.0, DISC_RADIUS);
    // u' of the bracket includes (1 + nu) alpha T by the Wronskian, which cancels the right-hand
    // side.
    double stress = total * (k1_slope / scale + DISC_POISSON * k1 / DISC_RADIUS);
    double a = -stress / (i1_slope / scale + DISC_POISSON * i1 / DISC_RADIUS);
    double inner = disc_integral(1, width, scale, 0.0, r);
    double outer = r < DISC_RADIUS ? disc_integral(2, width, scale, r, DISC_RADIUS) : 0.0;
    return factor * (gsl_sf_bessel_K1(r / scale) * inner - gsl_sf_bessel_I1(r / scale) * outer) +
           a * gsl_sf_bessel_I1(r / scale);
}

static inline double disc_displacement(double r, double width, double scale, bool sprung)
{
    return sprung ? sprung_disc(r, width, scale) : free_disc(r, width);
}

#endif
