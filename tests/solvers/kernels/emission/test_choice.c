// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/kernels/emission/emission.h"
#include "tests/solvers/kernels/program_fixture.h"

#define CASES "tests/solvers/kernels/cases/"

static void check_text(const char *text)
{
    bb_choice choice;
    char written[BB_CHOICE_TEXT_BYTES];
    check_ok(bb_choice_read(text, &choice));
    bb_choice_write(&choice, written);
    assert_string_equal(written, text);
}

TEST(test_texts_return)
{
    check_text("group64x4-points4-blocked");
    check_text("group8x32-split-local-order32x8192");
    check_text("group1x1");
    check_text("tile512");
    check_text("tile4096-rows16");
    check_text("tile1-order32x8192");
    check_text("group1024x1-points16-rows16-blocked-split-local-order128x1048576");
}

TEST(test_texts_are_refused)
{
    static const char *const texts[] = {
        "",         "group64",   "group64x",        "groupx4",
        "tile",     "tile512-",  "tile512-tile512", "group64x4-fast",
        "tile-512", "tile512x2", "points4 ",        "tile99999999999999999999",
        "order4"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        bb_choice choice;
        check_fails(bb_choice_read(texts[i], &choice), BB_INVALID, texts[i]);
    }
}

static bool is_legal(const char *text, bb_device_kind kind, const char *file, const char *type)
{
    autocall(fixture_release) program_fixture fixture;
    bb_choice choice;
    char why[160] = "";
    fixture_make_file(&fixture, file, "T", type);
    check_ok(bb_choice_read(text, &choice));
    const bool legal = bb_choice_is_legal(&choice, kind, &fixture.program, why, sizeof why);
    assert_int_equal(legal, why[0] == '\0');
    return legal;
}

