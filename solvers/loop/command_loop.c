// SPDX-License-Identifier: Apache-2.0
//
// Command loop: code common to all devices, and the cpu implementation.
#include "solvers/loop/command_loop.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/portable.h"
#include "solvers/loop/command_loop_core.h"
#include "solvers/loop/command_loop_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LANES = 8 };         // accumulators of a mean's sum
enum { CLOCK_FRAMES = 16 }; // samples from which clock offsets are measured

// State of the cpu loop.
typedef struct cpu_loop {
    float *x;           // [columns] x
    double *wide;       // [columns] x in fp64
    float *reference;   // [columns], NULL: zero
    bb_index *begin;    // [groups + 1]
    float *mean;        // [groups]
    float *means;       // for each matrix [groups][rows]: the factors of one mean are contiguous
    float *scales;      // [matrices][columns], NULL: none
    double *y;          // [commands]
    double *v;          // [commands]
    float *late;        // [delay][commands] of earlier frames
    bb_index late_next; // row of `late` for the current frame
    int64_t release[BB_COMMAND_AHEAD]; // release times [ns]
} cpu_loop;

static bb_status check_groups(const bb_command_system *system, bb_index columns)
{
    bb_status status = BB_OK;
    const bb_index *begin = system->group_begin;
    if (system->group_count == 0) {
        return BB_OK;
    }
    for (bb_index k = 0; k < system->group_count; ++k) {
        BB_REQUIRE(begin[k] < begin[k + 1], BB_INVALID,
                   "slope group %td spans %td to %td; it needs at least one slope", k, begin[k],
                   begin[k + 1]);
    }
    BB_REQUIRE(begin[0] == 0 && begin[system->group_count] == columns, BB_INVALID,
               "slope groups span %td to %td; they must cover all %td slopes", begin[0],
               begin[system->group_count], columns);
done:
    return status;
}

static bb_status check(const bb_command_system *system)
{
    bb_status status = BB_OK;
    BB_REQUIRE(system->matrix_count >= 1 && system->matrix_count <= (int)BB_COMMAND_MATRICES,
               BB_INVALID, "%d matrices per frame, expected 1 to %d", system->matrix_count,
               (int)BB_COMMAND_MATRICES);
    const bb_index columns = bb_coded_operator_columns(system->operators[0]);
    for (int t = 1; t < system->matrix_count; ++t) {
        BB_REQUIRE(bb_coded_operator_columns(system->operators[t]) == columns, BB_INVALID,
                   "matrix %d of a frame has %td columns, but the first has %td", t,
                   bb_coded_operator_columns(system->operators[t]), columns);
    }
    BB_REQUIRE(system->gain > 0.0 && system->gain <= 1.0, BB_INVALID,
               "controller gain %g is outside (0, 1]", system->gain);
    BB_REQUIRE(system->delay >= 0 && system->delay <= (bb_index)BB_COMMAND_DELAY_MOST, BB_INVALID,
               "delay of %td frames is outside 0 to %d", system->delay, (int)BB_COMMAND_DELAY_MOST);
    BB_TRY(check_groups(system, columns));
done:
    return status;
}

static bb_status cpu_reset(bb_command_part *part)
{
    cpu_loop *cpu = part->state;
    memset(cpu->v, 0, (size_t)part->command_count * sizeof *cpu->v);
    memset(cpu->late, 0, (size_t)(part->delay * part->command_count) * sizeof *cpu->late);
    cpu->late_next = 0;
    part->taken = part->posted;
    return BB_OK;
}

// Copies the factors of the means, transposed so that each mean's column is contiguous.
static void transpose_means(const bb_command_part *part, const bb_command_system *system)
{
    const cpu_loop *cpu = part->state;
    const bb_index groups = part->group_count;
    for (int t = 0; t < part->matrix_count; ++t) {
        const bb_index rows = part->row[t + 1] - part->row[t];
        float *target = cpu->means + groups * part->row[t];
        for (bb_index i = 0; i < rows; ++i) {
            for (bb_index k = 0; k < groups; ++k) {
                target[k * rows + i] = system->means[t][i * groups + k];
            }
        }
    }
}

