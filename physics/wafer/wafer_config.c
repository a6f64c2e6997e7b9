// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/wafer_config.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define REAL(type, member, units, low, high, text, help)                                           \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_DOUBLE, .unit = (units), .offset = offsetof(type, member), \
        .minimum = (low), .maximum = (high), .default_text = (text), .meaning = (help)             \
    }
#define POSITIVE(type, member, units, low, high, text, help)                                       \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_DOUBLE, .unit = (units), .offset = offsetof(type, member), \
        .minimum = (low), .maximum = (high), .exclusive_minimum = true, .default_text = (text),    \
        .meaning = (help)                                                                          \
    }
#define COUNT(type, member, low, high, text, help)                                                 \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_INTEGER, .unit = "1", .offset = offsetof(type, member),    \
        .minimum = (low), .maximum = (high), .default_text = (text), .meaning = (help)             \
    }
#define CHOICE(type, member, words, text, help)                                                    \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_CHOICE, .offset = offsetof(type, member),                  \
        .choices = (words), .default_text = (text), .meaning = (help)                              \
    }
#define GRID(type, member, help)                                                                   \
    {                                                                                              \
        .name = #member, .kind = BB_KEY_GROUP, .offset = offsetof(type, member),                   \
        .schema = &grid_schema, .meaning = (help)                                                  \
    }

static const char *const elasticities[] = {"isotropic", "cubic_100", "cubic_110", NULL};

static const bb_key wafer_material_keys[] = {
    REAL(bb_wafer_material_config, diameter_mm, "mm", 10.0, 450.0, "300.0",
         "Diameter of the wafer."),
    REAL(bb_wafer_material_config, thickness_um, "um", 50.0, 2000.0, "775.0",
         "Thickness of the wafer."),
    POSITIVE(bb_wafer_material_config, conductivity_w_per_m_k, "W/(m K)", 0.0, 5000.0, "148.0",
             "Thermal conductivity of the wafer."),
    POSITIVE(bb_wafer_material_config, density_kg_per_m3, "kg/m3", 0.0, 30000.0, "2330.0",
             "Density of the wafer."),
    POSITIVE(bb_wafer_material_config, specific_heat_j_per_kg_k, "J/(kg K)", 0.0, 10000.0, "712.0",
             "Specific heat of the wafer."),
    REAL(bb_wafer_material_config, expansion_per_k, "1/K", 0.0, 1e-4, "2.6e-6",
         "Coefficient of thermal expansion of the wafer."),
    REAL(bb_wafer_material_config, youngs_modulus_gpa, "GPa", 1.0, 2000.0, "160.0",
         "Young's modulus of the wafer, isotropic."),
    REAL(bb_wafer_material_config, poisson_ratio, "1", 0.0, 0.49, "0.28",
         "Poisson's ratio of the wafer."),
    REAL(bb_wafer_material_config, absorption, "1", 0.0, 1.5, "1.0",
         "Heat over dose: below 1 with reflection, above 1 with out-of-band light."),
    CHOICE(bb_wafer_material_config, elasticity, elasticities, "isotropic",
           "Isotropic by E and nu, or a cubic crystal with x along <100> or <110>."),
    POSITIVE(bb_wafer_material_config, c11_gpa, "GPa", 0.0, 2000.0, "165.7",
             "Stiffness C11 of the cubic crystal."),
    REAL(bb_wafer_material_config, c12_gpa, "GPa", 0.0, 2000.0, "63.9",
         "Stiffness C12 of the cubic crystal; below C11."),
    POSITIVE(bb_wafer_material_config, c44_gpa, "GPa", 0.0, 2000.0, "79.6",
             "Stiffness C44 of the cubic crystal."),
};
const bb_schema bb_wafer_material_schema =
    BB_SCHEMA("wafer", bb_wafer_material_config, wafer_material_keys);

