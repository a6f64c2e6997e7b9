// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/night/layer_tomography.h"

#include "core/memory.h"
#include "physics/ao/covariance/structure_function.h"

#include <math.h>
#include <string.h>

// Covariance of slopes for layers of any strengths, as a matrix source:
//   sum_l w_l C_l + N + V diag(variance) V^T,
// C_l of a layer of unit strength, w_l strengths that may change between fills, N the noise of
// subapertures and V the tilts of stars. The C_l are matrices in memory, or sources evaluated at
// every fill. Everything except `source` is borrowed and must outlive it; `weight` and `noise` may
// change between fills.
typedef struct layer_mixture {
    bb_index layer_count;
    const bb_matrix_source *const *layers; // [layer_count]; NULL: all are in `held`
    const double *held;                    // [layer_count][rows][columns], or NULL
    const double *weight;                  // [layer_count]
    const bb_sensor_array *guides;         // adds their noise and tilts; NULL: none
    const bb_measurement_noise *noise;     // NULL: none
    const bb_tilt_vectors *tilts;          // NULL: none
    bb_matrix_source source;               // set by layer_mixture_start
} layer_mixture;

static void add_row(double weight, const double *layer, bb_index count, double *out)
{
    for (bb_index j = 0; j < count; ++j) {
        out[j] += weight * layer[j];
    }
}

static void clear(bb_view out)
{
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        memset(bb_view_row(out, i), 0, (size_t)out.shape[1] * sizeof(double));
    }
}

static void add_held(const layer_mixture *mixture, bb_index row, bb_index column, bb_view out)
{
    const bb_index columns = mixture->source.columns;
    const bb_index items = mixture->source.rows * columns;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        for (bb_index l = 0; l < mixture->layer_count; ++l) {
            add_row(mixture->weight[l], mixture->held + l * items + (row + i) * columns + column,
                    out.shape[1], bb_view_row(out, i));
        }
    }
}

static bb_status add_sources(const layer_mixture *mixture, bb_index row, bb_index column,
                             bb_view out)
{
    bb_status status = BB_OK;
    double *block = NULL; // covariance of one layer
    BB_TRY(BB_ALLOCATE(out.shape[0] * out.shape[1], &block));
    const bb_view view = bb_view_matrix(block, out.shape[0], out.shape[1]);
    for (bb_index l = 0; l < mixture->layer_count; ++l) {
        if (mixture->weight[l] == 0.0) {
            continue;
        }
        BB_TRY(bb_matrix_source_fill(mixture->layers[l], row, column, view));
        for (bb_index i = 0; i < out.shape[0]; ++i) {
            add_row(mixture->weight[l], block + i * out.shape[1], out.shape[1],
                    bb_view_row(out, i));
        }
    }
done:
    BB_RELEASE(&block);
    return status;
}

// Noise couples the two slopes of one subaperture: adds it for the sensor's subapertures whose
// slope along axis `a` is in a row of the block and along `b` in a column.
static void add_sensor_noise(const bb_sensor *sensor, const bb_slope_noise *noise, int a, int b,
                             bb_index row, bb_index column, bb_view out)
{
    const bb_index first_row = sensor->first + (a == 0 ? 0 : sensor->count) - row;
    const bb_index first_column = sensor->first + (b == 0 ? 0 : sensor->count) - column;
    for (bb_index k = first_row < 0 ? -first_row : 0;
         k < sensor->count && first_row + k < out.shape[0]; ++k) {
        const bb_index j = first_column + k;
        if (j >= 0 && j < out.shape[1]) {
            bb_view_row(out, first_row + k)[j] +=
                a != b ? noise[k].xy : (a == 0 ? noise[k].xx : noise[k].yy);
        }
    }
}

static void add_noise(const layer_mixture *mixture, bb_index row, bb_index column, bb_view out)
{
    for (bb_index s = 0; s < mixture->guides->sensor_count; ++s) {
        const bb_sensor *sensor = &mixture->guides->sensors[s];
        const bb_slope_noise *noise = mixture->noise->subaperture + sensor->first / 2;
        for (int axes = 0; axes < 4; ++axes) {
            add_sensor_noise(sensor, noise, axes / 2, axes % 2, row, column, out);
        }
    }
}

