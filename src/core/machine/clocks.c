/* Clocks, and the system's numbers of a thread and of the machine. -1: it does not tell. */

#define CAML_NAME_SPACE
#include <caml/mlvalues.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/resource.h>
#endif

/* In ns. Machine knows the clocks by their places here. */
value muster_clock(value which) {
  static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID,
                                     CLOCK_PROCESS_CPUTIME_ID};
  struct timespec now;
  if (clock_gettime(clocks[Long_val(which)], &now) != 0) return Val_long(-1);
  return Val_long((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

/* A clock that costs a few nanoseconds. Its unit differs from machine to machine. */
intnat muster_ticks_untagged(value unit) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return (intnat)(((uint64_t)high << 32) | low);
#elif defined(__aarch64__)
  uint64_t now;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(now));
  return (intnat)now;
#else
  return Long_val(muster_clock(Val_long(0)));
#endif
}

value muster_ticks(value unit) { return Val_long(muster_ticks_untagged(unit)); }

/* The field of a one-line file in /proc, counted from 0. */
static intnat proc_field(const char *path, int field) {
#if defined(__linux__)
  char text[128];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return -1;
  text[length] = 0;
  const char *at = text;
  for (; field > 0 && at != NULL; field--) {
    at = strchr(at, ' ');
    if (at != NULL) at++;
  }
  return at != NULL ? (intnat)strtoll(at, NULL, 10) : -1;
#else
  return -1;
#endif
}

value muster_proc_field(value path, value field) {
  return Val_long(proc_field(String_val(path), Int_val(field)));
}

value muster_online_cpus(value unit) {
#if defined(_SC_NPROCESSORS_ONLN)
  return Val_long(sysconf(_SC_NPROCESSORS_ONLN));
#else
  return Val_long(-1);
#endif
}

/* Bytes that the process may still ask for where its address space is bounded (ulimit -v). */
value muster_address_space(value unit) {
#if defined(RLIMIT_AS)
  struct rlimit bound;
  if (getrlimit(RLIMIT_AS, &bound) == 0 && bound.rlim_cur != RLIM_INFINITY) {
    intnat pages = proc_field("/proc/self/statm", 0);
    rlim_t used = pages > 0 ? (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) : 0;
    return Val_long(bound.rlim_cur > used ? (intnat)(bound.rlim_cur - used) : 0);
  }
#endif
  return Val_long(-1);
}
