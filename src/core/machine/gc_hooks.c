/* Hooks of every minor collection. Tried with OCaml 5.4.1. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <caml/mlvalues.h>
#include <caml/address_class.h>
#include <caml/domain_state.h>
#include <caml/minor_gc.h>
#include <caml/misc.h>
#include <caml/shared_heap.h>
#include <stdint.h>

extern intnat muster_ticks_untagged(value unit);

/* Minor collections so far, of all domains. Without this the load controller would not know whether
   a worker that waits for a CPU holds up the others. */
value muster_collections(value unit) {
  return Val_long(atomic_load_explicit(&caml_minor_collections_count, memory_order_relaxed));
}

/* {2 Looking up}

   Without this a program that forks in place for seconds would lend no CPU to a busy neighbour, and
   notice no deadline. But it allocates. So the hook reminds the domain's worker now and then: it
   clears the worker's first word (quiet), which sends its next fork to the scheduler, and sets its
   second, an atomic, to tell why. The stores are relaxed: the worker may look a little later.

   The hook runs while other domains may still be promoting: domain-local storage may hold a block
   that is half made. So the hook touches only a worker that the domain's previous collection found
   at the same address of the major heap. Such a block is complete. It cannot have been freed and
   replaced either: that takes a write to storage, which darkens the old block, and a whole major
   cycle, whose collections would have found something else. A compaction gives addresses back at
   once, so the hook forgets what it found before one. It remembers by domain, not by thread: while
   a domain sleeps, the runtime's backup thread collects for it.

   The hook also counts collections in the worker's third word, and the time from begin hook to end
   hook in its fourth, both atomics. Only the thread that collects for the domain writes these.

   Several domains may make their first pool at once: the one that changes [hooked] sets the hooks,
   and keeps those of other libraries. Another domain may find the hooks before all else is set, as
   it loads them relaxed. So [look_index] is set last, with release, and tells that [look_every] is
   there. The end hook may run beside the domain that promotes everybody's roots, [dls_root] too. */

static int hooked = 0;      /* atomic */
static int look_index = -1; /* atomic */
static int64_t look_every;
static caml_timing_hook next_hook = NULL, next_begin_hook = NULL; /* atomic */

static void call(caml_timing_hook *next) {
  caml_timing_hook hook = __atomic_load_n(next, __ATOMIC_RELAXED);
  if (hook != NULL) hook();
}

/* By the domain's index; the runtime allows 4096, 128 by default. Lines that no domain touches take
   no memory. */
static struct last_look {
  int64_t at;
  value locals, worker; /* as of the last collection; never followed */
  int64_t begun;        /* this collection */
  uintnat compactions;  /* before the last collection */
  int domain;           /* the one whose turn it is at this index */
} last_looks[4096] __attribute__((aligned(64)));

static struct last_look *my_last_look(void) {
  int domain = Caml_state->unique_id;
  struct last_look *last = &last_looks[Caml_state->id % 4096];
  if (last->domain != domain) {
    last->domain = domain;
    last->at = 0;
    last->locals = last->worker = Val_unit;
  }
  return last;
}

static int is_old(value v) { return Is_block(v) && !Is_young(v); }

static void remind(value worker) {
  value look = Field(worker, 1);
  if (!is_old(look)) return;
  __atomic_store_n(&Field(look, 0), Val_long(1), __ATOMIC_RELAXED);
  __atomic_store_n(&Field(worker, 0), Val_long(0), __ATOMIC_RELAXED);
}

static void add(value cell, int64_t n) {
  if (!is_old(cell)) return;
  value before = __atomic_load_n(&Field(cell, 0), __ATOMIC_RELAXED);
  __atomic_store_n(&Field(cell, 0), Val_long(Long_val(before) + n), __ATOMIC_RELAXED);
}

static void begin(void) {
  call(&next_begin_hook);
  my_last_look()->begun = muster_ticks_untagged(Val_unit);
}

static void look_at_worker(void) {
  struct last_look *last = my_last_look();
  int64_t now = muster_ticks_untagged(Val_unit);
  int index = __atomic_load_n(&look_index, __ATOMIC_ACQUIRE);
  uintnat compactions = atomic_load_explicit(&caml_compactions_count, memory_order_relaxed);
  if (last->compactions != compactions) {
    last->compactions = compactions;
    last->locals = last->worker = Val_unit;
  }
  value locals = __atomic_load_n(&Caml_state->dls_root, __ATOMIC_RELAXED), worker = Val_unit;
  if (index >= 0 && is_old(locals) && locals == last->locals &&
      (mlsize_t)index < Wosize_val(locals))
    worker = Field(locals, index);
  if (is_old(worker) && worker == last->worker && Wosize_val(worker) > 3) {
    add(Field(worker, 2), 1);
    add(Field(worker, 3), now - last->begun);
    if (now - last->at > look_every) {
      last->at = now;
      remind(worker);
    }
  }
  last->locals = is_old(locals) ? locals : Val_unit;
  last->worker = is_old(worker) ? worker : Val_unit;
}

static void look_up(void) {
  look_at_worker();
  call(&next_hook);
}

/* When the calling domain's worker was reminded last, in ticks; 0: never. Without this every fork
   in a pool that is short of workers would look whether it still is. */
value muster_called_up_at(value unit) {
  return Val_long(my_last_look()->at);
}

/* [index]: where domain-local storage keeps the domain's worker, -1 if that is not known. */
value muster_look_up_every(value index, value every) {
  if (Long_val(index) >= 0 && !__atomic_exchange_n(&hooked, 1, __ATOMIC_RELAXED)) {
    look_every = Long_val(every);
    __atomic_store_n(&next_hook, caml_minor_gc_end_hook, __ATOMIC_RELAXED);
    __atomic_store_n(&next_begin_hook, caml_minor_gc_begin_hook, __ATOMIC_RELAXED);
    caml_minor_gc_begin_hook = begin;
    caml_minor_gc_end_hook = look_up;
    __atomic_store_n(&look_index, (int)Long_val(index), __ATOMIC_RELEASE);
  }
  return Val_unit;
}
