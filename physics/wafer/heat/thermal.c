// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/thermal.h"

#include "core/memory.h"
#include "physics/wafer/heat/clamp_grid.h"
#include "physics/wafer/heat/heat_sizes.h"

#include <math.h>

// First odd mode of temperature through the thickness of the wafer, in addition to the mean T:
//     T(z) = T + (2 z / d) tau,   z from -d/2 (clamp) to d/2 (top),
// so that the top is at T + tau and the bottom at T - tau. Moments of the heat equation with 1 and
// 2 z / d, dose q absorbed at the top:
//     C T'         = k d lap T       - h_c (T - tau - T_c) - h_t (T + tau - T_h) + q
//     (C/3) tau'   = (k d/3) lap tau + h_c (T - tau - T_c) - h_t (T + tau - T_h) + q - (4 k/d) tau
// Both are one symmetric system: exchanges are squares of T - tau - T_c and T + tau - T_h. Energy
// depends on T only. tau relaxes with C d / (12 k) = d^2 / (12 kappa), 0.56 ms, whereas the slowest
// mode of the exact equation relaxes with d^2 / (pi^2 kappa), 0.68 ms; under steady q it is q d /
// (4 k).
//
// The relaxation is faster than a step and is integrated exactly. Forward Euler with a capacity
// M_tau instead of C/3 is the exponential step with constant forcing, and Crank-Nicolson likewise:
//     x = dt (4 k/d) / (C/3):   M_tau = (C/3) x / (1 - exp -x),   M_tau = (C/3) (x/2) coth(x/2).
// So A and K + H of thermal.h are only extended by tau's rows, with M_tau as their capacity.
//
// Limits: one mode; the profile under the slit is sharper in the first 0.1 ms. The gap to a ring
// exchanges T, and tau with a third of the conductance.

typedef struct through_mode {
    double relaxation;  // 4 k / d, W/(m2 K)
    double capacity;    // M_tau, J/(m2 K)
    double conductance; // k d / 3, W/K
} through_mode;

static double thickness(const bb_wafer_material_config *wafer)
{
    return 1e-6 * wafer->thickness_um;
}

// Relaxation time (C/3) / (4 k/d), s.
static double relaxation_time(const bb_wafer_material_config *wafer)
{
    const double d = thickness(wafer);
    return wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * d * d /
           (12.0 * wafer->conductivity_w_per_m_k);
}

// Through-thickness mode for steps of `step` seconds by `stepping` (bb_mesh_stepping).
static through_mode through_mode_make(const bb_wafer_material_config *wafer, int stepping,
                                      double step)
{
    const double relaxation = 4.0 * wafer->conductivity_w_per_m_k / thickness(wafer);
    const double x = step / relaxation_time(wafer);
    // M_tau = relaxation * dt over the relative change of tau in a step.
    const double part =
        stepping == (int)BB_STEPPING_EXPLICIT ? 1.0 / -expm1(-x) : 0.5 / tanh(0.5 * x);
    return (through_mode){
        .relaxation = relaxation,
        .capacity = relaxation * step * part,
        .conductance = wafer->conductivity_w_per_m_k * thickness(wafer) / 3.0,
    };
}

// Largest explicit step guaranteed stable for tau's rows on a mesh of `spacing` m, s; `exchange`
// bounds the row sums of its exchanges, W/(m2 K): M_tau^-1 S <= (relaxation + 4 (k d/3) / h^2 +
// exchange) / M_tau, a step times that is (1 - exp -x) (1 + r) <= 2. Infinite if every step is
// stable.
static double through_mode_limit(const bb_wafer_material_config *wafer, double spacing,
                                 double exchange)
{
    const double d = thickness(wafer);
    const double r =
        d * d / (3.0 * spacing * spacing) + exchange * d / (4.0 * wafer->conductivity_w_per_m_k);
    return r <= 1.0 ? INFINITY : -relaxation_time(wafer) * log1p(-2.0 / (1.0 + r));
}

// Coefficients in SI.
typedef struct coefficients {
    double areal_capacity;    // C, J/(m2 K)
    double conductance;       // k d, W/K
    double exchange;          // h_c, W/(m2 K)
    double clamp_capacity;    // C_c
    double clamp_conductance; // k_c d_c
    double water;             // h_w
} coefficients;

