/* Long lists go to the major heap at once (Chain). Without this file List.map of 10^6 elements
   takes 1.5 times as long on two workers.

   OCaml 5.4 counts and samples each block that is allocated in the major heap on its own, which
   takes as long as the rest; so there the cells are counted together. Tried with OCaml 5.4.1. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/version.h>

#if defined(__ELF__) && OCAML_VERSION_MAJOR == 5 && OCAML_VERSION_MINOR == 4
#include <caml/domain_state.h>
#include <caml/fail.h>
#include <caml/major_gc.h>
#include <caml/shared_heap.h>

static value uncounted_cell(void) {
  value *block = caml_shared_try_alloc(Caml_state->shared_heap, 2, 0, 0);
  if (block == NULL) caml_raise_out_of_memory();
  /* The debug runtime initializes nothing that looks initialized. */
  Field(Val_hp(block), 0) = Val_unit;
  return Val_hp(block);
}

static void count_cells(intnat cells) {
  caml_update_major_allocated_words(Caml_state, cells * 3, 1);
}
#else
static value uncounted_cell(void) { return caml_alloc_shr(2, 0); }
static void count_cells(intnat cells) { (void)cells; }
#endif

/* [list] has a cell. Nothing here collects, so it stays where it is: a slice of the major collector
   that the cells make due is done later. All fields hold something whenever an allocation may
   fail. */
value muster_settle(value list) {
  value first = Val_emptylist;
  volatile value *end = &first;
  intnat count = 0;
  for (value next; (next = Field(list, 1)) != Val_emptylist; list = next) {
    value cell = uncounted_cell();
    Field(cell, 1) = Val_emptylist;
    caml_initialize(&Field(cell, 0), Field(list, 0));
    *end = cell;
    end = &Field(cell, 1);
    count++;
  }
  count_cells(count);
  value last = caml_alloc_shr(2, 0);
  caml_initialize(&Field(last, 0), Field(list, 0));
  *end = last;
  Field(last, 1) = first;
  return last;
}
