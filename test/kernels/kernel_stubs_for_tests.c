/* Kernels of the tests. Their bodies may not use Alcotest: what goes wrong, they count. */

#include <caml/alloc.h>
#include <caml/bigarray.h>
#include <caml/callback.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <muster.h>

enum { MOST_WORKERS = 256 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void burn(double how_long) {
  double until = seconds() + how_long;
  while (seconds() < until);
}

/* {2 Every index once} */

struct visit {
  unsigned char *seen;
  size_t n, workers;
  atomic_int wrong, slices;
  atomic_int held[MOST_WORKERS];
  atomic_size_t total, shortest, longest;
};

static void begin(struct visit *v, size_t worker) {
  if (worker >= v->workers) atomic_fetch_add(&v->wrong, 1);
  else if (atomic_exchange(&v->held[worker], 1)) atomic_fetch_add(&v->wrong, 1);
}

static void end(struct visit *v, size_t worker) {
  if (worker < v->workers) atomic_store(&v->held[worker], 0);
}

static void visit_slice(void *ctx, size_t worker, size_t start, size_t count) {
  struct visit *v = ctx;
  begin(v, worker);
  if (count == 0 || start >= v->n || count > v->n - start) atomic_fetch_add(&v->wrong, 1);
  else for (size_t i = start; i < start + count; i++) v->seen[i]++;
  atomic_fetch_add(&v->slices, 1);
  size_t before = atomic_load(&v->longest);
  while (count > before && !atomic_compare_exchange_weak(&v->longest, &before, count));
  before = atomic_load(&v->shortest);
  while (count < before && !atomic_compare_exchange_weak(&v->shortest, &before, count));
  end(v, worker);
}

static void visit_index(void *ctx, size_t worker, size_t i) {
  struct visit *v = ctx;
  begin(v, worker);
  if (i >= v->n) atomic_fetch_add(&v->wrong, 1);
  else v->seen[i]++;
  end(v, worker);
}

static struct visit *new_visit(size_t n) {
  struct visit *v = calloc(1, sizeof *v);
  v->seen = calloc(n + 1, 1);
  v->n = n;
  v->workers = muster_workers();
  atomic_store(&v->shortest, SIZE_MAX);
  return v;
}

/* What is wrong with it; 0 is nothing. */
static int finish(struct visit *v, int slices) {
  int wrong = atomic_load(&v->wrong);
  for (size_t i = 0; i < v->n; i++) wrong += v->seen[i] != 1;
  if (slices && v->n > 0) {
    wrong += atomic_load(&v->longest) - atomic_load(&v->shortest) > 1;
    wrong += (size_t)atomic_load(&v->slices) > v->workers;
  }
  free(v->seen);
  free(v);
  return wrong;
}

value kernels_visit_slices(value n) {
  struct visit *v = new_visit((size_t)Long_val(n));
  muster_for_slices(v->n, visit_slice, v);
  return Val_int(finish(v, 1));
}

value kernels_visit_dynamic(value n) {
  struct visit *v = new_visit((size_t)Long_val(n));
  muster_for_n_dynamic(v->n, visit_index, v);
  return Val_int(finish(v, 0));
}

value kernels_workers(value unit) {
  (void)unit;
  return Val_long((intnat)muster_workers());
}

/* {2 Sizes} */

static void add_count(void *ctx, size_t worker, size_t start, size_t count) {
  (void)worker;
  (void)start;
  atomic_fetch_add((atomic_size_t *)ctx, count);
}

/* Whether the slices of the largest range add up. */
value kernels_huge(value unit) {
  (void)unit;
  atomic_size_t total = 0;
  muster_for_slices((size_t)Max_long, add_count, &total);
  return Val_bool(total == (size_t)Max_long);
}

static void nothing(void *ctx, size_t worker, size_t index) {
  (void)ctx;
  (void)worker;
  (void)index;
}

value kernels_above_max(value dynamic) {
  size_t n = (size_t)Max_long + 1;
  atomic_size_t total = 0;
  if (Bool_val(dynamic)) muster_for_n_dynamic(n, nothing, NULL);
  else muster_for_slices(n, add_count, &total);
  return Val_unit;
}

value kernels_null(value dynamic, value n) {
  if (Bool_val(dynamic)) muster_for_n_dynamic((size_t)Long_val(n), NULL, NULL);
  else muster_for_slices((size_t)Long_val(n), NULL, NULL);
  return Val_unit;
}

/* The message of the exception that is returned, "" for none. */
value kernels_null_exn(value unit) {
  CAMLparam1(unit);
  CAMLlocal1(exn);
  value result = (value)muster_for_slices_exn(1, NULL, NULL);
  if (!Is_exception_result(result)) CAMLreturn(caml_copy_string(""));
  exn = Extract_exception(result);
  CAMLreturn(Field(exn, 1));
}

/* {2 What the context may be} */

static _Atomic(void *) seen_context;

static void see_context(void *ctx, size_t worker, size_t start, size_t count) {
  (void)worker;
  (void)start;
  (void)count;
  atomic_store(&seen_context, ctx);
}

static void see_context_of_index(void *ctx, size_t worker, size_t index) {
  see_context(ctx, worker, index, 1);
}

/* Any bits arrive as they are. */
value kernels_any_context(value unit) {
  (void)unit;
  uintptr_t contexts[] = {0, 1, 3, UINTPTR_MAX, (uintptr_t)INTPTR_MAX, (uintptr_t)INTPTR_MIN,
                          UINTPTR_MAX / 4 + 1, UINTPTR_MAX / 4 * 3, (uintptr_t)&unit + 1};
  int wrong = 0;
  for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
    muster_for_slices(1, see_context, (void *)contexts[i]);
    wrong += (uintptr_t)atomic_load(&seen_context) != contexts[i];
    atomic_store(&seen_context, NULL);
    muster_for_n_dynamic(1, see_context_of_index, (void *)contexts[i]);
    wrong += (uintptr_t)atomic_load(&seen_context) != contexts[i];
  }
  return Val_int(wrong);
}

