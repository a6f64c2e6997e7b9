// SPDX-License-Identifier: Apache-2.0
//
// Random phase screens of von Karman turbulence, at any points.
//
// A screen is a sum of plane waves with independent normal amplitudes: those of an FFT of N x N
// points, whose variances are the power spectrum W(f) at their frequencies times the area of a
// frequency cell, and in place of the wave of zero frequency `levels` of subharmonics, each the
// eight outer ones of 3 x 3 cells a third as wide (Lane, Glindemann and Dainty 1992):
//   W(f) = k0 r0^(-5/3) (f^2 + L0^-2)^(-11/6),
//   k0 = (24/5 Gamma(6/5))^(5/6) Gamma(11/6)^2 / (2 pi^(11/3)) = 0.0228955871.
// On its own points a screen is made by FFT. Elsewhere it is not interpolated: on the points of a
// separable grid the sum is two matrix products, exact wherever the grid stands, and a mean or a
// difference over a width is a factor to each wave. Waves beyond 1 / (2 pixel) are missing, which
// lowers the structure function at r = 2, 4, 8 pixels by 3, 1 and 0.4 %; a period of four times the
// distance of interest keeps it within 1 % there for outer scales up to that period. Finer waves
// come from a second, finer screen, which has only the waves that the first does not reach and may
// be of a shorter period: what is that fine is correlated over a few pixels.
//
// Amplitudes are addressed by (seed, number of the screen, wave): any screen can be made alone.
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
    bb_index points; ///< N, along an edge; even
    double pixel_m;  ///< the period is points pixel_m
    double outer_scale_m;
    bb_index levels;   ///< of subharmonics
    bb_index waves;    ///< N N / 2 of half the plane of frequencies, then 4 a level
    double beyond;     ///< waves with both frequencies up to this are left out, 1/m
    int stream;        ///< bb_stream of its amplitudes
    double *deviation; ///< [waves] of each part of an amplitude, rad for r0 = 1 m
    void *plan;        ///< FFTW's, from half a spectrum to the points
} bb_phase_screen;

/// At least `points` points along an edge: the next even number that FFTW likes. Errors: BB_INVALID
/// (points < 2, levels < 0, sizes not positive), BB_MEMORY. Not to be called from several threads
/// at once: an FFTW plan is made. Release with bb_phase_screen_release.
BB_CHECKED bb_status bb_phase_screen_create(bb_index points, double pixel_m, double outer_scale_m,
                                            bb_index levels, bb_phase_screen *out);

/// The waves that `coarse` does not reach, of a finer pixel. Errors: as bb_phase_screen_create.
BB_CHECKED bb_status bb_phase_screen_refine(const bb_phase_screen *coarse, bb_index points,
                                            double pixel_m, bb_phase_screen *out);

/// What a screen of `points` along an edge takes while it is made, and what stays. What FFTW's plan
/// holds is not counted: by estimate, some kilobytes.
bb_need bb_phase_screen_need(bb_index points);
bb_need bb_phase_screen_resident(bb_index points);
void bb_phase_screen_release(bb_phase_screen *screen);

/// Most points along an edge: one plane of doubles then takes 8.8 TB.
enum { BB_PHASE_SCREEN_MOST = 1 << 20 };

/// Points that bb_phase_screen_create makes of a wish of at most BB_PHASE_SCREEN_MOST.
bb_index bb_phase_screen_points(bb_index points);

/// Draws the amplitudes [waves] of screen `number`, of strength r0^(-5/3) (m^(-5/3)).
void bb_phase_screen_draw(const bb_phase_screen *screen, double strength, uint64_t seed,
                          uint64_t number, bb_amplitude *amplitudes);

/// The waves of frequencies up to `cutoff` (1/m) alone; `out` [waves] is 0 elsewhere.
void bb_phase_screen_limit(const bb_phase_screen *screen, double cutoff,
                           const bb_amplitude *amplitudes, bb_amplitude *out);

/// The screen moved by `shift_m` (x, y), exactly: a wave a exp(2 pi i f x) becomes a exp(-2 pi i f
/// shift) exp(2 pi i f x). With `path_m` the mean of the screens on the straight path of that
/// length and direction whose middle the shift is: sin(pi f path) / (pi f path). `out` [waves] may
/// be `amplitudes`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_phase_screen_move(const bb_phase_screen *screen, const double shift_m[2],
                                          const double path_m[2], const bb_amplitude *amplitudes,
                                          bb_amplitude *out);

/// What moving the amplitudes of a screen takes, beside `out`.
bb_need bb_phase_screen_move_need(bb_index points);

/// The screen on its own points, `plane` [points][points], rad at the wavelength of r0; point
/// (points / 2, points / 2) is the origin. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_phase_screen_plane(const bb_phase_screen *screen,
                                           const bb_amplitude *amplitudes, double *plane);

/// The ensemble's structure function at a separation: what the sum of waves makes of D, exactly.
double bb_phase_screen_structure(const bb_phase_screen *screen, double strength, double x_m,
                                 double y_m);

/// What is taken of a screen along an axis at each position.
typedef enum bb_screen_taken {
    BB_SCREEN_POINT,      ///< the value there
    BB_SCREEN_MEAN,       ///< its mean over the width around
    BB_SCREEN_DIFFERENCE, ///< upper minus lower end of the width around
} bb_screen_taken;

/// Positions along x or y of a separable grid, as factors to the waves. Plain owner.
typedef struct bb_screen_axis {
    bb_index count;
    bb_index waves;        ///< of this axis: N / 2 along x, N along y
    bb_amplitude *factors; ///< [count][waves]
    bb_amplitude *slow;    ///< [count][levels][3] of the subharmonics -1, 0 and 1
} bb_screen_axis;

/// `along_x` says which axis. Errors: BB_MEMORY. Release with bb_screen_axis_release.
BB_CHECKED bb_status bb_screen_axis_create(const bb_phase_screen *screen, bool along_x,
                                           bb_index count, const double *position_m,
                                           const double *width_m, bb_screen_taken taken,
                                           bb_screen_axis *out);

/// What an axis along x and one along y of `count` positions take together.
bb_need bb_screen_axis_need(bb_index points, bb_index levels, double count);
void bb_screen_axis_release(bb_screen_axis *axis);

/// The screen on a grid: out[j][i] (+)= its value at (x[i], y[j]), `out` [y count][x count].
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_phase_screen_add(const bb_phase_screen *screen,
                                         const bb_amplitude *amplitudes, const bb_screen_axis *x,
                                         const bb_screen_axis *y, double *out);

/// What that takes beside `out`, for as many positions along x and y; on one thread.
bb_need bb_phase_screen_add_need(bb_index points, double count);

/// What drawing the amplitudes of a screen takes, on one thread, and what they hold.
bb_need bb_phase_screen_draw_need(bb_index points);

#endif