static bb_status cpu_open(bb_command_part *part, const bb_command_system *system)
{
    bb_status status = BB_OK;
    cpu_loop *cpu = NULL;
    const bb_index columns = part->slope_count;
    BB_TRY(BB_ZEROED(1, &cpu));
    part->state = cpu;
    BB_TRY(BB_ALLOCATE(columns, &cpu->x));
    BB_TRY(BB_ALLOCATE(columns, &cpu->wide));
    BB_TRY(BB_ALLOCATE(part->command_count, &cpu->y));
    BB_TRY(BB_ALLOCATE(part->command_count, &cpu->v));
    BB_TRY(BB_ALLOCATE(part->delay * part->command_count + 1, &cpu->late));
    if (system->reference != NULL) {
        BB_TRY(BB_ALLOCATE(columns, &cpu->reference));
        memcpy(cpu->reference, system->reference, (size_t)columns * sizeof *cpu->reference);
    }
    if (system->scales != NULL) {
        BB_TRY(BB_ALLOCATE(part->matrix_count * columns, &cpu->scales));
        for (int t = 0; t < part->matrix_count; ++t) {
            memcpy(cpu->scales + t * columns, system->scales[t],
                   (size_t)columns * sizeof *cpu->scales);
        }
    }
    if (part->group_count > 0) {
        BB_TRY(BB_ALLOCATE(part->group_count + 1, &cpu->begin));
        BB_TRY(BB_ALLOCATE(part->group_count, &cpu->mean));
        BB_TRY(BB_ALLOCATE(part->group_count * part->command_count, &cpu->means));
        memcpy(cpu->begin, system->group_begin,
               (size_t)(part->group_count + 1) * sizeof *cpu->begin);
        transpose_means(part, system);
    }
    BB_TRY(cpu_reset(part));
done:
    return status;
}

static void cpu_close(bb_command_part *part)
{
    cpu_loop *cpu = part->state;
    if (cpu != NULL) {
        BB_RELEASE(&cpu->x);
        BB_RELEASE(&cpu->wide);
        BB_RELEASE(&cpu->reference);
        BB_RELEASE(&cpu->begin);
        BB_RELEASE(&cpu->mean);
        BB_RELEASE(&cpu->means);
        BB_RELEASE(&cpu->scales);
        BB_RELEASE(&cpu->y);
        BB_RELEASE(&cpu->v);
        BB_RELEASE(&cpu->late);
        BB_RELEASE(&cpu);
        part->state = NULL;
    }
}

// Computes x = s - reference; returns true if all values are finite.
BB_CLONES static bool subtract(bb_index count, const float *slopes, const float *reference,
                               float *x)
{
    int bad = 0;
    for (bb_index j = 0; j < count; ++j) {
        x[j] = slopes[j] - (reference == NULL ? 0.0F : reference[j]);
        bad |= !(fabsf(x[j]) <= FLT_MAX);
    }
    return bad == 0;
}

BB_CLONES static float mean_of(bb_index count, const float *values)
{
    double lane[LANES] = {0.0};
    bb_index j = 0;
    for (; j + LANES <= count; j += LANES) {
        for (bb_index l = 0; l < LANES; ++l) {
            lane[l] += (double)values[j + l];
        }
    }
    for (; j < count; ++j) {
        lane[j % LANES] += (double)values[j];
    }
    for (bb_index half = LANES / 2; half > 0; half /= 2) {
        for (bb_index l = 0; l < half; ++l) {
            lane[l] += lane[l + half];
        }
    }
    return (float)(lane[0] / (double)count);
}

BB_CLONES static void subtract_mean(bb_index count, float mean, float *x)
{
    for (bb_index j = 0; j < count; ++j) {
        x[j] -= mean;
    }
}

