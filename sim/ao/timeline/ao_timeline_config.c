// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/timeline/ao_timeline_config.h"

#include "physics/ao/mirrors/mirror_stack.h"

#include <math.h>
#include <stdio.h>

static const double golden_deg = 137.50776405003785; // golden angle

void bb_ao_timeline_config_wind(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                double (*out)[2])
{
    const bb_list *speeds = &study->error_terms.wind_m_per_s;
    const bb_list *directions = &study->time_domain.wind_direction_deg;
    const double *given_deg = directions->items;
    const double *m_per_s = speeds->count > 0 ? speeds->items : atmosphere->wind_m_per_s;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        const double angle =
            (directions->count > 0 ? given_deg[l] : golden_deg * (double)l) * M_PI / 180.0;
        out[l][0] = m_per_s[l] * cos(angle);
        out[l][1] = m_per_s[l] * sin(angle);
    }
}

double bb_ao_timeline_config_delay_ms(const bb_ao_study *study)
{
    return isnan(study->time_domain.delay_ms) ? study->error_terms.frame_delay_ms
                                              : study->time_domain.delay_ms;
}

static bb_status refuse_key(const bb_config *config, const char *key, const char *rule,
                            bb_problems *problems)
{
    return bb_study_refuse(true, config, problems, "%s: %s", key, rule);
}

// Checks that exposure and delay fit in a frame.
static bb_status check_times(const bb_ao_study *study, const bb_config *config,
                             bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_time_domain_config *time = &study->time_domain;
    const double frame_ms = 1e3 / time->rate_hz;
    const double delay_ms = bb_ao_timeline_config_delay_ms(study);
    const bool closed = time->loop == (int)BB_LOOP_CLOSED;
    if (time->exposure_ms > frame_ms * (1.0 + 1e-12)) {
        BB_TRY(bb_study_refuse(true, config, problems,
                               "time_domain.exposure_ms = %g: expected at most a frame, %g ms",
                               time->exposure_ms, frame_ms));
    } else if (delay_ms < 0.5 * time->exposure_ms ||
               (closed && delay_ms <= 0.5 * time->exposure_ms)) {
        BB_TRY(bb_study_refuse(true, config, problems,
                               "time_domain.delay_ms = %g (default: error_terms.frame_delay_ms): "
                               "expected %s half the exposure, %g ms, for %s loop",
                               delay_ms, closed ? "more than" : "at least", 0.5 * time->exposure_ms,
                               closed ? "a closed" : "an open"));
    }
done:
    return status;
}

// Checks the number of wind directions, also where only the lag of a score uses them.
static bb_status check_directions(const bb_ao_study *study, const bb_config *config,
                                  bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_index layers = bb_atmosphere_layers(&study->atmosphere);
    const bb_index directions = study->time_domain.wind_direction_deg.count;
    BB_TRY(bb_study_refuse(
        directions != 0 && directions != layers, config, problems,
        "time_domain.wind_direction_deg: %td directions, expected one for each of %td layers",
        directions, layers));
done:
    return status;
}

// Checks that every layer has wind.
static bb_status check_wind(const bb_ao_study *study, const bb_config *config,
                            bb_problems *problems)
{
    bb_status status = BB_OK;
    if (study->error_terms.wind_m_per_s.count == 0 && !bb_atmosphere_has_wind(&study->atmosphere)) {
        BB_TRY(refuse_key(config, "time_domain.frames",
                          "needs the wind of every layer, expected error_terms.wind_m_per_s",
                          problems));
    }
done:
    return status;
}

bb_status bb_ao_timeline_config_check(const void *all, const bb_config *config,
                                      bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = all;
    const bb_time_domain_config *time = &study->time_domain;
    BB_TRY(check_directions(study, config, problems));
    if (time->frames == 0) {
        goto done;
    }
    BB_TRY(check_times(study, config, problems));
    BB_TRY(check_wind(study, config, problems));
    if (time->loop == (int)BB_LOOP_CLOSED && study->correction == (int)BB_AO_CORRECTION_MOAO) {
        BB_TRY(refuse_key(config, "time_domain.loop",
                          "a closed loop needs guide stars behind the mirrors, which correction "
                          "moao does not have; expected open",
                          problems));
    }
    if (study->error_terms.shake_arcsec > 0.0) {
        BB_TRY(refuse_key(config, "time_domain.frames",
                          "shake is not simulated in time, expected error_terms.shake_arcsec: 0",
                          problems));
    }
done:
    return status;
}

bb_status bb_ao_timeline_config_cover(const bb_ao_study *study, const bb_ao_config *physics,
                                      const bb_sensor_array *guides)
{
    bb_status status = BB_OK;
    bb_mirror_stack stack = {0};
    if (study->time_domain.frames == 0 || study->time_domain.loop != (int)BB_LOOP_CLOSED ||
        physics->influences == NULL) {
        goto done;
    }
    BB_TRY(bb_mirror_stack_create(physics, &stack));
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        char who[40];
        (void)snprintf(who, sizeof who, "guide_stars[%td]", s);
        BB_TRY(bb_mirror_stack_check_coverage(&stack, &guides->sensors[s], false, who));
    }
done:
    bb_mirror_stack_release(&stack);
    return status;
}
