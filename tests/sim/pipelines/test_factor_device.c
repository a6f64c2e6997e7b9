// SPDX-License-Identifier: Apache-2.0
//
// Pipelines with CUDA kernels, and messages for the others. No GPU is needed.
#include "core/memory.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_map.h"
#include "tests/check.h"

static const bb_factor_solver_config solver = {.tile = 512, .gpus = 1};

static bb_factor_pipeline pipeline_of(bb_variant arithmetic)
{
    return (bb_factor_pipeline){.name = "test", .arithmetic = (int)arithmetic};
}

static bb_factor_pipeline banded(bb_variant arithmetic, bb_variant inside)
{
    bb_factor_pipeline pipeline = pipeline_of(arithmetic);
    pipeline.policy.kind = BB_POLICY_BAND;
    pipeline.policy.width = 2;
    pipeline.policy.inside = (int)inside;
    return pipeline;
}

TEST(every_variant_has_kernels)
{
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_factor_pipeline pipeline = pipeline_of((bb_variant)v);
        check_ok(bb_factor_device_check(&solver, &pipeline));
    }
}

TEST(bands_of_half_planes_have_kernels)
{
    static const bb_variant outside[] = {BB_VARIANT_HP1, BB_VARIANT_HP2, BB_VARIANT_HP3,
                                         BB_VARIANT_X3};
    static const bb_variant inside[] = {BB_VARIANT_SP, BB_VARIANT_X3, BB_VARIANT_HP1,
                                        BB_VARIANT_HP2, BB_VARIANT_HP3};
    for (size_t o = 0; o < sizeof outside / sizeof *outside; ++o) {
        for (size_t i = 0; i < sizeof inside / sizeof *inside; ++i) {
            const bb_factor_pipeline pipeline = banded(outside[o], inside[i]);
            check_ok(bb_factor_device_check(&solver, &pipeline));
        }
    }
}

// A device has one variant per tile: arithmetics are searched there, the product rule is refused.
TEST(rules_by_tile_have_kernels)
{
    bb_factor_pipeline pipeline = banded(BB_VARIANT_HP1, BB_VARIANT_X3);
    pipeline.policy.kind = (int)BB_POLICY_TILE_NORM;
    check_ok(bb_factor_device_check(&solver, &pipeline));
    pipeline.policy.diagonal = (int)BB_POLICY_FOLLOW;
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "policy tile_norm may give diagonal tiles x3 or hp1");
    pipeline.policy.diagonal = (int)BB_POLICY_FOLLOW_SP;
    bb_factor_pipeline searched = pipeline;
    searched.policy = (bb_policy_config){.kind = BB_POLICY_UNIFORM};
    searched.storage.codec = -1;
    searched.max_loss = 1e-3;
    searched.search.inside = BB_VARIANT_X3;
    check_ok(bb_factor_device_check(&solver, &searched));
    // dp is a candidate, so the bytes are those of dp.
    const bb_factor_pipeline dp = pipeline_of(BB_VARIANT_DP);
    check_close(bb_factor_device_need(&solver, &searched, 4096, 100).device_bytes,
                bb_factor_device_need(&solver, &dp, 4096, 100).device_bytes, 0.5, 1.0);
    pipeline.policy.kind = (int)BB_POLICY_PRODUCT;
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "chooses per product, on the cpu only");
}

