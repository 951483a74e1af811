/* Loops over numbers, for a part of an array (numeric.ml).

   A compiler may not reorder additions of floats, so a loop with one sum waits for each addition
   before the next. These have eight sums, which the compiler turns into vectors. The order of
   additions is written out, and no product is fused with its sum (-ffp-contract=off): so the bits
   are the same for any compiler and processor. */

#include <caml/alloc.h>
#include <caml/bigarray.h>
#include <caml/mlvalues.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum kind { HEAP, DOUBLE, SINGLE, INTS }; /* Numeric.kind */

static inline const void *data_of(value v, value kind) {
  return Int_val(kind) == HEAP ? (const void *)v : Caml_ba_data_val(v);
}

enum { LANES = 8, BLOCK = 128 };

/* [name](x, y, n) sums the [term]s of indices k from 0 to n - 1: by halves, down to a block. */
#define PAIRWISE(name, type, term)                                                              \
  static double name##_block(const type *x, const type *y, intnat n) {                          \
    (void)y;                                                                                    \
    double s[LANES] = {0.};                                                                     \
    intnat i = 0;                                                                               \
    for (; i + LANES <= n; i += LANES)                                                          \
      for (int j = 0; j < LANES; j++) {                                                         \
        intnat k = i + j;                                                                       \
        s[j] += (term);                                                                         \
      }                                                                                         \
    for (intnat k = i; k < n; k++) s[k - i] += (term);                                          \
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));                   \
  }                                                                                             \
  static double name(const type *x, const type *y, intnat n) {                                  \
    if (n <= BLOCK) return name##_block(x, y, n);                                               \
    intnat half = n / 2 / LANES * LANES;                                                        \
    double left = name(x, y, half);                                                             \
    return left + name(x + half, y + half, n - half);                                           \
  }

PAIRWISE(sum_double, double, x[k])
PAIRWISE(sum_single, float, (double)x[k])
PAIRWISE(sum_int, intnat, (double)x[k])
PAIRWISE(dot_double, double, x[k] * y[k])
PAIRWISE(dot_single, float, (double)x[k] * (double)y[k])

/* {2 Sums and products} */

double muster_sum(value v, value kind, value from, value count) {
  const void *x = data_of(v, kind);
  intnat lo = Long_val(from), n = Long_val(count);
  switch (Int_val(kind)) {
  case SINGLE: return sum_single((const float *)x + lo, (const float *)x + lo, n);
  case INTS: return sum_int((const intnat *)x + lo, (const intnat *)x + lo, n);
  default: return sum_double((const double *)x + lo, (const double *)x + lo, n);
  }
}

double muster_dot(value v, value w, value kind, value from, value count) {
  const void *x = data_of(v, kind), *y = data_of(w, kind);
  intnat lo = Long_val(from), n = Long_val(count);
  return Int_val(kind) == SINGLE
             ? dot_single((const float *)x + lo, (const float *)y + lo, n)
             : dot_double((const double *)x + lo, (const double *)y + lo, n);
}

value muster_sum_bytecode(value v, value kind, value from, value count) {
  return caml_copy_double(muster_sum(v, kind, from, count));
}

value muster_dot_bytecode(value v, value w, value kind, value from, value count) {
  return caml_copy_double(muster_dot(v, w, kind, from, count));
}

/* Modulo 2 to the 64, of which OCaml's int has the lower bits. */
value muster_sum_ints(value v, value from, value count) {
  const intnat *x = (const intnat *)Caml_ba_data_val(v) + Long_val(from);
  uintnat sum = 0;
  for (intnat k = 0; k < Long_val(count); k++) sum += (uintnat)x[k];
  return Val_long((intnat)sum);
}

/* Of OCaml's ints, each of which is twice its number and 1. */
value muster_sum_tagged(value v, value from, value count) {
  const value *x = (const value *)v + Long_val(from);
  uintnat sum = 0;
  for (intnat k = 0; k < Long_val(count); k++) sum += (uintnat)x[k];
  return (value)(sum - (uintnat)Long_val(count) + 1);
}

