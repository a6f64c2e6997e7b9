// SPDX-License-Identifier: Apache-2.0
//
// Unwraps a stream of interferometer maps with one plan, in fp32 and with fields of bf16, and
// counts the points on a wrong cycle:
//
//     cc unwrap_map.c $(pkg-config --cflags --libs bitbudget) -lm && ./a.out
#include <bitbudget.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 240, COLUMNS = 256, POINTS = ROWS * COLUMNS, FRAMES = 3 };

static const double turn = 6.283185307179586;

// Defocus and astigmatism of a mirror with a central obscuration, 12 cycles from rim to rim.
static double surface(int frame, double x, double y)
{
    return turn * (6.0 * (x * x + y * y) + (0.5 + 0.2 * frame) * (x * x - y * y) + 2.0 * x);
}

static int run(const char *options, const unsigned char *mask, double *wrapped, double *phase)
{
    bb_unwrapper *plan = NULL;
    bb_unwrapping_report report;
    int failed = 1;
    if (bb_unwrapper_create(ROWS, COLUMNS, mask, options, "cpu", &plan) != BB_OK) {
        goto done;
    }
    for (int frame = 0; frame < FRAMES; ++frame) {
        long wrong = 0;
        double offset = NAN;
        for (int p = 0; p < POINTS; ++p) {
            const double x = 2.0 * (p % COLUMNS) / COLUMNS - 1.0;
            const double y = 2.0 * (p / COLUMNS) / ROWS - 1.0;
            wrapped[p] = mask[p] ? remainder(surface(frame, x, y), turn) : NAN;
        }
        if (bb_unwrapper_run(plan, wrapped, phase, &report) != BB_OK) {
            goto done;
        }
        for (int p = 0; p < POINTS; ++p) { // the cycle of the whole map is free
            const double x = 2.0 * (p % COLUMNS) / COLUMNS - 1.0;
            const double y = 2.0 * (p / COLUMNS) / ROWS - 1.0;
            const double error = mask[p] ? (phase[p] - surface(frame, x, y)) / turn : 0.0;
            offset = mask[p] && isnan(offset) ? rint(error) : offset;
            wrong += mask[p] && fabs(error - offset) > 0.5;
        }
        printf("%-18s frame %d: %s, %ld wrong points, %td cycles\n", options, frame,
               bb_outcome_name(report.outcome.kind), wrong, report.cycles);
    }
    failed = 0;
done:
    if (failed) {
        fprintf(stderr, "unwrap_map: %s\n", bb_status_message());
    }
    bb_unwrapper_destroy(&plan);
    return failed;
}

int main(void)
{
    unsigned char *mask = (unsigned char *)malloc(POINTS);
    double *wrapped = (double *)malloc(POINTS * sizeof *wrapped);
    double *phase = (double *)malloc(POINTS * sizeof *phase);
    int failed = mask == NULL || wrapped == NULL || phase == NULL;
    for (int p = 0; p < POINTS && !failed; ++p) {
        const double x = 2.0 * (p % COLUMNS) / COLUMNS - 1.0;
        const double y = 2.0 * (p / COLUMNS) / ROWS - 1.0;
        mask[p] = x * x + y * y < 1.0 && x * x + y * y > 0.04;
    }
    failed = failed || run("fp32", mask, wrapped, phase);
    failed = failed || run("fp32 storage=bf16", mask, wrapped, phase);
    free(mask);
    free(wrapped);
    free(phase);
    return failed;
}
