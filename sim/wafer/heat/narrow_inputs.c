// SPDX-License-Identifier: Apache-2.0
//
// Inputs of pipelines whose controller computes heat or interpolation in narrow formats.
#include "core/memory.h"
#include "precision/scaling.h"
#include "sim/wafer/heat/wafer_heating.h"

#include <math.h>

// True if a set of inputs has the formats of these stages.
static bool has_inputs(const bb_narrow_inputs *set, const bb_stage_formats *stages)
{
    const bb_stage_formats *heat = &stages[BB_CHAIN_HEAT];
    const bb_stage_formats *interpolation = &stages[BB_CHAIN_INTERPOLATION];
    return set->heat.storage == heat->storage &&
           bb_stage_formats_arithmetic(BB_CHAIN_HEAT, &set->heat) ==
               bb_stage_formats_arithmetic(BB_CHAIN_HEAT, heat) &&
           set->interpolation.storage == interpolation->storage &&
           bb_stage_formats_arithmetic(BB_CHAIN_INTERPOLATION, &set->interpolation) ==
               bb_stage_formats_arithmetic(BB_CHAIN_INTERPOLATION, interpolation);
}

static bool needs_inputs(const bb_product_pipeline *pipeline)
{
    return bb_stage_formats_narrow(BB_CHAIN_HEAT, &pipeline->stages[BB_CHAIN_HEAT]) ||
           bb_stage_formats_narrow(BB_CHAIN_INTERPOLATION,
                                   &pipeline->stages[BB_CHAIN_INTERPOLATION]);
}

// True if a pipeline is the first in the list with its pair of formats.
static bool is_first_pair(const bb_product_pipeline *const *pipelines, bb_index index)
{
    const bb_stage_formats *own = pipelines[index]->stages;
    const bb_narrow_inputs pair = {own[BB_CHAIN_HEAT], own[BB_CHAIN_INTERPOLATION], NULL};
    bool found = !needs_inputs(pipelines[index]);
    for (bb_index i = 0; i < index && !found; ++i) {
        found = has_inputs(&pair, pipelines[i]->stages);
    }
    return !found;
}

bb_index bb_wafer_heating_narrow_pairs(const bb_product_pipeline *const *pipelines, bb_index count)
{
    bb_index pairs = 0;
    for (bb_index i = 0; i < count; ++i) {
        pairs += is_first_pair(pipelines, i);
    }
    return pairs;
}

// Power-of-two scale of the cell temperatures above the water.
static double scale_of(const bb_wafer_heating *heating)
{
    const bb_index each = heating->scored_count * heating->light_steps;
    double largest = 0.0;
    for (bb_index w = 0; w < heating->scored_wafers; ++w) {
        const double *reference = heating->references + w * heating->cell_count;
        for (bb_index i = 0; i < each * heating->cell_count; ++i) {
            const double rise = heating->inputs[w * each * heating->cell_count + i] +
                                reference[i % heating->cell_count];
            largest = fmax(largest, fabs(rise));
        }
    }
    return bb_scaling_row_to(0x1p12, &largest, 1);
}

static bb_narrow_formats formats_of(bb_chain_stage stage, const bb_stage_formats *formats,
                                    double scale)
{
    return (bb_narrow_formats){(bb_format)formats->storage,
                               bb_stage_formats_arithmetic(stage, formats), scale};
}

// Repeats the heat simulation in the formats of a set.
static bb_status fill_inputs(const bb_wafer_problem *problem, double scale, bb_narrow_inputs *set)
{
    bb_status status = BB_OK;
    bb_wafer_heating narrow = {0};
    const bb_narrow_formats heat = formats_of(BB_CHAIN_HEAT, &set->heat, scale);
    const bb_narrow_formats interpolation =
        formats_of(BB_CHAIN_INTERPOLATION, &set->interpolation, scale);
    const bb_heating_formats formats = {
        bb_stage_formats_narrow(BB_CHAIN_HEAT, &set->heat) ? &heat : NULL,
        bb_stage_formats_narrow(BB_CHAIN_INTERPOLATION, &set->interpolation) ? &interpolation
                                                                             : NULL};
    BB_TRY(bb_wafer_heating_run(problem, &formats, NULL, &narrow));
    bb_wafer_heating_subtract_reference(problem, &narrow);
    BB_TRY(bb_narrow_formats_store_all(&interpolation,
                                       narrow.scored_wafers * narrow.scored_count *
                                           narrow.light_steps * narrow.cell_count,
                                       narrow.inputs));
    set->inputs = narrow.inputs;
    narrow.inputs = NULL;
done:
    bb_wafer_heating_release(&narrow);
    return status;
}

// Frees the sets that no pipeline uses.
static void drop_unused(const bb_product_pipeline *const *pipelines, bb_index count,
                        bb_wafer_heating *heating)
{
    bb_index left = 0;
    for (bb_index s = 0; s < heating->narrow_count; ++s) {
        bool used = false;
        for (bb_index i = 0; i < count && !used; ++i) {
            used = has_inputs(&heating->narrow[s], pipelines[i]->stages);
        }
        if (used) {
            heating->narrow[left++] = heating->narrow[s];
        } else {
            BB_RELEASE(&heating->narrow[s].inputs);
        }
    }
    heating->narrow_count = left;
}

static const bb_narrow_inputs *find_inputs(const bb_wafer_heating *heating,
                                           const bb_product_pipeline *pipeline)
{
    for (bb_index s = 0; s < heating->narrow_count; ++s) {
        if (has_inputs(&heating->narrow[s], pipeline->stages)) {
            return &heating->narrow[s];
        }
    }
    return NULL;
}

bb_status bb_wafer_heating_narrow(const bb_wafer_problem *problem,
                                  const bb_product_pipeline *const *pipelines, bb_index count,
                                  bb_wafer_heating *heating)
{
    bb_status status = BB_OK;
    const bb_index pairs = bb_wafer_heating_narrow_pairs(pipelines, count);
    drop_unused(pipelines, count, heating);
    if (pairs == heating->narrow_count) {
        goto done;
    }
    const double scale = scale_of(heating);
    BB_TRY(bb_memory_resize(pairs, sizeof *heating->narrow, (void **)&heating->narrow));
    for (bb_index i = 0; i < count; ++i) {
        const bb_stage_formats *stages = pipelines[i]->stages;
        if (needs_inputs(pipelines[i]) && find_inputs(heating, pipelines[i]) == NULL) {
            bb_narrow_inputs set = {stages[BB_CHAIN_HEAT], stages[BB_CHAIN_INTERPOLATION], NULL};
            BB_TRY(fill_inputs(problem, scale, &set));
            heating->narrow[heating->narrow_count++] = set;
        }
    }
done:
    return status;
}

const double *bb_wafer_heating_input_of(const bb_wafer_heating *heating,
                                        const bb_product_pipeline *pipeline, bb_index wafer,
                                        bb_index index, bb_index light_step)
{
    const bb_narrow_inputs *narrow = find_inputs(heating, pipeline);
    const bb_index field = wafer * heating->scored_count + index;
    return (narrow == NULL ? heating->inputs : narrow->inputs) +
           (field * heating->light_steps + light_step) * heating->cell_count;
}
