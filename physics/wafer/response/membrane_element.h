// SPDX-License-Identifier: Apache-2.0
//
// Square Q1 element of the membrane: stiffness with springs, and the load of a temperature.
#ifndef BB_PHYSICS_WAFER_RESPONSE_MEMBRANE_ELEMENT_H
#define BB_PHYSICS_WAFER_RESPONSE_MEMBRANE_ELEMENT_H

#include "physics/wafer/response/plate.h"

/// Corners counter-clockwise from the lower left; unknown 2 k + c is axis c at corner k.
typedef struct bb_membrane_element {
    double stiffness[8][8]; ///< int eps : N : eps + k_s int phi phi, N/m
    double load[8][4];      ///< int N_T d_c phi_k phi_l: force at 2 k + c per kelvin at l, N/K
} bb_membrane_element;

/// Element of side `side`, m, by 2 x 2 Gauss points (exact for these products).
void bb_membrane_element_make(const bb_plate *plate, double side, bb_membrane_element *out);

#endif