static const bb_key burl_place_keys[] = {
    REAL(bb_burl_place, x_mm, "mm", -225.0, 225.0, NULL, "x on the wafer."),
    REAL(bb_burl_place, y_mm, "mm", -225.0, 225.0, NULL, "y on the wafer."),
};
static const bb_schema burl_place_schema = BB_SCHEMA("missing", bb_burl_place, burl_place_keys);

// clang-format off
static const bb_key burl_keys[] = {
    {.name = "pitch_mm", .kind = BB_KEY_DOUBLE, .unit = "mm",
     .offset = offsetof(bb_burl_config, pitch_mm), .minimum = 0.05, .maximum = 50.0,
     .optional = true,
     .meaning = "Pitch of the square lattice of burls; unset: uniform springs."},
    {.name = "footprint_mm", .kind = BB_KEY_DOUBLE, .unit = "mm",
     .offset = offsetof(bb_burl_config, footprint_mm), .minimum = 0.05, .maximum = 50.0,
     .optional = true,
     .meaning = "Side of the square over which a burl's stiffness is spread; at most the pitch."},
    {.name = "scatter", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_burl_config, scatter), .minimum = 0.0, .maximum = 1.0,
     .exclusive_maximum = true, .default_text = "0.0",
     .meaning = "A burl's stiffness is uniform in 1 - scatter .. 1 + scatter of the mean."},
    {.name = "missing_fraction", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_burl_config, missing_fraction), .minimum = 0.0, .maximum = 1.0,
     .exclusive_maximum = true, .default_text = "0.0",
     .meaning = "Probability that a burl is missing."},
    {.name = "missing", .kind = BB_KEY_RECORDS, .schema = &burl_place_schema, .optional = true,
     .offset = offsetof(bb_burl_config, missing),
     .meaning = "Positions; the burl nearest to each is missing."},
    {.name = "seed", .kind = BB_KEY_INTEGER, .unit = "1", .offset = offsetof(bb_burl_config, seed),
     .minimum = 0.0, .maximum = 9007199254740992.0, .default_text = "1",
     .meaning = "Seed of scatter and missing burls."},
};
// clang-format on
static const bb_schema burl_schema = BB_SCHEMA("burls", bb_burl_config, burl_keys);

static const bb_key clamp_keys[] = {
    REAL(bb_clamp_config, exchange_w_per_m2_k, "W/(m2 K)", 0.0, 1e5, "1500.0",
         "Heat exchange between wafer and clamp."),
    REAL(bb_clamp_config, tangential_stiffness_n_per_m3, "N/m3", 1.0, 1e14, "1.0e+11",
         "Tangential stiffness of the burls per area."),
    REAL(bb_clamp_config, normal_stiffness_n_per_m3, "N/m3", 1.0, 1e15, "1.0e+12",
         "Normal stiffness of the burls per area."),
    POSITIVE(bb_clamp_config, spacing_mm, "mm", 0.0, 50.0, "3.0",
             "Spacing of the clamp grid; at least that of the mesh."),
    POSITIVE(bb_clamp_config, thickness_mm, "mm", 0.0, 100.0, "8.0",
             "Thickness of the clamp layer."),
    POSITIVE(bb_clamp_config, heat_capacity_j_per_m3_k, "J/(m3 K)", 0.0, 1e8, "2.0e+6",
             "Heat capacity of the clamp per volume."),
    REAL(bb_clamp_config, conductivity_w_per_m_k, "W/(m K)", 0.0, 5000.0, "1.3",
         "Thermal conductivity of the clamp."),
    REAL(bb_clamp_config, water_exchange_w_per_m2_k, "W/(m2 K)", 0.0, 1e6, "3000.0",
         "Heat exchange between clamp and cooling water."),
    {.name = "burls",
     .kind = BB_KEY_GROUP,
     .offset = offsetof(bb_clamp_config, burls),
     .schema = &burl_schema,
     .meaning = "Individual burls, for generator plate; without them springs are uniform."},
};
const bb_schema bb_clamp_schema = BB_SCHEMA("clamp", bb_clamp_config, clamp_keys);

