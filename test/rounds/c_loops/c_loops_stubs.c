/* See c_loops.mli. What the bodies share is plain, but for their own cells, which only bodies of one
   worker number use: so a sanitizer sees it if two of these run at once. */

#include <caml/bigarray.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <muster.h>
#include <string.h>

enum { MOST_WORKERS = 64 };

struct loop {
  intnat *cells;
  size_t workers;
  int pauses;
  int calls[MOST_WORKERS];
  int wrong[MOST_WORKERS];
};

static void pause_for(int turns) {
  for (volatile int turn = 0; turn < turns; turn++);
}

/* A bigarray of OCaml's ints holds machine words. */
static void add(struct loop *loop, size_t worker, size_t i) {
  pause_for(loop->pauses);
  loop->cells[i]++;
  loop->calls[worker]++;
}

static void slice(void *ctx, size_t worker, size_t start, size_t count) {
  struct loop *loop = ctx;
  if (worker >= loop->workers) {
    loop->wrong[0]++;
    return;
  }
  for (size_t i = start; i < start + count; i++) add(loop, worker, i);
}

static void one_index(void *ctx, size_t worker, size_t i) { slice(ctx, worker, i, 1); }

static int taken_part(const struct loop *loop) {
  int workers = 0;
  for (int w = 0; w < MOST_WORKERS; w++) {
    if (loop->wrong[w]) return -1;
    if (loop->calls[w]) workers++;
  }
  return workers;
}

static struct loop begin(value cells, value is_long) {
  struct loop loop;
  memset(&loop, 0, sizeof loop);
  loop.cells = Caml_ba_data_val(cells);
  loop.workers = muster_workers();
  loop.pauses = Bool_val(is_long) ? 2000 : 20;
  return loop;
}

value c_loops_slices(value cells, value is_long) {
  CAMLparam2(cells, is_long);
  size_t n = (size_t)Caml_ba_array_val(cells)->dim[0];
  struct loop loop = begin(cells, is_long);
  muster_for_slices(n, slice, &loop);
  CAMLreturn(Val_int(taken_part(&loop)));
}

value c_loops_indices(value cells, value is_long) {
  CAMLparam2(cells, is_long);
  size_t n = (size_t)Caml_ba_array_val(cells)->dim[0];
  struct loop loop = begin(cells, is_long);
  muster_for_n_dynamic(n, one_index, &loop);
  CAMLreturn(Val_int(taken_part(&loop)));
}

value c_loops_workers(value unit) {
  (void)unit;
  return Val_long((intnat)muster_workers());
}
