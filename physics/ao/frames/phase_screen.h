// SPDX-License-Identifier: Apache-2.0
//
// Random phase screens of von Karman turbulence, at any points.
//
// A screen is a sum of plane waves with independent normal amplitudes: those of an FFT of N x N
// points, whose variances are the power spectrum W(f) at their frequencies times the area of a
// frequency cell, and, instead of the zero-frequency wave, `levels` of subharmonics, each the eight
// outer cells of 3 x 3 cells a third as wide (Lane, Glindemann and Dainty 1992):
//   W(f) = k0 r0^(-5/3) (f^2 + L0^-2)^(-11/6),
//   k0 = (24/5 Gamma(6/5))^(5/6) Gamma(11/6)^2 / (2 pi^(11/3)) = 0.0228955871.
// On its own points a screen is made by FFT. Elsewhere it is not interpolated: on the points of a
// separable grid the sum is two matrix products, exact for any position of the grid, and a mean or
// a difference over a width is a factor per wave. Waves above 1 / (2 pixel) are missing, which
// reduces the structure function at r = 2, 4, 8 pixels by 3, 1 and 0.4 %; a period of four times
// the distance of interest keeps it within 1 % there for outer scales up to that period. Finer
// waves come from a second, finer screen, which has only the waves beyond the first one's and may
// have a shorter period: such fine structure is correlated over a few pixels only.
//
// Amplitudes are addressed by (seed, number of the screen, wave): any screen can be generated
// independently.
#ifndef BB_PHYSICS_AO_FRAMES_PHASE_SCREEN_H
#define BB_PHYSICS_AO_FRAMES_PHASE_SCREEN_H

#include "core/need.h"
#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// Two doubles: real and imaginary part, laid out as C's double complex.
typedef double bb_amplitude[2];

/// The waves of all screens of one size. Constant after creation.
typedef struct bb_phase_screen {
    bb_index points; ///< N, points along an edge; even
    double pixel_m;  ///< the period is points pixel_m
    double outer_scale_m;
    bb_index levels;   ///< levels of subharmonics
    bb_index waves;    ///< N N / 2 for half the frequency plane, then 4 per level
    double beyond;     ///< waves with both frequencies up to this are omitted, 1/m
    int stream;        ///< bb_stream of its amplitudes
    double *deviation; ///< [waves] for each part of an amplitude, rad for r0 = 1 m
    void *plan;        ///< FFTW plan, from half a spectrum to the points
} bb_phase_screen;

/// Creates a screen with at least `points` points along an edge: the next even size suited to FFTW.
/// Errors: BB_INVALID (points < 2, levels < 0, sizes not positive), BB_MEMORY. Do not call from
/// several threads at once: it creates an FFTW plan. Release with bb_phase_screen_release.
BB_CHECKED bb_status bb_phase_screen_create(bb_index points, double pixel_m, double outer_scale_m,
                                            bb_index levels, bb_phase_screen *out);

/// Creates a finer screen with the waves beyond those of `coarse`. Errors: as
/// bb_phase_screen_create.
BB_CHECKED bb_status bb_phase_screen_refine(const bb_phase_screen *coarse, bb_index points,
                                            double pixel_m, bb_phase_screen *out);

/// Memory and time of creating a screen of `points` along an edge, and of the screen alone. FFTW's
/// plan, some kilobytes by estimate, is not counted.
bb_need bb_phase_screen_need(bb_index points);
bb_need bb_phase_screen_resident(bb_index points);
void bb_phase_screen_release(bb_phase_screen *screen);

/// Maximum number of points along an edge: one plane of doubles then has 8.8 TB.
enum { BB_PHASE_SCREEN_MOST = 1 << 20 };

/// Number of points used by bb_phase_screen_create for a request of at most BB_PHASE_SCREEN_MOST.
bb_index bb_phase_screen_points(bb_index points);

/// Draws the amplitudes [waves] of screen `number`, of strength r0^(-5/3) (m^(-5/3)).
void bb_phase_screen_draw(const bb_phase_screen *screen, double strength, uint64_t seed,
                          uint64_t number, bb_amplitude *amplitudes);

/// Selects the waves of frequencies up to `cutoff` (1/m); `out` [waves] is 0 elsewhere.
void bb_phase_screen_limit(const bb_phase_screen *screen, double cutoff,
                           const bb_amplitude *amplitudes, bb_amplitude *out);

/// Shifts the screen by `shift_m` (x, y), exactly: a wave a exp(2 pi i f x) becomes a exp(-2 pi i f
/// shift) exp(2 pi i f x). With `path_m`, the mean over the straight path of that length and
/// direction centred on the shift: factor sin(pi f path) / (pi f path). `out` [waves] may be
/// `amplitudes`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_phase_screen_move(const bb_phase_screen *screen, const double shift_m[2],
                                          const double path_m[2], const bb_amplitude *amplitudes,
                                          bb_amplitude *out);

/// Memory and time of shifting the amplitudes of a screen, without `out`.
bb_need bb_phase_screen_move_need(bb_index points);

/// Evaluates the screen on its own points, `plane` [points][points], rad at the wavelength of r0;
/// point (points / 2, points / 2) is the origin. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_phase_screen_plane(const bb_phase_screen *screen,
                                           const bb_amplitude *amplitudes, double *plane);

/// Computes the ensemble structure function at a separation: exact for the sum of waves.
double bb_phase_screen_structure(const bb_phase_screen *screen, double strength, double x_m,
                                 double y_m);

/// Quantity evaluated at each position along an axis of a screen.
typedef enum bb_screen_taken {
    BB_SCREEN_POINT,      ///< the value at the position
    BB_SCREEN_MEAN,       ///< mean over the width around it
    BB_SCREEN_DIFFERENCE, ///< upper minus lower end of the width around it
} bb_screen_taken;

/// Positions along x or y of a separable grid, as factors per wave. Plain owner.
typedef struct bb_screen_axis {
    bb_index count;
    bb_index waves;        ///< number of waves of this axis: N / 2 along x, N along y
    bb_amplitude *factors; ///< [count][waves]
    bb_amplitude *slow;    ///< [count][levels][3] for the subharmonics -1, 0 and 1
} bb_screen_axis;

/// Creates an axis along x if `along_x`, else along y. Errors: BB_MEMORY. Release with
/// bb_screen_axis_release.
BB_CHECKED bb_status bb_screen_axis_create(const bb_phase_screen *screen, bool along_x,
                                           bb_index count, const double *position_m,
                                           const double *width_m, bb_screen_taken taken,
                                           bb_screen_axis *out);

/// Memory and time of an axis along x and one along y of `count` positions together.
bb_need bb_screen_axis_need(bb_index points, bb_index levels, double count);
void bb_screen_axis_release(bb_screen_axis *axis);

/// Evaluates the screen on a grid: out[j][i] (+)= its value at (x[i], y[j]), `out` [y count][x
/// count]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_phase_screen_add(const bb_phase_screen *screen,
                                         const bb_amplitude *amplitudes, const bb_screen_axis *x,
                                         const bb_screen_axis *y, double *out);

/// Memory and time of bb_phase_screen_add without `out`, for as many positions along x and y; on
/// one thread.
bb_need bb_phase_screen_add_need(bb_index points, double count);

/// Memory and time of drawing the amplitudes of a screen on one thread, and of the amplitudes.
bb_need bb_phase_screen_draw_need(bb_index points);

#endif