static void add_tilts(const bb_tilt_vectors *tilts, bb_index row, bb_index column, bb_view out)
{
    const bb_index count = tilts->columns;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        for (bb_index c = 0; c < count; ++c) {
            const double tilt = tilts->variance[c] * tilts->vectors[(row + i) * count + c];
            for (bb_index j = 0; tilt != 0.0 && j < out.shape[1]; ++j) {
                values[j] += tilt * tilts->vectors[(column + j) * count + c];
            }
        }
    }
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    const layer_mixture *mixture = source->context;
    clear(out);
    if (mixture->held != NULL) {
        add_held(mixture, row, column, out);
    } else {
        BB_RETURN_IF_FAILED(add_sources(mixture, row, column, out));
    }
    if (mixture->noise != NULL) {
        add_noise(mixture, row, column, out);
    }
    if (mixture->tilts != NULL) {
        add_tilts(mixture->tilts, row, column, out);
    }
    return BB_OK;
}

// Initialises the source of a mixture whose other members are set, with the name and size of
// `like`, one of its layers or a matrix of the same slopes.
static void layer_mixture_start(layer_mixture *mixture, const bb_matrix_source *like)
{
    mixture->source = (bb_matrix_source){.rows = like->rows,
                                         .columns = like->columns,
                                         .symmetric = like->symmetric,
                                         .name = like->name,
                                         .unit = like->unit,
                                         .fill = fill,
                                         .context = mixture};
}

// One layer of unit strength, with its covariances unless they are stored as matrices.
typedef struct layer {
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_slope_covariance *cmm;
    bb_sensor_array *truth;    // [targets]
    bb_atmosphere *seen;       // [targets] seen by the truth sensor; borrows all
    bb_slope_covariance **ctm; // [targets]
    bb_slope_covariance **ctt; // [targets]
} layer;

// Layers of one outer scale: their structure functions, and the atmosphere of these layers only.
typedef struct scale_group {
    double outer_scale_m;
    bb_structure_table structure;
    bb_structure_table *corrected; // [targets] that own a point spread, with fitting
    bb_atmosphere atmosphere;      // strengths and winds of the layers; borrows the structure
} scale_group;

// One of the matrices, for every layer.
typedef struct stack {
    double *held;                    // [layers][rows][columns], NULL: sources
    const bb_matrix_source **layers; // [layers], NULL: held
    layer_mixture mixture;
} stack;

struct bb_layer_tomography {
    const bb_ao_config *config;
    const bb_tomography *base;
    bb_tomography problem; // public problem: borrows the base and the members below
    bb_index layer_count, group_count;
    bool holds;
    layer *layers;       // [layers]
    bb_index *group;     // [layers]
    scale_group *groups; // [groups]
    double *weight;      // [layers] strengths at zenith
    bb_atmosphere atmosphere;
    bb_tilt_vectors tilts; // of Cmm
    layer_mixture core;
    stack cmm, *ctm, *ctt; // [targets]
    double *term;          // [N][N] of a group
};

static bool has_terms(const bb_layer_tomography *self)
{
    return bb_error_terms_wanted(self->config->error_terms);
}

static void release_layer(layer *item, bb_index targets)
{
    for (bb_index t = 0; t < targets; ++t) {
        if (item->ctm != NULL) {
            bb_slope_covariance_destroy(&item->ctm[t]);
        }
        if (item->ctt != NULL) {
            bb_slope_covariance_destroy(&item->ctt[t]);
        }
        if (item->truth != NULL) {
            bb_sensor_array_release(&item->truth[t]);
        }
    }
    BB_RELEASE(&item->ctm);
    BB_RELEASE(&item->ctt);
    BB_RELEASE(&item->truth);
    BB_RELEASE(&item->seen);
    bb_slope_covariance_destroy(&item->cmm);
    bb_sensor_array_release(&item->guides);
    bb_atmosphere_release(&item->atmosphere);
}

static void release_group(scale_group *group, bb_index targets)
{
    for (bb_index t = 0; group->corrected != NULL && t < targets; ++t) {
        bb_structure_table_release(&group->corrected[t]);
    }
    BB_RELEASE(&group->corrected);
    bb_structure_table_release(&group->structure);
    group->atmosphere.structure = (bb_structure_table){0}; // now owned by the group
    bb_atmosphere_release(&group->atmosphere);
}