static const bb_key hood_keys[] = {
    REAL(bb_hood_config, exchange_w_per_m2_k, "W/(m2 K)", 0.0, 1e5, "0.0",
         "Heat exchange between the top of the wafer and the hood; 0: no hood."),
    POSITIVE(bb_hood_config, width_mm, "mm", 0.0, 500.0, "40.0",
             "Width of the hood along the slit, centred on the slit."),
    POSITIVE(bb_hood_config, height_mm, "mm", 0.0, 500.0, "20.0",
             "Height of the hood along the scan, centred on the slit."),
    REAL(bb_hood_config, rise_k, "K", -100.0, 100.0, "0.0",
         "Temperature of the hood above that of the water."),
};
const bb_schema bb_hood_schema = BB_SCHEMA("hood", bb_hood_config, hood_keys);

static const bb_key ring_keys[] = {
    REAL(bb_ring_config, width_mm, "mm", 0.0, 100.0, "0.0",
         "Width of the ring around the wafer; 0: none, else at least mesh.spacing_mm."),
    POSITIVE(bb_ring_config, thickness_mm, "mm", 0.0, 100.0, "5.0", "Thickness of the ring."),
    POSITIVE(bb_ring_config, heat_capacity_j_per_m3_k, "J/(m3 K)", 0.0, 1e8, "2.0e+6",
             "Heat capacity of the ring per volume."),
    REAL(bb_ring_config, conductivity_w_per_m_k, "W/(m K)", 0.0, 5000.0, "1.3",
         "Thermal conductivity of the ring."),
    REAL(bb_ring_config, water_exchange_w_per_m2_k, "W/(m2 K)", 0.0, 1e6, "3000.0",
         "Heat exchange between ring and cooling water."),
    REAL(bb_ring_config, gap_exchange_w_per_m2_k, "W/(m2 K)", 0.0, 1e5, "100.0",
         "Heat exchange between the edge face of the wafer and the ring, across the gap."),
};
const bb_schema bb_ring_schema = BB_SCHEMA("ring", bb_ring_config, ring_keys);

static const char *const steppings[] = {"explicit", "crank-nicolson", NULL};
static const char *const profiles[] = {"mean", "two_mode", NULL};

static const bb_key mesh_keys[] = {
    REAL(bb_mesh_config, spacing_mm, "mm", 0.05, 10.0, "0.5", "Side of a mesh cell."),
    POSITIVE(bb_mesh_config, step_ms, "ms", 0.0, 1000.0, "1.0",
             "Time step of the scan; rejected if its substeps are not stable on the mesh."),
    COUNT(bb_mesh_config, substeps, 1.0, 10000.0, "1",
          "Equal thermal steps per time step, for meshes that need shorter ones."),
    CHOICE(bb_mesh_config, stepping, steppings, "explicit",
           "Forward Euler, or Crank-Nicolson as a reference; lumped mass."),
    CHOICE(bb_mesh_config, through_thickness, profiles, "mean",
           "Temperature through the thickness: mean only, or with the first odd mode. Its moment "
           "bends the plate; clamp and hood exchange heat with it."),
};
const bb_schema bb_mesh_schema = BB_SCHEMA("mesh", bb_mesh_config, mesh_keys);

static const char *const orders[] = {"meander", "given", NULL};

static const bb_key dose_keys[] = {
    COUNT(bb_field_dose, exposure, 0.0, 1e5, NULL, "Exposure number, from 0."),
    REAL(bb_field_dose, dose_mj_per_cm2, "mJ/cm2", 0.0, 1000.0, NULL, "Dose at the resist."),
};
static const bb_schema dose_schema = BB_SCHEMA("doses", bb_field_dose, dose_keys);

static const char *const directions[] = {"up", "down", "1", "+1", "-1", NULL};

