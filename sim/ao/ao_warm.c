// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_warm.h"

#include "core/memory.h"
#include "sim/warm.h"

#include <stdint.h>
#include <string.h>

bool bb_ao_warm_serves(const bb_ao_study *study, const char *dump, bb_index pipeline)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    return bb_warm_has_room(1.0) && dump == NULL && !bb_ao_study_frames(study) &&
           study->learn.source == (int)BB_AO_LEARN_OFF &&
           study->solver.common.spectrum.tiles.count == 0 &&
           !bb_factor_pipeline_promises(&pipelines[pipeline]) && !pipelines[pipeline].escalate;
}

// What a pipeline depends on: the study with it and the reference alone.
static bb_status describe(const bb_ao_study *study, bb_index reference, bb_index pipeline,
                          bb_device_kind device, bb_text *out)
{
    bb_status status = BB_OK;
    static const char *const others[] = {"title", "device", "machine", NULL};
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bb_factor_pipeline pair[2] = {pipelines[reference], pipelines[pipeline]};
    bb_ao_study alone = *study;
    alone.pipelines = (bb_list){pair, pipeline == reference ? 1 : 2};
    BB_TRY(bb_warm_describe("pipeline", &bb_ao_study_schema, &alone, others, out));
    BB_TRY(bb_text_add(out, "on %s\n", bb_device_names[device]));
done:
    return status;
}

static bb_index list(const bb_ao_study *study, const bb_ao_evaluation *evaluation,
                     bb_checkpoint_piece pieces[BB_AO_EVALUATION_ARRAYS + 1])
{
    bb_index bytes = 0;
    pieces[0] = (bb_checkpoint_piece){&evaluation->common, sizeof evaluation->common};
    bb_ao_evaluation_list(study, evaluation, pieces + 1);
    for (int p = 0; p <= BB_AO_EVALUATION_ARRAYS; ++p) {
        bytes += pieces[p].bytes;
    }
    return bytes;
}

bb_status bb_ao_warm_find(const bb_ao_study *study, bb_index reference, bb_index pipeline,
                          bb_ao_evaluation *evaluation, bool *found)
{
    bb_status status = BB_OK;
    bb_text key = {0};
    bb_index bytes = 0;
    const char *name = evaluation->common.pipeline;
    bb_checkpoint_piece pieces[BB_AO_EVALUATION_ARRAYS + 1];
    BB_TRY(describe(study, reference, pipeline, evaluation->common.device, &key));
    const char *rest = bb_warm_find(bb_text_string(&key), &bytes);
    *found = rest != NULL;
    if (rest == NULL) {
        goto done;
    }
    BB_REQUIRE(list(study, evaluation, pieces) == bytes, BB_INTERNAL,
               "pipeline %s was kept as %td bytes", name, bytes);
    for (int p = 0; p <= BB_AO_EVALUATION_ARRAYS; ++p) {
        // The list serves readers and writers alike: these are the evaluation's own arrays.
        if (pieces[p].bytes > 0) {
            memcpy((void *)(uintptr_t)pieces[p].data, rest, (size_t)pieces[p].bytes);
        }
        rest += pieces[p].bytes;
    }
    evaluation->common.pipeline = name;
done:
    bb_text_release(&key);
    return status;
}

bb_status bb_ao_warm_keep(const bb_ao_study *study, bb_index reference, bb_index pipeline,
                          const bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    bb_text key = {0};
    char *block = NULL;
    bb_checkpoint_piece pieces[BB_AO_EVALUATION_ARRAYS + 1];
    const bb_index bytes = list(study, evaluation, pieces);
    BB_TRY(describe(study, reference, pipeline, evaluation->common.device, &key));
    BB_TRY(BB_ALLOCATE(bytes, &block));
    char *rest = block;
    for (int p = 0; p <= BB_AO_EVALUATION_ARRAYS; ++p) {
        if (pieces[p].bytes > 0) {
            memcpy(rest, pieces[p].data, (size_t)pieces[p].bytes);
        }
        rest += pieces[p].bytes;
    }
    (void)bb_warm_keep(bb_text_string(&key), (void **)&block, bytes);
done:
    BB_RELEASE(&block);
    bb_text_release(&key);
    return status;
}
