#include <stdint.h>
#include <time.h>

static inline int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A clock that costs a few nanoseconds. Its unit differs from machine to
   machine: see muster_ticks_per_us. */
static inline int64_t ticks(void) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return (int64_t)(((uint64_t)high << 32) | low);
#elif defined(__aarch64__)
  uint64_t now;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(now));
  return (int64_t)now;
#else
  return nanoseconds();
#endif
}
