// SPDX-License-Identifier: Apache-2.0
//
// Overlay: statistics of displacement errors at scored points, and correction by linear models.
//
// Signs: (dx, dy) is the displacement of the material at exposure; the printed feature is at minus
// that after cool-down. Rotation is positive counter-clockwise. Models, in wafer coordinates (X,
// Y), field centre (Xc, Yc), x = X - Xc, y = Y - Yc:
//     wafer, 6:  dx = Tx + Mx X - Rx Y,   dy = Ty + My Y + Ry X
//     wafer and field, 10: as above with (Xc, Yc) instead of (X, Y), plus
//                dx += (m + ma) x - (r + ra) y,   dy += (m - ma) y + (r - ra) x
// A correction per exposure is the 6-parameter model of one field's points, in (x, y). It requires
// 12 points: fields with fewer, at the wafer's edge, stay uncorrected, and the outcome's detail
// counts them. Its cubic form has 20 coefficients per field, k1 to k20,
//                dx = k1 + k3 x + k5 y + k7 x^2 + k9 xy + k11 y^2 + k13 x^3 + k15 x^2 y + k17 x y^2
//                     + k19 y^3, dy = the same of (y, x) with k2 to k20;
// a field whose points (at least 20) do not determine them gets the 6 parameters. Each model
// contains the one before it if all fields have enough points, so that the residual decreases. Fits
// are least squares by QR with column pivoting on normalised columns.
#ifndef BB_PHYSICS_WAFER_OVERLAY_OVERLAY_H
#define BB_PHYSICS_WAFER_OVERLAY_OVERLAY_H

#include "core/outcome.h"
#include "core/status.h"

/// Scored points and their errors; borrowed arrays of `count`, m.
typedef struct bb_overlay_points {
    bb_index count;
    const double *x; ///< wafer coordinates
    const double *y;
    const double *field_x; ///< centre of the point's field; may be NULL for models without field
    const double *field_y;
    const double *dx;
    const double *dy;
} bb_overlay_points;

/// For one axis, nm. NaN if the points do not determine it (no point; sigma of one point).
typedef struct bb_overlay_axis {
    double mean;
    double sigma;         ///< with n - 1
    double m3s;           ///< |mean| + 3 sigma
    double max;           ///< largest |e|
    double percentile997; ///< 99.7 percentile of |e|, linear between order statistics
} bb_overlay_axis;

typedef struct bb_overlay_statistics {
    bb_overlay_axis x;
    bb_overlay_axis y;
    bb_overlay_axis vector; ///< of the lengths of (dx, dy)
    double vector_max;      ///< largest length of (dx, dy), nm
    double rms;             ///< sqrt(mean (dx^2 + dy^2)), nm
} bb_overlay_statistics;

/// Computes statistics in nm of errors in m, dx and dy [count]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_overlay_statistics_of(bb_index count, const double *dx, const double *dy,
                                              bb_overlay_statistics *out);

typedef enum bb_overlay_model {
    BB_OVERLAY_RAW,         ///< no correction
    BB_OVERLAY_WAFER_6,     ///< six wafer parameters
    BB_OVERLAY_WAFER_10,    ///< six parameters of field centres and four within fields
    BB_OVERLAY_FIELD_6,     ///< six parameters for each field by itself: a correction per exposure
    BB_OVERLAY_FIELD_CUBIC, ///< twenty parameters for each field by itself
    BB_OVERLAY_MODELS       ///< number of models
} bb_overlay_model;

/// Parameters of the models of a whole wafer, and maximum of any model.
enum { BB_OVERLAY_PARAMETERS = 10, BB_OVERLAY_MOST_PARAMETERS = 20 };

/// Names in the order of bb_overlay_fit.parameter: "Tx", "Ty", "Mx", "My", "Rx", "Ry", "m", "ma",
/// "r", "ra".
extern const char *const bb_overlay_parameter_names[BB_OVERLAY_PARAMETERS];

typedef struct bb_overlay_fit {
    bb_outcome outcome; ///< underdetermined (naming a parameter), or non_finite errors
    int parameter_count;
    /// Translations in m, others 1 (1e-6: 1 ppm or 1 urad), for the cubic also m^-1 and m^-2; those
    /// of the last field for a fit per field; NaN beyond parameter_count.
    double parameter[BB_OVERLAY_MOST_PARAMETERS];
    double condition; ///< largest over smallest pivot of the scaled columns, over all fields
} bb_overlay_fit;

/// Returns the number of parameters of a model: 0, 6, 10, 6 and 20 per field.
int bb_overlay_model_parameters(bb_overlay_model model);

/// Fits a model (points of a field are adjacent) and fills the residuals residual_x, residual_y
/// [count], m. If the points do not determine the model, parameters and residuals are NaN and the
/// outcome gives the reason: that is a result, not an error. Errors: BB_MEMORY, BB_INVALID (field
/// centres missing), BB_INTERNAL.
BB_CHECKED bb_status bb_overlay_fit_model(bb_overlay_model model, const bb_overlay_points *points,
                                          bb_overlay_fit *fit, double *residual_x,
                                          double *residual_y);

/// Fits as bb_overlay_fit_model, for a model per field, with the fit of each field in `each`, in
/// the order of the points: [number of fields], NULL for none. An uncorrected field has no
/// parameters (parameter_count 0).
BB_CHECKED bb_status bb_overlay_fit_fields(bb_overlay_model model, const bb_overlay_points *points,
                                           bb_overlay_fit *fit, double *residual_x,
                                           double *residual_y, bb_overlay_fit *each);

#endif
