// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/pupil.h"

bb_index bb_pupil_points(bb_index across)
{
    return 2 * (across / 2) + 1;
}

// Distance of point k from the lower edge of the square, in halves of the spacing.
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
        hole * hole * (1.0 - 1e-12); // the product's rounding must not open the edge
    return square <= across * across && (double)square >= inner ? 1.0 : 0.0;
}

// Pixels of the mask, along one axis.
typedef struct span {
    bb_index first, last;
} span;

// Those whose centres are at most half the wider spacing from point k: |(2 p + 1) a - t M| <=
// max(a, M), p the pixel of M and t / (2 a) the point's place in the square.
static span pixels_at(bb_index k, bb_index across, bb_index pixels)
{
    const bb_index place = halves(k, across) * pixels;
    const bb_index reach = pixels > across ? pixels : across;
    const bb_index low = place - reach - across;
    const bb_index high = (place + reach - across) / (2 * across);
    return (span){.first = low <= 0 ? 0 : (low + 2 * across - 1) / (2 * across),
                  .last = high < pixels ? high : pixels - 1};
}

static double mask_at(const bb_pupil *pupil, span x, span y)
{
    double sum = 0.0;
    for (bb_index q = y.first; q <= y.last; ++q) {
        for (bb_index p = x.first; p <= x.last; ++p) {
            sum += pupil->mask[q * pupil->edge + p];
        }
    }
    return sum / (double)((x.last - x.first + 1) * (y.last - y.first + 1));
}

void bb_pupil_draw(const bb_pupil *pupil, bb_index across, double *out)
{
    const bb_index points = bb_pupil_points(across);
    for (bb_index j = 0; j < points; ++j) {
        for (bb_index i = 0; i < points; ++i) {
            out[j * points + i] = pupil->mask == NULL
                                      ? annulus_at(pupil, across, i, j)
                                      : mask_at(pupil, pixels_at(i, across, pupil->edge),
                                                pixels_at(j, across, pupil->edge));
        }
    }
}

// Part of pixel p that lies in lenslet k, in units of D / (lenslets edge).
static bb_index overlap(bb_index p, bb_index k, bb_index lenslets, bb_index edge)
{
    const bb_index low = p * lenslets > k * edge ? p * lenslets : k * edge;
    const bb_index pixel_end = (p + 1) * lenslets;
    const bb_index lenslet_end = (k + 1) * edge;
    return (pixel_end < lenslet_end ? pixel_end : lenslet_end) - low;
}

double bb_pupil_transmission(const bb_pupil *pupil, bb_index lenslets, bb_index column,
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
