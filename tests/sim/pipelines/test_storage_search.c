// SPDX-License-Identifier: Apache-2.0
//
// Storage search with a callback of known losses: one candidate of each ladder per pass, as many
// passes as the longest ladder needs, and the codecs that pipelines support.
#include "sim/pipelines/product_pipeline.h"
#include "sim/pipelines/storage_search.h"
#include "tests/precision/coded.h"

enum { PASSES_MOST = 6 }; // of 49 tolerances

// Losses of storages: the loss of each codec for a tolerance or bits.
typedef struct losses {
    int passes;
    bb_index widest; // candidates of a pass
    bb_index adopted[8];
    bb_storage_trial last[BB_STORAGE_SEARCH_LADDERS];
    bb_codec_config best[8]; // of pipelines
    bb_status answer;
} losses;

static double lost(const bb_codec_config *storage)
{
    if (!isnan(storage->tolerance_of_range)) {
        return storage->tolerance_of_range;
    }
    return isnan(storage->bits) ? 1e-4 : ldexp(1.0, -(int)storage->bits);
}

static double stored(const bb_codec_config *storage)
{
    return 100.0 * storage->codec - 10.0 * log2(lost(storage));
}

static bb_status compute(void *context, bb_storage_trial *trials, bb_index count)
{
    losses *shop = context;
    ++shop->passes;
    shop->widest = count > shop->widest ? count : shop->widest;
    for (bb_index t = 0; t < count; ++t) {
        trials[t].loss = lost(&trials[t].record->storage);
        trials[t].bytes = stored(&trials[t].record->storage);
        shop->last[t] = trials[t];
    }
    return shop->answer;
}

static void adopt(void *context, bb_index trial, bb_index pipeline)
{
    losses *shop = context;
    assert_int_equal(shop->last[trial].pipeline, pipeline);
    shop->best[pipeline] = shop->last[trial].record->storage;
    ++shop->adopted[pipeline];
}

static bb_product_pipeline searched(const char *name, double max_loss, bb_codec_config *codecs,
                                    bb_index count)
{
    return (bb_product_pipeline){.name = name,
                                 .storage = {.codec = -1},
                                 .multiply = BB_FORMAT_FP32,
                                 .accumulate = BB_FORMAT_FP64,
                                 .accumulate_run = 1,
                                 .device = -1,
                                 .draws = 1,
                                 .max_loss = max_loss,
                                 .search = {{codecs, count}, {0}}};
}

