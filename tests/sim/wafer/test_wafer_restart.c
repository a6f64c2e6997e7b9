// SPDX-License-Identifier: Apache-2.0
//
// Exact restart: from checkpoints at every kind of step a run continues to the same bits;
// mismatched checkpoints are refused; and a run ended by a signal leaves a complete checkpoint.
#include "sim/cli/command.h"
#include "sim/wafer/heat/wafer_heating.h"
#include "tests/sim/program.h"
#include "tests/sim/wafer/heat/heated.h"

#include <signal.h>
#include <sys/stat.h>

#define LOT                                                                                        \
    "scan.order=given", "scan.sequence=[50, 49, 95]", "scan.fields=[0, 2]",                        \
        "wafers={count: 2, exchange_s: 0.3, arrival_rise_k: 0.05}", "metrology.alignment_s=0.012", \
        "probes=[{name: middle}, {name: under, layer: clamp}]"

#define SEARCHED                                                                                   \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "              \
    "{name: found, max_loss: 0.03, search: {codecs: [bfp]}, multiply: fp32, accumulate: fp64}]"

enum { ARGUMENTS = 21 };

static const driver_case plain = {CONFIG_WAFER_SMALL, {LOT}};
static const driver_case furnished = {CONFIG_WAFER_SMALL,
                                      {LOT, "hood={exchange_w_per_m2_k: 300, rise_k: -0.1}",
                                       "ring.width_mm=9.0", "mesh.stepping=crank-nicolson",
                                       "mesh.substeps=2", "wafers.scored=all",
                                       "mesh.through_thickness=two_mode", "response.axes=[x, y]"}};

static void expect_same(const heated *bench, const bb_wafer_heating *got)
{
    const bb_wafer_heating *heating = &bench->heating;
    const size_t exposed = (size_t)heating->exposed_count;
    assert_int_equal(got->exposed_count, heating->exposed_count);
    assert_int_equal(got->probes.taken, heating->probes.taken);
    assert_memory_equal(got->ledgers, heating->ledgers, exposed * sizeof *heating->ledgers);
    assert_memory_equal(got->imbalance, heating->imbalance, exposed * sizeof(double));
    assert_memory_equal(got->clipped_joules, heating->clipped_joules, exposed * sizeof(double));
    assert_memory_equal(got->wafers, heating->wafers,
                        (size_t)heating->wafer_count * sizeof *heating->wafers);
    assert_memory_equal(got->probes.rows, heating->probes.rows,
                        (size_t)(heating->probes.taken * heating->probes.width) * sizeof(double));
    assert_memory_equal(got->references, heating->references,
                        (size_t)(heating->scored_wafers * heating->cell_count) * sizeof(double));
    assert_memory_equal(got->inputs, heating->inputs,
                        (size_t)(heating->scored_wafers * heating->scored_count *
                                 heating->light_steps * heating->cell_count) *
                            sizeof(double));
}

static void resume(const heated *bench, const char *path)
{
    autorelease(bb_restart) restart;
    autorelease(bb_wafer_heating) heating;
    const bb_run_options options = {.resume = path};
    check_ok(bb_wafer_heating_restart(bb_config_study(bench->config), &options, &restart));
    check_ok(bb_wafer_heating_resume(bench->problem, &restart, &heating));
    assert_null(restart.resumed);
    expect_same(bench, &heating);
}

// Position of a checkpoint: before the alignment, light step of a scored field, of another field,
// dark step, exchange, end.
enum { REST, SCORED, LIGHT, DARK, EXCHANGE, END, KINDS };

static int kind_of(const heated *bench, const char *path)
{
    bb_heating_place place;
    bb_store *checkpoint = NULL;
    autorelease(bb_text) subject = {0};
    check_ok(bb_wafer_heating_subject(bb_config_study(bench->config), &subject));
    check_ok(bb_checkpoint_open(path, bb_text_string(&subject), &checkpoint));
    check_ok(bb_store_read(checkpoint, &place, sizeof place));
    bb_store_close(&checkpoint);
    if (place.rested < bench->problem->rest_steps) {
        return REST;
    }
    if (place.field == bench->heating.field_count) {
        return place.wafer == 1 ? END : EXCHANGE;
    }
    if (place.step > bench->heating.light_steps) {
        return DARK;
    }
    return place.wafer == 1 && place.field != 1 && place.step > 0 ? SCORED : LIGHT;
}