value muster_dot_ints(value v, value w, value from, value count) {
  const intnat *x = (const intnat *)Caml_ba_data_val(v) + Long_val(from);
  const intnat *y = (const intnat *)Caml_ba_data_val(w) + Long_val(from);
  uintnat sum = 0;
  for (intnat k = 0; k < Long_val(count); k++) sum += (uintnat)x[k] * (uintnat)y[k];
  return Val_long((intnat)sum);
}

/* {2 Extremes}

   Of at least one element, into the two fields of [out]. One nan makes both nan, and -0. is less
   than 0., as Float.min and Float.max have it: if the least is a zero, an element with a sign is
   -0., and if the greatest is, one without is 0. [bits] is an integer as wide as [type]. */

#define EXTREMES(name, type, bits)                                                              \
  static void name##_signs(const type *x, intnat n, int *some, int *all) {                      \
    bits any = 0, every = -1;                                                                   \
    for (intnat k = 0; k < n; k++) {                                                            \
      bits b;                                                                                   \
      memcpy(&b, x + k, sizeof b);                                                              \
      any |= b;                                                                                 \
      every &= b;                                                                               \
    }                                                                                           \
    *some = any < 0;                                                                            \
    *all = every < 0;                                                                           \
  }                                                                                             \
  static void name(const type *x, intnat n, double *out) {                                      \
    type least[LANES], most[LANES];                                                             \
    bits nans[LANES] = {0};                                                                     \
    for (int j = 0; j < LANES; j++) least[j] = most[j] = x[0];                                  \
    intnat i = 0;                                                                               \
    for (; i + LANES <= n; i += LANES)                                                          \
      for (int j = 0; j < LANES; j++) {                                                         \
        type e = x[i + j];                                                                      \
        least[j] = e < least[j] ? e : least[j];                                                 \
        most[j] = e > most[j] ? e : most[j];                                                    \
        nans[j] |= e != e ? -1 : 0;                                                             \
      }                                                                                         \
    for (; i < n; i++) {                                                                        \
      least[0] = x[i] < least[0] ? x[i] : least[0];                                             \
      most[0] = x[i] > most[0] ? x[i] : most[0];                                                \
      nans[0] |= x[i] != x[i] ? -1 : 0;                                                         \
    }                                                                                           \
    for (int j = 1; j < LANES; j++) {                                                           \
      least[0] = least[j] < least[0] ? least[j] : least[0];                                     \
      most[0] = most[j] > most[0] ? most[j] : most[0];                                          \
      nans[0] |= nans[j];                                                                       \
    }                                                                                           \
    int some = 0, all = 0;                                                                      \
    if (least[0] == 0 || most[0] == 0) name##_signs(x, n, &some, &all);                         \
    out[0] = least[0] == 0 ? (some ? -0. : 0.) : (double)least[0];                              \
    out[1] = most[0] == 0 ? (all ? -0. : 0.) : (double)most[0];                                 \
    if (nans[0]) out[0] = out[1] = NAN;                                                         \
  }

EXTREMES(extremes_double, double, int64_t)
EXTREMES(extremes_single, float, int32_t)

value muster_extremes(value v, value kind, value from, value count, value out) {
  const void *x = data_of(v, kind);
  intnat lo = Long_val(from), n = Long_val(count);
  if (Int_val(kind) == SINGLE)
    extremes_single((const float *)x + lo, n, (double *)out);
  else
    extremes_double((const double *)x + lo, n, (double *)out);
  return Val_unit;
}

value muster_extremes_of_ints(value v, value from, value count, value out) {
  const intnat *x = (const intnat *)Caml_ba_data_val(v) + Long_val(from);
  intnat least = x[0], most = x[0];
  for (intnat k = 1; k < Long_val(count); k++) {
    least = x[k] < least ? x[k] : least;
    most = x[k] > most ? x[k] : most;
  }
  Field(out, 0) = Val_long(least);
  Field(out, 1) = Val_long(most);
  return Val_unit;
}
