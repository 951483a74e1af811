/* What the tests need from C: a callback into OCaml, so that a wait can happen below a C
   frame; what malloc keeps given back; and a guard that ends a hung process. The guard is a signal
   handler in C because a deadlocked runtime runs neither OCaml handlers nor other OCaml threads. */

#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <signal.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

CAMLprim value muster_test_call_through_c(value f)
{
  CAMLparam1(f);
  CAMLreturn(caml_callback(f, Val_unit));
}

/* A signal that the calling thread has received when this returns, and that OCaml code has yet to handle. */
CAMLprim value muster_test_receive(value unit)
{
#ifndef _WIN32
  raise(SIGUSR1);
#endif
  return unit;
}

CAMLprim value muster_test_trim(value unit)
{
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return unit;
}

#ifdef _WIN32

CAMLprim value muster_test_guard(value seconds, value message)
{
  (void)seconds;
  (void)message;
  return Val_unit;
}

#else

#include <signal.h>
#include <unistd.h>

static char guard_message[512];
/* A copy of stderr, taken by the first call: the test runner redirects descriptor 2 while a
   test runs. */
static int guard_fd = -1;

static void on_alarm(int signal)
{
  (void)signal;
  ssize_t written = write(guard_fd, guard_message, strlen(guard_message));
  (void)written;
  _exit(124);
}

CAMLprim value muster_test_guard(value seconds, value message)
{
  if (guard_fd < 0) guard_fd = dup(2);
  alarm(0);
  if (Int_val(seconds) == 0) return Val_unit;
  strncpy(guard_message, String_val(message), sizeof guard_message - 1);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, NULL);
  alarm(Int_val(seconds));
  return Val_unit;
}

#endif