// clang-format off
static const bb_key place_keys[] = {
    REAL(bb_field_place, x_mm, "mm", -225.0, 225.0, NULL, "x of the field's centre."),
    REAL(bb_field_place, y_mm, "mm", -225.0, 225.0, NULL, "y of the field's centre."),
    {.name = "dose_mj_per_cm2", .kind = BB_KEY_DOUBLE, .unit = "mJ/cm2",
     .offset = offsetof(bb_field_place, dose_mj_per_cm2), .minimum = 0.0, .maximum = 1000.0,
     .optional = true, .meaning = "Dose at the resist; unset: scan.dose_mj_per_cm2."},
    {.name = "direction", .kind = BB_KEY_CHOICE, .choices = directions,
     .offset = offsetof(bb_field_place, direction), .optional = true,
     .meaning = "Scan direction: to greater y (up, 1) or to lesser (down, -1); unset: up in even "
                "exposures, down in odd ones."},
    {.name = "order", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_field_place, order), .minimum = 0.0, .maximum = 1e6, .optional = true,
     .meaning = "Exposure order: increasing, each once; unset, then for all: the order of the "
                "list."},
};
static const bb_schema place_schema = BB_SCHEMA("layout", bb_field_place, place_keys);

static const bb_key dose_point_keys[] = {
    REAL(bb_dose_point, x_mm, "mm", -50.0, 50.0, NULL, "x from the field's centre."),
    REAL(bb_dose_point, y_mm, "mm", -50.0, 50.0, NULL, "y from the field's centre."),
    REAL(bb_dose_point, relative_dose, "1", 0.0, 10.0, NULL, "Dose here over the field's dose."),
};
static const bb_schema dose_point_schema = BB_SCHEMA("dose_map", bb_dose_point, dose_point_keys);
// clang-format on

static const bb_key scan_keys[] = {
    REAL(bb_scan_config, field_width_mm, "mm", 1.0, 100.0, "26.0",
         "Width of a field, along the slit."),
    REAL(bb_scan_config, field_height_mm, "mm", 1.0, 100.0, "33.0",
         "Height of a field, along the scan."),
    POSITIVE(bb_scan_config, usable_radius_mm, "mm", 0.0, 225.0, "147.0",
             "Fields with over 5 % of their area inside are exposed; points inside are scored."),
    REAL(bb_scan_config, offset_x_mm, "mm", -100.0, 100.0, "0.0",
         "x of the exposure grid, or of a layout's origin, from the centre of the wafer."),
    REAL(bb_scan_config, offset_y_mm, "mm", -100.0, 100.0, "0.0",
         "y of the exposure grid, or of a layout's origin, from the centre of the wafer."),
    {.name = "layout",
     .kind = BB_KEY_RECORDS,
     .schema = &place_schema,
     .tabular = true,
     .optional = true,
     .offset = offsetof(bb_scan_config, layout),
     .replaces = {"order", "sequence", "doses"},
     .meaning =
         "Fields by their centres instead of the grid, as a list or a CSV file with these columns; "
         "overlapping fields and fields with 5 % or less of their area inside are rejected."},
    {.name = "dose_map",
     .kind = BB_KEY_RECORDS,
     .schema = &dose_point_schema,
     .tabular = true,
     .optional = true,
     .offset = offsetof(bb_scan_config, dose_map),
     .meaning = "Dose within every field relative to the field's own, on a full grid of points, "
                "each for the cell that extends midway to the next; a list or a CSV file. The mean "
                "need not be 1: a field's energy is proportional to it."},
    CHOICE(bb_scan_config, order, orders, "meander",
           "Exposure order: rows in turn, alternating direction; or given by `sequence`."),
    {.name = "sequence",
     .kind = BB_KEY_INTEGERS,
     .unit = "1",
     .offset = offsetof(bb_scan_config, sequence),
     .replaces = {"layout"},
     .minimum = 0.0,
     .maximum = 100000.0,
     .minimum_count = 1,
     .optional = true,
     .meaning = "For order given: fields in exposure order, by their index in the meander from 0, "
                "each at most once; others are not exposed."},
    {.name = "fields",
     .kind = BB_KEY_INTEGERS,
     .unit = "1",
     .offset = offsetof(bb_scan_config, fields),
     .minimum = 0.0,
     .maximum = 100000.0,
     .accepts_all = true,
     .minimum_count = 1,
     .default_text = "all",
     .meaning = "Scored fields by exposure order from 0, or all; earlier ones only heat."},
    REAL(bb_scan_config, dose_mj_per_cm2, "mJ/cm2", 0.0, 1000.0, "30.0", "Dose at the resist."),
    {.name = "doses",
     .kind = BB_KEY_RECORDS,
     .schema = &dose_schema,
     .optional = true,
     .offset = offsetof(bb_scan_config, doses),
     .replaces = {"layout"},
     .meaning = "Exposures with another dose."},
    COUNT(bb_scan_config, light_steps, 1.0, 1e5, "34", "Time steps in which a field is exposed."),
    COUNT(bb_scan_config, dark_steps, 0.0, 1e6, "36",
          "Time steps from the end of a field to the start of the next."),
    POSITIVE(bb_scan_config, slit_width_mm, "mm", 0.0, 10.0, "1.6",
             "Width of the slit along the scan."),
    REAL(bb_scan_config, slit_arc_radius_mm, "mm", 1.0, 10000.0, "30.0",
         "Radius of the arc of the slit; more than half the field width."),
};
const bb_schema bb_scan_schema = BB_SCHEMA("scan", bb_scan_config, scan_keys);