TEST(ladders_are_bisected_side_by_side)
{
    bb_codec_config codecs[] = {codec_of("fp16"), codec_of("quantiser"), codec_of("bfp"),
                                codec_of("zfp mode=accuracy")};
    bb_product_pipeline pipelines[] = {
        {.name = "reference", .draws = 1},
        searched("all", 1e-3, NULL, 0),
        searched("four", 1e-2, codecs, 4),
        searched("never", 1e-12, codecs, 4),
    };
    const bb_list list = {pipelines, 4};
    losses shop = {0};
    const bb_storage_search_task task = {&shop, compute, adopt};
    bb_product_pipeline found = {0};
    bb_outcome outcome;
    autoptr(bb_storage_search) search = new_object(bb_storage_search, &list, BB_DEVICE_CPU);
    assert_true(bb_storage_search_wanted(search));
    check_ok(bb_storage_search_run(search, &task));
    assert_int_equal(shop.passes, PASSES_MOST);
    assert_int_equal(shop.widest, 8 + 4 + 4); // a candidate per ladder
    assert_true(bb_storage_search_found(search, 1, " nm", &found, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    assert_memory_equal(&found.storage, &shop.best[1], sizeof found.storage);
    // The cheapest of all codecs is the first with a ladder; 2^-10 is below 1e-3.
    assert_string_equal(bb_codec_name(found.storage.codec), "bfp");
    assert_true(found.storage.bits == 10.0);
    assert_non_null(strstr(outcome.detail, "max_loss 0.001 nm: met by bfp 10, loss 0.000977 nm, "));
    assert_true(bb_storage_search_found(search, 2, " nm", &found, &outcome));
    assert_true(found.storage.codec == (int)BB_FORMAT_FP16); // complete, and the first by bytes
    assert_false(bb_storage_search_found(search, 3, " nm", &found, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_NOT_CONVERGED);
    assert_non_null(strstr(outcome.detail, "max_loss 1e-12 nm: not met in 17 trials; nearest is "));
    assert_int_equal(shop.adopted[3], 0);
}

// Losses of a chain: heat loses its round-off, interpolation a thousandth of it, rows more than any
// limit; a storage adds to those of its stages.
static double lost_by_stage(const bb_product_pipeline *record, int stage)
{
    static const double factors[BB_CHAIN_STAGES] = {1.0, 1e-3, 1e9};
    const bb_format storage = (bb_format)record->stages[stage].storage;
    return storage == BB_FORMAT_FP64 ? 0.0 : factors[stage] * bb_format_unit_roundoff(storage);
}

static bb_status compute_chain(void *context, bb_storage_trial *trials, bb_index count)
{
    losses *shop = context;
    ++shop->passes;
    for (bb_index t = 0; t < count; ++t) {
        const bb_product_pipeline *record = trials[t].record;
        const int stage = trials[t].stage;
        shop->last[t] = trials[t];
        trials[t].loss = stage >= 0 ? 0.0 : lost(&record->storage);
        trials[t].bytes = stage < 0
                              ? stored(&record->storage)
                              : bb_format_describe((bb_format)record->stages[stage].storage)->bytes;
        for (int s = 0; s < BB_CHAIN_STAGES; ++s) {
            assert_true(stage < 0 || s == stage || record->stages[s].storage == BB_FORMAT_FP64);
            trials[t].loss += lost_by_stage(record, s);
        }
        assert_int_equal(record->storage.codec < 0, 0); // the reference's, for a stage alone
    }
    return shop->answer;
}

TEST(stages_are_found_before_the_storage_each_by_itself)
{
    int stages[] = {BB_CHAIN_HEAT, BB_CHAIN_INTERPOLATION, BB_CHAIN_ROWS};
    bb_codec_config codecs[] = {codec_of("bfp")};
    bb_product_pipeline pipelines[] = {
        {.name = "reference", .draws = 1},
        searched("chain", 1e-2, codecs, 1),
    };
    pipelines[1].search.stages = (bb_list){stages, 3};
    const bb_list list = {pipelines, 2};
    losses shop = {0};
    const bb_storage_search_task task = {&shop, compute_chain, adopt};
    bb_product_pipeline found = {0};
    bb_outcome outcome;
    autoptr(bb_storage_search) search = new_object(bb_storage_search, &list, BB_DEVICE_CPU);
    check_ok(bb_storage_search_run(search, &task));
    assert_true(bb_storage_search_found(search, 1, " nm", &found, &outcome));
    // A tenth of the limit: 2^-11 is within it, 2^-8 is not. The thousandth of bf16 is, but fp16
    // has as few bytes and was tried first; rows lose too much even in fp32.
    assert_int_equal(found.stages[BB_CHAIN_HEAT].storage, BB_FORMAT_FP16);
    assert_int_equal(found.stages[BB_CHAIN_INTERPOLATION].storage, BB_FORMAT_FP16);
    assert_int_equal(found.stages[BB_CHAIN_ROWS].storage, BB_FORMAT_FP64);
    // 2^-7 and heat's 2^-11 are within the limit.
    assert_true(found.storage.bits == 7.0);
    assert_non_null(strstr(outcome.detail, ", heat fp16, interpolation fp16, rows fp64, "));
    assert_true(shop.last[0].stage == -1);
    assert_int_equal(shop.last[0].record->stages[BB_CHAIN_HEAT].storage, BB_FORMAT_FP16);
}

TEST(errors_of_the_callback_end_the_search)
{
    bb_product_pipeline pipelines[] = {searched("asks", 1.0, NULL, 0)};
    const bb_list list = {pipelines, 1};
    losses shop = {.answer = BB_IO};
    const bb_storage_search_task task = {&shop, compute, adopt};
    autoptr(bb_storage_search) search = new_object(bb_storage_search, &list, BB_DEVICE_CPU);
    assert_int_equal(bb_storage_search_run(search, &task), BB_IO);
    assert_int_equal(shop.passes, 1);
}

// Names of the codecs searched for a pipeline without a list.
static void check_searched(const bb_product_pipeline *pipeline, int device, const char *expected)
{
    char names[200] = "";
    bb_storage_ladder ladders[BB_STORAGE_SEARCH_LADDERS];
    const bb_index count = bb_storage_search_list(pipeline, device, ladders);
    for (bb_index i = 0; i < count; ++i) {
        const size_t length = strlen(names);
        (void)snprintf(names + length, sizeof names - length, "%s%s", i == 0 ? "" : " ",
                       bb_codec_name(ladders[i].storage.codec));
    }
    assert_string_equal(names, expected);
}

TEST(codecs_that_the_pipeline_does_not_take_are_left_out)
{
    bb_product_pipeline pipeline = searched("asks", 1.0, NULL, 0);
    const int cpu = BB_DEVICE_CPU;
    check_searched(&pipeline, cpu, "bfp quantiser zfp zfp low_rank transform float integer");
    pipeline.scale = BB_ROW_SCALE_ROW;
    check_searched(&pipeline, cpu, "bfp float");
    pipeline.scale = BB_ROW_SCALE_NONE;
    pipeline.accumulate_run = 32;
    check_searched(&pipeline, cpu, "bfp quantiser zfp zfp float integer");
    pipeline.accumulate_run = 1;
    pipeline.device = BB_DEVICE_CUDA;
    check_searched(&pipeline, cpu, "bfp quantiser zfp zfp low_rank transform integer");
    pipeline.max_loss = NAN;
    check_searched(&pipeline, cpu, "");
}