// Checkpoints are renamed by this call, which the linker prefers to the C library's. Each
// checkpoint is kept under its own name, as if the run had ended there, and one may end the run.
static int collected = -1; // number of checkpoints; negative: none expected
static int end_in;         // checkpoints until the signal; 0: none
static int end_by;         // the signal

int rename(const char *source, const char *target)
{
    char name[32];
    const int renamed = renameat(AT_FDCWD, source, AT_FDCWD, target);
    if (renamed == 0 && collected >= 0 && strcmp(target, "steps") == 0) {
        (void)snprintf(name, sizeof name, "seen-%d", collected++);
        assert_int_equal(link(target, name), 0);
    }
    if (renamed == 0 && end_in > 0 && strcmp(target, "state") == 0 && --end_in == 0) {
        (void)raise(end_by);
    }
    return renamed;
}

// Heats with a checkpoint after every step; returns their number.
static int collect(const heated *bench)
{
    bb_restart restart;
    bb_wafer_heating heating;
    const bb_run_options options = {.checkpoint = "steps"};
    collected = 0;
    check_ok(bb_wafer_heating_restart(bb_config_study(bench->config), &options, &restart));
    check_ok(bb_wafer_heating_resume(bench->problem, &restart, &heating));
    bb_wafer_heating_release(&heating);
    bb_restart_release(&restart);
    assert_int_equal(unlink("steps"), 0);
    const int count = collected;
    collected = -1;
    return count;
}

// At most this many checkpoints of each kind, spread over those seen.
#ifdef BB_SANITIZED
enum { EACH = 1 }; // six times slower
#else
enum { EACH = 3 };
#endif

static void resume_everywhere(const driver_case *study)
{
    enum { MOST = 4096 };
    static int kinds[MOST];
    int total[KINDS] = {0};
    int met[KINDS] = {0};
    char name[32];
    autocall(drop) heated bench;
    heat(study, &bench);
    const int count = collect(&bench);
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; ++i) {
        (void)snprintf(name, sizeof name, "seen-%d", i);
        kinds[i] = kind_of(&bench, name);
        ++total[kinds[i]];
    }
    for (int i = 0; i < count; ++i) {
        const int kind = kinds[i];
        const int apart = total[kind] / EACH + 1;
        (void)snprintf(name, sizeof name, "seen-%d", i);
        if (met[kind]++ % apart == apart / 2 || kind == END) {
            resume(&bench, name);
        }
        assert_int_equal(unlink(name), 0);
    }
    print_message(
        "%d checkpoints: %d at rest, %d scored, %d light, %d dark, %d bare, %d at the end\n", count,
        total[REST], total[SCORED], total[LIGHT], total[DARK], total[EXCHANGE], total[END]);
    for (int kind = 0; kind < KINDS; ++kind) {
        assert_true(total[kind] > 0);
    }
}

TEST(plain_runs_go_on_to_the_same_bits)
{
    resume_everywhere(&plain);
}

TEST_FULL(hood_ring_and_implicit_steps_go_on_too)
{
    resume_everywhere(&furnished);
}

