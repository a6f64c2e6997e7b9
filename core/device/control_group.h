// SPDX-License-Identifier: Apache-2.0
//
// Memory and processor limits set by control groups of containers and batch systems. Linux, cgroup
// v1 and v2 (cgroups(7)).
#ifndef BB_CORE_DEVICE_CONTROL_GROUP_H
#define BB_CORE_DEVICE_CONTROL_GROUP_H

/// Smallest memory limit of the process's group and its ancestors, bytes; INFINITY if there is none
/// or none is readable. `membership` is /proc/self/cgroup and `root` /sys/fs/cgroup except in
/// tests.
double bb_control_group_memory(const char *membership, const char *root);

#endif
