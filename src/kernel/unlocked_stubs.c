/* The bodies of kernel_stubs.c without the domain lock, so that collections do not wait for them.

   A body must not be left out: the caller counts on each slice. The public
   caml_enter_blocking_section runs the handlers of signals that are pending, and one that raises
   would end the call before the body begins. So this takes the runtime's own
   caml_enter_blocking_section_no_pending; a pending signal waits until the body has run.
   Tried with OCaml 5.4.1. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS /* caml_enter_blocking_section_no_pending */
#include <caml/mlvalues.h>
#include <caml/signals.h>

#define UNLOCKED(name)                                                                        \
  extern value name(intnat, intnat, intnat, intnat, intnat, intnat);                          \
                                                                                              \
  value name##_unlocked(intnat fn, intnat ctx, intnat workers, intnat worker, intnat start,   \
                        intnat count) {                                                       \
    caml_enter_blocking_section_no_pending();                                                 \
    name(fn, ctx, workers, worker, start, count);                                             \
    caml_leave_blocking_section();                                                            \
    return Val_unit;                                                                          \
  }                                                                                           \
                                                                                              \
  value name##_unlocked_byte(value *v, int n) {                                               \
    (void)n;                                                                                  \
    return name##_unlocked(Long_val(v[0]), Long_val(v[1]), Long_val(v[2]), Long_val(v[3]),    \
                           Long_val(v[4]), Long_val(v[5]));                                   \
  }

UNLOCKED(muster_kernel_slice)
UNLOCKED(muster_kernel_indices)