static const bb_key grid_keys[] = {
    COUNT(bb_grid_config, columns, 2.0, 20000.0, NULL, "Number of columns."),
    COUNT(bb_grid_config, rows, 2.0, 20000.0, NULL, "Number of rows."),
};
static const bb_schema grid_schema = BB_SCHEMA("grid", bb_grid_config, grid_keys);

static const char *const generators[] = {"kernel", "fem", "file", "plate", NULL};
static const char *const axes[] = {"x", "y", "z", NULL};

// clang-format off
static const bb_key response_keys[] = {
    CHOICE(bb_response_config, generator, generators, "fem",
           "Source of the rows: adjoint solves of the membrane (fem; z from the kernel) or of the "
           "coupled plate, the closed-form kernel, which ignores the wafer edge, or a file."),
    {.name = "file", .kind = BB_KEY_PATH, .offset = offsetof(bb_response_config, file),
     .optional = true,
     .meaning = "HDF5 file of generator file, with /operators/C_<axis>_<field> as written by "
                "--dump rows."},
    {.name = "cache_folder", .kind = BB_KEY_TEXT,
     .offset = offsetof(bb_response_config, cache_folder), .optional = true, .writes_folder = true,
     .meaning = "Folder in which generator plate caches its factor for later runs; unset: no "
                "cache."},
    {.name = "gpus", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0,
     .maximum = BB_RESPONSE_GPUS, .offset = offsetof(bb_response_config, gpus),
     .default_text = "1",
     .meaning = "GPUs of this host over which fields and axes are distributed; on cuda only."},
    {.name = "axes", .kind = BB_KEY_CHOICES, .offset = offsetof(bb_response_config, axes),
     .choices = axes, .minimum_count = 1, .default_text = "[x, y, z]",
     .meaning = "Displacements to compute."},
    GRID(bb_response_config, grid,
         "Cells of the temperature grid S over the square that bounds the wafer."),
    GRID(bb_response_config, slit_points,
         "Points of the slit window in which displacements are computed each step."),
    {.name = "burl_stiffness_scatter", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_response_config, burl_stiffness_scatter), .minimum = 0.0, .maximum = 1.0,
     .default_text = "0.0",
     .meaning = "Scatter of the burls' stiffness if clamp.burls.scatter is 0."},
    {.name = "field_rows", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_response_config, field_rows), .minimum = 2.0, .maximum = 20000.0,
     .optional = true,
     .meaning = "Rows of slit points of a whole field; unset: the maximum for the window."},
};
// clang-format on
const bb_schema bb_response_schema = BB_SCHEMA("response", bb_response_config, response_keys);

static const char *const references[] = {"none", "alignment", NULL};