static void round_slopes(const bb_command_rounding *rounding, bb_index count, float *x)
{
    if (rounding->step > 0.0) {
        for (bb_index j = 0; j < count; ++j) {
            x[j] = bb_command_loop_round(x[j], rounding->step, rounding->steps);
        }
    } else if (rounding->format > BB_FORMAT_FP32) {
        (void)bb_format_round_f32(rounding->format, x, count, x);
    }
}

// Converts x to fp64; returns true if all values are finite.
BB_CLONES static bool widen(bb_index count, const float *x, double *wide)
{
    int bad = 0;
    for (bb_index j = 0; j < count; ++j) {
        wide[j] = (double)x[j];
        bad |= !(fabsf(x[j]) <= FLT_MAX);
    }
    return bad == 0;
}

static bool prepare_slopes(const bb_command_part *part)
{
    cpu_loop *cpu = part->state;
    const bb_index count = part->slope_count;
    const float *slopes = part->slopes + bb_command_loop_place(part->taken, count);
    if (!subtract(count, slopes, cpu->reference, cpu->x)) {
        return false;
    }
    for (bb_index k = 0; k < part->group_count; ++k) {
        float *group = cpu->x + cpu->begin[k];
        const bb_index size = cpu->begin[k + 1] - cpu->begin[k];
        cpu->mean[k] = mean_of(size, group);
        subtract_mean(size, cpu->mean[k], group);
    }
    round_slopes(&part->rounding, count, cpu->x);
    return widen(count, cpu->x, cpu->wide);
}

BB_CLONES static void divide(bb_index count, const float *x, const float *scales, double *wide)
{
    for (bb_index j = 0; j < count; ++j) {
        wide[j] = (double)(x[j] / scales[j]);
    }
}

static bb_status multiply(const bb_command_part *part)
{
    bb_status status = BB_OK;
    const cpu_loop *cpu = part->state;
    for (int t = 0; t < part->matrix_count; ++t) {
        double seconds = 0.0;
        if (cpu->scales != NULL) {
            divide(part->slope_count, cpu->x, cpu->scales + t * part->slope_count, cpu->wide);
        }
        BB_TRY(bb_coded_operator_apply(part->operators[t], 0, part->row[t + 1] - part->row[t],
                                       cpu->wide, cpu->y + part->row[t], &seconds));
    }
done:
    return status;
}

// Products of fp32 values are exact in fp64.
BB_CLONES static void add_mean(bb_index rows, const float *column, float mean, double *y)
{
    for (bb_index i = 0; i < rows; ++i) {
        y[i] += (double)column[i] * (double)mean;
    }
}

static void add_means(const bb_command_part *part)
{
    const cpu_loop *cpu = part->state;
    for (int t = 0; part->group_count > 0 && t < part->matrix_count; ++t) {
        const bb_index rows = part->row[t + 1] - part->row[t];
        const float *means = cpu->means + part->group_count * part->row[t];
        for (bb_index k = 0; k < part->group_count; ++k) {
            add_mean(rows, means + k * rows, cpu->mean[k], cpu->y + part->row[t]);
        }
    }
}

// True if all commands are finite in fp32.
BB_CLONES static bool is_finite(bb_index count, const double *y)
{
    int bad = 0;
    for (bb_index i = 0; i < count; ++i) {
        bad |= !(fabs(y[i]) <= (double)FLT_MAX);
    }
    return bad == 0;
}

BB_CLONES static void advance(bb_index count, double gain, const double *y, double *v)
{
    for (bb_index i = 0; i < count; ++i) {
        v[i] = bb_command_loop_advance(v[i], y[i], gain);
    }
}

