// SPDX-License-Identifier: Apache-2.0
//
// Configuration of the wafer experiment: material, clamp, mesh, scan, response and metrology.
// Members have the unit of the user's key; each module converts to SI once, when it is created. The
// defaults of materials and clamp are engineering values of the right order of magnitude, not any
// vendor's data.
#ifndef BB_PHYSICS_WAFER_WAFER_CONFIG_H
#define BB_PHYSICS_WAFER_WAFER_CONFIG_H

#include "core/schema.h"

/// Elasticity of silicon: isotropic, or cubic with x of the wafer along <100> or <110>.
typedef enum bb_elasticity {
    BB_ELASTICITY_ISOTROPIC,
    BB_ELASTICITY_CUBIC_100,
    BB_ELASTICITY_CUBIC_110,
} bb_elasticity;

/// Keys of `wafer:`. Silicon at about 295 K.
typedef struct bb_wafer_material_config {
    double diameter_mm;
    double thickness_um;
    double conductivity_w_per_m_k;
    double density_kg_per_m3;
    double specific_heat_j_per_kg_k;
    double expansion_per_k;
    double youngs_modulus_gpa;
    double poisson_ratio;
    double absorption; ///< heat over dose: 1 for EUV, less with reflection, more with
                       ///< out-of-band light
    int elasticity;    ///< bb_elasticity; cubic: the three constants below, not E and nu
    double c11_gpa;
    double c12_gpa;
    double c44_gpa;
} bb_wafer_material_config;

/// The burl nearest to a position on the wafer.
typedef struct bb_burl_place {
    double x_mm;
    double y_mm;
} bb_burl_place;

/// Keys of `clamp.burls:`. Without a pitch (NaN or 0) springs are uniform.
typedef struct bb_burl_config {
    double pitch_mm;         ///< of the square lattice, one burl at the centre of the wafer
    double footprint_mm;     ///< side of the square over which a burl's stiffness is spread
    double scatter;          ///< stiffness is uniform in 1 - scatter .. 1 + scatter of the mean
    double missing_fraction; ///< probability that a burl is missing
    bb_list missing;         ///< bb_burl_place: burls that are missing in addition
    bb_index seed;
} bb_burl_config;

/// Keys of `clamp:`. The clamp is a rigid layer with its own temperature, cooled by water.
typedef struct bb_clamp_config {
    double exchange_w_per_m2_k;
    double tangential_stiffness_n_per_m3;
    double normal_stiffness_n_per_m3;
    double spacing_mm;
    double thickness_mm;
    double heat_capacity_j_per_m3_k;
    double conductivity_w_per_m_k;
    double water_exchange_w_per_m2_k;
    bb_burl_config burls;
} bb_clamp_config;

/// Keys of `hood:`, a cooled patch over the wafer that moves with the slit.
typedef struct bb_hood_config {
    double exchange_w_per_m2_k; ///< 0: no hood
    double width_mm;            ///< along the slit
    double height_mm;           ///< along the scan
    double rise_k;              ///< rise of the hood above the water
} bb_hood_config;

/// Keys of `ring:`, the part of the table around the wafer.
typedef struct bb_ring_config {
    double width_mm; ///< from the wafer's edge outwards; 0: no ring
    double thickness_mm;
    double heat_capacity_j_per_m3_k;
    double conductivity_w_per_m_k;
    double water_exchange_w_per_m2_k;
    double gap_exchange_w_per_m2_k; ///< between the edge face of the wafer and the ring
} bb_ring_config;

typedef enum bb_mesh_stepping { BB_STEPPING_EXPLICIT, BB_STEPPING_CRANK_NICOLSON } bb_mesh_stepping;

/// Modes of temperature through the thickness: thermal.c.
typedef enum bb_through_thickness { BB_THROUGH_MEAN, BB_THROUGH_TWO_MODE } bb_through_thickness;

/// Keys of `mesh:`.
typedef struct bb_mesh_config {
    double spacing_mm;
    double step_ms;        ///< of the scan
    bb_index substeps;     ///< equal thermal steps in each
    int stepping;          ///< bb_mesh_stepping
    int through_thickness; ///< bb_through_thickness
} bb_mesh_config;

typedef enum bb_scan_order { BB_SCAN_MEANDER, BB_SCAN_GIVEN } bb_scan_order;

/// A record of `doses:`.
typedef struct bb_field_dose {
    bb_index exposure; ///< from 0
    double dose_mj_per_cm2;
} bb_field_dose;

/// Direction of a scan, to greater y or to lesser; in words or as numbered in tool logs.
typedef enum bb_direction {
    BB_DIRECTION_UP,
    BB_DIRECTION_DOWN,
    BB_DIRECTION_ONE, ///< up, as BB_DIRECTION_PLUS_ONE
    BB_DIRECTION_PLUS_ONE,
    BB_DIRECTION_MINUS_ONE, ///< down
} bb_direction;

/// A record of `layout:`.
typedef struct bb_field_place {
    double x_mm; ///< position of its centre, in the exposure grid
    double y_mm;
    double dose_mj_per_cm2; ///< dose; NaN: that of the scan
    int direction;          ///< bb_direction; -1: alternating
    bb_index order;         ///< BB_INTEGER_UNSET: in list order
} bb_field_place;