static void release_stack(stack *matrix)
{
    BB_RELEASE(&matrix->held);
    BB_RELEASE(&matrix->layers);
}

static void release_problem(bb_layer_tomography *self)
{
    const bb_index targets = self->problem.target_count;
    for (bb_index t = 0; t < targets; ++t) {
        if (self->problem.targets != NULL && self->problem.targets[t].owns_spread) {
            BB_RELEASE(&self->problem.targets[t].terms);
        }
        if (self->ctm != NULL) {
            release_stack(&self->ctm[t]);
        }
        if (self->ctt != NULL) {
            release_stack(&self->ctt[t]);
        }
    }
    release_stack(&self->cmm);
    BB_RELEASE(&self->ctm);
    BB_RELEASE(&self->ctt);
    BB_RELEASE(&self->problem.targets);
    bb_measurement_noise_release(&self->problem.noise);
}

void bb_layer_tomography_destroy(bb_layer_tomography **layers)
{
    bb_layer_tomography *self = *layers;
    if (self == NULL) {
        return;
    }
    const bb_index targets = self->problem.target_count;
    release_problem(self);
    for (bb_index l = 0; self->layers != NULL && l < self->layer_count; ++l) {
        release_layer(&self->layers[l], targets);
    }
    for (bb_index g = 0; self->groups != NULL && g < self->group_count; ++g) {
        release_group(&self->groups[g], targets);
    }
    BB_RELEASE(&self->layers);
    BB_RELEASE(&self->group);
    BB_RELEASE(&self->groups);
    BB_RELEASE(&self->weight);
    BB_RELEASE(&self->term);
    self->atmosphere.structure = (bb_structure_table){0}; // owned by the base
    bb_atmosphere_release(&self->atmosphere);
    bb_tilt_vectors_release(&self->tilts);
    BB_RELEASE(layers);
}

static double pitch_of(const bb_layer_tomography *self, bb_index target)
{
    return self->config->telescope->diameter_m /
           (double)self->base->targets[target].truth.sensors[0].lenslets;
}

// Structure functions of an outer scale and the atmosphere of its layers, to be set.
static bb_status make_group(bb_layer_tomography *self, const bb_profile_series *series,
                            scale_group *group)
{
    bb_status status = BB_OK;
    const bb_error_terms_config *terms = self->config->error_terms;
    bb_atmosphere *air = &group->atmosphere;
    const bb_index targets = self->problem.target_count;
    BB_TRY(bb_structure_table_create(group->outer_scale_m, &group->structure));
    BB_TRY(BB_ZEROED(targets, &group->corrected));
    for (bb_index t = 0; t < targets; ++t) {
        if (self->base->targets[t].owns_spread && terms != NULL && terms->fitting) {
            BB_TRY(bb_structure_function_corrected_table(group->outer_scale_m, pitch_of(self, t),
                                                         &group->corrected[t]));
        }
    }
    BB_TRY(BB_ALLOCATE(series->layer_count, &air->height_m));
    BB_TRY(BB_ALLOCATE(series->layer_count, &air->strength));
    BB_TRY(BB_ALLOCATE(series->layer_count, &air->wind_m_per_s));
    air->airmass = self->base->atmosphere.airmass;
    air->outer_scale_m = group->outer_scale_m;
    air->structure = group->structure;
done:
    return status;
}

static bb_status make_groups(bb_layer_tomography *self, const bb_profile_series *series)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(self->layer_count, &self->group));
    BB_TRY(BB_ZEROED(self->layer_count, &self->groups));
    for (bb_index l = 0; l < self->layer_count; ++l) {
        bb_index g = 0;
        while (g < self->group_count && self->groups[g].outer_scale_m != series->outer_scale_m[l]) {
            ++g;
        }
        self->group[l] = g;
        if (g == self->group_count) {
            self->groups[g].outer_scale_m = series->outer_scale_m[l];
            ++self->group_count;
            BB_TRY(make_group(self, series, &self->groups[g]));
        }
    }
done:
    return status;
}

// Finds the target whose point spread is shared by a target.
static bb_index owner_of(const bb_tomography *base, bb_index target)
{
    bb_index owner = 0;
    while (base->targets[owner].spread != base->targets[target].spread) {
        ++owner;
    }
    return owner;
}