static void write_commands(bb_command_part *part)
{
    cpu_loop *cpu = part->state;
    const bb_index count = part->command_count;
    float *commands = part->commands + bb_command_loop_place(part->taken, count);
    if (part->delay == 0) {
        for (bb_index i = 0; i < count; ++i) {
            commands[i] = (float)cpu->v[i];
        }
        return;
    }
    float *late = cpu->late + cpu->late_next * count;
    for (bb_index i = 0; i < count; ++i) {
        commands[i] = late[i];
        late[i] = (float)cpu->v[i];
    }
    cpu->late_next = (cpu->late_next + 1) % part->delay;
}

static bb_status cpu_post(bb_command_part *part, int64_t release_ns)
{
    cpu_loop *cpu = part->state;
    cpu->release[bb_command_loop_turn(part->posted)] = release_ns;
    return BB_OK;
}

static bb_status cpu_receive(bb_command_part *part, bb_command_frame *out)
{
    bb_status status = BB_OK;
    const cpu_loop *cpu = part->state;
    const int64_t release_ns = cpu->release[bb_command_loop_turn(part->taken)];
    int64_t ns[BB_COMMAND_STAGES + 1];
    do {
        ns[BB_COMMAND_SLOPES] = bb_clock_ns();
    } while (ns[BB_COMMAND_SLOPES] < release_ns);
    *out = (bb_command_frame){.slopes_finite = prepare_slopes(part), .products_finite = true};
    ns[BB_COMMAND_PRODUCT] = bb_clock_ns();
    if (out->slopes_finite) {
        BB_TRY(multiply(part));
    }
    ns[BB_COMMAND_CONTROL] = bb_clock_ns();
    if (out->slopes_finite) {
        add_means(part);
        out->products_finite = is_finite(part->command_count, cpu->y);
    }
    if (out->slopes_finite && out->products_finite) {
        advance(part->command_count, part->gain, cpu->y, cpu->v);
    }
    write_commands(part);
    ns[BB_COMMAND_STAGES] = bb_clock_ns();
    for (int stage = 0; stage < BB_COMMAND_STAGES; ++stage) {
        out->seconds[stage] = 1e-9 * (double)(ns[stage + 1] - ns[stage]);
    }
    out->begin_ns = ns[BB_COMMAND_SLOPES];
    out->end_ns = ns[BB_COMMAND_STAGES];
done:
    return status;
}

static const bb_command_twin cpu_twin = {cpu_open,    NULL,      cpu_post,
                                         cpu_receive, cpu_reset, cpu_close};

// Implementation for each kind of device; opencl has none.
static const bb_command_twin *const twins[BB_DEVICE_KIND_COUNT] = {
    [BB_DEVICE_CPU] = &cpu_twin,
    [BB_DEVICE_CUDA] = BB_CUDA_TWIN(&bb_command_loop_cuda_twin),
};

static const bb_command_twin *twin_of(const bb_command_part *part)
{
    return twins[bb_device_kind_of(part->device)];
}

static void copy_shape(const bb_command_system *system, bb_command_part *part)
{
    part->slope_count = bb_coded_operator_columns(system->operators[0]);
    part->group_count = system->group_count;
    part->delay = system->delay;
    part->gain = system->gain;
    part->rounding = system->rounding;
    part->matrix_count = system->matrix_count;
    for (int t = 0; t < system->matrix_count; ++t) {
        part->operators[t] = system->operators[t];
        part->row[t + 1] = part->row[t] + bb_coded_operator_rows(system->operators[t]);
    }
    part->command_count = part->row[system->matrix_count];
}

// Allocates a zeroed ring of frames in host memory.
static bb_status open_ring(bb_device *device, bb_index count, float **out)
{
    bb_status status = BB_OK;
    const size_t bytes = (size_t)(BB_COMMAND_AHEAD * bb_command_loop_stride(count)) * sizeof **out;
    void *block = NULL;
    BB_TRY(bb_device_host_allocate(device, bytes, &block));
    *out = block;
    memset(*out, 0, bytes);
done:
    return status;
}

