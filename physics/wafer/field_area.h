// SPDX-License-Identifier: Apache-2.0
#ifndef BB_PHYSICS_WAFER_FIELD_AREA_H
#define BB_PHYSICS_WAFER_FIELD_AREA_H

/// Part of the rectangle [x0, x1] x [y0, y1] inside a circle around (0, 0), m2, in closed form.
double bb_field_area_inside(double radius, double x0, double x1, double y0, double y1);

#endif
