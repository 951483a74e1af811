/* A thread of the program's first domain, whichever domain starts it: so no further domain takes
   part in collections. Public functions of the runtime only. */

#define CAML_NAME_SPACE
#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/threads.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

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

/* The new thread inherits that all signals are blocked. */
static int start(value *function) {
  pthread_t thread;
#if !defined(_WIN32)
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
#endif
  int failed = pthread_create(&thread, NULL, run, function);
#if !defined(_WIN32)
  pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
  if (!failed) pthread_detach(thread);
  return !failed;
}

value muster_start_thread(value function) {
  value *root = malloc(sizeof(value));
  if (root == NULL) return Val_false;
  *root = function;
  caml_register_generational_global_root(root);
  if (start(root)) return Val_true;
  caml_remove_generational_global_root(root);
  free(root);
  return Val_false;
}