static void close_part(bb_command_part **part)
{
    bb_command_part *one = *part;
    if (one != NULL) {
        void *slopes = one->slopes;
        void *commands = one->commands;
        twin_of(one)->close(one);
        bb_device_host_release(one->device, &slopes);
        bb_device_host_release(one->device, &commands);
        BB_RELEASE(part);
    }
}

static bb_status open_part(bb_device *device, const bb_command_system *system,
                           bb_command_part **out)
{
    bb_status status = BB_OK;
    bb_command_part *part = NULL;
    BB_REQUIRE(twins[bb_device_kind_of(device)] != NULL, BB_UNSUPPORTED,
               "the command loop runs on cpu or cuda devices, not on %s",
               bb_device_names[bb_device_kind_of(device)]);
    BB_TRY(check(system));
    BB_TRY(BB_ZEROED(1, &part));
    part->device = device;
    copy_shape(system, part);
    BB_TRY(open_ring(device, part->slope_count, &part->slopes));
    BB_TRY(open_ring(device, part->command_count, &part->commands));
    BB_TRY(twin_of(part)->open(part, system));
    *out = part;
    part = NULL;
done:
    close_part(&part);
    return status;
}

// Slopes of the next frame to be posted.
static float *next_slopes(const bb_command_part *part)
{
    return part->slopes + bb_command_loop_place(part->posted, part->slope_count);
}

// Commands of the last received frame.
static const float *last_commands(const bb_command_part *part)
{
    const unsigned long long last = part->taken + BB_COMMAND_AHEAD - 1;
    return part->commands + bb_command_loop_place(last, part->command_count);
}

static bb_status post_part(bb_command_part *part, int64_t release_ns)
{
    bb_status status = BB_OK;
    BB_REQUIRE(part->posted - part->taken < BB_COMMAND_AHEAD, BB_INVALID,
               "%d frames are pending: receive one before posting the next", (int)BB_COMMAND_AHEAD);
    BB_TRY(twin_of(part)->post(part, release_ns));
    part->posted += 1;
done:
    return status;
}

static bb_status receive_part(bb_command_part *part, bb_command_frame *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(part->taken < part->posted, BB_INVALID,
               "no frame is pending: post one before receiving");
    BB_TRY(twin_of(part)->receive(part, out));
    part->taken += 1;
done:
    return status;
}

bb_command_share bb_command_share_of(bb_index rows, int devices, int which)
{
    const bb_index least = rows / devices;
    const bb_index longer = rows % devices; // devices with one more row
    const bb_index before = which < longer ? which : longer;
    return (bb_command_share){which * least + before, least + (which < longer ? 1 : 0)};
}

static bb_status check_shares(int devices, const bb_command_system *systems)
{
    bb_status status = BB_OK;
    BB_REQUIRE(devices >= 1 && devices <= (int)BB_COMMAND_DEVICES, BB_INVALID,
               "%d devices per frame, expected 1 to %d", devices, (int)BB_COMMAND_DEVICES);
    for (int d = 1; d < devices; ++d) {
        BB_REQUIRE(systems[d].matrix_count == systems[0].matrix_count, BB_INVALID,
                   "device %d of a frame has %d matrices, but the first has %d", d,
                   systems[d].matrix_count, systems[0].matrix_count);
        const bb_index columns = bb_coded_operator_columns(systems[d].operators[0]);
        BB_REQUIRE(columns == bb_coded_operator_columns(systems[0].operators[0]), BB_INVALID,
                   "device %d of a frame has matrices of %td columns, but the first has %td", d,
                   columns, bb_coded_operator_columns(systems[0].operators[0]));
    }
done:
    return status;
}

// Lead of a device's clock over the host's, from the sample with the shortest delay until the host
// saw its end.
static bb_status read_clock(bb_command_part *part, int64_t *ahead_ns)
{
    bb_status status = BB_OK;
    *ahead_ns = INT64_MIN;
    for (int k = 0; k < CLOCK_FRAMES; ++k) {
        bb_command_frame frame;
        memset(next_slopes(part), 0, (size_t)part->slope_count * sizeof(float));
        BB_TRY(post_part(part, 0));
        BB_TRY(receive_part(part, &frame));
        const int64_t ahead = frame.end_ns - bb_clock_ns();
        *ahead_ns = ahead > *ahead_ns ? ahead : *ahead_ns;
    }
    BB_TRY(twin_of(part)->reset(part));
done:
    return status;
}