static const bb_key metrology_keys[] = {
    COUNT(bb_metrology_config, columns, 1.0, 1000.0, "13", "Scored points across a field."),
    COUNT(bb_metrology_config, rows, 1.0, 1000.0, "19", "Scored points along a field."),
    CHOICE(bb_metrology_config, reference, references, "alignment",
           "Reference of overlay: the aligned wafer, or the stress-free wafer (none)."),
    REAL(bb_metrology_config, alignment_s, "s", 0.0, 1e4, "0.0",
         "From gripping to alignment, in whole steps: the wafer rests on the clamp without dose or "
         "hood, is aligned, and its first exposure begins."),
    {.name = "lot_mean",
     .kind = BB_KEY_BOOLEAN,
     .offset = offsetof(bb_metrology_config, lot_mean),
     .default_text = "false",
     .meaning = "Subtracts the average over the wafers of a lot from overlay, point by "
                "point; needs wafers.scored all."},
};
const bb_schema bb_metrology_schema = BB_SCHEMA("metrology", bb_metrology_config, metrology_keys);

const char *const bb_lot_scored_names[] = {"last", "all", NULL};
const char *const bb_stress_free_names[] = {"water", "arrival", NULL};
const char *const bb_probe_layers[] = {"wafer", "clamp", NULL};

// clang-format off
static const bb_key lot_keys[] = {
    {.name = "count", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_lot_config, count), .minimum = 1.0, .maximum = 10000.0,
     .default_text = "1",
     .meaning = "Wafers exposed in sequence on one clamp."},
    {.name = "exchange_s", .kind = BB_KEY_DOUBLE, .unit = "s",
     .offset = offsetof(bb_lot_config, exchange_s), .minimum = 0.0, .maximum = 1e5,
     .exclusive_minimum = true, .default_text = "10.0",
     .meaning = "Time between two wafers, during which clamp and ring are bare."},
    {.name = "arrival_rise_k", .kind = BB_KEY_DOUBLE, .unit = "K",
     .offset = offsetof(bb_lot_config, arrival_rise_k), .minimum = -100.0, .maximum = 100.0,
     .default_text = "0.0",
     .meaning = "Temperature of an arriving wafer above that of the water."},
    {.name = "stress_free", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_lot_config, stress_free),
     .choices = bb_stress_free_names, .default_text = "arrival",
     .meaning = "Temperature at which burls grip a wafer without stress and displacement is 0: the "
                "wafer's own on arrival, or the water's."},
    {.name = "scored", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_lot_config, scored),
     .choices = bb_lot_scored_names, .default_text = "last",
     .meaning = "Scored wafers: the last one, or all with the spread from wafer to "
     "wafer."},
};
static const bb_key probe_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_probe_config, name),
     .meaning = "Letters, digits and _, up to 40; its results are called <name>_k."},
    {.name = "x_mm", .kind = BB_KEY_DOUBLE, .unit = "mm", .offset = offsetof(bb_probe_config, x_mm),
     .minimum = -225.0, .maximum = 225.0, .default_text = "0.0",
     .meaning = "Position on the undeformed wafer, from its centre."},
    {.name = "y_mm", .kind = BB_KEY_DOUBLE, .unit = "mm", .offset = offsetof(bb_probe_config, y_mm),
     .minimum = -225.0, .maximum = 225.0, .default_text = "0.0",
     .meaning = "Position on the undeformed wafer, from its centre."},
    {.name = "layer", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_probe_config, layer),
     .choices = bb_probe_layers, .default_text = "wafer",
     .meaning = "Probed body: the wafer or the clamp under it."},
};
// clang-format on
const bb_schema bb_lot_schema = BB_SCHEMA("wafers", bb_lot_config, lot_keys);
const bb_schema bb_probe_schema = BB_SCHEMA("probes", bb_probe_config, probe_keys);

bool bb_probe_config_name_valid(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; ++i) {
        unsigned char c = (unsigned char)name[i];
        if (c > 0x7f || (isalnum(c) == 0 && c != '_')) {
            return false;
        }
    }
    return isalpha((unsigned char)name[0]) != 0 && length <= BB_PROBE_NAME;
}