TEST(others_are_told_why)
{
    bb_factor_pipeline light = pipeline_of(BB_VARIANT_HP2);
    light.sweeps = (int)BB_POLICY_SWEEPS_LIGHT;
    check_fails(bb_factor_device_check(&solver, &light), BB_UNSUPPORTED,
                "light sweeps need hp1 arithmetic, got hp2");
    light = banded(BB_VARIANT_HP1, BB_VARIANT_SP);
    light.sweeps = (int)BB_POLICY_SWEEPS_LIGHT;
    check_fails(bb_factor_device_check(&solver, &light), BB_UNSUPPORTED,
                "on cuda a policy needs sweeps sp");
    light = banded(BB_VARIANT_HP1, BB_VARIANT_HP2);
    light.policy.kind = (int)BB_POLICY_UNIFORM;
    light.storage.codec = -1;
    light.max_loss = 1e-3;
    light.search.inside = BB_VARIANT_HP2;
    light.sweeps = (int)BB_POLICY_SWEEPS_LIGHT;
    check_fails(bb_factor_device_check(&solver, &light), BB_UNSUPPORTED,
                "light sweeps need hp1 arithmetic, got hp2");
    bb_factor_pipeline pipeline = banded(BB_VARIANT_HP2, BB_VARIANT_DP);
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "policy with dp on cuda, expected sp, hp1, hp2, hp3 or x3");
    pipeline = banded(BB_VARIANT_BF16, BB_VARIANT_SP);
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "needs hp1, hp2, hp3 or x3 arithmetic, got bf16");
    pipeline = pipeline_of(BB_VARIANT_FP8);
    pipeline.policy.diagonal = (int)BB_POLICY_FOLLOW;
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "the diagonal and the sweeps of fp8 must be sp");
    pipeline = pipeline_of(BB_VARIANT_BF16);
    pipeline.sweeps = (int)BB_POLICY_SWEEPS_FORWARD;
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "the diagonal and the sweeps of bf16 must be sp");
    pipeline = pipeline_of(BB_VARIANT_HP3);
    pipeline.accumulate_from = (int)BB_ACCUMULATE_FROM_C;
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "accumulate_from c is emulated on the cpu only");
}

// Above the limit L is in host memory if possible; results are not.
TEST(a_limit_of_memory_is_told)
{
    bb_factor_solver_config limited = {.tile = 1024, .gpus = 1, .memory_limit_gb = 70.0};
    const bb_factor_pipeline hp1 = pipeline_of(BB_VARIANT_HP1);
    const bb_factor_pipeline sp = pipeline_of(BB_VARIANT_SP);
    const double rows = 100.0;
    bb_plan plan = {0};
    check_ok(bb_factor_device_print_limit(&limited, &hp1, 200000, 100, &plan));
    assert_non_null(strstr(plan.lines.data, "L of 80.2 GB in host memory"));
    bb_text_release(&plan.lines);
    const bb_need need = bb_factor_device_need(&limited, &hp1, 200000, 100);
    assert_true(need.device_bytes - 8.0 * 200000.0 * rows < 70e9);
    check_close(need.host_bytes, 80.15e9, 1e-3, 80.15e9);
    check_ok(bb_factor_device_print_limit(&limited, &sp, 200000, 100, &plan));
    assert_null(strstr(plan.lines.data, "L of "));
    assert_non_null(strstr(plan.lines.data, " GB of GPU memory, more than solver.memory_limit_gb"));
    bb_text_release(&plan.lines);
    bb_factor_pipeline escalating = hp1; // to dp, which stays on the GPU
    escalating.escalate = true;
    check_ok(bb_factor_device_print_limit(&limited, &escalating, 200000, 100, &plan));
    assert_non_null(strstr(plan.lines.data, "host memory: 45."));
    assert_non_null(strstr(plan.lines.data, "more than solver.memory_limit_gb"));
    bb_text_release(&plan.lines);
    assert_true(bb_factor_device_need(&limited, &sp, 200000, 100).host_bytes == 0.0);
    limited.memory_limit_gb = 30.0; // still too little
    check_ok(bb_factor_device_print_limit(&limited, &hp1, 200000, 100, &plan));
    assert_non_null(strstr(plan.lines.data, "; still more than solver.memory_limit_gb"));
    assert_null(strstr(plan.lines.data, "can only be in host memory"));
    bb_text_release(&plan.lines);
    limited.memory_limit_gb = 1.0; // workspace is larger than L
    check_ok(bb_factor_device_print_limit(&limited, &hp1, 50000, 100, &plan));
    assert_null(strstr(plan.lines.data, "L of "));
    assert_non_null(strstr(plan.lines.data, "with L in host memory it would be "));
    assert_null(strstr(plan.lines.data, "can only be in host memory"));
    bb_text_release(&plan.lines);
    limited.memory_limit_gb = 0.0;
    check_ok(bb_factor_device_print_limit(&limited, &sp, 200000, 100, &plan));
    assert_int_equal(plan.lines.length, 0);
}