bb_status bb_command_loop_read_clocks(bb_command_loop *loop)
{
    bb_status status = BB_OK;
    if (loop->devices == 1) {
        return BB_OK;
    }
    for (int d = 0; d < loop->devices; ++d) {
        BB_TRY(read_clock(loop->parts[d], &loop->ahead_ns[d]));
    }
    for (int d = loop->devices - 1; d >= 0; --d) {
        loop->ahead_ns[d] -= loop->ahead_ns[0];
    }
done:
    return status;
}

bb_status bb_command_loop_create(int devices, bb_device *const *device,
                                 const bb_command_system *systems, bb_command_loop **out)
{
    bb_status status = BB_OK;
    bb_command_loop *loop = NULL;
    *out = NULL;
    BB_TRY(check_shares(devices, systems));
    BB_TRY(BB_ZEROED(1, &loop));
    loop->devices = devices;
    loop->matrices = systems[0].matrix_count;
    for (int d = 0; d < devices; ++d) {
        BB_TRY(open_part(device[d], &systems[d], &loop->parts[d]));
        for (int t = 0; t < loop->matrices; ++t) {
            loop->rows[d][t] = bb_coded_operator_rows(systems[d].operators[t]);
        }
    }
    BB_TRY(bb_command_loop_read_clocks(loop));
    *out = loop;
    loop = NULL;
done:
    bb_command_loop_destroy(&loop);
    return status;
}

// Resets all devices even if one fails; returns the first failure.
static bb_status reset_parts(const bb_command_loop *loop)
{
    bb_status status = BB_OK;
    bb_status_record record;
    for (int d = 0; d < (int)BB_COMMAND_DEVICES; ++d) {
        const bb_status failure =
            loop->parts[d] == NULL ? BB_OK : twin_of(loop->parts[d])->reset(loop->parts[d]);
        if (failure != BB_OK && status == BB_OK) {
            status = failure;
            bb_status_save(&record);
        }
    }
    if (status != BB_OK) {
        bb_status_restore(&record);
    }
    return status;
}

void bb_command_loop_destroy(bb_command_loop **loop)
{
    if (*loop != NULL) {
        // Freeing memory may synchronise with all devices, so none may have a waiting frame.
        bb_status_record record;
        bb_status_save(&record);
        if (reset_parts(*loop) != BB_OK) {
            bb_status_restore(&record);
        }
        for (int d = 0; d < (int)BB_COMMAND_DEVICES; ++d) {
            close_part(&(*loop)->parts[d]);
        }
        BB_RELEASE(loop);
    }
}

void bb_command_loop_set_slopes(bb_command_loop *loop, const float *slopes)
{
    const size_t bytes = (size_t)loop->parts[0]->slope_count * sizeof *slopes;
    for (int d = 0; d < loop->devices; ++d) {
        memcpy(next_slopes(loop->parts[d]), slopes, bytes);
    }
}

void bb_command_loop_commands(const bb_command_loop *loop, float *out)
{
    bb_index first[BB_COMMAND_DEVICES] = {0}; // commands per device
    for (int t = 0; t < loop->matrices; ++t) {
        for (int d = 0; d < loop->devices; ++d) {
            const bb_index rows = loop->rows[d][t];
            memcpy(out, last_commands(loop->parts[d]) + first[d], (size_t)rows * sizeof *out);
            first[d] += rows;
            out += rows;
        }
    }
}

