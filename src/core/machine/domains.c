/* A domain's beginning and its end, its heap and its stacks.

   Tried with OCaml 5.4.1. Branches for other releases follow their sources. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <caml/mlvalues.h>
#include <caml/custom.h>
#include <caml/domain.h>
#include <caml/domain_state.h>
#include <caml/fiber.h>
#include <caml/finalise.h>
#include <caml/gc_ctrl.h>
#include <caml/memory.h>
#include <caml/minor_gc.h>
#include <caml/roots.h>
#include <caml/startup_aux.h>
#include <caml/version.h>
#include <caml/weak.h>
#include <string.h>

/* Without this a pool may ask for domains that the runtime does not have, again and again. */
value muster_runtime_limit(value unit) {
#if OCAML_VERSION >= 50300
  return Val_long(caml_params->max_domains);
#else
  return Val_long(128);
#endif
}

/* {2 Storage from the beginning}

   Without this the program crashes where a finaliser or a signal's handler runs at the beginning
   of a domain and asks for domain-local storage, as any call of this library does. A domain that
   begins may call finalisers of one that has ended at its first allocation, which is that of its
   storage. Here they find an array in which nothing is set; the domain replaces it afterwards.
   From OCaml 5.5 on the hook returns what was raised, and has another name. */
#if OCAML_VERSION < 50600
extern value caml_domain_dls_set(value storage);
static value unset;

static void give_storage(void) {
  if (Caml_state->dls_root != Val_unit) return;
  value storage = caml_alloc_shr_noexc(8, 0);
  if (storage == 0) return;
  for (int i = 0; i < 8; i++) caml_initialize(&Field(storage, i), unset);
  caml_domain_dls_set(storage);
}

#if OCAML_VERSION < 50500
extern void (*caml_domain_initialize_hook)(void);
static void (*usual_beginning)(void);

static void begin_with_storage(void) {
  usual_beginning();
  give_storage();
}
#else
#define caml_domain_initialize_hook caml_domain_initialize_hook_exn
extern value (*caml_domain_initialize_hook)(void);
static value (*usual_beginning)(void);

static value begin_with_storage(void) {
  value result = usual_beginning();
  give_storage();
  return result;
}
#endif

/* [none] stands for a value that is not set. The program calls this before it has a second
   domain. */
value muster_give_storage(value none) {
  unset = none;
  caml_register_generational_global_root(&unset);
  usual_beginning = caml_domain_initialize_hook;
  caml_domain_initialize_hook = begin_with_storage;
  return Val_unit;
}
#endif

/* {2 No other thread in between}

   Without this a program with a seed draws other numbers of [Random] now and then: Machine.spawn
   puts the generator back from which the start of a domain has drawn, and with it what another
   thread of its domain has drawn meanwhile. A thread that keeps its domain yields at a later tick.
   It enters no blocking section, so no other thread has the domain's lock. */
static void (*usual_yield)(void);
static __thread int keeps; /* a finaliser may start a domain in the midst of a start */

static void yield_unless_kept(void) {
  if (keeps == 0) usual_yield();
}

/* Once, after the module Thread has begun. */
value muster_note_yields(value unit) {
  usual_yield = caml_domain_external_interrupt_hook;
  caml_domain_external_interrupt_hook = yield_unless_kept;
  return Val_unit;
}

value muster_keep_domain(value more) {
  keeps += Int_val(more);
  return Val_unit;
}

/* {2 Whether a domain may end}

   Without this programs crash, or wait for ever. Before OCaml 5.5 nobody cleans the weak pointers
   of a domain that ends: they dangle (ocaml/ocaml 14718 and others). For finalised values the end
   forces a major cycle. For other systhreads of the domain the end waits: Pool.close would hang
   after a task that called Thread.create. */

/* The systhreads library shows its threads to the collector: the descriptor of each is a root,
   whose third field is a custom block of that library. */
static void count_thread(void *threads, value root, volatile value *at) {
  if (root == 0 || !Is_block(root) || Tag_val(root) != 0 || Wosize_val(root) < 3) return;
  value status = Field(root, 2);
  if (status != 0 && Is_block(status) && Tag_val(status) == Custom_tag &&
      strcmp(Custom_ops_val(status)->identifier, "_threadstatus") == 0)
    ++*(intnat *)threads;
}

/* Reads the stacks of the threads, too. */
static int has_other_threads(void) {
  scan_roots_hook show = atomic_load(&caml_scan_roots_hook);
  intnat threads = 0;
  if (show != NULL) show(count_thread, 0, &threads, Caml_state);
  return threads > 1;
}

value muster_domain_must_stay(value unit) {
  struct caml_ephe_info *weak = Caml_state->ephe_info;
  struct caml_final_info *finalised = Caml_state->final_info;
  return Val_bool(weak->todo != 0 || weak->live != 0 || finalised->first.young > 0 ||
                  finalised->last.young > 0 || finalised->todo_head != NULL ||
                  has_other_threads());
}

/* {2 Stacks of fibers that have ended}

   Without this the memory of a program whose fibers end on other domains than they began on grows
   without bound before OCaml 5.5, by 0.5 to 8 kB each (ocaml/ocaml 14940 mends that). A domain
   keeps such stacks in five lists without a bound, which are lost when it ends. All but [keep] of
   each list are freed here, as the runtime frees a stack of no size class. Only a thread with the
   domain's lock touches the lists: the caller, which does not poll meanwhile, or the backup thread.
   Only for releases whose sources were compared. */
value muster_free_stacks(value keep) {
#if OCAML_VERSION >= 50300 && OCAML_VERSION <= 50401
  if (sizeof OCAML_VERSION_STRING != sizeof "5.4.1") return Val_unit;
  for (int size = 0; size < 5; size++) {
    struct stack_info **rest = &Caml_state->stack_cache[size], *stack, *next;
    for (intnat n = Long_val(keep); n > 0 && *rest != NULL; n--)
      rest = (struct stack_info **)&(*rest)->exception_ptr;
    stack = *rest;
    for (*rest = NULL; stack != NULL; stack = next) {
      next = (struct stack_info *)stack->exception_ptr;
      stack->cache_bucket = -1;
      caml_free_stack(stack);
    }
  }
#endif
  return Val_unit;
}

/* A scheduler with effects gives each of its fibers a stack, all on top of the one on which it runs
   itself. (A thread's own stack has no handler.) */
value muster_stack_id(value unit) {
  intnat id = 0;
  struct stack_info *stack = Caml_state->current_stack;
  for (; stack != NULL && Stack_handle_effect(stack) != Val_unit; stack = Stack_parent(stack))
    id = stack->id + 1;
  return Val_long(id);
}

/* The part of Gc.set that is the calling domain's own. Without this a pool would undo a program's
   setting: Gc.set reads and writes those of all domains too, such as the limit of stacks, and
   another domain may set them between the two. */
value muster_set_minor_heap(value words) {
  uintnat wanted = caml_norm_minor_heap_size(Long_val(words));
  if (wanted > caml_minor_heap_max_wsz) caml_update_minor_heap_max(wanted);
  if (wanted != Caml_state->minor_heap_wsz) caml_set_minor_heap_size(wanted);
  return Val_unit;
}
