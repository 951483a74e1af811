/* The end of a domain that had systhreads.

   The systhreads library gives such a domain a thread that ticks every 50 ms. The domain's end
   joins that thread where the domain answers nobody, so a stop-the-world of others waits for it,
   for up to 50 ms (measured: 49.7 ms in the median, 0.2 with this file). Here the ticking is
   stopped before that, outside of the runtime, so that collections go on meanwhile.
   caml_init_domain_self is the tick thread's own way to the domain's state without its lock. The
   lock is not needed: no other thread of the domain is there that could start to tick.

   All this is what OCaml 5.2 to 5.4 do, and asks for a linker that knows weak symbols: the symbol
   is absent in bytecode where the library is loaded later. Elsewhere the domain ends as the
   runtime ends it. Tried with OCaml 5.4.1. */

#define CAML_INTERNALS /* caml_init_domain_self */
#include <caml/mlvalues.h>
#include <caml/version.h>

#if defined(__ELF__) && OCAML_VERSION_MAJOR == 5 && OCAML_VERSION_MINOR >= 2 && \
    OCAML_VERSION_MINOR <= 4
#include <caml/domain.h>
#include <caml/domain_state.h>
#include <caml/signals.h>

extern value caml_thread_cleanup(value unit) __attribute__((weak));

value muster_stop_ticks(value unit) {
  (void)unit;
  if (caml_thread_cleanup != NULL) {
    int id = Caml_state->id;
    caml_enter_blocking_section();
    caml_init_domain_self(id);
    caml_thread_cleanup(Val_unit);
    caml_leave_blocking_section();
  }
  return Val_unit;
}
#else
value muster_stop_ticks(value unit) {
  (void)unit;
  return Val_unit;
}
#endif