bb_status bb_command_loop_arm(bb_command_loop *loop)
{
    bb_status status = BB_OK;
    for (int d = 0; d < loop->devices; ++d) {
        const bb_command_twin *twin = twin_of(loop->parts[d]);
        BB_TRY(twin->arm == NULL ? BB_OK : twin->arm(loop->parts[d]));
    }
done:
    return status;
}

bb_status bb_command_loop_post(bb_command_loop *loop, int64_t release_ns)
{
    bb_status status = BB_OK;
    for (int d = 0; d < loop->devices; ++d) {
        const int64_t release = release_ns == 0 ? 0 : release_ns + loop->ahead_ns[d];
        BB_TRY(post_part(loop->parts[d], release));
    }
    loop->has_release[loop->posted % BB_COMMAND_AHEAD] = release_ns != 0;
    loop->posted += 1;
done:
    return status;
}

// With a release time, every device counts from it by its own clock. Without one the devices start
// together, as far as the host lets them; comparing durations then excludes clock drift.
static bool ends_later(const bb_command_frame *frame, const bb_command_frame *other,
                       bool has_release)
{
    return has_release ? frame->end_ns > other->end_ns
                       : frame->end_ns - frame->begin_ns > other->end_ns - other->begin_ns;
}

bb_status bb_command_loop_wait(bb_command_loop *loop, bb_command_frame *out)
{
    bb_status status = BB_OK;
    const bool has_release = loop->has_release[loop->taken % BB_COMMAND_AHEAD];
    bool slopes_finite = true;
    bool products_finite = true;
    for (int d = 0; d < loop->devices; ++d) {
        bb_command_frame frame;
        BB_TRY(receive_part(loop->parts[d], &frame));
        frame.begin_ns -= loop->ahead_ns[d];
        frame.end_ns -= loop->ahead_ns[d];
        slopes_finite = slopes_finite && frame.slopes_finite;
        products_finite = products_finite && frame.products_finite;
        if (d == 0 || ends_later(&frame, out, has_release)) {
            *out = frame;
        }
    }
    out->slopes_finite = slopes_finite;
    out->products_finite = products_finite;
    loop->taken += 1;
done:
    return status;
}

bb_status bb_command_loop_step(bb_command_loop *loop, int64_t release_ns, bb_command_frame *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(loop->posted == loop->taken, BB_INVALID,
               "%llu frames are pending: receive all of them before a step",
               loop->posted - loop->taken);
    BB_TRY(bb_command_loop_post(loop, release_ns));
    BB_TRY(bb_command_loop_wait(loop, out));
done:
    return status;
}

bb_status bb_command_loop_reset(bb_command_loop *loop)
{
    loop->taken = loop->posted;
    return reset_parts(loop);
}

static bb_need need_part(double slopes, double commands, double groups, double scaled,
                         bb_index delay, bb_device_kind device)
{
    const double single = sizeof(float);
    const double wide = sizeof(double);
    const double objects = sizeof(bb_command_part) + sizeof(cpu_loop);
    const double ends = single * (slopes + commands); // slopes and commands of a frame
    const double lines = single * 2.0 * 31.0;         // padding of both to 32 floats
    const double host = objects + (double)BB_COMMAND_AHEAD * (ends + lines);
    const double inside = slopes * (single * (2.0 + scaled) + wide) + groups * (single + wide) +
                          commands * (2.0 * wide + single * (groups + (double)delay));
    return device == BB_DEVICE_CPU
               ? (bb_need){.host_bytes = host + inside}
               : (bb_need){.host_bytes = host,
                           .device_bytes = objects + ends + inside +
                                           commands * wide * (groups > 0.0 ? 3.0 : 1.0)};
}

bb_need bb_command_loop_need(double slopes, double commands, double groups, double scaled,
                             bb_index delay, bb_device_kind device, double devices)
{
    const double rows = ceil(commands / devices);
    const bb_need one = need_part(slopes, rows, groups, scaled, delay, device);
    return (bb_need){.host_bytes = sizeof(bb_command_loop) + devices * one.host_bytes,
                     .device_bytes = one.device_bytes};
}
