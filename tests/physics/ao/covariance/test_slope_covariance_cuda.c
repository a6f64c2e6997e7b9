// SPDX-License-Identifier: Apache-2.0
//
// The covariance on a cuda device against the host's, bit for bit: the operations and their order
// are the same.
#include "core/device/device_source.h"
#include "core/random.h"
#include "physics/ao/covariance/phase_slope_covariance.h"
#include "tests/device_pair.h"
#include "tests/physics/ao/chain.h"
#include "tests/physics/ao/sources.h"

typedef struct window {
    bb_index row, column, rows, columns, gap; // gap: items between the rows of the block
} window;

typedef struct request {
    const bb_device_source *twin;
    window place;
    bb_view out;
} request;

// In the device's queue, which the download waits for.
static bb_status fill_on(bb_queue *stream, bb_index begin, bb_index items, void *arguments)
{
    (void)begin;
    const request *r = arguments;
    (void)items;
    return bb_device_source_fill(r->twin, stream, r->place.row, r->place.column, r->out);
}

static const bb_kernel filling = {.name = "filling", .run[BB_DEVICE_CUDA] = fill_on};

// Fills a window on both and compares every entry; items between the rows must be unchanged.
static void compare(const bb_device_source *twin, const bb_matrix_source *host, window w,
                    bb_type type)
{
    const bb_index stride = w.columns + w.gap;
    const size_t bytes = (size_t)(w.rows * stride) * bb_type_bytes(type);
    autofree double *expected = doubles(w.rows * w.columns);
    unsigned char *got = new_array(unsigned char, (bb_index)bytes);
    void *block = allocate_on(gpu, bytes);
    check_ok(bb_device_zero(gpu, block, bytes));
    check_ok(
        bb_matrix_source_fill(host, w.row, w.column, bb_view_matrix(expected, w.rows, w.columns)));
    request r = {twin, w, bb_device_matrix(block, type, w.rows, w.columns, stride)};
    check_ok(bb_device_launch(gpu, &filling, 1, &r));
    check_ok(bb_device_download(gpu, got, block, bytes));
    for (bb_index i = 0; i < w.rows; ++i) {
        for (bb_index j = 0; j < stride; ++j) {
            const double wanted = j < w.columns ? expected[i * w.columns + j] : 0.0;
            const bb_index k = i * stride + j;
            if (type == BB_F64) {
                assert_true(((double *)(void *)got)[k] == wanted);
            } else {
                assert_true(((float *)(void *)got)[k] == (float)wanted);
            }
        }
    }
    bb_device_release(gpu, &block);
    BB_RELEASE(&got);
}

static bb_index draw(bb_index count, uint64_t index)
{
    return (bb_index)((double)count * bb_random_uniform(7, BB_STREAM_SELF_TEST, index));
}

// The whole matrix, then windows of any size, position and stride.
static void compare_types(const bb_matrix_source *host, int types)
{
    autoptr(bb_device_source) twin = new_object(bb_device_source, host, gpu);
    assert_true(twin->symmetric == host->symmetric && twin->rows == host->rows);
    for (int t = 0; t < types; ++t) {
        const bb_type type = t == 0 ? BB_F64 : BB_F32;
        compare(twin, host, (window){0, 0, host->rows, host->columns, 3}, type);
        for (uint64_t k = 0; k < 40; ++k) {
            window w = {draw(host->rows, 5 * k), draw(host->columns, 5 * k + 1), 0, 0,
                        draw(9, 5 * k + 2)};
            w.rows = 1 + draw(host->rows - w.row, 5 * k + 3);
            w.columns = 1 + draw(host->columns - w.column, 5 * k + 4);
            compare(twin, host, w, type);
        }
    }
}

static void compare_source(const bb_matrix_source *host)
{
    compare_types(host, 2);
}

// Phases at points, some on edges of subapertures, over two directions.
static void compare_phases(int model)
{
    enum { POINTS = 70, LOOKS = 2 };
    ao_case c = case_without_stars(4.0, 5);
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -9.0, 21.0);
    c.stars[0].settings.altitude_km = 12.6; // the cone's apex is just above the upper layer
    c.stars[0].rotation_deg = 20.0;
    c.stars[1].lenslets = 4;
    c.sensors.slope_model = model;
    add_target(&c, 6.0, -4.0);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const bb_index layers = k.atmosphere.layer_count;
    autofree bb_sensor_layer *layer = new_array(bb_sensor_layer, LOOKS * layers);
    double x[POINTS], y[POINTS];
    const double weight[LOOKS] = {0.7, 0.3};
    fill_array(x, POINTS, i, 0.4 * (double)(i % 10) - 1.9);
    fill_array(y, POINTS, i, 0.4 * (double)(i / 10) - 1.2);
    for (bb_index l = 0; l < LOOKS * layers; ++l) {
        layer[l] = k.truth.sensors[0].layer[l % layers];
        layer[l].offset_x_m += l < layers ? 0.0 : 0.21;
    }
    const bb_phase_looks looks = {&k.atmosphere, &k.guides, {POINTS, x, y, layer}, LOOKS, weight};
    const bb_matrix_source host = bb_phase_slope_covariance_source(&looks);
    compare_types(&host, 1);
}

TEST(phases_have_the_bits_of_the_host)
{
    compare_phases(BB_SLOPE_POINT_DIFFERENCE);
    compare_phases(BB_SLOPE_AVERAGED_GRADIENT);
}

static void compare_case(const ao_case *c)
{
    autocall(sources_release) sources s = {0};
    sources_create(c, &s);
    for (int k = 0; k < SOURCE_COUNT; ++k) {
        compare_source(bb_slope_covariance_source(s.covariance[k]));
    }
}

TEST(every_kind_of_pair_has_the_bits_of_the_host)
{
    ao_case cases[] = {case_asymmetric(), case_nx456(), case_asymmetric(), case_mixed_slopes()};
    cases[1].stars[3].rotation_deg = 12.0;
    cases[2].sensors.slope_model = BB_SLOPE_AVERAGED_GRADIENT;
    cases[2].stars[1].rotation_deg = -7.0;
    cases[2].stars[1].magnification = 1.1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        compare_case(&cases[k]);
    }
}

// Ten layers and 3136 measurements: more layers than the kernel processes at once, many patches.
TEST(vlt_3136_has_the_bits_of_the_host)
{
    const ao_case c = case_vlt3136();
    autocall(sources_release) sources s = {0};
    sources_create(&c, &s);
    const bb_matrix_source *host = bb_slope_covariance_source(s.covariance[SOURCE_CMM]);
    autoptr(bb_device_source) twin = new_object(bb_device_source, host, gpu);
    compare(twin, host, (window){0, 0, host->rows, host->columns, 0}, BB_F64);
    compare(twin, host, (window){1033, 517, 1024, 1024, 0}, BB_F32);
}

TEST_GROUP(.begin = open_devices, .end = close_devices);
