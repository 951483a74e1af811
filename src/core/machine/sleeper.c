/* A sleep that a timeout or a wake-up ends. */

#define CAML_NAME_SPACE
#include <caml/alloc.h>
#include <caml/custom.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Conditions have one clock there. */
#if defined(__APPLE__) || defined(_WIN32)
#define CLOCK CLOCK_REALTIME
#define pthread_condattr_setclock(attr, clock)
#else
#define CLOCK CLOCK_MONOTONIC
#endif

/* A sleeper holds at most one wake-up token. */
struct sleeper {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int token; /* guarded by mutex */
};

#define Sleeper_val(v) (*(struct sleeper **)Data_custom_val(v))

static void finalize(value v) {
  struct sleeper *s = Sleeper_val(v);
  pthread_cond_destroy(&s->cond);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}

static struct custom_operations operations = {
    "muster.sleeper",           finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

value muster_sleeper_create(value unit) {
  struct sleeper *s = malloc(sizeof *s);
  if (s == NULL) caml_raise_out_of_memory();
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK);
  pthread_cond_init(&s->cond, &attr);
  pthread_condattr_destroy(&attr);
  pthread_mutex_init(&s->mutex, NULL);
  s->token = 0;
  value v = caml_alloc_custom(&operations, sizeof s, 0, 1);
  Sleeper_val(v) = s;
  return v;
}

static struct timespec after(intnat ms) {
  struct timespec at;
  clock_gettime(CLOCK, &at);
  at.tv_nsec += (ms % 1000) * 1000000;
  at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  return at;
}

value muster_sleeper_sleep(value v, value ms) {
  CAMLparam1(v);
  struct sleeper *s = Sleeper_val(v);
  intnat limit = Long_val(ms);
  caml_enter_blocking_section();
  struct timespec at = after(limit < 0 ? 0 : limit);
  pthread_mutex_lock(&s->mutex);
  while (!s->token && (limit < 0 ? pthread_cond_wait(&s->cond, &s->mutex)
                                 : pthread_cond_timedwait(&s->cond, &s->mutex, &at)) == 0);
  int woken = s->token;
  s->token = 0;
  pthread_mutex_unlock(&s->mutex);
  caml_leave_blocking_section();
  CAMLreturn(Val_bool(woken));
}

/* The same for a thread that has nothing to do: signals are left to the others. */
value muster_sleeper_doze(value v, value ms) {
#if defined(_WIN32)
  return muster_sleeper_sleep(v, ms);
#else
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  value woken = muster_sleeper_sleep(v, ms);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return woken;
#endif
}

/* The mutex is let go first: else a sleeper that wakes on another CPU has to wait for it at once.
   The sleeper is still there then: as long as this call does not return, no collection begins in
   its domain. */
value muster_sleeper_wake(value v) {
  struct sleeper *s = Sleeper_val(v);
  pthread_mutex_lock(&s->mutex);
  s->token = 1;
  pthread_mutex_unlock(&s->mutex);
  pthread_cond_signal(&s->cond);
  return Val_unit;
}
