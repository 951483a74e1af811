/* How quick a CPU is at this moment. */

#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include <caml/mlvalues.h>

#ifdef __linux__

/* Calls, branches and a stack, as most code has: another thread on the same core slows these down
   more than plain sums. Some 200 us, beside which the way to the CPU counts for little. */
#define DEPTH 23

__attribute__((noinline)) static long calls(long n)
{
  return n < 2 ? n : calls(n - 1) + calls(n - 2);
}

static long cpu_time(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

value muster_gauge(value cpu)
{
  cpu_set_t before, there;
  if (Long_val(cpu) >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0)
    return Val_long(0);
  CPU_ZERO(&there);
  CPU_SET(Long_val(cpu), &there);
  if (sched_setaffinity(0, sizeof there, &there) != 0) return Val_long(0);
  long since = cpu_time();
  volatile long sum = calls(DEPTH);
  (void)sum;
  long took = cpu_time() - since;
  sched_setaffinity(0, sizeof before, &before);
  return Val_long(took);
}

#else

value muster_gauge(value cpu)
{
  (void)cpu;
  return Val_long(0);
}

#endif
