// SPDX-License-Identifier: Apache-2.0
//
// The wafer problem of one configuration: mesh, thermal model, scan, grids and response, and the
// inputs of its matrix-vector products. The interface between physics and solvers.
#ifndef BB_PHYSICS_WAFER_WAFER_PROBLEM_H
#define BB_PHYSICS_WAFER_WAFER_PROBLEM_H

#include "physics/wafer/heat/bare_clamp.h"
#include "physics/wafer/heat/exposure.h"
#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/overlay/dwell.h"
#include "physics/wafer/response/coupled_plate.h"
#include "physics/wafer/response/membrane.h"
#include "physics/wafer/response/response.h"

/// Named point for a temperature record: bilinear in the mesh of its layer, at a fixed position of
/// the undeformed wafer. A point within the radius but off the staircase of the mesh is moved to
/// the nearest edge towards the centre. `config` is borrowed.
typedef struct bb_probe {
    const bb_probe_config *config;
    bb_index unknown[4]; ///< index in a thermal state
    double weight[4];
} bb_probe;

/// Creates `count` probes for states of `thermal` on `mesh` with a clamp grid of `clamp_spacing` m.
/// Errors: BB_INVALID (a point outside `radius` m, an invalid or repeated name), BB_MEMORY. Owner
/// of `*out` [count], NULL for none: the caller.
BB_CHECKED bb_status bb_probes_create(const bb_probe_config *configs, bb_index count,
                                      const bb_disc_mesh *mesh, double radius, double clamp_spacing,
                                      bb_probe **out);

/// Returns the rise above the water at a probe, K.
double bb_probe_rise(const bb_probe *probe, const double *state);

/// Inputs of the physics, borrowed.
typedef struct bb_wafer_config {
    const bb_wafer_material_config *wafer;
    const bb_clamp_config *clamp;
    const bb_mesh_config *mesh;
    const bb_scan_config *scan;
    const bb_response_config *response;
    const bb_metrology_config *metrology;
    const bb_hood_config *hood; ///< NULL: none
    const bb_ring_config *ring; ///< NULL: none
    const bb_lot_config *lot;   ///< NULL: one wafer
    const bb_list *probes;      ///< of bb_probe_config; NULL: none
} bb_wafer_config;

/// Read-only to users.
typedef struct bb_wafer_problem {
    bb_disc_mesh *mesh;
    bb_thermal *thermal;
    int stepping;      ///< bb_mesh_stepping of `thermal`
    bb_index substeps; ///< steps of `thermal` per step of the scan
    bb_scan *scan;
    bb_edge_ring *ring;     ///< NULL: none
    bb_hood hood;           ///< exchange 0: none
    bb_index wafer_count;   ///< number of wafers in sequence
    bb_index scored_wafers; ///< number of scored ones, the last: 1, or all
    double arrival_rise;    ///< rise of every wafer on arrival, K
    double stress_free;     ///< rise at which displacement is 0, K
    int reference;          ///< bb_overlay_reference
    bb_index rest_steps;    ///< steps of the scan from gripping to alignment
    bb_bare_clamp *bare;    ///< model of the clamp between two wafers; NULL for one
    bb_index probe_count;
    bb_probe *probes; ///< [probe_count]
    bb_temperature_grid *grid;
    bb_slit_grid slit;
    bb_response *response;   ///< for the kernel generator and z with fem, else NULL
    bb_membrane *membrane;   ///< for the fem generator, else NULL
    bb_coupled_plate *plate; ///< for the plate generator, else NULL
    double absorption;
    bb_index input_blocks; ///< blocks of grid cells in an input: 1, or 2: S and the cells' mean tau
    bb_index input_count;  ///< input_blocks * grid cell_count: columns of the response
    bb_index scored_count;
    bb_index *scored;     ///< [scored_count] fields by exposure index, ascending
    bb_dwell **dwells;    ///< [scored_count]
    bb_index point_count; ///< scored points of all scored fields
} bb_wafer_problem;

/// Creates all members; the configuration must outlive it, and its fields must ascend. Errors:
/// BB_INVALID (a step over the stable limit, scored fields beyond the layout or out of order, ...),
/// BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_wafer_problem_create(const bb_wafer_config *config, bb_wafer_problem **out);