static bb_status make_target(bb_layer_tomography *self, layer *item, bb_index l, bb_index t)
{
    bb_status status = BB_OK;
    const bb_structure_table corrected =
        self->groups[self->group[l]].corrected[owner_of(self->base, t)];
    BB_TRY(bb_sensor_array_create_truth(self->config, t, &item->atmosphere, &item->truth[t]));
    item->seen[t] = item->atmosphere;
    if (corrected.coefficients != NULL) {
        item->seen[t].structure = corrected;
    }
    bb_slope_covariance_parts parts = {.name = "Ctm",
                                       .atmosphere = &item->seen[t],
                                       .rows = &item->truth[t],
                                       .columns = &item->guides};
    BB_TRY(bb_slope_covariance_create(&parts, &item->ctm[t]));
    parts.name = "Ctt";
    parts.columns = &item->truth[t];
    BB_TRY(bb_slope_covariance_create(&parts, &item->ctt[t]));
done:
    return status;
}

static bb_status make_atmosphere(const bb_ao_config *config, const bb_profile_series *series,
                                 bb_index l, bb_atmosphere *out)
{
    bb_layer_config one = {series->height_m[l], 1.0, NAN, NAN};
    const bb_atmosphere_config unit = {.profile = -1,
                                       .layers = {&one, 1},
                                       .outer_scale_m = series->outer_scale_m[l],
                                       .r0_m = NAN,
                                       .seeing_arcsec = NAN,
                                       .seeing_wavelength_nm = 500.0};
    return bb_atmosphere_create(&unit, config->telescope->zenith_angle_deg, out);
}

static bb_status make_layer(bb_layer_tomography *self, const bb_profile_series *series, bb_index l)
{
    bb_status status = BB_OK;
    layer *item = &self->layers[l];
    const bb_index targets = self->problem.target_count;
    BB_TRY(make_atmosphere(self->config, series, l, &item->atmosphere));
    BB_TRY(bb_sensor_array_create_guides(self->config, &item->atmosphere, &item->guides));
    const bb_slope_covariance_parts parts = {.name = "Cmm",
                                             .atmosphere = &item->atmosphere,
                                             .rows = &item->guides,
                                             .columns = &item->guides};
    BB_TRY(bb_slope_covariance_create(&parts, &item->cmm));
    BB_TRY(BB_ZEROED(targets, &item->truth));
    BB_TRY(BB_ZEROED(targets, &item->seen));
    BB_TRY(BB_ZEROED(targets, &item->ctm));
    BB_TRY(BB_ZEROED(targets, &item->ctt));
    for (bb_index t = 0; t < targets; ++t) {
        BB_TRY(make_target(self, item, l, t));
    }
done:
    return status;
}

static bb_status store_covariance(const bb_layer_tomography *self, bb_slope_covariance *covariance,
                                  bb_index l, stack *matrix)
{
    const bb_matrix_source *source = bb_slope_covariance_source(covariance);
    if (!self->holds) {
        matrix->layers[l] = source;
        return BB_OK;
    }
    return bb_matrix_source_load(source, matrix->held + l * source->rows * source->columns);
}

// Moves a layer's covariances into the stacks; stored matrices outlive their sources.
static bb_status store_layer(bb_layer_tomography *self, bb_index l)
{
    bb_status status = BB_OK;
    layer *item = &self->layers[l];
    BB_TRY(store_covariance(self, item->cmm, l, &self->cmm));
    for (bb_index t = 0; t < self->problem.target_count; ++t) {
        BB_TRY(store_covariance(self, item->ctm[t], l, &self->ctm[t]));
        BB_TRY(store_covariance(self, item->ctt[t], l, &self->ctt[t]));
    }
    if (self->holds) {
        release_layer(item, self->problem.target_count);
    }
done:
    return status;
}

static bb_status start_stack(bb_layer_tomography *self, const bb_matrix_source *like, stack *matrix)
{
    bb_status status = BB_OK;
    if (self->holds) {
        BB_TRY(BB_ALLOCATE(self->layer_count * like->rows * like->columns, &matrix->held));
    } else {
        BB_TRY(BB_ZEROED(self->layer_count, &matrix->layers));
    }
    matrix->mixture = (layer_mixture){.layer_count = self->layer_count,
                                      .layers = matrix->layers,
                                      .held = matrix->held,
                                      .weight = self->weight};
    layer_mixture_start(&matrix->mixture, like);
done:
    return status;
}

