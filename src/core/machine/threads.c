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
#define AT_ONCE __attribute__((tls_model("initial-exec")))
#else
#define AT_ONCE
#endif
/* 0: not drawn yet. */
static __thread AT_ONCE intnat own_number = 0;
static intnat numbers = 0; /* atomic */

static __attribute__((noinline)) value draw_number(void) {
  own_number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
  return Val_long(own_number);
}

value muster_thread_id(value unit) {
  (void)unit;
  return own_number != 0 ? Val_long(own_number) : draw_number();
}

/* sched_yield without giving up the domain: it is called between two polls of
   a loop that looks for stop-the-world requests at every turn. */
value muster_yield(value unit) {
  (void)unit;
  sched_yield();
  return Val_unit;
}