static coefficients convert(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    double thickness = 1e-6 * wafer->thickness_um;
    double depth = 1e-3 * clamp->thickness_mm;
    return (coefficients){
        .areal_capacity = wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * thickness,
        .conductance = wafer->conductivity_w_per_m_k * thickness,
        .exchange = clamp->exchange_w_per_m2_k,
        .clamp_capacity = clamp->heat_capacity_j_per_m3_k * depth,
        .clamp_conductance = clamp->conductivity_w_per_m_k * depth,
        .water = clamp->water_exchange_w_per_m2_k,
    };
}

// Adds the (K + H) of one conductance between two unknowns.
static bb_status add_conductance(bb_triplets *list, bb_index i, bb_index j, double value)
{
    BB_RETURN_IF_FAILED(bb_triplets_add(list, i, i, value));
    BB_RETURN_IF_FAILED(bb_triplets_add(list, j, j, value));
    BB_RETURN_IF_FAILED(bb_triplets_add(list, i, j, -value));
    return bb_triplets_add(list, j, i, -value);
}

// Q1 square as six conductances: k d / 6 along an edge and k d / 3 across a diagonal.
static bb_status add_conduction(bb_triplets *list, const int32_t *cell_nodes, bb_index cells,
                                bb_index first, double conductance)
{
    for (bb_index cell = 0; cell < cells; ++cell) {
        const int32_t *node = cell_nodes + 4 * cell;
        for (int k = 0; k < 4; ++k) {
            BB_RETURN_IF_FAILED(add_conductance(list, first + node[k], first + node[(k + 1) % 4],
                                                conductance / 6.0));
        }
        for (int k = 0; k < 2; ++k) {
            BB_RETURN_IF_FAILED(
                add_conductance(list, first + node[k], first + node[k + 2], conductance / 3.0));
        }
    }
    return BB_OK;
}

static bb_status add_exchange(bb_triplets *list, const bb_disc_mesh *mesh,
                              const bb_clamp_grid *grid, double exchange)
{
    const bb_csr *prolongation = &grid->prolongation;
    for (bb_index node = 0; node < mesh->node_count; ++node) {
        for (bb_index i = prolongation->row_start[node]; i < prolongation->row_start[node + 1];
             ++i) {
            BB_RETURN_IF_FAILED(
                add_conductance(list, node, mesh->node_count + prolongation->column[i],
                                exchange * mesh->node_area[node] * prolongation->value[i]));
        }
    }
    return BB_OK;
}

// Terms of tau in the exchange of conductance `value` at the bottom of wafer node i with unknown j,
// or with an isothermal clamp (-1): the difference between T - tau and T.
static bb_status add_bottom(bb_triplets *list, bb_index i, bb_index tau, bb_index j, double value)
{
    BB_RETURN_IF_FAILED(bb_triplets_add(list, tau, tau, value));
    BB_RETURN_IF_FAILED(bb_triplets_add(list, i, tau, -value));
    BB_RETURN_IF_FAILED(bb_triplets_add(list, tau, i, -value));
    if (j >= 0) {
        BB_RETURN_IF_FAILED(bb_triplets_add(list, tau, j, value));
        BB_RETURN_IF_FAILED(bb_triplets_add(list, j, tau, value));
    }
    return BB_OK;
}

// Rows of tau, and the contributions of its exchanges to the others.
static bb_status add_through(bb_triplets *list, const bb_disc_mesh *mesh, const bb_clamp_grid *grid,
                             const bb_edge_ring *ring, const through_mode *mode, double exchange,
                             const bb_thermal *thermal)
{
    const bb_index first = bb_thermal_tau_first(thermal);
    BB_RETURN_IF_FAILED(
        add_conduction(list, mesh->cell_nodes, mesh->cell_count, first, mode->conductance));
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        BB_RETURN_IF_FAILED(
            bb_triplets_add(list, first + i, first + i, mode->relaxation * mesh->node_area[i]));
        if (grid == NULL) {
            BB_RETURN_IF_FAILED(add_bottom(list, i, first + i, -1, thermal->loss[i]));
            continue;
        }
        const bb_csr *prolongation = &grid->prolongation;
        for (bb_index k = prolongation->row_start[i]; k < prolongation->row_start[i + 1]; ++k) {
            BB_RETURN_IF_FAILED(add_bottom(list, i, first + i,
                                           mesh->node_count + prolongation->column[k],
                                           exchange * mesh->node_area[i] * prolongation->value[k]));
        }
    }
    for (bb_index c = 0; ring != NULL && c < ring->contact_count; ++c) {
        const bb_index tau = first + ring->contacts[c].wafer_node;
        BB_RETURN_IF_FAILED(bb_triplets_add(list, tau, tau, ring->contacts[c].conductance / 3.0));
    }
    return BB_OK;
}