static double bytes_of(const bb_tomography *problem, bb_index targets, bb_index layers)
{
    double rows = 0.0;
    double squared_rows = 0.0;
    for (bb_index t = 0; t < targets; ++t) {
        const double m = (double)problem->targets[t].ctm->rows;
        rows += m;
        squared_rows += m * m;
    }
    return bb_layer_tomography_bytes((double)layers, (double)problem->cmm->rows, rows,
                                     squared_rows);
}

// Cmm with noise and tilts, and the core to be factored: with the tilts as a block, else without
// them.
static bb_status start_cmm(bb_layer_tomography *self, bb_lgs_tilt tilt)
{
    bb_status status = BB_OK;
    layer_mixture *whole_mixture = &self->cmm.mixture;
    BB_TRY(start_stack(self, self->base->cmm, &self->cmm));
    whole_mixture->guides = &self->base->guides;
    whole_mixture->noise = &self->problem.noise;
    self->core = *whole_mixture;
    if (tilt != BB_LGS_TILT_UNKNOWN) {
        BB_TRY(bb_tilt_vectors_create(&self->base->guides, false, &self->tilts));
        whole_mixture->tilts = &self->tilts;
    }
    if (tilt == BB_LGS_TILT_CONSTANT_BLOCK) {
        self->core.tilts = &self->tilts;
    }
    layer_mixture_start(&self->core, self->base->cmm_core);
    self->problem.cmm = &whole_mixture->source;
    self->problem.cmm_core = &self->core.source;
done:
    return status;
}

static bb_status start_targets(bb_layer_tomography *self)
{
    bb_status status = BB_OK;
    const bb_index targets = self->problem.target_count;
    BB_TRY(BB_ZEROED(targets, &self->ctm));
    BB_TRY(BB_ZEROED(targets, &self->ctt));
    for (bb_index t = 0; t < targets; ++t) {
        bb_tomography_target *target = &self->problem.targets[t];
        BB_TRY(start_stack(self, self->base->targets[t].ctm, &self->ctm[t]));
        BB_TRY(start_stack(self, self->base->targets[t].ctt, &self->ctt[t]));
        target->ctm = &self->ctm[t].mixture.source;
        target->ctt = &self->ctt[t].mixture.source;
        if (target->owns_spread && has_terms(self)) {
            const bb_index pixels = bb_point_spread_layout(target->spread)->pixels;
            BB_TRY(BB_ALLOCATE(pixels * pixels, &target->terms));
            BB_RELEASE(&self->term);
            BB_TRY(BB_ALLOCATE(pixels * pixels, &self->term));
        }
    }
done:
    return status;
}

// Sets up the base's problem, except for the members that depend on strengths.
static bb_status set_base(bb_layer_tomography *self, const bb_profile_series *series,
                          bb_index targets)
{
    bb_status status = BB_OK;
    bb_tomography *problem = &self->problem;
    *problem = *self->base;
    problem->whole_covariance = problem->core_covariance = NULL;
    problem->noise = (bb_measurement_noise){0};
    problem->target_count = targets;
    problem->targets = NULL;
    BB_TRY(BB_ALLOCATE(targets, &problem->targets));
    for (bb_index t = 0; t < targets; ++t) {
        problem->targets[t] = self->base->targets[t];
        problem->targets[t].terms = NULL;
        problem->targets[t].ctm_covariance = problem->targets[t].ctt_covariance = NULL;
    }
    self->atmosphere = (bb_atmosphere){.layer_count = series->layer_count,
                                       .airmass = self->base->atmosphere.airmass,
                                       .outer_scale_m = self->base->atmosphere.outer_scale_m,
                                       .structure = self->base->atmosphere.structure};
    BB_TRY(BB_ALLOCATE(series->layer_count, &self->atmosphere.height_m));
    BB_TRY(BB_ALLOCATE(series->layer_count, &self->atmosphere.strength));
    BB_TRY(BB_ALLOCATE(series->layer_count, &self->atmosphere.wind_m_per_s));
    for (bb_index l = 0; l < series->layer_count; ++l) {
        self->atmosphere.height_m[l] = series->height_m[l] * self->atmosphere.airmass;
    }
done:
    return status;
}

