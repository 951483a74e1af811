/* A thread's identity, fences, and a yield that keeps the domain. POSIX threads are everywhere that
   OCaml 5 runs (winpthreads on Windows). */

#define CAML_NAME_SPACE
#include <caml/mlvalues.h>
#include <caml/domain_state.h>
#include <sched.h>
#include <time.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Identity of the calling system thread: a number that it draws when it is first asked for. To
   read a variable of its own takes no call of the system's library. (The variable's address would
   do for live threads; but the locks that a thread leaves behind would be those of the next one
   on its stack.) */
#if defined(__GLIBC__) /* has room for such a variable in a library that is loaded later, too */
#define AT_ONCE __attribute__((tls_model("initial-exec")))
#else
#define AT_ONCE
#endif
/* Its double, as an OCaml int; 0: not drawn yet. */
static __thread AT_ONCE intnat own_number = Val_long(0);
static intnat numbers = 0; /* atomic */

static __attribute__((noinline)) value draw_number(void) {
  own_number = Val_long(2 * __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED));
  return Val_long(Long_val(own_number) >> 1);
}

value muster_thread_id(value unit) {
  (void)unit;
  return own_number != Val_long(0) ? Val_long(Long_val(own_number) >> 1) : draw_number();
}

/* The same, and whether the thread records backtraces, in one word. */
enum { RECORDS = 2 };

value muster_seal(value unit) {
  (void)unit;
  return own_number + (Caml_state->backtrace_active ? RECORDS : 0);
}

/* {2 Fences} */

value muster_fence(value unit) {
  (void)unit;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return Val_unit;
}

/* A fence in every thread of the process, by membarrier(2): to each of them its memory accesses
   look as if it had passed one at a moment while this call lasts. */
#if defined(__linux__) && defined(__NR_membarrier)
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 }; /* linux/membarrier.h */

value muster_can_fence_others(value unit) {
  (void)unit;
  return Val_bool(syscall(__NR_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0);
}

static int fence_others(void) { return syscall(__NR_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0; }

/* A child of fork(2) may have to register again. Where a filter of system calls that came later
   forbids it, there is time instead: a store leaves its buffer by itself, within a microsecond or
   so. */
value muster_fence_others(value unit) {
  static const struct timespec long_enough = {0, 100000};
  (void)unit;
  if (!fence_others() && !(Bool_val(muster_can_fence_others(Val_unit)) && fence_others()))
    nanosleep(&long_enough, NULL);
  return Val_unit;
}
#else
value muster_can_fence_others(value unit) { (void)unit; return Val_false; }
value muster_fence_others(value unit) { (void)unit; return Val_unit; }
#endif

/* sched_yield without giving up the domain: it is called between two polls of
   a loop that looks for stop-the-world requests at every turn. */
value muster_yield(value unit) {
  (void)unit;
  sched_yield();
  return Val_unit;
}
