// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/radial_table.h"

#include "core/memory.h"

#include <math.h>

enum { PROBES = 7 };

static double node(int k)
{
    return cos(M_PI * (2.0 * k + 1.0) / (2.0 * BB_RADIAL_TERMS));
}

// Newton's divided differences on the Chebyshev points, expanded into powers of t.
static void fit(const double *value, double *terms)
{
    double divided[BB_RADIAL_TERMS];
    for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
        divided[k] = value[k];
    }
    for (int order = 1; order < BB_RADIAL_TERMS; ++order) {
        for (int k = BB_RADIAL_TERMS - 1; k >= order; --k) {
            divided[k] = (divided[k] - divided[k - 1]) / (node(k) - node(k - order));
        }
    }
    for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
        terms[k] = 0.0;
    }
    for (int k = BB_RADIAL_TERMS - 1; k >= 0; --k) {
        for (int power = BB_RADIAL_TERMS - 1; power >= 1; --power) {
            terms[power] = terms[power - 1] - node(k) * terms[power];
        }
        terms[0] = divided[k] - node(k) * terms[0];
    }
}

bb_status bb_radial_table_create(bb_radial_function function, const void *context, double begin,
                                 double end, bb_index intervals, bb_radial_table *out)
{
    bb_status status = BB_OK;
    bb_radial_table table = {.begin = begin, .end = end, .intervals = intervals};
    BB_REQUIRE(begin >= 0.0 && end > begin && intervals > 0, BB_INVALID,
               "radial table of %td intervals over [%g, %g], expected a range and an interval",
               intervals, begin, end);
    double width = (end - begin) / (double)intervals;
    table.per_length = 1.0 / width;
    BB_TRY(BB_ALLOCATE(BB_RADIAL_TERMS * intervals, &table.terms));
    for (bb_index i = 0; i < intervals; ++i) {
        double middle = begin + ((double)i + 0.5) * width;
        double value[BB_RADIAL_TERMS];
        for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
            value[k] = function(context, middle + 0.5 * width * node(k));
        }
        fit(value, table.terms + BB_RADIAL_TERMS * i);
        // The error is largest near the extremes of the node polynomial, between the nodes.
        for (int k = 1; k < PROBES - 1; ++k) {
            double r = middle + 0.5 * width * cos(M_PI * k / (PROBES - 1.0));
            table.error =
                fmax(table.error, fabs(bb_radial_table_at(&table, r) - function(context, r)));
        }
    }
    *out = table;
    table.terms = NULL;
done:
    bb_radial_table_release(&table);
    return status;
}

void bb_radial_table_release(bb_radial_table *table)
{
    BB_RELEASE(&table->terms);
    table->intervals = 0;
}
