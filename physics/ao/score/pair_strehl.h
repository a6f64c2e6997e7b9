// SPDX-License-Identifier: Apache-2.0
//
// Long exposure of a residual that is not stationary over the pupil.
//
// point_spread.h averages the residual's covariance over pairs of actuators of equal displacement,
// as if it were stationary; so Dphi and everything derived from it is averaged too. Here every pair
// of points of the pupil has its own structure function,
//   D_ij = (2 pi / lambda)^2 (C_ii + C_jj - 2 C_ij),  C = F Cvv F^T, Cvv = Dx Cee Dx^T,
// and the exposure's OTF is that of the telescope times, at a displacement r,
//   g(r) = sum_(j - i = r) P_i P_j exp(-D_ij / 2) / sum_(j - i = r) P_i P_j,
// exact for a normal residual: the limit of a long exposure. With all points of the point spread's
// grid its Strehl ratio is sum_ij P_i P_j exp(-D_ij / 2) / (sum P)^2. The pairs are those of a
// coarser grid (comb) of every few points, each with the light of the points nearest to it; g,
// which varies with the actuators and not with the pupil's edge, is interpolated between its
// displacements by cubics.
//
// Influence functions are separable, so that C between two rows of the comb is G T G^T with T of
// the rows of actuators that influence them: for M points and c = lenslets + 1 corners across M^2
// (2 M c^2 + 2 M^2 c) operations in total, and one exponential per wavelength for each pair of
// points. Memory: c^3 doubles per thread, and [TASKS][wavelengths + 1][M][2 M] for the sums.
#ifndef BB_PHYSICS_AO_SCORE_PAIR_STREHL_H
#define BB_PHYSICS_AO_SCORE_PAIR_STREHL_H

#include "physics/ao/mirrors/mirror_surface.h"
#include "physics/ao/score/point_spread.h"

/// Points of the pupil whose pairs are summed: every `step`-th of the point spread's grid, each
/// with the light of those nearest to it. Release with bb_pair_comb_release.
typedef struct bb_pair_comb {
    bb_index edge;      ///< points across the pupil's square
    bb_index step;      ///< grid points between neighbours
    double *position_m; ///< [edge] from the centre of the pupil, along both axes
    double *weight;     ///< [edge][edge], y by x; 0: no light
    bb_index count;     ///< points with light, row by row
    bb_index *first;    ///< [edge + 1] index of each row's first point with light
    bb_index *column;   ///< [count]
} bb_pair_comb;

/// Creates a comb. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_pair_comb_create(const bb_point_spread *spread, bb_index step,
                                         bb_pair_comb *out);
void bb_pair_comb_release(bb_pair_comb *comb);

/// Computes F [count][actuators] of a mirror's shape on the comb's rows and columns, m per volt.
/// Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_pair_comb_influence(const bb_pair_comb *comb, const bb_mirror_shape *shape,
                                            double **out);

/// Sums over the pairs of a field on another device. Everything is borrowed.
typedef struct bb_pair_sums {
    bb_index edge, count, actuators, wavelength_count;
    const int32_t *place;     ///< [edge][edge] index of the point with light, -1: none
    const int32_t *first;     ///< [edge + 1] index of each row's first point
    const int32_t *column;    ///< [count]
    const double *light;      ///< P [count]
    const double *influence;  ///< F [count][actuators]
    const double *known;      ///< W [actuators][actuators]
    const double *stationary; ///< s [edge][edge]
    const double *squares;    ///< [wavelength_count] (2 pi / lambda)^2
    double *sums;        ///< [wavelength_count + 1][edge][2 edge - 1], output: sums of P_i P_j,
                         ///< then of P_i P_j exp(-D_ij / 2), by dy and dx
    double *covariances; ///< [edge][2 edge - 1], output: sums of P_i P_j (S_ij - s_ij)
    double *variances;   ///< [count], output: S_ii
    const bb_matrix_source *source; ///< G [count][n]; NULL: none
    const double *commands;         ///< M [actuators][n]
} bb_pair_sums;

