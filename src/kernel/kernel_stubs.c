/* The C side of muster.h; kernel.ml has the protocol. */

#define CAML_NAME_SPACE
#include <caml/alloc.h>
#include <caml/callback.h>
#include <caml/fail.h>
#include <caml/misc.h>
#include <caml/mlvalues.h>
#include <caml/domain_state.h>
#include <stdint.h>
#include <stdio.h>

#include "muster.h"

/* The body that the thread runs, if any: for loops called in it. */
static __thread struct {
  int inside;
  size_t worker, workers;
} body;

static inline void begin(intnat worker, intnat workers) {
  body.inside = 1;
  body.worker = (size_t)worker;
  body.workers = (size_t)workers;
}

static inline void end(void) { body.inside = 0; }

/* {2 Bodies} */

static inline void each_index(muster_index_fn fn, void *ctx, size_t worker, size_t start,
                              size_t count) {
  for (size_t i = start; i < start + count; i++) fn(ctx, worker, i);
}

value muster_kernel_slice(intnat fn, intnat ctx, intnat workers, intnat worker, intnat start,
                          intnat count) {
  begin(worker, workers);
  ((muster_slice_fn)fn)((void *)ctx, (size_t)worker, (size_t)start, (size_t)count);
  end();
  return Val_unit;
}

value muster_kernel_indices(intnat fn, intnat ctx, intnat workers, intnat worker, intnat start,
                            intnat count) {
  begin(worker, workers);
  each_index((muster_index_fn)fn, (void *)ctx, (size_t)worker, (size_t)start, (size_t)count);
  end();
  return Val_unit;
}

#define BYTECODE(name)                                                                        \
  value name##_byte(value *v, int n) {                                                        \
    (void)n;                                                                                  \
    return name(Long_val(v[0]), Long_val(v[1]), Long_val(v[2]), Long_val(v[3]),               \
                Long_val(v[4]), Long_val(v[5]));                                              \
  }

BYTECODE(muster_kernel_slice)
BYTECODE(muster_kernel_indices)

/* {2 Calls} */

/* A pointer whose two highest bits differ is no OCaml int: then the call goes through a block on
   the stack. (User space has no such addresses but where tags are kept in the upper byte.) */
struct indirect {
  union {
    muster_slice_fn slice;
    muster_index_fn index;
  } fn;
  void *ctx;
};

static void call_slice(void *ctx, size_t worker, size_t start, size_t count) {
  const struct indirect *it = ctx;
  it->fn.slice(it->ctx, worker, start, count);
}

static void call_index(void *ctx, size_t worker, size_t index) {
  const struct indirect *it = ctx;
  it->fn.index(it->ctx, worker, index);
}

static inline int is_int(const void *p) {
  return Long_val(Val_long((intnat)p)) == (intnat)p;
}

/* A registered function of OCaml's; found once. */
struct function {
  const char *name;
  const value *found;
};

static struct function for_slices = {"muster.for_slices", NULL};
static struct function for_n_dynamic = {"muster.for_n_dynamic", NULL};
static struct function workers = {"muster.workers", NULL};
static struct function refuse = {"muster.refuse", NULL};

static value closure_of(struct function *function, const char *caller) {
  if (Caml_state_opt == NULL)
    caml_fatal_error("%s: called by a thread that does not hold OCaml's runtime lock", caller);
  /* A thread that looks it up finds the same. */
  const value *found = __atomic_load_n(&function->found, __ATOMIC_RELAXED);
  if (found == NULL) {
    found = caml_named_value(function->name);
    if (found == NULL) caml_fatal_error("%s: OCaml's library muster is not initialised", caller);
    __atomic_store_n(&function->found, found, __ATOMIC_RELAXED);
  }
  return *found;
}

/* Invalid_argument, as a result; in a body, where there is no OCaml, the end. */
static intptr_t refuse_call(const char *caller, int is_null, size_t n) {
  char why[120];
  if (is_null)
    snprintf(why, sizeof why, "%s: fn is NULL", caller);
  else
    snprintf(why, sizeof why, "%s: n = %llu is above %llu", caller, (unsigned long long)n,
             (unsigned long long)Max_long);
  if (body.inside) caml_fatal_error("%s", why);
  closure_of(&refuse, caller); /* looks whether OCaml may be called at all */
  value message = caml_copy_string(why); /* may collect, and move the closure */
  return (intptr_t)caml_callback_exn(closure_of(&refuse, caller), message);
}

static intptr_t call_loop(struct function *loop, const char *caller, const void *fn,
                          const void *ctx, size_t n) {
  value closure = closure_of(loop, caller);
  return (intptr_t)caml_callback3_exn(closure, Val_long((intnat)fn), Val_long((intnat)ctx),
                                      Val_long((intnat)n));
}

/* [me] is the function that was called. */
static intptr_t run_slices(const char *me, size_t n, muster_slice_fn fn, void *ctx) {
  if (fn == NULL || n > (size_t)Max_long) return refuse_call(me, fn == NULL, n);
  if (body.inside) {
    if (n > 0) fn(ctx, body.worker, 0, n);
    return (intptr_t)Val_unit;
  }
  if (is_int((const void *)fn) && is_int(ctx))
    return call_loop(&for_slices, me, (const void *)fn, ctx, n);
  struct indirect it = {.fn.slice = fn, .ctx = ctx};
  return call_loop(&for_slices, me, (const void *)call_slice, &it, n);
}

static intptr_t run_n_dynamic(const char *me, size_t n, muster_index_fn fn, void *ctx) {
  if (fn == NULL || n > (size_t)Max_long) return refuse_call(me, fn == NULL, n);
  if (body.inside) {
    each_index(fn, ctx, body.worker, 0, n);
    return (intptr_t)Val_unit;
  }
  if (is_int((const void *)fn) && is_int(ctx))
    return call_loop(&for_n_dynamic, me, (const void *)fn, ctx, n);
  struct indirect it = {.fn.index = fn, .ctx = ctx};
  return call_loop(&for_n_dynamic, me, (const void *)call_index, &it, n);
}

intptr_t muster_for_slices_exn(size_t n, muster_slice_fn fn, void *ctx) {
  return run_slices(__func__, n, fn, ctx);
}

intptr_t muster_for_n_dynamic_exn(size_t n, muster_index_fn fn, void *ctx) {
  return run_n_dynamic(__func__, n, fn, ctx);
}

static value unless_exception(value result) {
  if (Is_exception_result(result)) caml_raise(Extract_exception(result));
  return result;
}

void muster_for_slices(size_t n, muster_slice_fn fn, void *ctx) {
  unless_exception((value)run_slices(__func__, n, fn, ctx));
}

void muster_for_n_dynamic(size_t n, muster_index_fn fn, void *ctx) {
  unless_exception((value)run_n_dynamic(__func__, n, fn, ctx));
}

size_t muster_workers(void) {
  if (body.inside) return body.workers;
  value closure = closure_of(&workers, "muster_workers");
  return (size_t)Long_val(unless_exception(caml_callback_exn(closure, Val_unit)));
}
