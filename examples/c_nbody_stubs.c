/* Fork Union's n-body as C kernels: two loops of the pool in a time step. */

#include <caml/bigarray.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>

#include <muster.h>

#include "nbody_kernel.h"

struct system {
  struct body *bodies;
  double (*forces)[3];
  size_t n;
};

static struct system system_of(value bodies, value forces) {
  struct system s = {Caml_ba_data_val(bodies), Caml_ba_data_val(forces),
                     (size_t)Caml_ba_array_val(bodies)->dim[0]};
  return s;
}

static void compute_one(void *ctx, size_t worker, size_t i) {
  const struct system *s = ctx;
  (void)worker;
  force_on(s->bodies, s->n, i, s->forces[i]);
}

static void apply_one(void *ctx, size_t worker, size_t i) {
  const struct system *s = ctx;
  (void)worker;
  move(&s->bodies[i], s->forces[i]);
}

static void compute(void *ctx, size_t worker, size_t start, size_t count) {
  for (size_t i = start; i < start + count; i++) compute_one(ctx, worker, i);
}

static void apply(void *ctx, size_t worker, size_t start, size_t count) {
  for (size_t i = start; i < start + count; i++) apply_one(ctx, worker, i);
}

/* The bigarrays are parameters of OCaml's all the time, so their data stays. */

value c_nbody_sequential(value iterations, value bodies, value forces) {
  struct system s = system_of(bodies, forces);
  for (intnat step = 0; step < Long_val(iterations); step++) {
    compute(&s, 0, 0, s.n);
    apply(&s, 0, 0, s.n);
  }
  return Val_unit;
}

value c_nbody_slices(value iterations, value bodies, value forces) {
  CAMLparam3(iterations, bodies, forces);
  struct system s = system_of(bodies, forces);
  for (intnat step = 0; step < Long_val(iterations); step++) {
    muster_for_slices(s.n, compute, &s);
    muster_for_slices(s.n, apply, &s);
  }
  CAMLreturn(Val_unit);
}

value c_nbody_dynamic(value iterations, value bodies, value forces) {
  CAMLparam3(iterations, bodies, forces);
  struct system s = system_of(bodies, forces);
  for (intnat step = 0; step < Long_val(iterations); step++) {
    muster_for_n_dynamic(s.n, compute_one, &s);
    muster_for_n_dynamic(s.n, apply_one, &s);
  }
  CAMLreturn(Val_unit);
}
