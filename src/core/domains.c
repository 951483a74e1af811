/* What a domain begins with, what it keeps, and what it leaves behind. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <caml/mlvalues.h>
#include <caml/domain.h>
#include <caml/domain_state.h>
#include <caml/fiber.h>
#include <caml/finalise.h>
#include <caml/memory.h>
#include <caml/minor_gc.h>
#include <caml/roots.h>
#include <caml/version.h>
#include <caml/weak.h>
#include <caml/custom.h>
#include <caml/gc_ctrl.h>
#include <string.h>

/* A domain that begins may take finalisers over from one that has ended, and call them at its first
   allocation, which is that of its domain-local storage: a finaliser, or a signal's handler, that asks
   for a key there (any call of this library, or Domain.DLS.get) reads from no array at all. So it finds
   one in which nothing is set, which is replaced when storage is set up. From OCaml 5.5 on the hook of a
   domain's beginning returns what was raised, and has another name. */
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

/* [none]: what stands for a value that is not set. Called before there is a second domain. */
value muster_give_storage(value none) {
  unset = none;
  caml_register_generational_global_root(&unset);
  usual_beginning = caml_domain_initialize_hook;
  caml_domain_initialize_hook = begin_with_storage;
  return Val_unit;
}
#endif

/* Threads of one domain take turns: every 50 ms the systhreads library has the one that runs give way, through a hook of
   the runtime's. While a thread holds its turn that waits. */
static __thread int turns_held = 0;
static void (*usual_interrupt)(void) = NULL;

static void interrupt_unless_held(void) {
  if (turns_held == 0) usual_interrupt();
}

value muster_watch_turns(value unit) {
  (void)unit;
  usual_interrupt = caml_domain_external_interrupt_hook;
  caml_domain_external_interrupt_hook = interrupt_unless_held;
  return Val_unit;
}

value muster_hold_turn(value unit) {
  (void)unit;
  turns_held++;
  return Val_unit;
}

value muster_release_turn(value unit) {
  (void)unit;
  turns_held--;
  return Val_unit;
}

/* The systhreads of a domain are known to their library alone, which shows them to the collector: the
   descriptor of each is a root. Its third field is a custom block of theirs. */
static void count_thread(void *threads, value root, volatile value *at) {
  (void)at;
  if (root == 0 || !Is_block(root) || Tag_val(root) != 0 || Wosize_val(root) < 3) return;
  value status = Field(root, 2);
  if (status != 0 && Is_block(status) && Tag_val(status) == Custom_tag &&
      strcmp(Custom_ops_val(status)->identifier, "_threadstatus") == 0)
    ++*(intnat *)threads;
}

/* Whether the calling domain has threads beside this one. It reads their stacks, too. */
static int has_other_threads(void) {
  scan_roots_hook show = atomic_load(&caml_scan_roots_hook);
  intnat threads = 0;
  if (show != NULL) show(count_thread, 0, &threads, Caml_state);
  return threads > 1;
}

/* Whether the calling domain owns weak pointers, ephemerons or finalised values, or has other threads. When
   a domain ends, what it owns passes to another: before OCaml 5.5 weak ones without being cleaned, and then
   they dangle (ocaml/ocaml 14718 and others); for finalisers the end forces a major cycle. For threads its end
   waits, for ever maybe: it would do nothing, and still be one of the runtime's domains. */
value muster_domain_must_stay(value unit) {
  (void)unit;
  struct caml_ephe_info *weak = Caml_state->ephe_info;
  struct caml_final_info *finalised = Caml_state->final_info;
  return Val_bool(weak->todo != 0 || weak->live != 0 || finalised->first.young > 0 ||
                  finalised->last.young > 0 || finalised->todo_head != NULL ||
                  has_other_threads());
}

/* A domain keeps the stacks of fibers that have ended, in a list for each of five sizes (0.5 to 8 KB).
   Up to OCaml 5.4 these lists have no bound, so they grow where more fibers end than begin; and all of
   them are lost when the domain ends. So all but [keep] of each are freed here, as the runtime frees
   a stack of no size class. (ocaml/ocaml 14940 mends both in 5.5.)

   Only who has the domain's lock touches the lists: its thread here, which does not poll meanwhile,
   and at other times the backup thread that sweeps for it. The stacks in use are in none.
   Only for releases whose sources were compared: not for older or newer ones, nor for pre-releases. */
value muster_free_stacks(value keep) {
  (void)keep;
#if OCAML_VERSION >= 50300 && OCAML_VERSION <= 50401
  if (sizeof OCAML_VERSION_STRING != sizeof "5.4.1") return Val_unit;
  for (int size = 0; size < 5; size++) {
    struct stack_info *last = NULL, *stack = Caml_state->stack_cache[size];
    for (intnat n = Long_val(keep); n > 0 && stack != NULL; n--) {
      last = stack;
      stack = (struct stack_info *)stack->exception_ptr;
    }
    if (last != NULL) last->exception_ptr = NULL;
    else Caml_state->stack_cache[size] = NULL;
    while (stack != NULL) {
      struct stack_info *next = (struct stack_info *)stack->exception_ptr;
      stack->cache_bucket = -1;
      caml_free_stack(stack);
      stack = next;
    }
  }
#endif
  return Val_unit;
}

/* The part of Gc.set that is the calling domain's own. All else that Gc.set takes is the program's, such as
   the limit of stacks: to read it and write it back would undo what another domain sets between the two. */
value muster_set_minor_heap(value words) {
  uintnat wanted = caml_norm_minor_heap_size(Long_val(words));
  if (wanted > caml_minor_heap_max_wsz) caml_update_minor_heap_max(wanted);
  if (wanted != Caml_state->minor_heap_wsz) caml_set_minor_heap_size(wanted);
  return Val_unit;
}
