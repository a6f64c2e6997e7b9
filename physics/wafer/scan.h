// SPDX-License-Identifier: Apache-2.0
//
// Fields on the wafer, the order and timing of their exposure, and the slit that scans them.
//
// Grid: edges of field columns on x = 0, a row of fields centred on y = 0; fields with more than 5
// % of their area inside the usable radius are exposed (96 for 26 x 33 mm in 147 mm). Order: rows
// from the lowest y up, the first from left to right, then alternately (meander); scans run up (to
// greater y) in even and down in odd exposures. A given order selects fields of the meander in its
// own sequence, where scans alternate likewise.
//
// A layout, a list of positions, replaces all that; offsets shift grid and layout alike.
//
// Slit: an arc of chord field width, y = y_slit(t) + arc(x), arc(x) = sqrt(Ra^2 - (x - Xc)^2) - Ra,
// and width w along y. At a point, s = y_slit(t) + arc(x) - y, and the fraction of the dose
// delivered by an up scan until t is F(s) = clamp(s / w + 1/2, 0, 1); by a down scan it is 1 -
// F(s). The slit travels field height + sagitta + w at constant speed in the light steps, so that
// every point of the field gets the whole dose.
#ifndef BB_PHYSICS_WAFER_SCAN_H
#define BB_PHYSICS_WAFER_SCAN_H

#include "physics/wafer/wafer_config.h"

/// Dose within a field, relative to the field's dose: points of a full grid, each for a cell that
/// extends midway to its neighbours, or to the edge of the field. As in scanner recipes, a factor
/// is an offset from the nominal dose and not a share of it: nothing is normalised, and the energy
/// of a field is dose * area * mean factor. Read-only to users.
typedef struct bb_dose_map {
    bb_index columns;
    bb_index rows;
    double *x;      ///< [columns + 1] edges of cells from the field's centre, m, increasing
    double *y;      ///< [rows + 1]
    double *factor; ///< [rows][columns]
} bb_dose_map;

/// Creates a map from `config->dose_map`. Errors: BB_INVALID ("scan.dose_map.3.x_mm: ..": a point
/// off the field or twice, an incomplete grid), BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_dose_map_create(const bb_scan_config *config, bb_dose_map **out);
void bb_dose_map_destroy(bb_dose_map **map);

/// Returns the mean over the field's area; 1 without a map (NULL).
double bb_dose_map_mean(const bb_dose_map *map);

/// Fields with at most this fraction of their area inside the usable radius are not exposed.
#define BB_SCAN_LEAST_PART 0.05

typedef struct bb_field {
    double x; ///< centre, m
    double y;
    bb_index column;     ///< column of the grid; column 0 starts at its offset; 0 in a layout
    bb_index row;        ///< row of the grid; row 0 is centred on its offset; 0 in a layout
    double dose;         ///< J/m2 at the resist
    bool up;             ///< scanned towards greater y
    bool full;           ///< completely inside the usable radius
    bb_index first_step; ///< time step of its first light step
} bb_field;

/// Read-only to users; lengths in m, times in s.
typedef struct bb_scan {
    double field_width;
    double field_height;
    double usable_radius;
    double slit_width;
    double arc_radius;
    double sagitta; ///< sagitta of the arc over the field width
    double travel;  ///< travel of the slit in the light steps
    double step;    ///< time step
    double speed;   ///< travel / (light_steps * step), m/s
    bb_index light_steps;
    bb_index dark_steps;
    bb_index field_count;
    bb_field *fields;      ///< [field_count], in order of exposure
    bb_dose_map *dose_map; ///< dose map for every field; NULL: uniform dose
} bb_scan;

/// Lays out all fields of a wafer. `step` is the time step in s. Errors: BB_INVALID (an arc radius
/// of at most half the field width, no field, a scored field or a dose beyond the last, a sequence
/// without order given or the reverse, an invalid or repeated field in it, those of a layout and of
/// a dose map), BB_MEMORY.
BB_CHECKED bb_status bb_scan_create(const bb_scan_config *config, double step, bb_scan **out);

/// Returns y_slit of a field `time` s after its first light step began, m; any time is valid.
double bb_scan_slit_y(const bb_scan *scan, const bb_field *field, double time);

/// Returns arc(x), m, at most 0; x in wafer coordinates, clamped to the field.
double bb_scan_arc(const bb_scan *scan, const bb_field *field, double x);

/// Returns the fraction of the dose at point (x, y) of the field in light step `step` (0 is the
/// first).
double bb_scan_dose_fraction(const bb_scan *scan, const bb_field *field, bb_index step, double x,
                             double y);

/// Returns the fraction of a field's area inside the usable radius, 0 to 1.
double bb_scan_part_inside(const bb_scan *scan, const bb_field *field);

void bb_scan_destroy(bb_scan **scan);

/// Computes the area of the part of rectangle [x0, x1] x [y0, y1] inside a circle around (0, 0),
/// m2, in closed form.
double bb_field_area_inside(double radius, double x0, double x1, double y0, double y1);

#endif