/// A record of `dose_map:`, a point of a full grid.
typedef struct bb_dose_point {
    double x_mm; ///< from the centre of a field
    double y_mm;
    double relative_dose;
} bb_dose_point;

/// Keys of `scan:`. Steps are time steps of the mesh.
typedef struct bb_scan_config {
    double field_width_mm;
    double field_height_mm;
    double usable_radius_mm;
    double offset_x_mm; ///< offset of the exposure grid, or of a layout, from the wafer's centre
    double offset_y_mm;
    bb_list layout;   ///< bb_field_place: fields instead of the grid; empty: the grid
    bb_list dose_map; ///< bb_dose_point: relative dose within a field; empty: uniform
    int order;        ///< bb_scan_order
    /// bb_index: fields by their index in the meander, for order given; else empty
    bb_list sequence;
    bb_list fields; ///< bb_index: scored fields by exposure order from 0; BB_LIST_ALL for `all`
    double dose_mj_per_cm2;
    bb_list doses; ///< bb_field_dose: exposures with another dose
    bb_index light_steps;
    bb_index dark_steps;
    double slit_width_mm;
    double slit_arc_radius_mm;
} bb_scan_config;

/// A {columns, rows} group.
typedef struct bb_grid_config {
    bb_index columns;
    bb_index rows;
} bb_grid_config;

typedef enum bb_response_generator {
    BB_GENERATOR_KERNEL,
    BB_GENERATOR_FEM,   ///< membrane, x and y; z from the kernel
    BB_GENERATOR_FILE,  ///< the user's own rows, read by the study
    BB_GENERATOR_PLATE, ///< membrane coupled to a bending plate, x, y and z
} bb_response_generator;

enum { BB_RESPONSE_GPUS = 16 }; ///< maximum number of GPUs

typedef enum bb_axis { BB_AXIS_X, BB_AXIS_Y, BB_AXIS_Z } bb_axis;

/// Returns "x", "y" or "z", for messages and names.
static inline char bb_axis_letter(int axis)
{
    return "xyz"[axis];
}

/// Keys of `response:`.
typedef struct bb_response_config {
    int generator;                 ///< bb_response_generator
    const char *file;              ///< for generator file, else NULL
    bb_index gpus;                 ///< number over which fields and axes are distributed
    const char *cache_folder;      ///< cache of generator plate's factor; NULL: none
    bb_list axes;                  ///< int: bb_axis
    bb_grid_config grid;           ///< S: cells over the square that bounds the disc
    bb_grid_config slit_points;    ///< points of the slit window of one light step
    double burl_stiffness_scatter; ///< instead of clamp.burls.scatter if that is 0
    bb_index field_rows;           ///< rows of slit points of a whole field; unset: from the strip
} bb_response_config;

/// Reference state of overlay.
typedef enum bb_overlay_reference {
    BB_REFERENCE_NONE,     ///< the stress-free wafer
    BB_REFERENCE_ALIGNMENT ///< the aligned wafer
} bb_overlay_reference;

/// Keys of `metrology:`. Scored points of a field: centres of equal cells.
typedef struct bb_metrology_config {
    bb_index columns;
    bb_index rows;
    int reference;      ///< bb_overlay_reference
    double alignment_s; ///< from gripping to alignment, directly before the first exposure
    bool lot_mean;      ///< subtracts the average over a lot from overlay, point by point
} bb_metrology_config;

extern const bb_schema bb_wafer_material_schema;
extern const bb_schema bb_clamp_schema;
extern const bb_schema bb_hood_schema;
extern const bb_schema bb_ring_schema;
extern const bb_schema bb_mesh_schema;
extern const bb_schema bb_scan_schema;
extern const bb_schema bb_response_schema;
extern const bb_schema bb_metrology_schema;

/// Wafers whose overlay is computed.
typedef enum bb_lot_scored { BB_LOT_LAST, BB_LOT_ALL } bb_lot_scored;

/// The temperature at which a gripped wafer is stress-free.
typedef enum bb_stress_free { BB_STRESS_FREE_WATER, BB_STRESS_FREE_ARRIVAL } bb_stress_free;

/// NULL-terminated words in the order of bb_stress_free.
extern const char *const bb_stress_free_names[];

/// NULL-terminated words in the order of bb_lot_scored.
extern const char *const bb_lot_scored_names[];

/// Keys of `wafers:`.
typedef struct bb_lot_config {
    bb_index count;
    double exchange_s;     ///< from the last step of a wafer to the first of the next
    double arrival_rise_k; ///< rise of every wafer above the water
    int stress_free;       ///< bb_stress_free
    int scored;            ///< bb_lot_scored
} bb_lot_config;

typedef enum bb_probe_layer { BB_PROBE_WAFER, BB_PROBE_CLAMP } bb_probe_layer;

/// A record of `probes:`, in coordinates of the undeformed wafer.
typedef struct bb_probe_config {
    const char *name;
    double x_mm;
    double y_mm;
    int layer; ///< bb_probe_layer
} bb_probe_config;

enum { BB_PROBE_NAME = 40 }; ///< longest name

/// NULL-terminated words in the order of bb_probe_layer.
extern const char *const bb_probe_layers[];

extern const bb_schema bb_lot_schema;
extern const bb_schema bb_probe_schema;

/// Returns whether a name is 1 to BB_PROBE_NAME letters, digits and _, starting with a letter: it
/// names results.
bool bb_probe_config_name_valid(const char *name);

#endif
