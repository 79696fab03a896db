// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FILTER_H
#define HEAPSNAP_FILTER_H

/**
 * The effect of a seccomp filter on a system call: its program, run as the kernel would run it
 * (classic BPF; Documentation/userspace-api/seccomp_filter.rst and networking/filter.rst).
 */

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/**
 * @return the filter's word, SECCOMP_RET_...; SECCOMP_RET_KILL_PROCESS for a program that the
 *         kernel would refuse
 */
uint32_t heapsnap_filter_run(const struct sock_fprog *filter, const struct seccomp_data *data);

#endif