TEST(test_variants_fit_their_programs)
{
    static const struct {
        const char *file, *text;
        bb_device_kind kind;
        bool legal;
    } rows[] = {
        {"configs/kernels/add.kernel", "group64x4-points4-rows2-blocked", BB_DEVICE_CUDA, true},
        {"configs/kernels/add.kernel", "group64x32", BB_DEVICE_CUDA, false},
        {"configs/kernels/add.kernel", "group48x1", BB_DEVICE_CUDA, false},
        {"configs/kernels/add.kernel", "group64x1-points3", BB_DEVICE_CUDA, false},
        {"configs/kernels/add.kernel", "group64x1-split", BB_DEVICE_CUDA, false},
        {"configs/kernels/add.kernel", "group64x1-order64x8192", BB_DEVICE_CUDA, false},
        {"configs/kernels/add.kernel", "tile512", BB_DEVICE_CUDA, false},
        {"configs/kernels/add.kernel", "tile512", BB_DEVICE_CPU, true},
        {"configs/kernels/add.kernel", "tile512-points4", BB_DEVICE_CPU, false},
        {"configs/kernels/add.kernel", "tile8", BB_DEVICE_CPU, false},
        {"configs/kernels/add.kernel", "tile512-rows16", BB_DEVICE_CPU, true},
        {"configs/kernels/add.kernel", "tile512-rows2048", BB_DEVICE_CPU, false},
        {"configs/kernels/add.kernel", "tile512-rows3", BB_DEVICE_CPU, false},
        {"configs/kernels/add.kernel", "tile512-rows16", BB_DEVICE_OPENCL, true},
        {"configs/kernels/add.kernel", "tile512-points2", BB_DEVICE_OPENCL, false},
        {"configs/kernels/gemv.kernel", "tile64", BB_DEVICE_OPENCL, true},
        {"configs/kernels/gemv.kernel", "tile64-rows2", BB_DEVICE_OPENCL, false},
        {"configs/kernels/gemv.kernel", "tile64-order32x8192", BB_DEVICE_OPENCL, true},
        {"configs/kernels/l2norm.kernel", "tile1", BB_DEVICE_OPENCL, true},
        {"configs/kernels/l2norm.kernel", "tile16", BB_DEVICE_OPENCL, false},
        {"configs/kernels/l2norm.kernel", "tile1", BB_DEVICE_CPU, false},
        {"configs/kernels/l2norm.kernel", "group1x1", BB_DEVICE_CPU, true},
        {"configs/kernels/gemv.kernel", "group32x4-blocked-split", BB_DEVICE_CUDA, true},
        {"configs/kernels/gemv.kernel", "group4x4", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv.kernel", "group256x1", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv.kernel", "group32x1-points2", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv.kernel", "group32x1-order32x8192", BB_DEVICE_CUDA, true},
        {"configs/kernels/gemv.kernel", "group32x1-order1x8192", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv.kernel", "group32x1-order32x100", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv_transposed.kernel", "group256x1-points4-split", BB_DEVICE_CUDA,
         true},
        {"configs/kernels/gemv_transposed.kernel", "group64x2", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemm.kernel", "group16x16-points4-rows4", BB_DEVICE_CUDA, true},
        {"configs/kernels/gemm.kernel", "group16x16-split", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemm.kernel", "group16x16-points4-rows4-local", BB_DEVICE_CUDA, true},
        {"configs/kernels/laplace5.kernel", "group16x16-local", BB_DEVICE_CUDA, true},
        {"configs/kernels/add.kernel", "group16x16-local", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv.kernel", "group32x4-local", BB_DEVICE_CUDA, false},
        {"configs/kernels/spmv.kernel", "group8x32", BB_DEVICE_CUDA, true},
        {"configs/kernels/spmv.kernel", "group16x16", BB_DEVICE_CUDA, false},
        {"configs/kernels/l2norm.kernel", "group32x8", BB_DEVICE_CUDA, true},
        {"configs/kernels/l2norm.kernel", "group32x8-split", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv.kernel", "group32x4-split-order64x0", BB_DEVICE_CUDA, false},
        {"configs/kernels/gemv.kernel", "group32x4-split-order64x512", BB_DEVICE_CUDA, true},
        {CASES "two_sums.kernel", "group8x16", BB_DEVICE_CUDA, true},
        {CASES "two_sums.kernel", "group4x16-blocked", BB_DEVICE_CUDA, false},
        {CASES "two_sums.kernel", "group4x16-order64x512", BB_DEVICE_CUDA, true},
        {CASES "accumulate.kernel", "group64x1", BB_DEVICE_CUDA, true},
        {CASES "accumulate.kernel", "group64x1-split", BB_DEVICE_CUDA, false},
        {CASES "fading.xml", "group1x128", BB_DEVICE_CUDA, true},
        {CASES "fading.xml", "group32x4-order64x8192", BB_DEVICE_CUDA, false},
        {CASES "fading.xml", "group1x1-order64x8192", BB_DEVICE_CUDA, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (is_legal(rows[i].text, rows[i].kind, rows[i].file, "SP") != rows[i].legal) {
            fail_msg("%s of %s: expected %d", rows[i].text, rows[i].file, rows[i].legal);
        }
    }
}

// Every allocation of a source may fail: the status is BB_MEMORY, and nothing leaks.
static void check_failures(bb_emission_target target, const bb_program *program,
                           const bb_choice *choice)
{
    static const bool is_inside[256] = {false};
    const bb_index blocks = bb_memory_blocks();
    bool happened = true;
    for (bb_index k = 1; happened; ++k) {
        bb_emission emission = {.values = NULL};
        bb_memory_fail_at(k);
        const bb_status status = bb_emission_create(target, program, is_inside, choice, &emission);
        happened = bb_memory_failure_happened() != 0;
        bb_memory_fail_at(0);
        assert_int_equal(status, happened ? BB_MEMORY : BB_OK);
        bb_emission_release(&emission);
        assert_int_equal(bb_memory_blocks(), blocks);
    }
}

static void check_default(const bb_program *program, bb_device_kind kind, bb_choice choice)
{
    char why[160] = "";
    if (!bb_choice_is_legal(&choice, kind, program, why, sizeof why)) {
        fail_msg("%s on device %d: %s", program->name, (int)kind, why);
    }
    static const bb_emission_target targets[BB_DEVICE_KIND_COUNT] = {
        [BB_DEVICE_CPU] = BB_EMISSION_C,
        [BB_DEVICE_CUDA] = BB_EMISSION_CUDA,
        [BB_DEVICE_OPENCL] = BB_EMISSION_OPENCL};
    check_failures(targets[kind], program, &choice);
}

TEST(test_defaults_are_legal)
{
    static const char *const files[] = {
        "configs/kernels/add.kernel",
        "configs/kernels/gemv.kernel",
        "configs/kernels/spmv.kernel",
        "configs/kernels/gemv_transposed.kernel",
        "configs/kernels/gemm.kernel",
        "configs/kernels/l2norm.kernel",
        CASES "two_sums.kernel",
        CASES "accumulate.kernel",
        CASES "fading.xml",
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
        autocall(fixture_release) program_fixture fixture;
        fixture_make_file(&fixture, files[i], "T", "DP");
        for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
            check_default(&fixture.program, (bb_device_kind)kind,
                          bb_choice_default((bb_device_kind)kind, &fixture.program));
        }
        check_default(&fixture.program, BB_DEVICE_OPENCL,
                      bb_choice_default_processor(&fixture.program));
    }
}

static void check_processor_default(const char *file, const char *text)
{
    autocall(fixture_release) program_fixture fixture;
    char written[BB_CHOICE_TEXT_BYTES];
    fixture_make_file(&fixture, file, "T", "SP");
    const bb_choice choice = bb_choice_default_processor(&fixture.program);
    bb_choice_write(&choice, written);
    assert_string_equal(written, text);
}

// Loops run over neighbours in memory; lines of a stencil stay on one core.
TEST(test_processors_run_loops)
{
    check_processor_default("configs/kernels/laplace9.kernel", "tile4096-rows16");
    check_processor_default("configs/kernels/gemv.kernel", "tile64");
    check_processor_default("configs/kernels/spmv.kernel", "tile1024");
    check_processor_default("configs/kernels/gemm.kernel", "tile512");
    check_processor_default("configs/kernels/l2norm.kernel", "tile1");
}

// Independent of the vendor's name: the device reports its properties.
TEST(test_devices_have_their_defaults)
{
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        autocall(fixture_release) program_fixture fixture = {.data = {{0}}};
        autoclose(bb_device) device = NULL;
        if (bb_device_count((bb_device_kind)kind, NULL, 0) == 0) {
            continue;
        }
        check_ok(bb_device_open((bb_device_kind)kind, 0, &device));
        fixture_make_file(&fixture, "configs/kernels/laplace5.kernel", "T", "SP");
        const bb_choice choice = bb_choice_default_on(device, &fixture.program);
        assert_int_equal(choice.tile > 0, bb_device_is_processor(device));
    }
}
