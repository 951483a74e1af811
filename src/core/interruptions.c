/* How many signals' handlers and finalisers the running code may be on top of. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <caml/mlvalues.h>
#include <caml/domain_state.h>
#include <caml/finalise.h>
#include <caml/misc.h>
#include <signal.h>
#include <stdint.h>
#if !defined(_WIN32)
#include <pthread.h>
#endif

/* The innermost call of OCaml by C on the calling thread: where its frame is. Native code keeps a
   list of them, bytecode that of its interpreter's. */
intnat muster_callback_untagged(value unit) {
  (void)unit;
  return (intnat)(((uintptr_t)Caml_state->c_stack + (uintptr_t)Caml_state->external_raise) >> 2);
}

value muster_callback(value unit) { return Val_long(muster_callback_untagged(unit)); }

/* A finaliser runs in one thread of the domain for which the runtime notes that one runs. That a
   thread has begun with some is not taken back if one raises. */
static __thread int finalises;
static caml_timing_hook next_finalise_begin, next_finalise_end;

static void begin_to_finalise(void) {
  finalises = 1;
  if (next_finalise_begin != NULL) next_finalise_begin();
}

static void end_to_finalise(void) {
  finalises = 0;
  if (next_finalise_end != NULL) next_finalise_end();
}

/* Called before there is a second domain. */
value muster_watch_finalisers(value unit) {
  (void)unit;
  next_finalise_begin = caml_finalise_begin_hook;
  next_finalise_end = caml_finalise_end_hook;
  caml_finalise_begin_hook = begin_to_finalise;
  caml_finalise_end_hook = end_to_finalise;
  return Val_unit;
}

/* What a thread blocks by itself: as it was when it first worked in a pool. It may have inherited that
   from one that started it within a handler. */
#if !defined(_WIN32)
static __thread sigset_t own_mask;
#endif
static __thread int own_noted;
static __thread intnat own_call; /* in which it came */

value muster_note_own_signals(value unit) {
  if (!own_noted) {
    own_noted = 1;
    own_call = muster_callback_untagged(unit);
#if !defined(_WIN32)
    pthread_sigmask(SIG_BLOCK, NULL, &own_mask);
#endif
  }
  return Val_unit;
}

/* How many handlers and finalisers the running code may be on top of. A handler runs with its signal
   blocked; a thread may have blocked one that somebody handles for other reasons. */
value muster_interruptions(value unit) {
  if (own_noted && own_call == muster_callback_untagged(unit)) return Val_long(0);
  int n = finalises && Caml_state->final_info->running_finalisation_function;
#if !defined(_WIN32)
  sigset_t blocked;
  struct sigaction action;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  for (int s = 1; s < NSIG; s++)
    if (sigismember(&blocked, s) == 1 && !(own_noted && sigismember(&own_mask, s) == 1) &&
        sigaction(s, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
        action.sa_handler != SIG_IGN)
      n++;
#endif
  return Val_long(n);
}
