#include <caml/bigarray.h>
#include <caml/memory.h>
#include <muster.h>

struct job {
  double *data, factor;
};

static void scale_slice(void *ctx, size_t worker, size_t start, size_t count) {
  struct job *job = ctx;
  for (size_t i = start; i < start + count; i++) job->data[i] *= job->factor;
}

value scale(value vector, value factor) {
  CAMLparam2(vector, factor);
  struct job job = {Caml_ba_data_val(vector), Double_val(factor)};
  muster_for_slices(Caml_ba_array_val(vector)->dim[0], scale_slice, &job);
  CAMLreturn(Val_unit);
}
