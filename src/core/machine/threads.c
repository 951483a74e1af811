/* A thread's identity, and a yield that keeps the domain. POSIX threads are everywhere that
   OCaml 5 runs (winpthreads on Windows). */

#define CAML_NAME_SPACE
#include <caml/mlvalues.h>
#include <sched.h>

/* Identity of the calling system thread: a number that it draws when it is first asked for. To
   read a variable of its own takes no call of the system's library. (The variable's address would
   do for live threads; but the locks that a thread leaves behind would be those of the next one
   on its stack.) */
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
