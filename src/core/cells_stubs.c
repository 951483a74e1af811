/* Long lists that go to the major heap at once.

   Most cells of a list that is larger than the minor heap survive it. A minor collection copies them
   one by one, and where several domains take part, each by a compare-and-set and a second store, as
   any of them might copy the same cell. A list that nobody else has seen needs neither: it is built there, or
   copied as soon as it is made.

   OCaml 5.4 counts and samples each block that is allocated in the major heap on its own, which takes
   as long as the rest; so there the cells are counted together. */

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
  Field(Val_hp(block), 0) = Val_unit; /* the debug runtime initializes nothing that looks initialized */
  return Val_hp(block);
}

static void count_cells(intnat cells) {
  caml_update_major_allocated_words(Caml_state, cells * 3, 1);
}
#else
static value uncounted_cell(void) { return caml_alloc_shr(2, 0); }
static void count_cells(intnat cells) { (void)cells; }
#endif

/* [list] has a cell. Nothing here collects, so it stays where it is: a slice of the major collector,
   if the cells make one due, is asked for with the last of them, and done later. All fields hold
   something whenever an allocation may fail. */
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

/* So many cells, at least one, in a chain. Their heads are units. */
value muster_cells(value cells) {
  value first = Val_emptylist;
  volatile value *end = &first;
  intnat count = Long_val(cells) - 1;
  for (intnat i = 0; i < count; i++) {
    value cell = uncounted_cell();
    Field(cell, 0) = Val_unit;
    Field(cell, 1) = Val_emptylist;
    *end = cell;
    end = &Field(cell, 1);
  }
  count_cells(count);
  value last = caml_alloc_shr(2, 0);
  Field(last, 0) = Val_unit;
  Field(last, 1) = Val_emptylist;
  *end = last;
  return first;
}

/* The first in the place of that unit. A marker of another domain may know the cell, where the strand that fills it has moved:
   so it has to find the head's own header there. */
value muster_put_head(value cell, value head) {
  __atomic_thread_fence(__ATOMIC_RELEASE);
  caml_initialize(&Field(cell, 0), head);
  return Val_unit;
}
