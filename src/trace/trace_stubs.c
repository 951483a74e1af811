/* For Trace: the clock, and the number of the calling thread, as in /proc/PID/task, or 0. */

#define _GNU_SOURCE
#include <caml/mlvalues.h>
#include <stdint.h>
#include <time.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifndef _WIN32
#include <unistd.h>
#endif

value muster_trace_thread(value unit)
{
  (void)unit;
#ifdef __linux__
  return Val_long(syscall(SYS_gettid));
#else
  return Val_long(0);
#endif
}

/* The process's, or 0. */
value muster_trace_process(value unit)
{
  (void)unit;
#ifdef _WIN32
  return Val_long(0);
#else
  return Val_long(getpid());
#endif
}

value muster_trace_now(value unit)
{
  struct timespec now;
  (void)unit;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Val_long((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}