// Adds the exchange across the gap between wafer and ring.
static bb_status add_contacts(bb_triplets *list, const bb_edge_ring *ring, bb_index first)
{
    for (bb_index c = 0; c < ring->contact_count; ++c) {
        const bb_ring_contact *contact = &ring->contacts[c];
        BB_RETURN_IF_FAILED(add_conductance(list, contact->wafer_node, first + contact->ring_node,
                                            contact->conductance));
    }
    return BB_OK;
}

static void fill_capacity(const bb_disc_mesh *mesh, const bb_clamp_grid *grid,
                          const bb_edge_ring *ring, const coefficients *terms,
                          const through_mode *mode, bb_thermal *thermal)
{
    const bb_index first = thermal->node_count + thermal->clamp_count;
    for (bb_index i = 0; i < thermal->tau_count; ++i) {
        thermal->capacity[first + thermal->ring_count + i] = mode->capacity * mesh->node_area[i];
        thermal->loss[first + thermal->ring_count + i] = 0.0;
    }
    for (bb_index k = 0; ring != NULL && k < thermal->ring_count; ++k) {
        thermal->capacity[first + k] = ring->areal_capacity * ring->mesh->node_area[k];
        thermal->loss[first + k] = ring->water * ring->mesh->node_area[k];
    }
    for (bb_index i = 0; i < thermal->node_count; ++i) {
        thermal->capacity[i] = terms->areal_capacity * mesh->node_area[i];
        thermal->loss[i] = grid == NULL ? terms->exchange * mesh->node_area[i] : 0.0;
    }
    for (bb_index j = 0; grid != NULL && j < thermal->clamp_count; ++j) {
        thermal->capacity[thermal->node_count + j] = terms->clamp_capacity * grid->node_area[j];
        thermal->loss[thermal->node_count + j] = terms->water * grid->node_area[j];
    }
    for (bb_index i = 0; i < thermal->size; ++i) {
        thermal->per_joule[i] = 1.0 / thermal->capacity[i];
    }
}

double bb_thermal_wafer_limit(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                              const bb_hood_config *hood, double spacing)
{
    const coefficients terms = convert(wafer, clamp);
    const double top = hood == NULL ? 0.0 : hood->exchange_w_per_m2_k;
    return 2.0 / (4.0 * terms.conductance / (terms.areal_capacity * spacing * spacing) +
                  2.0 * terms.exchange / terms.areal_capacity + top / terms.areal_capacity);
}

double bb_thermal_round_down(double limit)
{
    const double digit = pow(10.0, floor(log10(limit)) - 3.0);
    return floor(limit / digit) * digit;
}

double bb_thermal_clamp_limit(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    const coefficients terms = convert(wafer, clamp);
    const double spacing = 1e-3 * clamp->spacing_mm;
    return 2.0 * terms.clamp_capacity /
           (4.0 * terms.clamp_conductance / (spacing * spacing) + terms.water);
}

// The gap's part of the bound in the wafer, and the ring's whole bound, 1/s.
static void bound_ring(const bb_disc_mesh *mesh, const bb_edge_ring *ring,
                       const coefficients *terms, double *wafer_part, double *ring_rate)
{
    double worst_wafer = 0.0;
    double worst_ring = 0.0;
    for (bb_index c = 0; c < ring->contact_count; ++c) {
        const bb_ring_contact *contact = &ring->contacts[c];
        worst_wafer =
            fmax(worst_wafer, contact->conductance / mesh->node_area[contact->wafer_node]);
        worst_ring =
            fmax(worst_ring, contact->conductance / ring->mesh->node_area[contact->ring_node]);
    }
    *wafer_part = 2.0 * worst_wafer / terms->areal_capacity;
    *ring_rate = (4.0 * ring->conductance / (mesh->spacing * mesh->spacing) + 2.0 * worst_ring +
                  ring->water) /
                 ring->areal_capacity;
}

