// SPDX-License-Identifier: Apache-2.0
//
// Rows of the response matrix from closed-form kernels: displacement at slit points per kelvin in a
// cell of the temperature grid S, for an infinite plate on springs.
//
// In plane (membrane, w = 0): B lap u - k_s u = B (1 + nu) alpha grad T gives u = grad phi with
//     phi(p) = -(1 + nu) alpha / (2 pi) integral of K0(|p - s| / l_s) T(s),  l_s = sqrt(B / k_s)
// so a cell's entry is exactly two edge integrals of K0, right minus left (x) or upper minus lower
// (y).
//
// Height z = w + g, deflection at the normal springs plus growth of the thickness,
//     g = alpha d (1 + nu)/(1 - nu) T - nu d/(1 - nu) div u0,
// from the coupled Fourier system (M_T = 0), s = q^2:
//     (B s + k_s) U - k_s (d/2) q W = N_T q,  (D s^2 + k_n + k_s d^2 s / 4) W = k_s (d/2) q U
// whose determinant is B D s^3 + (B e + k_s D) s^2 + B k_n s + k_s k_n with e = k_s d^2 / 4. Its
// three roots s_i = -p_i give z = alpha d (1 + nu) T + sum_i c_i / (s + p_i) with the residues of
//     M(s) = [nu d/(1 - nu)] N_T (k_s / B) (D s^2 + k_n) + N_T k_s (d/2) s
// and 1/(s + p) is K0(sqrt(p) r) / (2 pi), p complex. Kernels are integrated over cells
// (radial_kernel.h: 1e-10 of the peak); the local part interpolates T(p) bilinearly from the
// centres of the live cells around p.
//
// Limits: no edge of the wafer (a disc adds A I1(r / l_s), see membrane.h). x and y are u0 of the
// plate's middle: they ignore the coupling to w, at most (k_s d/2)^2 / (B k_n) = 1e-5 of u by
// default, and the rotation of its normal, (d/2) grad w, which adds to u0 at the surface. That is
// much larger: |(d/2) q W / U| = (k_s d^2 q^2 / 4) / (D q^4 + k_n + k_s d^2 q^2 / 4), by default
// 8.6e-4 at a wavelength of 26 mm, 2.6e-3 at 13 mm, 2.9e-3 at most (10 mm), 1.8e-3 at 6 mm and 5e-4
// at 3 mm. Candidates and reference share it, so it does not affect losses of precision; overlay of
// the top surface needs it. A partly live cell counts by its live area: the shape of the live part
// is ignored. Masked columns are zero. Rows of points off the wafer use the infinite plate.
#ifndef BB_PHYSICS_WAFER_RESPONSE_RESPONSE_H
#define BB_PHYSICS_WAFER_RESPONSE_RESPONSE_H

#include "core/matrix_source.h"
#include "physics/wafer/response/radial_kernel.h"
#include "physics/wafer/response/temperature_grid.h"
#include "physics/wafer/slit_grid.h"
#include "physics/wafer/wafer_config.h"

#include <stdbool.h>

/// Tables shared by all fields and axes. Read-only to users.
typedef struct bb_response {
    const bb_temperature_grid *grid; ///< borrowed
    double screening_length;         ///< l_s, m
    double in_plane;                 ///< (1 + nu) alpha / (2 pi), 1/K
    double local_height;             ///< alpha d (1 + nu), m/K
    bb_radial_kernel membrane;       ///< K0(r / l_s)
    bb_radial_kernel height;         ///< sum c_i K0(sqrt(p_i) r) / (2 pi), 1/(m K)
    bool single; ///< lines of the grid, integrals, differences and products in single precision;
                 ///< the tables stay in fp64
} bb_response;

/// Creates the tables. Errors: BB_INVALID, BB_MEMORY. The grid must outlive the response.
BB_CHECKED bb_status bb_response_create(const bb_wafer_material_config *wafer,
                                        const bb_clamp_config *clamp,
                                        const bb_temperature_grid *grid, bb_response **out);

/// Rows of one axis for all slit points of one field. `source` points into this struct: do not move
/// it while the source is used.
typedef struct bb_field_response {
    bb_matrix_source source; ///< [slit field_points][grid cell_count], m/K, "C_x" and so on
    const bb_response *response;
    bb_slit_grid slit;
    bb_field field;
    int axis; ///< bb_axis
} bb_field_response;

/// Checks that the tables of a response over `grid`, of which only sizes are read, cover the
/// distance from every point of a field to every cell. Errors: BB_INVALID (they do not).
BB_CHECKED bb_status bb_response_check_field(const bb_temperature_grid *grid,
                                             const bb_slit_grid *slit, const bb_field *field);

/// Creates the rows. Errors: BB_INVALID (a field beyond the tables). The response and the scan must
/// outlive it.
BB_CHECKED bb_status bb_field_response_make(const bb_response *response, const bb_slit_grid *slit,
                                            const bb_field *field, int axis,
                                            bb_field_response *out);

/// Height of the Fourier mode q (1/m) in m/K, for tests: alpha d (1 + nu) + sum c_i / (q^2 + p_i),
/// from the 2 x 2 system itself.
double bb_response_height_amplitude(const bb_wafer_material_config *wafer,
                                    const bb_clamp_config *clamp, double q);

/// Memory and time of the tables, and of `rows` of a response to `cells`, on all threads.
bb_need bb_response_need(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                         const bb_grid_config *grid, double radius);
bb_need bb_field_response_need(double rows, double cells, double threads);

void bb_response_destroy(bb_response **response);

#endif