bb_status bb_layer_tomography_create(const bb_ao_config *config, bb_lgs_tilt tilt,
                                     const bb_tomography *problem, bb_index target_count,
                                     const bb_profile_series *series, double held_bytes,
                                     bb_layer_tomography **out)
{
    bb_status status = BB_OK;
    bb_layer_tomography *self = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &self));
    self->config = config;
    self->base = problem;
    self->layer_count = series->layer_count;
    self->holds = bytes_of(problem, target_count, series->layer_count) <= held_bytes;
    BB_TRY(set_base(self, series, target_count));
    BB_TRY(BB_ZEROED(series->layer_count, &self->weight));
    BB_TRY(make_groups(self, series));
    BB_TRY(start_cmm(self, tilt));
    BB_TRY(start_targets(self));
    BB_TRY(BB_ZEROED(series->layer_count, &self->layers));
    for (bb_index l = 0; l < series->layer_count; ++l) {
        BB_TRY(make_layer(self, series, l));
        BB_TRY(store_layer(self, l));
    }
    *out = self;
    self = NULL;
done:
    bb_layer_tomography_destroy(&self);
    return status;
}

// Layers of one outer scale along the line of sight. Winds of the study follow its own layer order
// and cannot be used for a subset: they are already in `wind`.
static void gather_group(const bb_layer_tomography *self, bb_index g, const double *wind,
                         bb_atmosphere *air)
{
    double total = 0.0;
    air->layer_count = 0;
    for (bb_index l = 0; l < self->layer_count; ++l) {
        if (self->group[l] == g) {
            const bb_index place = air->layer_count++;
            air->height_m[place] = self->atmosphere.height_m[l];
            air->strength[place] = self->atmosphere.strength[l];
            air->wind_m_per_s[place] = wind[l];
            total += air->strength[place];
        }
    }
    air->r0_m = total > 0.0 ? pow(total, -3.0 / 5.0) : INFINITY;
}

// Half the structure functions of the error terms of a target, summed over outer scales.
static bb_status make_terms(bb_layer_tomography *self, bb_index t, const double *wind)
{
    bb_status status = BB_OK;
    bb_tomography_target *target = &self->problem.targets[t];
    const bb_point_spread_grid *grid = bb_point_spread_layout(target->spread);
    const bb_index items = grid->pixels * grid->pixels;
    bb_error_terms_config terms = *self->config->error_terms;
    terms.wind_m_per_s = (bb_list){0};
    memset(target->terms, 0, (size_t)items * sizeof *target->terms);
    for (bb_index g = 0; g < self->group_count; ++g) {
        scale_group *group = &self->groups[g];
        gather_group(self, g, wind, &group->atmosphere);
        BB_TRY(bb_error_terms_create(
            &terms, &group->atmosphere, group->corrected[t], pitch_of(self, t),
            (bb_displacement_grid){grid->pixels, grid->pixel_m}, self->term));
        for (bb_index k = 0; k < items; ++k) {
            target->terms[k] += self->term[k];
        }
    }
done:
    return status;
}

bb_status bb_layer_tomography_set(bb_layer_tomography *layers, const double *strength,
                                  const double *wind)
{
    bb_status status = BB_OK;
    bb_layer_tomography *self = layers;
    bb_tomography *problem = &self->problem;
    double total = 0.0;
    for (bb_index l = 0; l < self->layer_count; ++l) {
        self->weight[l] = strength[l];
        self->atmosphere.strength[l] = strength[l] * self->atmosphere.airmass;
        self->atmosphere.wind_m_per_s[l] = wind != NULL ? wind[l] : NAN;
        total += self->atmosphere.strength[l];
    }
    self->atmosphere.r0_m = pow(total, -3.0 / 5.0);
    problem->atmosphere = self->atmosphere;
    bb_measurement_noise_release(&problem->noise);
    BB_TRY(bb_measurement_noise_create(&problem->guides, &self->atmosphere, &problem->noise));
    for (bb_index t = 0; wind != NULL && has_terms(self) && t < problem->target_count; ++t) {
        if (problem->targets[t].owns_spread) {
            BB_TRY(make_terms(self, t, wind));
        } else {
            problem->targets[t].terms = problem->targets[owner_of(self->base, t)].terms;
        }
    }
done:
    return status;
}

bb_tomography *bb_layer_tomography_problem(bb_layer_tomography *layers)
{
    return &layers->problem;
}
