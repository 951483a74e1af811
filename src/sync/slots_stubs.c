/* Atomic accesses to an element of an array, which OCaml has for the fields of records alone, and
   that since 5.4. The store is the runtime's own, with its barriers. */

#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/version.h>
#include <stdatomic.h>

value muster_slots_get(value slots, value i) {
  return atomic_load_explicit(&Op_atomic_val(slots)[Long_val(i)], memory_order_acquire);
}

value muster_slots_compare_and_set(value slots, value i, value seen, value next) {
#if OCAML_VERSION >= 50400
  return caml_atomic_cas_field(slots, i, seen, next);
#else
  return Val_bool(caml_atomic_cas_field(slots, Long_val(i), seen, next));
#endif
}
