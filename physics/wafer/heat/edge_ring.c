// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/edge_ring.h"

#include "core/memory.h"

#include <math.h>

bool bb_edge_ring_wanted(const bb_ring_config *config)
{
    return config != NULL && config->width_mm > 0.0;
}

// Half of each face between a ring cell and a wafer cell goes to each of its two nodes.
static void measure_edge(const bb_disc_mesh *wafer, const bb_disc_mesh *ring, double *length)
{
    static const int across[4][2] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
    const bb_index shift = (ring->columns - wafer->columns) / 2;
    for (bb_index cell = 0; cell < ring->cell_count; ++cell) {
        const int32_t *corner = ring->cell_nodes + 4 * cell;
        bb_index column = ring->node_column[corner[0]] - shift;
        bb_index row = ring->node_row[corner[0]] - shift;
        for (int side = 0; side < 4; ++side) {
            if (bb_disc_mesh_has_cell(wafer, column + across[side][0], row + across[side][1])) {
                length[corner[side]] += 0.5 * wafer->spacing;
                length[corner[(side + 1) % 4]] += 0.5 * wafer->spacing;
            }
        }
    }
}

static int32_t wafer_node_at(const bb_disc_mesh *wafer, const bb_disc_mesh *ring, bb_index node)
{
    const bb_index shift = (ring->columns - wafer->columns) / 2;
    return wafer->node_at[(ring->node_row[node] - shift) * wafer->node_columns +
                          ring->node_column[node] - shift];
}

// `whole` is the conductance of the whole edge, W/K.
static bb_status connect(const bb_disc_mesh *wafer, double sum, bb_edge_ring *ring)
{
    bb_status status = BB_OK;
    double *length = NULL;
    double total = 0.0;
    bb_index count = 0;
    BB_TRY(BB_ZEROED(ring->mesh->node_count, &length));
    measure_edge(wafer, ring->mesh, length);
    for (bb_index node = 0; node < ring->mesh->node_count; ++node) {
        total += length[node];
        count += length[node] > 0.0;
    }
    BB_TRY(BB_ALLOCATE(count, &ring->contacts));
    for (bb_index node = 0; node < ring->mesh->node_count; ++node) {
        if (length[node] > 0.0) {
            ring->contacts[ring->contact_count++] = (bb_ring_contact){
                wafer_node_at(wafer, ring->mesh, node), (int32_t)node, sum * length[node] / total};
        }
    }
done:
    BB_RELEASE(&length);
    return status;
}

bb_status bb_edge_ring_create(const bb_disc_mesh *wafer, const bb_wafer_material_config *material,
                              const bb_ring_config *config, bb_edge_ring **out)
{
    bb_status status = BB_OK;
    bb_edge_ring *ring = NULL;
    const double radius = 0.5e-3 * material->diameter_mm;
    const double thickness = 1e-3 * config->thickness_mm;
    *out = NULL;
    BB_REQUIRE(config->width_mm >= 1e3 * wafer->spacing * (1.0 - 1e-12), BB_INVALID,
               "ring.width_mm = %g, expected at least the spacing of the mesh, %g mm",
               config->width_mm, 1e3 * wafer->spacing);
    BB_TRY(BB_ZEROED(1, &ring));
    ring->areal_capacity = config->heat_capacity_j_per_m3_k * thickness;
    ring->conductance = config->conductivity_w_per_m_k * thickness;
    ring->water = config->water_exchange_w_per_m2_k;
    BB_TRY(bb_disc_mesh_around(wafer, radius + 1e-3 * config->width_mm, &ring->mesh));
    if (config->gap_exchange_w_per_m2_k > 0.0) {
        BB_TRY(connect(wafer,
                       config->gap_exchange_w_per_m2_k * 1e-6 * material->thickness_um * 2.0 *
                           M_PI * radius,
                       ring));
    }
    *out = ring;
    ring = NULL;
done:
    bb_edge_ring_destroy(&ring);
    return status;
}

void bb_edge_ring_destroy(bb_edge_ring **ring)
{
    if (*ring == NULL) {
        return;
    }
    bb_disc_mesh_destroy(&(*ring)->mesh);
    BB_RELEASE(&(*ring)->contacts);
    BB_RELEASE(ring);
}
