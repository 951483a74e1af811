#include <caml/mlvalues.h>
#include <caml/threads.h>
#include <muster.h>
#include <stdatomic.h>

static void add(void *ctx, size_t worker, size_t start, size_t count) {
  long sum = 0;
  (void)worker;
  for (size_t i = start; i < start + count; i++) sum += (long)i;
  atomic_fetch_add((atomic_long *)ctx, sum);
}

value bare_sum_to(value n) {
  atomic_long sum = 0;
  muster_for_slices((size_t)Long_val(n), add, &sum);
  return Val_long(sum);
}

value bare_call_without_lock(value unit) {
  atomic_long sum = 0;
  (void)unit;
  caml_release_runtime_system();
  muster_for_slices(10, add, &sum);
  caml_acquire_runtime_system();
  return Val_unit;
}
