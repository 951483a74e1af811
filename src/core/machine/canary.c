/* Canaries: a block whose death somebody else can see. */

#define CAML_NAME_SPACE
#include <caml/alloc.h>
#include <caml/custom.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <stdlib.h>

/* {2 Canaries}: a block whose death somebody else can see. Both hold a count on the cell; a
   block's finaliser runs when the collector has found it unreachable. */

struct cell {
  int holders; /* atomic */
  int dead;    /* atomic */
};

#define Cell_val(v) (*(struct cell **)Data_custom_val(v))

static void let_go(struct cell *cell) {
  if (__atomic_sub_fetch(&cell->holders, 1, __ATOMIC_ACQ_REL) == 0) free(cell);
}

static void canary_finalize(value v) {
  __atomic_store_n(&Cell_val(v)->dead, 1, __ATOMIC_RELEASE);
  let_go(Cell_val(v));
}

static void watch_finalize(value v) { let_go(Cell_val(v)); }

static struct custom_operations canary_ops = {
    "muster.canary",            canary_finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

static struct custom_operations watch_ops = {
    "muster.watch",             watch_finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

/* A pair of the two. */
value muster_canary_create(value unit) {
  CAMLparam1(unit);
  CAMLlocal3(canary, watch, pair);
  struct cell *cell = malloc(sizeof *cell);
  if (cell == NULL) caml_raise_out_of_memory();
  cell->holders = 0;
  cell->dead = 0;
  canary = caml_alloc_custom(&canary_ops, sizeof cell, 0, 1);
  Cell_val(canary) = cell;
  cell->holders = 1;
  watch = caml_alloc_custom(&watch_ops, sizeof cell, 0, 1);
  Cell_val(watch) = cell;
  cell->holders = 2;
  pair = caml_alloc_small(2, 0);
  Field(pair, 0) = canary;
  Field(pair, 1) = watch;
  CAMLreturn(pair);
}

value muster_canary_is_dead(value watch) {
  return Val_bool(__atomic_load_n(&Cell_val(watch)->dead, __ATOMIC_ACQUIRE));
}