// A map of hp2 and x3 has chunks in two planes and tiles in fp16, unlike either alone.
TEST(a_mixed_map_is_no_more_than_planned)
{
    const bb_factor_solver_config limited = {.tile = 1024, .gpus = 1, .memory_limit_gb = 70.0};
    const bb_index blocks = (200000 + 1023) / 1024;
    unsigned char *map = new_array(unsigned char, blocks *blocks);
    memset(map, BB_VARIANT_HP2, (size_t)(blocks * blocks));
    map[blocks] = BB_VARIANT_X3;
    bb_panel_plan plan = {.n = 200000,
                          .block = 1024,
                          .sides = 100,
                          .arithmetic = BB_VARIANT_HP2,
                          .variants = map,
                          .swapped = true};
    const bb_factor_pipeline pipeline = banded(BB_VARIANT_HP2, BB_VARIANT_X3);
    const double planned = bb_factor_device_need(&limited, &pipeline, 200000, 100).device_bytes;
    check_close(planned - 8.0 * 200000.0 * 100.0, bb_panel_plan_need(&plan, 1).device_bytes, 0.5,
                1.0);
    bb_plan lines = {0};
    char told[64];
    (void)snprintf(told, sizeof told, "host memory: %.1f GB of GPU memory",
                   1e-9 * bb_panel_plan_need(&plan, 1).device_bytes);
    check_ok(bb_factor_device_print_limit(&limited, &pipeline, 200000, 100, &lines));
    assert_non_null(strstr(lines.lines.data, told));
    bb_text_release(&lines.lines);
    BB_RELEASE(&map);
}

// The check and the plan know the variants in a table's file.
TEST(tables_are_read_for_their_variants)
{
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1);
    bb_variant given[BB_VARIANT_COUNT];
    pipeline.policy.kind = (int)BB_POLICY_TABLE;
    pipeline.policy.inside = (int)BB_VARIANT_SP; // the default
    pipeline.policy.table = "device-table.txt";
    write_text("device-table.txt", "sp\nhp1 sp\nhp1 hp1 sp\n");
    check_ok(bb_factor_device_check(&solver, &pipeline));
    const double narrow = bb_factor_device_need(&solver, &pipeline, 1536, 10).device_bytes;
    write_text("device-table.txt", "sp\nhp1 sp\nhp2 hp1 sp\n");
    check_ok(bb_factor_device_check(&solver, &pipeline));
    assert_int_equal(bb_factor_map_variants(&pipeline.policy, BB_VARIANT_HP1, given), 3);
    assert_int_equal(given[1], BB_VARIANT_HP2);
    assert_int_equal(given[2], BB_VARIANT_HP1);
    // Two panels of 1536 rows in fp16.
    check_close(bb_factor_device_need(&solver, &pipeline, 1536, 10).device_bytes - narrow,
                2.0 * 1536.0 * 512.0 * 2.0, 0.5, 1.0);
    pipeline.policy.diagonal = (int)BB_POLICY_FOLLOW;
    write_text("device-table.txt", "sp\nhp1 x3\nhp1 hp1 sp\n");
    check_ok(bb_factor_device_check(&solver, &pipeline)); // sp is computed as x3
    write_text("device-table.txt", "sp\nhp1 sp\nhp1 hp1 hp1\n");
    check_fails(
        bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
        "diagonal tile 2 is hp1, tile 0 is sp: on cuda all diagonal tiles need one variant");
    pipeline.policy.diagonal = (int)BB_POLICY_FOLLOW_SP;
    check_ok(bb_factor_device_check(&solver, &pipeline));
    write_text("device-table.txt", "sp\nhp1 sp\nbf16 hp1 sp\n");
    check_fails(bb_factor_device_check(&solver, &pipeline), BB_UNSUPPORTED,
                "policy with bf16 on cuda");
    assert_int_equal(remove("device-table.txt"), 0);
    check_ok(bb_factor_device_check(&solver, &pipeline)); // its reader reports that it is missing
}

// Tile of a study of n measurements with pipelines on `devices`, -1: the study's.
static bb_factor_solver_config resolve(bb_index tile, bb_index n, int study_device,
                                       const int devices[2])
{
    bb_factor_pipeline items[] = {pipeline_of(BB_VARIANT_DP), pipeline_of(BB_VARIANT_HP2)};
    bb_factor_solver_config out = {.tile = tile, .gpus = 1};
    const bb_list pipelines = {items, 2};
    items[0].device = devices[0];
    items[1].device = devices[1];
    bb_factor_device_resolve_tile(&pipelines, study_device, n, &out);
    return out;
}

