// SPDX-License-Identifier: Apache-2.0
//
// Integrals of r^(2k) ln r^2, r^2 = x^2 + y^2, k = 0, 1, 2, along edges and over rectangles: the
// singular part of Bessel kernels in closed form.
//
// Edge, J_k = integral over t in [0, y] of (x^2 + t^2)^k ln(x^2 + t^2), by parts:
//     J_0 = y L - 2 y + 2 x atan(y / x),  L = ln(x^2 + y^2)
//     (2k + 1) J_k = y r^2k L + 2k x^2 J_{k-1} - 2 P_k,  P_k = integral of t^2 (x^2 + t^2)^(k-1)
// Rectangle [0, x] x [0, y], from the divergence of (x, y) r^2k ln r^2:
//     (2k + 2) C_k = x J_k(x, y) + y J_k(y, x) - 2 M_k,  M_k = integral of r^2k
#ifndef BB_PHYSICS_WAFER_RESPONSE_LOG_MOMENT_H
#define BB_PHYSICS_WAFER_RESPONSE_LOG_MOMENT_H

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_LOG_MOMENTS = 3 };

/// J_0 .. J_2 from 0 to y at distance x; odd in y, even in x, 0 at y = 0.
void bb_log_moment_edge(double x, double y, double moments[BB_LOG_MOMENTS]);

/// C_0 .. C_2 over [0, x] x [0, y]; odd in both.
void bb_log_moment_corner(double x, double y, double moments[BB_LOG_MOMENTS]);

#ifdef __cplusplus
}
#endif

#endif
