// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/edge_average.h"

// Separations worked on at a time: in local arrays, which the compiler knows apart from the table.
enum { CHUNK = 64 };

BB_CLONES static void evaluate_far(const bb_structure_table table, const bb_edge_pair *pair,
                                   const double u[CHUNK], const double v[CHUNK], bb_index count,
                                   double values[CHUNK])
{
    double chunk[CHUNK] = {0.0};
    for (int k = 0; k < pair->nodes; ++k) {
        const double x = pair->x[k];
        const double y = pair->y[k];
        const double weight = pair->weight[k];
        for (bb_index j = 0; j < count; ++j) {
            const double du = u[j] + x;
            const double dv = v[j] + y;
            chunk[j] += weight * bb_structure_table_value(table, du * du + dv * dv);
        }
    }
    memcpy(values, chunk, (size_t)count * sizeof *values);
}

void bb_edge_average_add(bb_structure_table table, const bb_edge_pair *pair, double weight,
                         double x, double y, const double *to_x, const double *to_y, bb_index count,
                         double *sums)
{
    for (bb_index done = 0; done < count; done += CHUNK) {
        const bb_index now = count - done < CHUNK ? count - done : CHUNK;
        double u[CHUNK], v[CHUNK], values[CHUNK];
        for (bb_index j = 0; j < now; ++j) {
            u[j] = x - to_x[done + j];
            v[j] = y - to_y[done + j];
            bb_edge_pair_orient(&u[j], &v[j]);
        }
        evaluate_far(table, pair, u, v, now, values);
        for (bb_index j = 0; j < now; ++j) {
            if (u[j] * u[j] + v[j] * v[j] < pair->near2) {
                values[j] = bb_edge_average_near(table, pair, u[j], v[j]);
            }
            sums[done + j] += weight * values[j];
        }
    }
}