// Computes the largest fraction of a coarse node's area that exchanges with wafer nodes: max_j
// sum_i m_i P_ij / a_j.
static bb_status measure_coverage(const bb_disc_mesh *mesh, const bb_clamp_grid *grid, double *out)
{
    bb_status status = BB_OK;
    double *covered = NULL;
    const bb_csr *prolongation = &grid->prolongation;
    *out = 0.0;
    BB_TRY(BB_ZEROED(grid->node_count, &covered));
    for (bb_index node = 0; node < mesh->node_count; ++node) {
        for (bb_index i = prolongation->row_start[node]; i < prolongation->row_start[node + 1];
             ++i) {
            covered[prolongation->column[i]] += mesh->node_area[node] * prolongation->value[i];
        }
    }
    for (bb_index j = 0; j < grid->node_count; ++j) {
        *out = fmax(*out, covered[j] / grid->node_area[j]);
    }
done:
    BB_RELEASE(&covered);
    return status;
}

// Geometry of the bound.
typedef struct places {
    double side;     // of a wafer cell
    double spacing;  // of the clamp grid; 0: none
    double coverage; // from measure_coverage
    double gap;      // of the ring's gap, 1/s in the wafer
    double ring;     // whole bound of the ring, 1/s
} places;

// The bound in the header; 2 over it is a guaranteed stable step.
static double bound_step(const places *layout, const bb_thermal_setting *setting,
                         const coefficients *heat, const bb_wafer_material_config *wafer)
{
    const double side = layout->side;
    const bool two_mode = setting->through_thickness == (int)BB_THROUGH_TWO_MODE;
    const double modes = two_mode ? 2.0 : 1.0; // modes in an exchange
    const double bottom = (layout->spacing > 0.0 ? modes + 1.0 : modes) * heat->exchange;
    double exchanged = bottom + modes * setting->hood_exchange;
    double greatest = 4.0 * heat->conductance / (heat->areal_capacity * side * side) +
                      bottom / heat->areal_capacity +
                      modes * setting->hood_exchange / heat->areal_capacity;
    greatest = fmax(greatest + layout->gap, layout->ring);
    exchanged += layout->gap * heat->areal_capacity / 6.0; // a third of one side
    if (layout->spacing > 0.0) {
        double rate = 4.0 * heat->clamp_conductance / (layout->spacing * layout->spacing) +
                      (modes + 1.0) * heat->exchange * layout->coverage + heat->water;
        greatest = fmax(greatest, rate / heat->clamp_capacity);
    }
    const double stable = 2.0 / greatest;
    return two_mode ? fmin(stable, through_mode_limit(wafer, side, exchanged)) : stable;
}

double bb_thermal_sure_step(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                            const bb_thermal_setting *setting, double spacing)
{
    const coefficients heat = convert(wafer, clamp);
    const double clamp_spacing = 1e-3 * clamp->spacing_mm;
    // A node has s^2 / 4 of a coarse cell of side s. Wafer nodes in it, h apart and each of at most
    // h^2, add up to at most (s / 2 + h)^2 there; slightly more for nodes at its border.
    const double cover = 1.0 + 2.0 * spacing / clamp_spacing;
    const places layout = {
        .side = spacing, .spacing = clamp_spacing, .coverage = cover * cover * (1.0 + 1e-6)};
    return bound_step(&layout, setting, &heat, wafer);
}

// Rejects a non-positive step, or one that is not guaranteed stable; `stable` receives the largest
// stable one.
static bb_status check_step(const bb_disc_mesh *mesh, const bb_clamp_grid *grid,
                            const bb_thermal_setting *setting,
                            const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                            double step, double *stable)
{
    bb_status status = BB_OK;
    const coefficients heat = convert(wafer, clamp);
    places layout = {.side = mesh->spacing};
    BB_REQUIRE(step > 0.0, BB_INVALID, "time step = %g ms, expected above 0", 1e3 * step);
    if (setting->ring != NULL) {
        bound_ring(mesh, setting->ring, &heat, &layout.gap, &layout.ring);
    }
    if (grid != NULL) {
        layout.spacing = grid->spacing;
        BB_TRY(measure_coverage(mesh, grid, &layout.coverage));
    }
    *stable = bound_step(&layout, setting, &heat, wafer);
    BB_REQUIRE(setting->stepping != (int)BB_STEPPING_EXPLICIT || step <= *stable, BB_INVALID,
               "time step = %g ms, expected above 0 and at most %.4g ms: explicit steps are "
               "unstable above that on a mesh of %g mm%s",
               1e3 * step, bb_thermal_round_down(1e3 * *stable), 1e3 * mesh->spacing,
               step > bb_thermal_wafer_limit(wafer, clamp, NULL, mesh->spacing)
                   ? ""
                   : ", because of clamp, ring, hood or second mode");
done:
    return status;
}

