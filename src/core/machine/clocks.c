/* Clocks, and what the machine does with our threads. */

#define CAML_NAME_SPACE
#include <caml/mlvalues.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if !defined(_WIN32)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "clocks.h"

intnat muster_ticks_untagged(value unit) {
  (void)unit;
  return (intnat)ticks();
}

value muster_ticks(value unit) { return Val_long(muster_ticks_untagged(unit)); }

/* Ticks per microsecond times 1024, found by watching both clocks for 50 us:
   counters of 24 MHz (Apple) need the fraction. */
value muster_ticks_per_us(value unit) {
  (void)unit;
  int64_t from = nanoseconds(), first = ticks(), now;
  do now = nanoseconds(); while (now - from < 50000);
  int64_t rate = (ticks() - first) * 1024 * 1000 / (now - from);
  return Val_long(rate > 0 ? rate : 1024);
}

/* CPU time of the calling thread, and of the process, in ns; -1 where there is no such clock. */
#if defined(CLOCK_THREAD_CPUTIME_ID) && defined(CLOCK_PROCESS_CPUTIME_ID)
static value cpu_time(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return Val_long(-1);
  return Val_long((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

value muster_thread_cpu(value unit) { (void)unit; return cpu_time(CLOCK_THREAD_CPUTIME_ID); }
value muster_process_cpu(value unit) { (void)unit; return cpu_time(CLOCK_PROCESS_CPUTIME_ID); }
#else
value muster_thread_cpu(value unit) { (void)unit; return Val_long(-1); }
value muster_process_cpu(value unit) { (void)unit; return Val_long(-1); }
#endif

value muster_now(value unit) {
  (void)unit;
  return Val_long(nanoseconds());
}

#if defined(__linux__)
/* The field of a one-line file in /proc, counted from 0; -1 if it can't be read. */
static intnat proc_field(const char *path, int field) {
  char text[128];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return -1;
  text[length] = 0;
  char *at = text;
  while (field-- > 0) {
    at = strchr(at, ' ');
    if (at == NULL) return -1;
    at++;
  }
  return (intnat)strtoll(at, NULL, 10);
}
#endif

/* How long the calling thread has waited for a CPU while it could have run, in ns: the second
   field of schedstat (kernel documentation, sched-stats). -1: unknown here. */
value muster_run_queue_wait(value unit) {
  (void)unit;
#if defined(__linux__)
  return Val_long(proc_field("/proc/thread-self/schedstat", 1));
#else
  return Val_long(-1);
#endif
}

/* Threads of the whole machine that run or could: the fourth field of loadavg, proc(5). */
value muster_runnable(value unit) {
  (void)unit;
#if defined(__linux__)
  return Val_long(proc_field("/proc/loadavg", 3));
#else
  return Val_long(-1);
#endif
}

value muster_online_cpus(value unit) {
  (void)unit;
#if defined(_SC_NPROCESSORS_ONLN)
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 0) return Val_long(online);
#endif
  return Val_long(-1);
}

/* Bytes that the process may still ask for where its address space is bounded (ulimit -v); else
   -1. */
value muster_address_space(value unit) {
  (void)unit;
#if !defined(_WIN32) && defined(RLIMIT_AS)
  struct rlimit bound;
  if (getrlimit(RLIMIT_AS, &bound) != 0 || bound.rlim_cur == RLIM_INFINITY) return Val_long(-1);
  unsigned long long used = 0;
  FILE *file = fopen("/proc/self/statm", "re"); /* in pages; its first field is all */
  if (file != NULL) {
    if (fscanf(file, "%llu", &used) != 1) used = 0;
    fclose(file);
  }
  used *= (unsigned long long)sysconf(_SC_PAGESIZE);
  return Val_long(bound.rlim_cur > used ? (intnat)(bound.rlim_cur - used) : 0);
#else
  return Val_long(-1);
#endif
}
