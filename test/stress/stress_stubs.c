/* A loop of C on the pool's workers: the sum of Worth.kernel_step of all indices below n. */

#include <caml/mlvalues.h>
#include <stdint.h>

#include <muster.h>

enum { MOST_WORKERS = 256, LINE = 8 };

struct sums {
  intnat of[MOST_WORKERS * LINE];
};

static intnat step(size_t i) { return (intnat)(i * 7919 % 1009); }

static void add_slice(void *ctx, size_t worker, size_t start, size_t count) {
  struct sums *sums = ctx;
  for (size_t i = start; i < start + count; i++) sums->of[worker * LINE] += step(i);
}

static void add_index(void *ctx, size_t worker, size_t i) {
  struct sums *sums = ctx;
  sums->of[worker * LINE] += step(i);
}

value stress_kernel(value dynamic, value n) {
  struct sums sums = {{0}};
  if (muster_workers() > MOST_WORKERS) return Val_long(-1);
  if (Bool_val(dynamic)) muster_for_n_dynamic((size_t)Long_val(n), add_index, &sums);
  else muster_for_slices((size_t)Long_val(n), add_slice, &sums);
  intnat all = 0;
  for (int worker = 0; worker < MOST_WORKERS; worker++) all += sums.of[worker * LINE];
  return Val_long(all);
}