bb_status bb_thermal_check_step(const bb_disc_mesh *mesh, const bb_wafer_material_config *wafer,
                                const bb_clamp_config *clamp, bb_clamp_model model, double step,
                                const bb_thermal_setting *setting)
{
    bb_status status = BB_OK;
    bb_clamp_grid *grid = NULL;
    double stable = 0.0;
    if (model == BB_CLAMP_LAYER) {
        BB_TRY(bb_clamp_grid_create(mesh, 1e-3 * clamp->spacing_mm, &grid));
    }
    BB_TRY(check_step(mesh, grid, setting, wafer, clamp, step, &stable));
done:
    bb_clamp_grid_destroy(&grid);
    return status;
}

// Finds the positivity limit; `hood` is the rate added to a wafer node by the hood, 1/s.
static void bound_sign(const bb_csr *matrix, double hood, bb_thermal *thermal)
{
    double steepest = 0.0;
    for (bb_index row = 0; row < matrix->rows; ++row) {
        for (bb_index i = matrix->row_start[row]; i < matrix->row_start[row + 1]; ++i) {
            if (matrix->column[i] == row) {
                double top = row < thermal->node_count ? hood : 0.0;
                steepest = fmax(steepest, matrix->value[i] * thermal->per_joule[row] + top);
            }
        }
    }
    thermal->positive_step = thermal->tau_count > 0 ? 0.0 : 1.0 / steepest;
}

// Converts K + H, in place, to A = I - dt M^-1 (K + H).
static void make_step_matrix(const bb_thermal *thermal, bb_csr *matrix)
{
    for (bb_index row = 0; row < matrix->rows; ++row) {
        double scale = thermal->step * thermal->per_joule[row];
        for (bb_index i = matrix->row_start[row]; i < matrix->row_start[row + 1]; ++i) {
            if (matrix->column[i] == row) {
                matrix->value[i] = 1.0 - scale * matrix->value[i];
            } else {
                matrix->value[i] *= -scale;
            }
        }
    }
}

static bb_status assemble(const bb_disc_mesh *mesh, const bb_clamp_grid *grid,
                          const bb_thermal_setting *setting, const coefficients *terms,
                          const through_mode *mode, bb_thermal *thermal)
{
    bb_status status = BB_OK;
    bb_triplets list = {0};
    const bb_edge_ring *ring = setting->ring;
    const bool explicit = setting->stepping == (int)BB_STEPPING_EXPLICIT;
    bb_csr *matrix = explicit ? &thermal->step_matrix : &thermal->conductance;
    BB_TRY(add_conduction(&list, mesh->cell_nodes, mesh->cell_count, 0, terms->conductance));
    if (grid != NULL) {
        BB_TRY(add_conduction(&list, grid->cell_nodes, grid->cell_count, mesh->node_count,
                              terms->clamp_conductance));
        BB_TRY(add_exchange(&list, mesh, grid, terms->exchange));
    }
    if (ring != NULL) {
        const bb_index first = thermal->node_count + thermal->clamp_count;
        BB_TRY(add_conduction(&list, ring->mesh->cell_nodes, ring->mesh->cell_count, first,
                              ring->conductance));
        BB_TRY(add_contacts(&list, ring, first));
    }
    if (thermal->tau_count > 0) {
        BB_TRY(add_through(&list, mesh, grid, ring, mode, terms->exchange, thermal));
    }
    for (bb_index i = 0; i < thermal->size; ++i) {
        BB_TRY(bb_triplets_add(&list, i, i, thermal->loss[i]));
    }
    BB_TRY(bb_csr_assemble(thermal->size, thermal->size, &list, matrix));
    bound_sign(matrix, setting->hood_exchange / terms->areal_capacity, thermal);
    if (explicit) {
        make_step_matrix(thermal, matrix);
    }
done:
    bb_triplets_release(&list);
    return status;
}

bb_status bb_thermal_create(const bb_disc_mesh *mesh, const bb_wafer_material_config *wafer,
                            const bb_clamp_config *clamp, bb_clamp_model model, double step,
                            bb_thermal **out)
{
    const bb_thermal_setting alone = {.stepping = BB_STEPPING_EXPLICIT};
    return bb_thermal_create_in(mesh, wafer, clamp, model, step, &alone, out);
}

