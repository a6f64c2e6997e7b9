// SPDX-License-Identifier: Apache-2.0
//
// A tree of RAPL counter files and a clock that drives them. The package counter gets three
// quarters of the energy, the memory counter one quarter. They wrap around after 5 J and are
// updated every millisecond. Other zones must not be counted. A sleep draws idle power.
#ifndef BB_TESTS_POWERCAP_TREE_H
#define BB_TESTS_POWERCAP_TREE_H

#include "core/clock.h"
#include "tests/check.h"

#include <sys/stat.h>
#include <unistd.h>

enum { POWERCAP_TICK_NS = 1000000, POWERCAP_RANGE_UJ = 5000000 };
static const double POWERCAP_IDLE_WATTS = 40.0;

static struct {
    char root[64];
    double drawn_uj; // total so far, without wraparound
    double shown_uj, shown_ticks;
    int64_t now_ns;
    int64_t reading_ns;   // duration of a clock reading
    double reading_watts; // power during a clock reading
    bool still;           // freezes the counters
} powercap;

static void powercap_write(const char *folder, const char *name, const char *text)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s/%s", powercap.root, folder, name);
    write_text(path, text);
}

static void powercap_make_zone(const char *folder, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", powercap.root, folder);
    assert_int_equal(mkdir(path, 0777), 0);
    powercap_write(folder, "name", name);
    (void)snprintf(path, sizeof path, "%d\n", POWERCAP_RANGE_UJ);
    powercap_write(folder, "max_energy_range_uj", path);
    powercap_write(folder, "energy_uj", "0\n");
}

static void powercap_show(void)
{
    char text[40];
    const double ticks = floor((double)powercap.now_ns / POWERCAP_TICK_NS);
    if (powercap.still || ticks == powercap.shown_ticks) {
        return;
    }
    powercap.shown_ticks = ticks;
    powercap.shown_uj = powercap.drawn_uj;
    (void)snprintf(text, sizeof text, "%.0f\n",
                   fmod(floor(0.75 * powercap.shown_uj), POWERCAP_RANGE_UJ));
    powercap_write("intel-rapl:0", "energy_uj", text);
    (void)snprintf(text, sizeof text, "%.0f\n",
                   fmod(floor(0.25 * powercap.shown_uj), POWERCAP_RANGE_UJ));
    powercap_write("intel-rapl:0:1", "energy_uj", text);
}

static void powercap_pass(int64_t ns, double watts)
{
    powercap.now_ns += ns;
    powercap.drawn_uj += 1e-3 * watts * (double)ns;
    powercap_show();
}

static int64_t powercap_read_clock(void)
{
    powercap_pass(powercap.reading_ns, powercap.reading_watts);
    return powercap.now_ns;
}

static bool powercap_sleep(int64_t ns)
{
    powercap_pass(ns > powercap.now_ns ? ns - powercap.now_ns : 0, POWERCAP_IDLE_WATTS);
    return true;
}

static void powercap_start(void)
{
    static const bb_clock clock = {powercap_read_clock, powercap_sleep};
    memset(&powercap, 0, sizeof powercap);
    powercap.now_ns = 1;
    powercap.shown_ticks = -1.0;
    (void)snprintf(powercap.root, sizeof powercap.root, "/tmp/bitbudget-energy-XXXXXX");
    assert_non_null(mkdtemp(powercap.root));
    powercap_make_zone("intel-rapl:0", "package-0\n");
    powercap_make_zone("intel-rapl:0:0", "core\n");
    powercap_make_zone("intel-rapl:0:1", "dram\n");
    powercap_make_zone("intel-rapl-mmio:0", "package-0\n");
    powercap_write("intel-rapl:0:0", "energy_uj", "77\n");
    bb_clock_set(&clock);
}

static int powercap_stop(void)
{
    char command[120];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", powercap.root);
    bb_clock_set(NULL);
    return system(command);
}

#endif
