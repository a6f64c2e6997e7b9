// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/pupil.h"

#include <math.h>

bb_index bb_pupil_points(bb_index across)
{
    return 2 * (across / 2) + 1;
}

// Returns the distance of point k from the lower edge of the square, in halves of the spacing.
static bb_index halves(bb_index k, bb_index across)
{
    return 2 * k + across % 2;
}

static double annulus_at(const bb_pupil *pupil, bb_index across, bb_index i, bb_index j)
{
    const bb_index x = halves(i, across) - across; // twice the distance from the axis
    const bb_index y = halves(j, across) - across;
    const bb_index square = x * x + y * y;
    const double hole = pupil->obstruction * (double)across;
    const double inner =
        hole * hole * (1.0 - 1e-12); // so that rounding of the product does not exclude the edge
    return square <= across * across && (double)square >= inner ? 1.0 : 0.0;
}

// Pixels of the mask, along one axis.
typedef struct span {
    bb_index first, last;
} span;

// Pixels whose centres are at most half the wider spacing from point k: |(2 p + 1) a - t M| <=
// max(a, M), p the pixel of M and t / (2 a) the point's position in the square.
static span pixels_at(bb_index k, bb_index across, bb_index pixels)
{
    const bb_index place = halves(k, across) * pixels;
    const bb_index reach = pixels > across ? pixels : across;
    const bb_index low = place - reach - across;
    const bb_index high = (place + reach - across) / (2 * across);
    return (span){.first = low <= 0 ? 0 : (low + 2 * across - 1) / (2 * across),
                  .last = high < pixels ? high : pixels - 1};
}

// Computes the mean of a power of the mask's pixels, 1 or 2.
static double mask_at(const bb_pupil *pupil, span x, span y, int power)
{
    double sum = 0.0;
    for (bb_index q = y.first; q <= y.last; ++q) {
        for (bb_index p = x.first; p <= x.last; ++p) {
            const double pixel = pupil->mask[q * pupil->edge + p];
            sum += power == 1 ? pixel : pixel * pixel;
        }
    }
    return sum / (double)((x.last - x.first + 1) * (y.last - y.first + 1));
}

static double pupil_at(const bb_pupil *pupil, bb_index across, bb_index i, bb_index j, int power)
{
    return pupil->mask == NULL ? annulus_at(pupil, across, i, j)
                               : mask_at(pupil, pixels_at(i, across, pupil->edge),
                                         pixels_at(j, across, pupil->edge), power);
}

void bb_pupil_draw(const bb_pupil *pupil, bb_index across, double *out)
{
    const bb_index points = bb_pupil_points(across);
    for (bb_index j = 0; j < points; ++j) {
        for (bb_index i = 0; i < points; ++i) {
            out[j * points + i] = pupil_at(pupil, across, i, j, 1);
        }
    }
}

double bb_pupil_light(const bb_pupil *pupil, bb_index across)
{
    const bb_index points = bb_pupil_points(across);
    double sum = 0.0;
    for (bb_index k = 0; k < points * points; ++k) {
        sum += pupil_at(pupil, across, k % points, k / points, 2);
    }
    return sum;
}

bool bb_pupil_transmits(const bb_pupil *pupil, bb_index across)
{
    const bb_index points = bb_pupil_points(across);
    for (bb_index k = 0; k < points * points; ++k) {
        if (pupil_at(pupil, across, k % points, k / points, 1) > 0.0) {
            return true;
        }
    }
    return false;
}

// Returns the part of pixel p inside lenslet k, in units of D / (lenslets edge).
static bb_index overlap(bb_index p, bb_index k, bb_index lenslets, bb_index edge)
{
    const bb_index low = p * lenslets > k * edge ? p * lenslets : k * edge;
    const bb_index pixel_end = (p + 1) * lenslets;
    const bb_index lenslet_end = (k + 1) * edge;
    return (pixel_end < lenslet_end ? pixel_end : lenslet_end) - low;
}

static double mask_transmission(const bb_pupil *pupil, bb_index lenslets, bb_index column,
                                bb_index row)
{
    const bb_index edge = pupil->edge;
    double sum = 0.0;
    for (bb_index q = row * edge / lenslets; q * lenslets < (row + 1) * edge; ++q) {
        double line = 0.0;
        for (bb_index p = column * edge / lenslets; p * lenslets < (column + 1) * edge; ++p) {
            line += (double)overlap(p, column, lenslets, edge) * pupil->mask[q * edge + p];
        }
        sum += (double)overlap(q, row, lenslets, edge) * line;
    }
    return sum / ((double)edge * (double)edge);
}

// Computes Int_0^t sqrt(R^2 - s^2) ds, 0 <= t <= R.
static double under_circle(double radius, double t)
{
    const double height = sqrt(fmax(0.0, radius * radius - t * t));
    return 0.5 * (t * height + radius * radius * atan2(t, height));
}

// Computes the area of [0, x] x [0, y] inside the circle, odd in x and in y.
static double corner_area(double radius, double x, double y)
{
    const double sign = (x < 0.0) == (y < 0.0) ? 1.0 : -1.0;
    const double wide = fmin(fabs(x), radius);
    const double high = fmin(fabs(y), radius);
    if (wide * wide + high * high <= radius * radius) {
        return sign * wide * high;
    }
    const double full =
        sqrt(fmax(0.0, radius * radius - high * high)); // the square's top is inside
    return sign * (full * high + under_circle(radius, wide) - under_circle(radius, full));
}

// Fraction of the square [x, x + edge] x [y, y + edge] inside the circle, exactly 0 or 1 if the
// circle does not cut it; x and y are at least -edge / 2.
static double disc_part(double radius, double x, double y, double edge)
{
    if (hypot(x + edge, y + edge) <= radius) {
        return 1.0;
    }
    if (hypot(fmax(0.0, x), fmax(0.0, y)) >= radius) {
        return 0.0;
    }
    return (corner_area(radius, x + edge, y + edge) - corner_area(radius, x, y + edge) -
            corner_area(radius, x + edge, y) + corner_area(radius, x, y)) /
           (edge * edge);
}

// In units of the pupil's radius; the lenslet is first mapped to one octant.
static double annulus_transmission(const bb_pupil *pupil, bb_index lenslets, bb_index column,
                                   bb_index row)
{
    const bb_index i = column > lenslets - 1 - column ? column : lenslets - 1 - column;
    const bb_index j = row > lenslets - 1 - row ? row : lenslets - 1 - row;
    const double edge = 2.0 / (double)lenslets;
    const double x = (double)(2 * (i > j ? i : j) - lenslets) / (double)lenslets;
    const double y = (double)(2 * (i > j ? j : i) - lenslets) / (double)lenslets;
    return disc_part(1.0, x, y, edge) - disc_part(pupil->obstruction, x, y, edge);
}

double bb_pupil_transmission(const bb_pupil *pupil, bb_index lenslets, bb_index column,
                             bb_index row)
{
    return pupil->mask != NULL ? mask_transmission(pupil, lenslets, column, row)
                               : annulus_transmission(pupil, lenslets, column, row);
}
