/* ThreadSanitizer's own picture of each thread's stack, from which it reports races. The compiler
   has every function tell of its begin and its end. Here calls are added that are not on the stack:
   those that forked a task. Tried with OCaml 5.4.1. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <caml/mlvalues.h>
#include <caml/backtrace_prim.h>
#include <caml/frame_descriptors.h>
#include <caml/tsan.h>

/* Not there without the sanitizer. Some releases of the second take an argument, and ignore it. */
#ifdef __ELF__
extern void __tsan_func_entry(void *return_address) __attribute__((weak));
extern void __tsan_func_exit(void *ignored) __attribute__((weak));
#else
static void (*const __tsan_func_entry)(void *) = NULL, (*const __tsan_func_exit)(void *) = NULL;
#endif

/* In a report the calls that forked the task are below the name of this. */
void muster_task_forked_by(void) {}

/* A backtrace has the last call first. These two functions tell of no begin of their own. */
CAMLno_tsan value muster_add_calls(value backtrace) {
  if (__tsan_func_entry == NULL) return Val_unit;
  for (mlsize_t i = Wosize_val(backtrace); i > 0; i--) {
    frame_descr *call = Backtrace_slot_val(Field(backtrace, i - 1));
    __tsan_func_entry((void *)call->retaddr);
  }
  __tsan_func_entry((char *)&muster_task_forked_by + 1);
  return Val_unit;
}

CAMLno_tsan value muster_drop_calls(value backtrace) {
  if (__tsan_func_exit == NULL) return Val_unit;
  for (mlsize_t i = Wosize_val(backtrace) + 1; i > 0; i--) __tsan_func_exit(NULL);
  return Val_unit;
}