TEST(tiles_fit_the_device)
{
    static const int both[] = {-1, -1};
    static const int mixed[] = {BB_DEVICE_CPU, BB_DEVICE_CUDA};
    static const struct {
        bb_index tile, n, on_cpu, on_cuda;
    } cases[] = {
        {BB_INTEGER_UNSET, 456, 128, 128},
        {BB_INTEGER_UNSET, 5119, 128, 128},
        {BB_INTEGER_UNSET, 5120, 128, 256},
        {BB_INTEGER_UNSET, 11752, 128, 512},
        {BB_INTEGER_UNSET, 19736, 128, 512},
        {BB_INTEGER_UNSET, 40296, 128, 1024},
        {BB_INTEGER_UNSET, 200000, 128, 1024},
        {76, 456, 76, 128},
        {128, 456, 128, 128},
        {129, 17280, 129, 256},
        {960, 17280, 960, 1024},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_index tile = cases[i].tile;
        const bb_index n = cases[i].n;
        assert_int_equal(resolve(tile, n, BB_DEVICE_CPU, both).tile, cases[i].on_cpu);
        assert_int_equal(resolve(tile, n, BB_DEVICE_CUDA, both).tile, cases[i].on_cuda);
        // One tile for all, because bands of two pipelines would not be comparable otherwise.
        assert_int_equal(resolve(tile, n, BB_DEVICE_CPU, mixed).tile, cases[i].on_cuda);
    }
    // Singular values use the tiles that the study counts.
    assert_int_equal(resolve(138, 13248, BB_DEVICE_CUDA, both).spectrum.size, 138);
}

TEST(a_tile_that_is_rounded_up_is_told_once)
{
    const bb_factor_solver_config given = {.tile = 76};
    const bb_factor_solver_config rounded = {.tile = 128};
    const bb_factor_solver_config open = {.tile = BB_INTEGER_UNSET};
    bb_plan plan = {0};
    check_ok(bb_factor_device_print_tile(&given, &given, &plan));
    check_ok(bb_factor_device_print_tile(&open, &rounded, &plan));
    assert_int_equal(plan.lines.length, 0);
    check_ok(bb_factor_device_print_tile(&given, &rounded, &plan));
    assert_non_null(strstr(
        plan.lines.data,
        "solver.tile = 76: CUDA needs a multiple of 128; using 128, also for bands and policies"));
    bb_text_release(&plan.lines);
}

TEST(tiles_without_narrow_products_are_reported)
{
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP2);
    const bb_list pipelines = {.items = &pipeline, .count = 1};
    bb_plan plan = {0};
    check_ok(bb_factor_device_print_single(&pipelines, 128, 257, &plan));
    pipeline.policy.diagonal = (int)BB_POLICY_FOLLOW;
    check_ok(bb_factor_device_print_single(&pipelines, 128, 129, &plan));
    pipeline.arithmetic = (int)BB_VARIANT_SP;
    check_ok(bb_factor_device_print_single(&pipelines, 128, 128, &plan));
    assert_int_equal(plan.lines.length, 0);
    pipeline.arithmetic = (int)BB_VARIANT_BF16;
    check_ok(bb_factor_device_print_single(&pipelines, 128, 128, &plan));
    assert_non_null(strstr(plan.lines.data, "128 measurements fit in one tile of 128"));
    assert_non_null(strstr(plan.lines.data, "so all is fp32; set solver.tile, at most 32"));
    pipeline.policy.diagonal = (int)BB_POLICY_FOLLOW_SP;
    check_ok(bb_factor_device_print_single(&pipelines, 128, 129, &plan));
    assert_non_null(strstr(plan.lines.data, "129 measurements fit in two tiles of 128"));
    bb_text_release(&plan.lines);
}

TEST(a_table_fits_tiles_of_one_size)
{
    bb_factor_solver_config sized = {.tile = 76, .gpus = 1};
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1);
    pipeline.policy.kind = (int)BB_POLICY_TABLE;
    pipeline.policy.inside = (int)BB_VARIANT_SP;
    pipeline.policy.table = "none.txt";
    check_fails(bb_factor_device_check(&sized, &pipeline), BB_UNSUPPORTED,
                "policy.table is for tiles of solver.tile = 76, cuda needs a multiple of 128");
    sized.tile = 256;
    check_ok(bb_factor_device_check(&sized, &pipeline));
    sized.tile = BB_INTEGER_UNSET;
    check_ok(bb_factor_device_check(&sized, &pipeline));
}