/// The same in two steps: `start` omits the sources of rows (response, membrane, plate), whose
/// factorization is slow; `finish` adds them; thermal steps do not need them. Together their errors
/// are those of bb_wafer_problem_create.
BB_CHECKED bb_status bb_wafer_problem_start(const bb_wafer_config *config, bb_wafer_problem **out);
BB_CHECKED bb_status bb_wafer_problem_finish(const bb_wafer_config *config,
                                             bb_wafer_problem *problem);

/// The thermal part only: mesh, thermal model, scan, hood, ring and wafers; the other members are
/// zero. Errors and owner as for bb_wafer_problem_create.
BB_CHECKED bb_status bb_wafer_problem_create_heat(const bb_wafer_config *config,
                                                  bb_wafer_problem **out);

/// Fields, slit points and sizes of the matrices only: scan, scored fields, slit, input_blocks and
/// input_count; no mesh. Errors and owner as for bb_wafer_problem_create.
BB_CHECKED bb_status bb_wafer_problem_create_layout(const bb_wafer_config *config,
                                                    bb_wafer_problem **out);

/// Checks that the thermal model is stable with the step: from mesh, clamp grid, ring and hood,
/// before anything is assembled. Errors: bb_thermal_check_step's, those of the mesh and the ring.
BB_CHECKED bb_status bb_wafer_problem_check_step(const bb_wafer_config *config);

/// Checks that at least one burl supports the plate, if it is supported by burls. Errors:
/// BB_INVALID (none), errors of the mesh and the map.
BB_CHECKED bb_status bb_wafer_problem_check_burls(const bb_wafer_config *config);

/// Checks that the closed-form kernel, if it is used, covers the grid from all scored fields.
/// Errors: from bb_response_check_field, of the mesh and of the layout.
BB_CHECKED bb_status bb_wafer_problem_check_fields(const bb_wafer_config *config);
/// Memory and time of creating the problem with that many scored fields, and of the problem alone
/// (`held`, without seconds).
void bb_wafer_problem_need(const bb_wafer_config *config, double scored, bb_need *making,
                           bb_need *held);

/// Memory and time of `rows` response rows along `axis` of any field, with that many columns, in
/// addition to the problem; zero for generator file, whose rows are read.
bb_need bb_wafer_problem_rows_need(const bb_wafer_config *config, int axis, double rows,
                                   double columns, double threads);

void bb_wafer_problem_destroy(bb_wafer_problem **problem);

/// Returns the field of scored index `index`.
const bb_field *bb_wafer_problem_field(const bb_wafer_problem *problem, bb_index index);

/// Response rows of one field and axis by any generator. Do not move `out` while its source is
/// used: the source points into it.
typedef struct bb_wafer_rows {
    const bb_matrix_source *source; ///< [slit field_points][input_count], m/K
    bb_index batch;                 ///< read this many rows at once, from a multiple of it
    bb_field_response kernel;
    bb_fem_response fem;
    bb_plate_response plate;
} bb_wafer_rows;

/// The same problem with rows computed in single precision: adjoint solves by bb_membrane_narrow
/// and bb_coupled_plate_narrow, rows of the kernel with bb_response.single. Only its rows are used;
/// it borrows from `problem`. Errors: from bb_narrow_factor_create.
BB_CHECKED bb_status bb_wafer_problem_narrow(const bb_wafer_problem *problem,
                                             bb_operand_rounding round, bb_wafer_problem **out);
void bb_wafer_problem_narrow_destroy(bb_wafer_problem **narrow);

/// Memory and time in addition to the problem: the values of a factor in single precision.
bb_need bb_wafer_problem_narrow_need(const bb_wafer_config *config);

/// Rows of axis `axis` (bb_axis) for scored field `index`; z with fem uses the kernel. Errors:
/// BB_UNSUPPORTED (generator file, whose rows are read; z with fem if it is not in response.axes).
BB_CHECKED bb_status bb_wafer_problem_rows(const bb_wafer_problem *problem, bb_index index,
                                           int axis, bb_wafer_rows *out);

/// Computes the response's input for a thermal state, K, into `cells` [input_count]: mean cell
/// temperatures S = W T and, in a second block, W tau.
BB_CHECKED bb_status bb_wafer_problem_restrict(const bb_wafer_problem *problem, const double *state,
                                               double *cells);

#endif
