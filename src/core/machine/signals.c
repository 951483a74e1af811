/* Which signals the calling thread takes. Machine keeps masks in blocks of bytes. On Windows
   nothing here does anything. */

#define CAML_NAME_SPACE
#include <caml/mlvalues.h>
#include <signal.h>

#if defined(_WIN32)
value muster_block_signals(value before) { return Val_unit; }
value muster_set_signals(value mask) { return Val_unit; }
value muster_pass_interrupt_on(value unit) { return Val_false; }
#else
#include <pthread.h>
#include <unistd.h>

_Static_assert(sizeof(sigset_t) <= 128, "Machine's masks have 128 bytes");

/* Blocks all. [before] becomes what the mask was, unless it is (). */
value muster_block_signals(value before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, Is_block(before) ? (sigset_t *)Bytes_val(before) : NULL);
  return Val_unit;
}

value muster_set_signals(value mask) {
  pthread_sigmask(SIG_SETMASK, (sigset_t *)Bytes_val(mask), NULL);
  return Val_unit;
}

value muster_pass_interrupt_on(value unit) {
  struct sigaction action;
  if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
      action.sa_handler == SIG_IGN)
    return Val_false;
  muster_block_signals(Val_unit);
  return Val_bool(kill(getpid(), SIGINT) == 0);
}
#endif