TEST(other_configurations_are_refused)
{
    static const struct {
        const char *override;
        const char *differs; // expected message; NULL: the checkpoint matches
    } cases[] = {
        {"clamp.exchange_w_per_m2_k=1500.0000001",
         "clamp ('exchange_w_per_m2_k: 1500.0' there, 'exchange_w_per_m2_k: 1500.0000001' here)"},
        {"scan.dose_mj_per_cm2=31", "scan ('dose_mj_per_cm2: 30.0' there"},
        {"wafers.exchange_s=0.31", "wafers ('exchange_s: 0.3' there"},
        {"wafers.scored=all", "wafers ('scored: last' there"},
        {"probes=[{name: middle}]", "probes ("},
        {"response.grid.rows=38",
         "response ('grid: {columns: 40, rows: 37}' there, 'grid: {columns: 40, rows: 38}' here)"},
        {"metrology.alignment_s=0.013", "metrology ('alignment_s: 0.012' there"},
        {"metrology.reference=none", NULL},
        {"mesh.substeps=2", "mesh ('substeps: 1' there"},
        {"hood.exchange_w_per_m2_k=1", "hood ("},
        {"ring.width_mm=9", "ring ('width_mm: 0.0' there"},
        {"title=another", NULL},
        {"response.slit_points={columns: 7, rows: 5}", NULL},
        {"pipelines=[{name: r, storage: fp64, multiply: fp64, accumulate: fp64}]", NULL},
    };
    bb_restart restart;
    bb_wafer_heating heating;
    autocall(drop) heated bench;
    heat(&plain, &bench);
    const bb_run_options writing = {.checkpoint = "other", .checkpoint_every_s = 1e9};
    check_ok(bb_wafer_heating_restart(bb_config_study(bench.config), &writing, &restart));
    check_ok(bb_wafer_heating_resume(bench.problem, &restart, &heating));
    bb_wafer_heating_release(&heating);
    bb_restart_release(&restart);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const driver_case study = {CONFIG_WAFER_SMALL, {LOT, cases[c].override}};
        const bb_run_options reading = {.resume = "other"};
        autoptr(bb_config) config = driver_config(&study);
        bb_status status = bb_wafer_heating_restart(bb_config_study(config), &reading, &restart);
        if (cases[c].differs == NULL) {
            check_ok(status);
        } else {
            check_fails(status, BB_INVALID, cases[c].differs);
        }
        bb_restart_release(&restart);
    }
}

#define CODED(bits)                                                                                \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "              \
    "{name: drawn, storage: {codec: bfp, bits: " bits                                              \
    "}, draws: 2, multiply: fp32, accumulate: fp64}]"

static const char *pipelines = SEARCHED;
static const char *device = "device=cpu";
static const char *loudness = "-q";

// Command line of the plain study with these pipelines; without an option neither checkpoint nor
// resume. The search of a max_loss starts again.
static int words(const char *output, const char *option, const char *file, char *list[ARGUMENTS])
{
    const bool kept = option != NULL && strcmp(option, "--checkpoint") == 0;
    const char *all[] = {"bitbudget",
                         "run",
                         CONFIG_WAFER_SMALL,
                         plain.overrides[0],
                         plain.overrides[1],
                         plain.overrides[2],
                         plain.overrides[3],
                         plain.overrides[4],
                         plain.overrides[5],
                         pipelines,
                         device,
                         loudness,
                         "-o",
                         output,
                         option,
                         file,
                         kept ? "--checkpoint-every" : NULL,
                         "0",
                         NULL};
    int count = 0;
    for (; all[count] != NULL; ++count) {
        list[count] = (char *)(uintptr_t)all[count];
    }
    return count;
}

