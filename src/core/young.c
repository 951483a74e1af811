/* Variables in the minor heap (young.ml). */

#define CAML_NAME_SPACE
#define CAML_INTERNALS /* caml_domain_alone */
#include <caml/mlvalues.h>
#include <caml/alloc.h>
#include <caml/domain.h>
#include <caml/domain_state.h>
#include <caml/memory.h>
#include <caml/minor_gc.h>

extern value muster_seal(value unit); /* threads.c */

enum { RECORDS = 2 }; /* as there */

/* A compare-and-set for the thread of that seal, where the atomic is in the minor heap: no write to that needs a
   barrier. See Machine.claim. */
enum { REFUSED, YOUNG, OLD };

value muster_claim(value seal, value atomic, value from, value to) {
  if (((seal ^ muster_seal(Val_unit)) & ~(value)RECORDS) != 0) return Val_int(REFUSED);
  if (!Is_young(atomic)) return Val_int(OLD);
  if (caml_domain_alone()) {
    if (Field(atomic, 0) != from) return Val_int(REFUSED);
    Field(atomic, 0) = to;
    return Val_int(YOUNG);
  }
  return __atomic_compare_exchange_n(&Field(atomic, 0), &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
             ? Val_int(YOUNG)
             : Val_int(REFUSED);
}

/* A compaction moves blocks of up to 128 words (SIZECLASS_MAX), the minor heap has those of up to 256. */
enum { CELL_WORDS = 160 };

/* A new cell, which is young; the number that tells so as long as it is where it is now. Where C allocates, no signal's
   handler runs. */
value muster_renew(value variable, value v) {
  CAMLparam2(variable, v);
  value cell = caml_alloc_small(CELL_WORDS, 0);
  Field(cell, 0) = v;
  for (int i = 1; i < CELL_WORDS; i++) Field(cell, i) = Val_unit;
  caml_modify(&Field(variable, 0), cell);
  Field(variable, 1) = cell | Val_long(1);
  Field(variable, 2) += Val_long(1) - Val_long(0);
  CAMLreturn(Val_unit);
}
