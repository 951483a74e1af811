/* What the OCaml runtime does not offer: a thread's identity, a cheap clock, a
   yield that keeps the domain, and a sleep that a timeout or a wake ends.
   POSIX threads are everywhere that OCaml 5 runs (winpthreads on Windows). */

#define CAML_NAME_SPACE
#include <caml/alloc.h>
#include <caml/custom.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Identity of the calling system thread. Distinct among live threads only. */
value muster_thread_id(value unit) {
  (void)unit;
  return Val_long((intnat)pthread_self());
}

/* The address of a closure's code, as a key for what is remembered of it. */
value muster_code_of(value closure) {
  return Val_long((intnat)(((uintptr_t)Field(closure, 0)) >> 1));
}

/* sched_yield without giving up the domain: it is called between two polls of
   a loop that looks for stop-the-world requests at every turn. */
value muster_yield(value unit) {
  (void)unit;
  sched_yield();
  return Val_unit;
}

static int64_t nanoseconds(void) {
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

/* A sleeper holds at most one wake-up token. */
struct sleeper {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int token; /* guarded by mutex */
};

#define Sleeper_val(v) (*(struct sleeper **)Data_custom_val(v))

static void sleeper_finalize(value v) {
  struct sleeper *s = Sleeper_val(v);
  pthread_cond_destroy(&s->cond);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}

static struct custom_operations sleeper_ops = {
    "muster.sleeper",           sleeper_finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

value muster_sleeper_create(value unit) {
  CAMLparam1(unit);
  CAMLlocal1(v);
  struct sleeper *s = malloc(sizeof *s);
  if (s == NULL) caml_raise_out_of_memory();
  pthread_mutex_init(&s->mutex, NULL);
#if defined(__APPLE__) || defined(_WIN32)
  pthread_cond_init(&s->cond, NULL);
#else
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&s->cond, &attr);
  pthread_condattr_destroy(&attr);
#endif
  s->token = 0;
  v = caml_alloc_custom(&sleeper_ops, sizeof s, 0, 1);
  Sleeper_val(v) = s;
  CAMLreturn(v);
}

static struct timespec deadline(intnat ms) {
  struct timespec at;
#if defined(__APPLE__) || defined(_WIN32)
  clock_gettime(CLOCK_REALTIME, &at);
#else
  clock_gettime(CLOCK_MONOTONIC, &at);
#endif
  at.tv_sec += ms / 1000;
  at.tv_nsec += (ms % 1000) * 1000000;
  if (at.tv_nsec >= 1000000000) {
    at.tv_sec += 1;
    at.tv_nsec -= 1000000000;
  }
  return at;
}

/* Sleep until there is a token, which is consumed, or for [ms] milliseconds
   (negative: no limit). The domain is free for its other threads meanwhile. */
value muster_sleeper_sleep(value v, value ms) {
  CAMLparam1(v);
  struct sleeper *s = Sleeper_val(v);
  intnat limit = Long_val(ms);
  caml_enter_blocking_section();
  pthread_mutex_lock(&s->mutex);
  if (limit < 0) {
    while (!s->token) pthread_cond_wait(&s->cond, &s->mutex);
  } else {
    struct timespec at = deadline(limit);
    while (!s->token && pthread_cond_timedwait(&s->cond, &s->mutex, &at) == 0);
  }
  s->token = 0;
  pthread_mutex_unlock(&s->mutex);
  caml_leave_blocking_section();
  CAMLreturn(Val_unit);
}

value muster_sleeper_wake(value v) {
  struct sleeper *s = Sleeper_val(v);
  pthread_mutex_lock(&s->mutex);
  s->token = 1;
  pthread_cond_signal(&s->cond);
  pthread_mutex_unlock(&s->mutex);
  return Val_unit;
}
