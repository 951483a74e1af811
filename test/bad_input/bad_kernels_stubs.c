/* What C may get wrong in a call of muster.h. */

#include <caml/fail.h>
#include <caml/mlvalues.h>
#include <muster.h>

static void slice(void *ctx, size_t worker, size_t start, size_t count) {
  (void)ctx; (void)worker; (void)start; (void)count;
}

static void one_index(void *ctx, size_t worker, size_t index) {
  (void)ctx; (void)worker; (void)index;
}

value muster_bad_for_slices(value n, value is_null) {
  muster_for_slices((size_t)Long_val(n), Bool_val(is_null) ? NULL : slice, NULL);
  return Val_unit;
}

value muster_bad_for_n_dynamic(value n, value is_null) {
  muster_for_n_dynamic((size_t)Long_val(n), Bool_val(is_null) ? NULL : one_index, NULL);
  return Val_unit;
}

static value raise_it(intptr_t result) {
  value it = (value)result;
  if (Is_exception_result(it)) caml_raise(Extract_exception(it));
  return Val_unit;
}

value muster_bad_for_slices_exn(value n, value is_null) {
  return raise_it(
      muster_for_slices_exn((size_t)Long_val(n), Bool_val(is_null) ? NULL : slice, NULL));
}

value muster_bad_for_n_dynamic_exn(value n, value is_null) {
  return raise_it(
      muster_for_n_dynamic_exn((size_t)Long_val(n), Bool_val(is_null) ? NULL : one_index, NULL));
}
