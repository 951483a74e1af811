/* Which signals a thread takes. On Windows nothing here does anything. */

#define CAML_NAME_SPACE
#include <caml/mlvalues.h>
#include <signal.h>
#if !defined(_WIN32)
#include <pthread.h>
#include <unistd.h>
#endif

/* For an interrupt that struck a thread with nothing to interrupt: sends it again, to the
   others; this thread takes no more. False where nobody handles it. */
value muster_pass_interrupt_on(value unit) {
  (void)unit;
#if !defined(_WIN32)
  struct sigaction action;
  if (sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
      action.sa_handler != SIG_IGN) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    return Val_bool(kill(getpid(), SIGINT) == 0);
  }
#endif
  return Val_false;
}

/* For a thread that is about to end. A thread that it starts inherits that: hence the mask of who
   made the first pool, for new residents to take over. */
value muster_block_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
#endif
  return Val_unit;
}

#if !defined(_WIN32)
static sigset_t usual_mask;
static pthread_once_t usual_mask_read = PTHREAD_ONCE_INIT;
static void read_mask(void) { pthread_sigmask(SIG_BLOCK, NULL, &usual_mask); }
#endif

value muster_note_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  pthread_once(&usual_mask_read, read_mask);
#endif
  return Val_unit;
}

value muster_usual_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  pthread_sigmask(SIG_SETMASK, &usual_mask, NULL);
#endif
  return Val_unit;
}

/* A new domain inherits its starter's mask. It takes signals before its storage is set up: where
   begin_with_storage does not serve, a handler that asks for storage would crash there. So ours
   start with signals blocked. */
#if !defined(_WIN32)
static __thread sigset_t held_mask;
static __thread int holds; /* a finaliser may start a domain in the midst of a start */
#endif

value muster_hold_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (holds++ == 0) held_mask = before;
#endif
  return Val_unit;
}

value muster_release_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  if (--holds == 0) pthread_sigmask(SIG_SETMASK, &held_mask, NULL);
#endif
  return Val_unit;
}