bb_status bb_thermal_create_in(const bb_disc_mesh *mesh, const bb_wafer_material_config *wafer,
                               const bb_clamp_config *clamp, bb_clamp_model model, double step,
                               const bb_thermal_setting *setting, bb_thermal **out)
{
    bb_status status = BB_OK;
    bb_clamp_grid *grid = NULL;
    bb_thermal *thermal = NULL;
    through_mode mode;
    coefficients terms = convert(wafer, clamp);
    if (model == BB_CLAMP_LAYER) {
        BB_TRY(bb_clamp_grid_create(mesh, 1e-3 * clamp->spacing_mm, &grid));
    }
    BB_TRY(BB_ZEROED(1, &thermal));
    thermal->node_count = mesh->node_count;
    thermal->clamp_count = grid == NULL ? 0 : grid->node_count;
    thermal->ring_count = setting->ring == NULL ? 0 : setting->ring->mesh->node_count;
    thermal->tau_count =
        setting->through_thickness == (int)BB_THROUGH_TWO_MODE ? mesh->node_count : 0;
    thermal->size =
        thermal->node_count + thermal->clamp_count + thermal->ring_count + thermal->tau_count;
    thermal->step = step;
    BB_TRY(BB_ALLOCATE(thermal->size, &thermal->capacity));
    BB_TRY(BB_ALLOCATE(thermal->size, &thermal->loss));
    BB_TRY(BB_ALLOCATE(thermal->size, &thermal->per_joule));
    BB_TRY(check_step(mesh, grid, setting, wafer, clamp, step, &thermal->stable_step));
    mode = through_mode_make(wafer, setting->stepping, step);
    fill_capacity(mesh, grid, setting->ring, &terms, &mode, thermal);
    BB_TRY(assemble(mesh, grid, setting, &terms, &mode, thermal));
    *out = thermal;
    thermal = NULL;
done:
    bb_clamp_grid_destroy(&grid);
    bb_thermal_destroy(&thermal);
    return status;
}

// Sizes of a model.
typedef struct extent {
    double nodes, ratio;      // of the wafer's mesh; ratio of the clamp's spacing to the mesh's
    double unknowns, entries; // of the state; entries added to the matrix
} extent;

// A conductance is four entries. A cell has six of them, a node one for each coarse node in its
// interpolation; tau has the cells' again, five entries per pair and one per node. Every unknown
// has its loss. The ring's contacts are few.
static extent measure(const bb_wafer_material_config *wafer, const bb_mesh_config *mesh,
                      const bb_clamp_config *clamp, const bb_ring_config *ring)
{
    const bb_heat_sizes sizes = bb_heat_sizes_of(wafer, mesh, clamp, ring);
    const double two = mesh->through_thickness == (int)BB_THROUGH_TWO_MODE ? 1.0 : 0.0;
    const double ratio = clamp->spacing_mm / mesh->spacing_mm;
    const double pairs = bb_clamp_grid_pairs(sizes.nodes, ratio);
    extent span = {.nodes = sizes.nodes,
                   .ratio = ratio,
                   .unknowns = (1.0 + two) * sizes.nodes + sizes.ring + sizes.clamp};
    span.entries = 24.0 * (sizes.nodes + sizes.ring + sizes.clamp) + 4.0 * pairs +
                   two * (25.0 * sizes.nodes + 5.0 * pairs) + span.unknowns;
    return span;
}

// Capacity, loss and rise per joule.
static bb_need vectors_of(const extent *span)
{
    return (bb_need){.host_bytes = sizeof(bb_thermal) + 3.0 * span->unknowns * sizeof(double)};
}

bb_need bb_thermal_resident(const bb_wafer_material_config *wafer, const bb_mesh_config *mesh,
                            const bb_clamp_config *clamp, const bb_ring_config *ring)
{
    const extent span = measure(wafer, mesh, clamp, ring);
    return bb_need_together(vectors_of(&span), bb_csr_resident(span.unknowns, span.entries));
}

bb_need bb_thermal_need(const bb_wafer_material_config *wafer, const bb_mesh_config *mesh,
                        const bb_clamp_config *clamp, const bb_ring_config *ring)
{
    const extent span = measure(wafer, mesh, clamp, ring);
    const bb_need assembling = bb_need_together(bb_clamp_grid_resident(span.nodes, span.ratio),
                                                bb_csr_assemble_need(span.unknowns, span.entries));
    return bb_need_together(
        vectors_of(&span), bb_need_in_turn(bb_clamp_grid_need(span.nodes, span.ratio), assembling));
}

