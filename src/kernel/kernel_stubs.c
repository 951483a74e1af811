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

/* {2 Bodies} */

/* On the stack of the function that is called: one of the two functions is NULL. */
struct loop {
  muster_slice_fn slice;
  muster_index_fn index;
  void *ctx;
};

static void run(const struct loop *loop, size_t worker, size_t start, size_t count) {
  if (loop->slice != NULL)
    loop->slice(loop->ctx, worker, start, count);
  else
    for (size_t i = start; i < start + count; i++) loop->index(loop->ctx, worker, i);
}

/* A struct's address is even: with the lowest bit set it is an OCaml int. */
static inline value of_loop(const struct loop *loop) { return (value)loop | 1; }
static inline const struct loop *loop_of(value loop) { return (const struct loop *)(loop - 1); }

value muster_kernel_run(value loop, value workers, value worker, value start, value count) {
  body.inside = 1;
  body.worker = (size_t)Long_val(worker);
  body.workers = (size_t)Long_val(workers);
  run(loop_of(loop), body.worker, (size_t)Long_val(start), (size_t)Long_val(count));
  body.inside = 0;
  return Val_unit;
}

/* {2 Calls} */

/* Kernel's functions: a tuple, found once. */
enum function { FOR_SLICES, FOR_N_DYNAMIC, WORKERS, REFUSE };
static const value *functions = NULL;

static value closure_of(enum function function, const char *caller) {
  if (Caml_state_opt == NULL)
    caml_fatal_error("%s: called by a thread that does not hold OCaml's runtime lock", caller);
  /* A thread that looks it up finds the same. */
  const value *found = __atomic_load_n(&functions, __ATOMIC_RELAXED);
  if (found == NULL) {
    found = caml_named_value("muster.kernel");
    if (found == NULL) caml_fatal_error("%s: OCaml's library muster is not initialised", caller);
    __atomic_store_n(&functions, found, __ATOMIC_RELAXED);
  }
  return Field(*found, function);
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
  closure_of(REFUSE, caller); /* looks whether OCaml may be called at all */
  value message = caml_copy_string(why); /* may collect, and move the closure */
  return (intptr_t)caml_callback_exn(closure_of(REFUSE, caller), message);
}

/* [me] is the function that was called. */
static intptr_t run_loop(enum function which, const char *me, size_t n, struct loop loop) {
  intnat code = loop.slice != NULL ? (intnat)loop.slice : (intnat)loop.index;
  if (code == 0 || n > (size_t)Max_long) return refuse_call(me, code == 0, n);
  if (body.inside) {
    if (n > 0) run(&loop, body.worker, 0, n);
    return (intptr_t)Val_unit;
  }
  value closure = closure_of(which, me);
  return (intptr_t)caml_callback3_exn(closure, of_loop(&loop), Val_long(code), Val_long((intnat)n));
}

static intptr_t run_slices(const char *me, size_t n, muster_slice_fn fn, void *ctx) {
  return run_loop(FOR_SLICES, me, n, (struct loop){.slice = fn, .ctx = ctx});
}

static intptr_t run_n_dynamic(const char *me, size_t n, muster_index_fn fn, void *ctx) {
  return run_loop(FOR_N_DYNAMIC, me, n, (struct loop){.index = fn, .ctx = ctx});
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
  value closure = closure_of(WORKERS, "muster_workers");
  return (size_t)Long_val(unless_exception(caml_callback_exn(closure, Val_unit)));
}