/* {2 Workers at the same time, and short loops} */

struct meeting {
  size_t wanted;
  atomic_size_t here;
  double until;
};

static void meet(void *ctx, size_t worker, size_t start, size_t count) {
  (void)worker;
  (void)start;
  (void)count;
  struct meeting *m = ctx;
  atomic_fetch_add(&m->here, 1);
  while (atomic_load(&m->here) < m->wanted && seconds() < m->until) sched_yield();
}

/* Whether so many bodies were in the loop at once, each waiting for the others. */
value kernels_meet(value n, value limit) {
  struct meeting m = {(size_t)Long_val(n), 0, seconds() + Double_val(limit)};
  muster_for_slices(m.wanted, meet, &m);
  return Val_bool(seconds() < m.until);
}

static void mark(void *ctx, size_t worker, size_t index) {
  (void)index;
  atomic_int *marks = ctx;
  if (worker < MOST_WORKERS) atomic_store(&marks[worker], 1);
}

/* How many workers took part in a dynamic loop. */
value kernels_partakers(value n) {
  atomic_int marks[MOST_WORKERS];
  int sum = 0;
  memset(marks, 0, sizeof marks);
  muster_for_n_dynamic((size_t)Long_val(n), mark, marks);
  for (int w = 0; w < MOST_WORKERS; w++) sum += atomic_load(&marks[w]);
  return Val_int(sum);
}

/* {2 Loops in bodies} */

struct nest {
  struct visit *inner; /* one for each index of the outer loop */
  int dynamic;
  atomic_int wrong;
};

static void nest_slice(void *ctx, size_t worker, size_t start, size_t count) {
  struct nest *nest = ctx;
  for (size_t i = start; i < start + count; i++) {
    struct visit *v = &nest->inner[i];
    if (muster_workers() <= worker) atomic_fetch_add(&nest->wrong, 1);
    if (nest->dynamic) muster_for_n_dynamic(v->n, visit_index, v);
    else muster_for_slices(v->n, visit_slice, v);
    if (muster_for_slices_exn(0, visit_slice, v) != (intptr_t)Val_unit)
      atomic_fetch_add(&nest->wrong, 1);
  }
}

value kernels_nest(value outer, value inner, value dynamic) {
  size_t n = (size_t)Long_val(outer);
  struct nest nest = {calloc(n, sizeof(struct visit)), Bool_val(dynamic), 0};
  for (size_t i = 0; i < n; i++) {
    struct visit *v = new_visit((size_t)Long_val(inner));
    nest.inner[i] = *v;
    free(v);
  }
  muster_for_slices(n, nest_slice, &nest);
  int wrong = atomic_load(&nest.wrong);
  for (size_t i = 0; i < n; i++) {
    struct visit *v = malloc(sizeof *v);
    *v = nest.inner[i];
    wrong += finish(v, 0);
  }
  free(nest.inner);
  return Val_int(wrong);
}

/* {2 Bodies that last} */

struct lasting {
  double each;
  atomic_int begun, ended;
};