// Sums products in eight independent sums, then adds these by a binary tree.
static double weighted_sum(const double *weight, const double *value, bb_index count)
{
    enum { LANES = 8 };
    double sums[LANES] = {0.0};
    bb_index i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int lane = 0; lane < LANES; ++lane) {
            sums[lane] += weight[i + lane] * value[i + lane];
        }
    }
    for (int lane = 0; i < count; ++i, ++lane) {
        sums[lane] += weight[i] * value[i];
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) {
            sums[lane] += sums[lane + half];
        }
    }
    return sums[0];
}

double bb_thermal_wafer_energy(const bb_thermal *thermal, const double *state)
{
    return weighted_sum(thermal->capacity, state, thermal->node_count);
}

double bb_thermal_clamp_energy(const bb_thermal *thermal, const double *state)
{
    return weighted_sum(thermal->capacity + thermal->node_count, state + thermal->node_count,
                        thermal->clamp_count);
}

double bb_thermal_ring_energy(const bb_thermal *thermal, const double *state)
{
    const bb_index first = thermal->node_count + thermal->clamp_count;
    return weighted_sum(thermal->capacity + first, state + first, thermal->ring_count);
}

bb_index bb_thermal_tau_first(const bb_thermal *thermal)
{
    return thermal->tau_count > 0 ? thermal->size - thermal->tau_count : 0;
}

// The bottom is at T - tau; with a clamp layer wafer nodes have no direct loss to the water.
double bb_thermal_step_loss(const bb_thermal *thermal, const double *state)
{
    double sum = weighted_sum(thermal->loss, state, thermal->node_count + thermal->clamp_count);
    if (thermal->tau_count > 0) {
        sum -=
            weighted_sum(thermal->loss, state + bb_thermal_tau_first(thermal), thermal->tau_count);
    }
    return thermal->step * sum;
}

double bb_thermal_ring_loss(const bb_thermal *thermal, const double *state)
{
    const bb_index first = thermal->node_count + thermal->clamp_count;
    return thermal->step * weighted_sum(thermal->loss + first, state + first, thermal->ring_count);
}

void bb_ledger_add(bb_ledger *ledger, const bb_thermal *thermal, const double *state,
                   double deposited)
{
    ledger->deposited += deposited;
    ledger->lost += bb_thermal_step_loss(thermal, state);
    ledger->lost_ring += bb_thermal_ring_loss(thermal, state);
}

void bb_ledger_add_hood(bb_ledger *ledger, const bb_thermal *thermal, const double *state,
                        bb_index count, const int32_t *node, const double *exchange, double level)
{
    double given = 0.0;
    const bb_index tau = bb_thermal_tau_first(thermal);
    for (bb_index i = 0; i < count; ++i) {
        const double top = state[node[i]] + (tau > 0 ? state[tau + node[i]] : 0.0);
        given += exchange[i] * (top - level);
    }
    ledger->lost_hood += given;
}

double bb_ledger_close(bb_ledger *ledger, const bb_thermal *thermal, const double *state)
{
    ledger->stored_wafer = bb_thermal_wafer_energy(thermal, state);
    ledger->stored_clamp = bb_thermal_clamp_energy(thermal, state);
    ledger->stored_ring = bb_thermal_ring_energy(thermal, state);
    double gap = ledger->deposited - ledger->lost - ledger->stored_wafer - ledger->stored_clamp -
                 ledger->lost_hood - ledger->lost_ring - ledger->stored_ring - ledger->unloaded +
                 ledger->arrived;
    double brought = ledger->deposited + fabs(ledger->arrived);
    return brought == 0.0 ? gap : gap / brought;
}

void bb_thermal_destroy(bb_thermal **thermal)
{
    if (thermal == NULL || *thermal == NULL) {
        return;
    }
    bb_csr_release(&(*thermal)->step_matrix);
    bb_csr_release(&(*thermal)->conductance);
    BB_RELEASE(&(*thermal)->per_joule);
    BB_RELEASE(&(*thermal)->capacity);
    BB_RELEASE(&(*thermal)->loss);
    BB_RELEASE(thermal);
}
