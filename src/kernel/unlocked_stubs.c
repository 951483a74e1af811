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

extern value muster_kernel_run(value, value, value, value, value);

value muster_kernel_run_unlocked(value loop, value workers, value worker, value start,
                                 value count) {
  caml_enter_blocking_section_no_pending();
  muster_kernel_run(loop, workers, worker, start, count); /* looks at no OCaml value but ints */
  caml_leave_blocking_section();
  return Val_unit;
}
