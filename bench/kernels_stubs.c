/* Bodies for the benchmark of muster.h. */

#include <caml/mlvalues.h>
#include <muster.h>

/* Some 15 ns that the compiler may not drop. */
static void work(size_t i) {
  volatile double x = (double)i;
  for (int k = 0; k < 12; k++) x = x * 0.5;
}

/* Not inlined: both ways to call it run the same code. */
__attribute__((noinline)) static void body(void *ctx, size_t worker, size_t start, size_t count) {
  (void)ctx;
  (void)worker;
  for (size_t i = start; i < start + count; i++) work(i);
}

static void index_body(void *ctx, size_t worker, size_t index) { body(ctx, worker, index, 1); }

value bench_slices(value n) {
  muster_for_slices((size_t)Long_val(n), body, NULL);
  return Val_unit;
}

value bench_dynamic(value n) {
  muster_for_n_dynamic((size_t)Long_val(n), index_body, NULL);
  return Val_unit;
}

value bench_slice(intnat start, intnat count) {
  body(NULL, 0, (size_t)start, (size_t)count);
  return Val_unit;
}

value bench_slice_byte(value start, value count) {
  return bench_slice(Long_val(start), Long_val(count));
}