/// Errors: BB_MEMORY, BB_DEVICE.
typedef bb_status (*bb_pair_summing)(void *context, const bb_pair_sums *task);

/// A residual beyond a mirror's shape, on the points with light of a comb:
///   D_ij / 2 = (S_ii + S_jj) / 2 - S_ij + s_ij,  S_ij = (F_i z_j + z_i F_j) / 2,
/// F the influence, z the field's and s stationary. Everything is borrowed.
typedef struct bb_pair_field {
    const bb_pair_comb *comb;
    bb_index actuators;
    const double *influence;        ///< F [points][actuators], m per volt
    const bb_mirror_shape *shape;   ///< F on the comb's rows and columns, for Gaussian
                                    ///< actuators at the lenslets' corners; NULL: otherwise
    const double *twisted;          ///< z [points][actuators], V m; NULL if `sum` computes it
    const double *stationary;       ///< s [edge][edge] by |dy| and |dx| in steps, m^2, 0 at (0, 0)
    bb_pair_summing sum;            ///< computes the sums; NULL: on the host
    void *context;                  ///< for `sum`, with z = F W - 2 G M^T:
    const double *known;            ///< W [actuators][actuators], V^2
    const bb_matrix_source *source; ///< G [points][n], m arcsec; NULL: none
    const double *commands;         ///< M [actuators][n], V per arcsec
} bb_pair_field;

/// Sums over the pairs of one residual. Zero-initialise; release with bb_pair_strehl_release.
typedef struct bb_pair_strehl {
    const bb_point_spread *spread;
    bb_index edge; ///< M, points of the comb across the pupil's square
    bb_index step; ///< grid points between neighbours
    bb_index wavelength_count;
    const double *wavelengths_m; ///< [wavelength_count], borrowed
    double *attenuation; ///< g [wavelength_count][edge][2 edge - 1]: rows of dy >= 0, dx from
                         ///< 1 - edge up
    double variance_m2;  ///< variance of the residual over the pupil, without its mean (piston)
} bb_pair_strehl;

/// Returns the step of a comb that resolves the residual, in points of the grid: about 3 comb
/// points per lenslet and at least 45 across the pupil, as far as the grid provides them. Strehl
/// ratios are then within 1e-4 of those of all points.
bb_index bb_pair_strehl_step(bb_index lenslets, bb_index pixels_per_lenslet);

/// Sums the pairs from `voltages` Cvv [actuators][actuators], V^2 (bb_point_spread_voltages). The
/// comb uses every `step`-th point of the grid. NaN in, NaN out. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_pair_strehl_create(const bb_point_spread *spread, const double *voltages,
                                           bb_index step, bb_index wavelength_count,
                                           const double *wavelengths_m, bb_pair_strehl *out);
/// Sums the pairs from a field on its comb. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_pair_strehl_create_field(const bb_point_spread *spread,
                                                 const bb_pair_field *field,
                                                 bb_index wavelength_count,
                                                 const double *wavelengths_m, bb_pair_strehl *out);
void bb_pair_strehl_release(bb_pair_strehl *pairs);

/// Covariance of an equivalent stationary residual with the same OTF, minus its variance, (lambda /
/// 2 pi)^2 ln g on the point spread's grid, `correlation` [N][N], m^2: input of the functions of
/// point_spread.h. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_pair_strehl_correlation(const bb_pair_strehl *pairs, bb_index wavelength,
                                                double *correlation);

/// Points of a comb across the pupil's square; memory and time of the sums over its pairs: memory,
/// and the time of the exponentials of pairs with light.
bb_index bb_pair_comb_edge(bb_index lenslets, bb_index pixels_per_lenslet, bb_index step);
bb_need bb_pair_comb_need(bb_index edge, bb_index wavelength_count, double threads);

/// Memory and time of one residual with the comb of bb_pair_strehl_step; seconds without
/// obstruction.
bb_need bb_pair_strehl_need(bb_index lenslets, bb_index wavelength_count, double threads);

#endif