// Runs the command in a child; if `end` is a signal, it is sent when the fifth checkpoint exists.
static int call(const char *output, const char *option, const char *file, int end)
{
    char *list[ARGUMENTS] = {NULL};
    int how = 0;
    const int count = words(output, option, file, list);
    (void)fflush(stdout);
    bb_threads_stop();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int printed = open("printed", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        (void)dup2(printed, STDOUT_FILENO);
        (void)dup2(printed, STDERR_FILENO);
        end_in = end == 0 ? 0 : 5;
        end_by = end;
        _exit(bb_command_main(count, list, &bb_experiments));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

TEST_FULL(the_program_goes_on_after_a_signal)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGKILL};
    static const int codes[] = {143, 130, -SIGKILL};
    assert_int_equal(call("whole.h5", NULL, NULL, 0), 0);
    autoptr(bb_results) expected = read_results("whole.h5");
    for (int s = 0; s < 3; ++s) {
        (void)unlink("state");
        (void)unlink("resumed.h5");
        (void)unlink("resumed-probes.csv");
        int code = call("resumed.h5", "--checkpoint", "state", signals[s]);
        assert_true(code == codes[s]);
        assert_int_equal(access("resumed.h5", F_OK), -1);
        // An existing checkpoint is resumed or reported, never silently overwritten.
        assert_int_equal(call("resumed.h5", "--checkpoint", "state", 0), 3);
        assert_int_equal(call("resumed.h5", "--resume", "state", 0), 0);
        autoptr(bb_results) results = read_results("resumed.h5");
        check_same_digest(expected, results);
        assert_int_equal(system("cmp whole-probes.csv resumed-probes.csv"), 0);
    }
    assert_int_equal(call("new.h5", "--resume", "missing", 0), 3);
    assert_int_equal(call("whole.h5", "--checkpoint", "whole.h5", 0), 3);
    // Neither the results file nor the study is overwritten, however its path is written.
    static const char *const places[] = {"new.h5", "./new.h5", "folder/../new.h5", "here/new.h5"};
    assert_int_equal(system("mkdir folder && ln -s . here"), 0);
    for (size_t r = 0; r < sizeof places / sizeof *places; ++r) {
        assert_int_equal(call("new.h5", "--checkpoint", places[r], 0), 2);
    }
    assert_int_equal(call("new.h5", "--checkpoint", CONFIG_WAFER_SMALL, 0), 2);
    assert_int_equal(access("new.h5", F_OK), -1);
}

static bool has_printed(const char *text)
{
    char command[128];
    (void)snprintf(command, sizeof command, "grep -q '%s' printed", text);
    return system(command) == 0;
}

// After the heat, the products of every field and axis are stored and not computed again.
TEST_FULL(products_go_on_after_a_field)
{
    enum { MATRICES = 6 }; // two fields, three axes
    char name[32];
    char text[64];
    pipelines = CODED("4");
    device = "device=auto";
    loudness = "-v";
    collected = 0;
    assert_int_equal(call("products.h5", "--checkpoint", "steps", 0), 0);
    collected = -1;
    autoptr(bb_results) expected = read_results("products.h5");
    int count = 0;
    do {
        (void)snprintf(name, sizeof name, "seen-%d", count);
    } while (access(name, F_OK) == 0 && ++count > 0);
    assert_true(count > MATRICES);
    for (int left = 0; left <= MATRICES; ++left) {
        (void)snprintf(name, sizeof name, "seen-%d", count - 1 - left);
        (void)snprintf(text, sizeof text, "resuming after %d of %d", MATRICES - left, MATRICES);
        (void)unlink("resumed.h5");
        (void)unlink("resumed-probes.csv");
        assert_int_equal(call("resumed.h5", "--resume", name, 0), 0);
        assert_true(has_printed(text) == (left < MATRICES));
        autoptr(bb_results) results = read_results("resumed.h5");
        check_same_digest(expected, results);
    }
    // Any number of GPUs gives the same bits; other pipelines are recomputed, starting from the
    // heat.
    device = "response.gpus=3"; // for the study's device, the cpu
    (void)snprintf(name, sizeof name, "seen-%d", count - 1);
    assert_int_equal(call("gpus.h5", "--resume", name, 0), 0);
    assert_true(has_printed("resuming after 6 of 6"));
    device = "device=auto";
    (void)snprintf(name, sizeof name, "seen-%d", count - 1);
    pipelines = CODED("5");
    assert_int_equal(call("other.h5", "--resume", name, 0), 0);
    assert_true(has_printed("all fields are recomputed"));
    pipelines = SEARCHED;
    assert_int_equal(call("searched.h5", "--resume", name, 0), 0);
    assert_true(has_printed("products only; searches"));
    device = "device=cpu";
    loudness = "-q";
}

TEST(fringe_has_no_checkpoints)
{
    CALL_EXPECT(
        2,
        "experiment fringe has no checkpoints; experiments with checkpoints: wafer, ao, product, "
        "reconstructor",
        "run", CONFIG_FRINGE_SMALL, "--checkpoint", "a");
    CALL_EXPECT(2, "--checkpoint-every -1: use a number of at least 0", "run", CONFIG_WAFER_SMALL,
                "--checkpoint-every", "-1");
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true, .is_quiet = true);
