// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/atmosphere.h"
#include "tests/check.h"

static bb_atmosphere make(int profile, double r0_m, double zenith_angle_deg)
{
    const bb_atmosphere_config config = {.profile = profile, .outer_scale_m = 25.0, .r0_m = r0_m};
    bb_atmosphere atmosphere = {0};
    check_ok(bb_atmosphere_create(&config, zenith_angle_deg, &atmosphere));
    return atmosphere;
}

static double share_below(const bb_atmosphere *atmosphere, double height_m)
{
    double below = 0.0;
    double all = 0.0;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        all += atmosphere->strength[l];
        below += atmosphere->height_m[l] < height_m ? atmosphere->strength[l] : 0.0;
    }
    return below / all;
}

// Median seeing 0.644", theta0 2.30", 66 % below 500 m: the notes' check of the ESO table.
TEST(eso_median_has_its_integrals)
{
    autorelease(bb_atmosphere) atmosphere = make(BB_PROFILE_ESO_MEDIAN, NAN, 0.0);
    assert_int_equal(atmosphere.layer_count, 35);
    check_relative(atmosphere.r0_m, 0.157, 1e-14);
    // 0.98 lambda / r0 is the full width at half maximum.
    check_close(0.98 * bb_atmosphere_seeing_arcsec(&atmosphere, 500e-9), 0.644, 5e-4, 1.0);
    check_close(bb_atmosphere_isoplanatic_arcsec(&atmosphere), 2.30, 5e-3, 1.0);
    check_close(share_below(&atmosphere, 500.0), 0.66, 0.005, 1.0);
    assert_true(atmosphere.height_m[34] == 26500.0 && atmosphere.height_m[11] == 3500.0);
}

TEST(nine_layers_keep_the_isoplanatic_angle)
{
    autorelease(bb_atmosphere) full = make(BB_PROFILE_ESO_MEDIAN, NAN, 0.0);
    autorelease(bb_atmosphere) nine = make(BB_PROFILE_ESO_MEDIAN_9, NAN, 0.0);
    check_relative(bb_atmosphere_isoplanatic_arcsec(&nine), bb_atmosphere_isoplanatic_arcsec(&full),
                   0.01);
}

TEST(shipped_profiles_have_their_fried_parameters)
{
    static const struct {
        int profile;
        double r0_m, tolerance;
    } expected[] = {
        {BB_PROFILE_MOAO_2, 0.1289156, 1e-6}, {BB_PROFILE_MOAO_10, 0.1289, 1e-3},
        {BB_PROFILE_ERIS_10, 0.126, 1e-14},   {BB_PROFILE_ESO_Q1, 0.234, 1e-14},
        {BB_PROFILE_ESO_Q4, 0.097, 1e-14},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
        autorelease(bb_atmosphere) atmosphere = make(expected[i].profile, NAN, 0.0);
        check_relative(atmosphere.r0_m, expected[i].r0_m, expected[i].tolerance);
    }
}

TEST(fried_parameter_rescales_and_zenith_angle_stretches)
{
    autorelease(bb_atmosphere) plain = make(BB_PROFILE_MOAO_10, NAN, 0.0);
    autorelease(bb_atmosphere) scaled = make(BB_PROFILE_MOAO_10, 0.2, 60.0);
    // sec 60 deg = 2: r0 cos(z)^(3/5), heights doubled.
    check_relative(scaled.r0_m, 0.2 * pow(0.5, 0.6), 1e-14);
    for (bb_index l = 0; l < 10; ++l) {
        check_relative(scaled.height_m[l], 2.0 * plain.height_m[l], 1e-14);
        check_relative(scaled.strength[l] / scaled.strength[0],
                       plain.strength[l] / plain.strength[0], 1e-14);
    }
    check_relative(bb_atmosphere_seeing_arcsec(&plain, 650e-9),
                   206264.806247 * 500e-9 / plain.r0_m * pow(500.0 / 650.0, 0.2), 1e-11);
}

