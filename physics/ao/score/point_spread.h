// SPDX-License-Identifier: Apache-2.0
//
// Long-exposure point spread function and Strehl ratio from the covariance of residual slopes.
//
// Steps (those of ecrc/moao, in double precision and with the pupil counted in pixels, sampled as
// in pupil.h; the telescope's OTF is its autocorrelation over the autocorrelation at 0):
//   Cvv = Dx Cee Dx^T, averaged over actuator pairs of equal displacement;
//   corr = IFFT(|FFT f|^2 FFT map) / km^2, the covariance of the residual wavefront (m^2);
//   Dphi(r) = 2 (2 pi / lambda)^2 [corr(0) - corr(r)];  OTF = OTF_telescope exp(-Dphi / 2);
//   Strehl = sum OTF / sum OTF_telescope.
// The grid has N = max(512, 8 2^floor(log2(n + 1) + 1/2)) pixels of D / (n km), km pixels per
// lenslet. Residual phase is assumed stationary over the pupil (unlike in pair_strehl.h);
// error_terms.h adds fitting error, aliasing and servo lag: half their structure function,
// subtracted from corr, enters every function below.
#ifndef BB_PHYSICS_AO_SCORE_POINT_SPREAD_H
#define BB_PHYSICS_AO_SCORE_POINT_SPREAD_H

#include "core/matrix_source.h"
#include "core/outcome.h"
#include "physics/ao/mirrors/deformable_mirror.h"

/// Mirror, grids, telescope OTF and FFT plans for one telescope and number of lenslets; shared by
/// every pipeline and every target with that many lenslets. Constant after creation: the functions
/// below may run in several threads at once.
typedef struct bb_point_spread bb_point_spread;

typedef struct bb_point_spread_grid {
    bb_index pixels;             ///< N, pixels along an edge
    bb_index pixels_per_lenslet; ///< km
    double pixel_m;              ///< ud, size of a pixel in the pupil
    bb_index pupil_points;       ///< pixels along an edge of the pupil's square
    bb_index pupil_pixels;       ///< transmitting pixels
    double pupil_power;          ///< sum of the squares of their transmissions
    double pupil_light;          ///< transmitted light, in pixels (bb_pupil_light)
    bb_index measurement_count;  ///< m of the truth sensor
    bb_index actuator_count;
    bb_index dropped_modes;
} bb_point_spread_grid;

/// `condition` is that of deformable_mirror.h, NaN for the default. Errors: BB_MEMORY, BB_INVALID
/// (no subaperture, too many lenslets for the grid, a pupil that transmits nothing), those of
/// bb_deformable_mirror_create. Do not call from several threads at once: it creates FFTW plans.
BB_CHECKED bb_status bb_point_spread_create(double diameter_m, const bb_pupil *pupil,
                                            bb_index lenslets, double condition,
                                            bb_point_spread **out);
void bb_point_spread_destroy(bb_point_spread **spread);

/// Memory and time, and the part that stays: the mirror's projector and three planes of the grid.
/// FFTW's plans, some kilobytes by estimate, are not counted.
bb_need bb_point_spread_need(const bb_pupil *pupil, bb_index lenslets);
bb_need bb_point_spread_resident(const bb_pupil *pupil, bb_index lenslets);

/// Computes N and km for a number of lenslets, without creating anything.
bb_index bb_point_spread_pixels(bb_index lenslets);
bb_index bb_point_spread_pixels_per_lenslet(bb_index lenslets);

const bb_point_spread_grid *bb_point_spread_layout(const bb_point_spread *spread);
/// Returns the pupil on the grid's points, pupil_points x pupil_points, laid out as a mask
/// (pupil.h). It lives as long as the point spread.
const bb_matrix_source *bb_point_spread_pupil(const bb_point_spread *spread);

/// Returns the same transmissions, [pupil_points][pupil_points].
const double *bb_point_spread_transmission(const bb_point_spread *spread);

const bb_deformable_mirror *bb_point_spread_mirror(const bb_point_spread *spread);

/// Computes Cvv = Dx Cee Dx^T, `voltages` [actuators][actuators], V^2. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_point_spread_voltages(const bb_point_spread *spread, const double *cee,
                                              double *voltages);

/// Memory and time of bb_point_spread_voltages without `cee`, with its result.
bb_need bb_point_spread_voltages_need(const bb_pupil *pupil, bb_index lenslets, double threads);

/// Computes the covariance of the residual wavefront, assumed stationary. `voltages` Cvv
/// [actuators][actuators]; `correlation` [N][N], m^2, zero displacement at (0, 0); `rms_m` =
/// sqrt(correlation(0)). A residual that is not finite, or whose variance is negative, sets
/// `outcome` and gives NaN. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_point_spread_residual(const bb_point_spread *spread, const double *voltages,
                                              double *correlation, double *rms_m,
                                              bb_outcome *outcome);

/// Variance over the pupil of a wavefront with half the structure function `half` [N][N], m^2,
/// without its mean (piston).
double bb_point_spread_variance(const bb_point_spread *spread, const double *half);

/// Computes the full width at half maximum of the image averaged over directions, radians; NaN in,
/// NaN out. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_point_spread_width(const bb_point_spread *spread, const double *correlation,
                                           double wavelength_m, double *width_rad);

/// Computes the Strehl ratio at a wavelength (m) from bb_point_spread_residual's correlation; NaN
/// in, NaN out.
double bb_point_spread_strehl(const bb_point_spread *spread, const double *correlation,
                              double wavelength_m);

/// Contribution of displacements with a negative structure function to the Strehl ratio, beyond
/// that of a perfect wavefront: 0 for any true covariance. The mean over pairs of actuators is not
/// a covariance if the residual is far from stationary.
double bb_point_spread_excess(const bb_point_spread *spread, const double *correlation,
                              double wavelength_m);

/// Fraction of the energy in a square box on the axis, `width_rad` along an edge; NaN for a box
/// wider than the image's period, wavelength / pixel_m. The pupil transmits pupil_light; the
/// image's period contains pupil_power of it, as the edges inside partly open pixels diffract
/// beyond.
double bb_point_spread_ensquared(const bb_point_spread *spread, const double *correlation,
                                 double wavelength_m, double width_rad);

/// Computes the long-exposure point spread function `image` [N][N], 1 at the peak of the
/// diffraction-limited one, the optical axis at pixel (N / 2, N / 2); a pixel is lambda / (N
/// pixel_m) radians. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_point_spread_image(const bb_point_spread *spread, const double *correlation,
                                           double wavelength_m, double *image);

#endif