/* A call is going on; bodies that ran while none was, or were still running when theirs ended. */
static atomic_int open_calls, escaped;
static atomic_int running;

/* Longer for higher workers: the caller, who is 0, ends first and waits. */
static void last_slice(void *ctx, size_t worker, size_t start, size_t count) {
  struct lasting *l = ctx;
  (void)start;
  (void)count;
  if (!atomic_load(&open_calls)) {
    atomic_fetch_add(&escaped, 1);
    return;
  }
  atomic_fetch_add(&l->begun, 1);
  atomic_fetch_add(&running, 1);
  burn(l->each * (double)(worker + 1));
  atomic_fetch_sub(&running, 1);
  atomic_fetch_add(&l->ended, 1);
}

static void last_index(void *ctx, size_t worker, size_t index) {
  last_slice(ctx, worker, index, 1);
}

static intptr_t run_lasting(value n, value each, value dynamic) {
  struct lasting l = {Double_val(each), 0, 0};
  size_t count = (size_t)Long_val(n);
  atomic_store(&open_calls, 1);
  intptr_t result = Bool_val(dynamic) ? muster_for_n_dynamic_exn(count, last_index, &l)
                                      : muster_for_slices_exn(count, last_slice, &l);
  if (atomic_load(&l.begun) != atomic_load(&l.ended)) atomic_fetch_add(&escaped, 1);
  atomic_store(&open_calls, 0);
  return result;
}

/* Whether an exception came. */
value kernels_last(value n, value each, value dynamic) {
  return Val_bool(Is_exception_result((value)run_lasting(n, each, dynamic)));
}

value kernels_last_raising(value n, value each, value dynamic) {
  value result = (value)run_lasting(n, each, dynamic);
  if (Is_exception_result(result)) caml_raise(Extract_exception(result));
  return Val_unit;
}

/* Bodies that are running. */
value kernels_running(value unit) {
  (void)unit;
  return Val_int(atomic_load(&running));
}

value kernels_escaped(value unit) {
  (void)unit;
  return Val_int(atomic_load(&escaped));
}

/* {2 Cancelling} */

/* As many bodies as ran before an exception came, or all. */
value kernels_count_dynamic(value n, value each) {
  struct lasting l = {Double_val(each), 0, 0};
  atomic_store(&open_calls, 1);
  muster_for_n_dynamic_exn((size_t)Long_val(n), last_index, &l);
  atomic_store(&open_calls, 0);
  return Val_int(atomic_load(&l.ended));
}

/* {2 Data} */

static void square(void *ctx, size_t worker, size_t start, size_t count) {
  double *a = ctx;
  (void)worker;
  for (size_t i = start; i < start + count; i++) a[i] *= a[i];
}

value kernels_square(value bigarray) {
  CAMLparam1(bigarray);
  struct caml_ba_array *a = Caml_ba_array_val(bigarray);
  muster_for_slices((size_t)a->dim[0], square, a->data);
  CAMLreturn(Val_unit);
}

/* Two bodies of the same context, in turn: how many indices were not run so often by each. */
enum { BOTH = 100 };

struct both {
  int up[BOTH], down[BOTH];
};

static void count_up(void *ctx, size_t worker, size_t start, size_t count) {
  (void)worker;
  for (size_t i = start; i < start + count; i++) ((struct both *)ctx)->up[i]++;
}

static void count_down(void *ctx, size_t worker, size_t start, size_t count) {
  (void)worker;
  for (size_t i = start; i < start + count; i++) ((struct both *)ctx)->down[i]--;
}

value kernels_in_turn(value rounds) {
  struct both both = {{0}, {0}};
  int times = Int_val(rounds), wrong = 0;
  for (int i = 0; i < times; i++) {
    muster_for_slices(BOTH, count_up, &both);
    muster_for_slices(BOTH, count_down, &both);
  }
  for (int i = 0; i < BOTH; i++) wrong += both.up[i] != times || both.down[i] != -times;
  return Val_int(wrong);
}

static void increment(void *ctx, size_t worker, size_t start, size_t count) {
  long *a = ctx;
  (void)worker;
  for (size_t i = start; i < start + count; i++) a[i]++;
}

/* Plain writes, seen by the worker that has the element in the next loop. */
value kernels_rounds(value rounds) {
  long a[64] = {0};
  int wrong = 0;
  for (long r = 1; r <= Long_val(rounds); r++) {
    muster_for_slices(64, increment, a);
    for (int i = 0; i < 64; i++) wrong += a[i] != r;
  }
  return Val_int(wrong);
}