TEST(layers_of_the_user_are_kept)
{
    bb_layer_config layers[] = {
        {50.0, 20.0, NAN, NAN}, {9000.0, 0.0, NAN, NAN}, {11000.0, 5.0, NAN, NAN}};
    const bb_atmosphere_config config = {
        .profile = -1, .layers = {layers, 3}, .outer_scale_m = 30.0, .r0_m = NAN};
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &config, 0.0);
    assert_int_equal(atmosphere.layer_count, 3);
    check_relative(atmosphere.r0_m, pow(25.0, -0.6), 1e-14);
    assert_true(atmosphere.strength[1] == 0.0 && atmosphere.height_m[2] == 11000.0);
    assert_true(atmosphere.outer_scale_m == 30.0);
    assert_false(bb_atmosphere_has_wind(&config));
    layers[0].wind_m_per_s = layers[1].wind_m_per_s = 4.0;
    assert_false(bb_atmosphere_has_wind(&config));
    layers[2].wind_m_per_s = 9.0;
    assert_true(bb_atmosphere_has_wind(&config));
    bb_atmosphere_release(&atmosphere);
    check_ok(bb_atmosphere_create(&config, 0.0, &atmosphere));
    assert_true(atmosphere.wind_m_per_s[0] == 4.0 && atmosphere.wind_m_per_s[2] == 9.0);
}

// By hand: 0.98 * 500 nm/0.10 m = 4.9e-6 rad = 1.010697550 arcsec. At 2.2 um a seeing of 0.5 arcsec
// is r0(2.2 um) = 0.98 * 2.2e-6 * 206264.806/0.5 = 0.889414 m, (500/2200)^(6/5) of it 0.15030059 m.
TEST(seeing_is_a_fried_parameter)
{
    check_relative(bb_atmosphere_r0_of_seeing(1.01069755, 500e-9), 0.1, 1e-9);
    check_relative(bb_atmosphere_r0_of_seeing(0.5, 2.2e-6), 0.150300585907, 1e-11);
    bb_atmosphere_config config = {.profile = BB_PROFILE_ESO_MEDIAN,
                                   .outer_scale_m = 25.0,
                                   .r0_m = NAN,
                                   .seeing_arcsec = 0.8,
                                   .seeing_wavelength_nm = 650.0};
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &config, 40.0);
    bb_atmosphere expected =
        make(BB_PROFILE_ESO_MEDIAN, bb_atmosphere_r0_of_seeing(0.8, 650e-9), 40.0);
    // At zenith as r0, which the zenith angle then reduces.
    assert_true(atmosphere.r0_m == expected.r0_m);
    assert_memory_equal(atmosphere.strength, expected.strength, 35 * sizeof(double));
    bb_atmosphere_release(&expected);
}

// By hand: k = 4e6 pi = 1.2566371e7, k^2 = 1.57913670e14; 0.423 k^2 (4e-13 + 1e-13) = 33.3987413,
// to the -3/5 power 0.1218321589; at a zenith angle of 60 deg twice the sum, r0 = 0.0803792487.
TEST(layers_by_cn2_have_their_fried_parameter)
{
    bb_layer_config layers[] = {{0.0, NAN, 4e-13, NAN}, {9000.0, NAN, 1e-13, NAN}};
    const bb_atmosphere_config config = {.profile = -1,
                                         .layers = {layers, 2},
                                         .outer_scale_m = 25.0,
                                         .r0_m = NAN,
                                         .seeing_arcsec = NAN};
    check_relative(bb_atmosphere_layer_strength(&layers[0]), 26.7189930, 1e-8);
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &config, 0.0);
    check_relative(atmosphere.r0_m, 0.121832158914, 1e-11);
    bb_atmosphere_release(&atmosphere);
    check_ok(bb_atmosphere_create(&config, 60.0, &atmosphere));
    check_relative(atmosphere.r0_m, 0.0803792487366, 1e-11);
}
