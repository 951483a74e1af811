/* Layouts of the compiler and the collector, for Blocks. */

#define CAML_NAME_SPACE
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/version.h>
#include <stdint.h>

/* The address of a closure's code, as a key for notes on it. With several parameters the first
   field is a stub that all such closures share. */
value muster_code_of(value closure) {
  intnat arity = Arity_closinfo(Closinfo_val(closure)); /* 0 in bytecode, negative for a tuple */
  int several = arity != 0 && arity != 1;
  return Val_long((intnat)(((uintptr_t)Field(closure, several ? 2 : 0)) >> 1));
}

/* {2 A long array whose memory several domains write at once, before it is one}

   It begins as a block that the collector does not look into, and becomes an array when all of it
   holds something. Meanwhile its maker alone refers to it as a value, so no other domain writes the
   header that is changed in the end. It is too large for the minor heap, and does not move. */

/* The runtimes whose sources say so. In others it is an array from the beginning. */
#define IS_KNOWN (OCAML_VERSION_MAJOR == 5 && OCAML_VERSION_MINOR <= 5)

static void put_units(value block, intnat from, intnat count) {
  value *field = (value *)Op_val(block) + from;
  for (intnat i = 0; i < count; i++) field[i] = Val_unit;
}

value muster_reserve(value words) {
  value block = caml_alloc_shr(Long_val(words), IS_KNOWN ? Abstract_tag : 0);
  if (!IS_KNOWN) put_units(block, 0, Long_val(words));
  return block;
}

/* Blocks begin at even addresses, so with the lowest bit set theirs are ints. */
value muster_address(value block) { return block | 1; }

value muster_put_units(value address, value from, value count) {
  put_units(address & ~(value)1, Long_val(from), Long_val(count));
  return Val_unit;
}

value muster_become_array(value block) {
  volatile header_t *header = (volatile header_t *)Hp_val(block);
  if (IS_KNOWN) *header = *header & ~(header_t)0xff;
  return block;
}
