// SPDX-License-Identifier: Apache-2.0
//
// Memory and processors that control groups of containers and batch systems leave to this process.
// Linux, cgroup v1 and v2 (cgroups(7)).
#ifndef BB_CORE_DEVICE_CONTROL_GROUP_H
#define BB_CORE_DEVICE_CONTROL_GROUP_H

/// The least memory limit of the process's group and of those above it, bytes; INFINITY where there
/// is none or none can be read. `membership` is /proc/self/cgroup and `root` /sys/fs/cgroup but in
/// tests.
double bb_control_group_memory(const char *membership, const char *root);

#endif
