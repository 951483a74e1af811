/* Threads: their identities, the signals that they take, and the start of one in the first domain.
   POSIX threads are everywhere that OCaml 5 runs (winpthreads on Windows). */

#define CAML_NAME_SPACE
#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/threads.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Identity of the calling system thread: a number that it draws when it is first asked for. (The
   variable's address would do for live threads; but the locks that a thread leaves behind would be
   those of the next one on its stack.) */
#if defined(__GLIBC__) /* has room for such a variable in a library that is loaded later, too */
__attribute__((tls_model("initial-exec")))
#endif
static __thread intnat own_number = 0; /* 0: not drawn yet */
static intnat numbers = 0;             /* atomic */

static __attribute__((noinline)) value draw_number(void) {
  own_number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
  return Val_long(own_number);
}

value muster_thread_id(value unit) {
  return own_number != 0 ? Val_long(own_number) : draw_number();
}

/* The caller keeps its domain: a loop that looks for stop-the-world requests at every turn calls
   this between two of them. */
value muster_yield(value unit) {
  sched_yield();
  return Val_unit;
}

/* {2 Signals of the calling thread}: Machine keeps masks in blocks of bytes. */
#if defined(_WIN32)
value muster_end_by_quit(value unit) { return Val_unit; }
value muster_block_signals(value before) { return Val_unit; }
value muster_set_signals(value mask) { return Val_unit; }
value muster_pass_interrupt_on(value unit) { return Val_false; }
#else
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

/* By a thread that does not block the signal. */
value muster_end_by_quit(value unit) {
  signal(SIGQUIT, SIG_DFL);
  kill(getpid(), SIGQUIT);
  return Val_unit;
}
#endif

/* {2 A thread of the first domain}: a thread of C that registers itself belongs to it, whichever
   domain starts it. So no further domain takes part in collections. */

static void *run(void *argument) {
  value *function = argument;
  if (!caml_c_thread_register()) return NULL; /* no memory */
  caml_acquire_runtime_system();
  caml_callback_exn(*function, Val_unit);
  caml_remove_generational_global_root(function);
  caml_release_runtime_system();
  caml_c_thread_unregister();
  free(function);
  return NULL;
}

/* The thread inherits the mask of signals. */
value muster_start_thread(value function) {
  pthread_t thread;
  value *root = malloc(sizeof(value));
  if (root == NULL) return Val_false;
  *root = function;
  caml_register_generational_global_root(root);
  if (pthread_create(&thread, NULL, run, root) == 0) {
    pthread_detach(thread);
    return Val_true;
  }
  caml_remove_generational_global_root(root);
  free(root);
  return Val_false;
}
