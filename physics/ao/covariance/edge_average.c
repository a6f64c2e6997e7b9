// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/edge_average_core.h"

// Number of separations per chunk, stored in local arrays, which the compiler knows not to alias
// the table.
enum { CHUNK = 64 };

// Nodes x and y of a rule, with their weights.
typedef struct rule {
    int nodes;
    double x[BB_EDGE_MIDDLE_NODES], y[BB_EDGE_MIDDLE_NODES], weight[BB_EDGE_MIDDLE_NODES];
} rule;

static rule middle_rule(const bb_edge_pair *pair)
{
    rule r = {.nodes = BB_EDGE_MIDDLE_NODES};
    for (int k = 0; k < r.nodes; ++k) {
        bb_edge_pair_middle(pair, k, &r.x[k], &r.y[k], &r.weight[k]);
    }
    return r;
}

BB_CLONES static void evaluate(const bb_structure_table table, int nodes, const double *x,
                               const double *y, const double *weight, const double u[CHUNK],
                               const double v[CHUNK], bb_index count, double values[CHUNK])
{
    double chunk[CHUNK] = {0.0};
    for (int k = 0; k < nodes; ++k) {
        const double node_x = x[k];
        const double node_y = y[k];
        const double node_weight = weight[k];
        for (bb_index j = 0; j < count; ++j) {
            const double du = u[j] + node_x;
            const double dv = v[j] + node_y;
            chunk[j] += node_weight * bb_structure_table_value(table, du * du + dv * dv);
        }
    }
    memcpy(values, chunk, (size_t)count * sizeof *values);
}

// Evaluates the separations of a chunk that use the rule of bb_edge_pair_middle, as a separate
// chunk.
static void evaluate_middle(const bb_structure_table table, const bb_edge_pair *pair,
                            const rule *middle, const double u[CHUNK], const double v[CHUNK],
                            bb_index count, double values[CHUNK])
{
    double middle_u[CHUNK], middle_v[CHUNK], found[CHUNK];
    bb_index place[CHUNK];
    bb_index among = 0;
    for (bb_index j = 0; !pair->parallel && j < count; ++j) {
        const double r2 = u[j] * u[j] + v[j] * v[j];
        if (r2 >= pair->middle2 && r2 < pair->near2) {
            middle_u[among] = u[j];
            middle_v[among] = v[j];
            place[among++] = j;
        }
    }
    evaluate(table, middle->nodes, middle->x, middle->y, middle->weight, middle_u, middle_v, among,
             found);
    for (bb_index j = 0; j < among; ++j) {
        values[place[j]] = found[j];
    }
}

void bb_edge_average_add(bb_structure_table table, const bb_edge_pair *pair, double weight,
                         double x, double y, const double *to_x, const double *to_y, bb_index count,
                         double *sums)
{
    const rule middle = middle_rule(pair);
    const double near2 = pair->parallel ? pair->near2 : pair->middle2;
    for (bb_index done = 0; done < count; done += CHUNK) {
        const bb_index now = count - done < CHUNK ? count - done : CHUNK;
        double u[CHUNK], v[CHUNK], values[CHUNK];
        for (bb_index j = 0; j < now; ++j) {
            u[j] = x - to_x[done + j];
            v[j] = y - to_y[done + j];
            bb_edge_pair_orient(&u[j], &v[j]);
        }
        evaluate(table, pair->nodes, pair->x, pair->y, pair->weight, u, v, now, values);
        evaluate_middle(table, pair, &middle, u, v, now, values);
        for (bb_index j = 0; j < now; ++j) {
            if (u[j] * u[j] + v[j] * v[j] < near2) {
                values[j] = bb_edge_average_near(table, pair, u[j], v[j]);
            }
            sums[done + j] += weight * values[j];
        }
    }
}
