/* What OpenMP needs for the work that Muster is measured with. */

#define _POSIX_C_SOURCE 200809L

#include <omp.h>

#include "measure.h"

/* The mean over a batch back to back that doubles until it takes [budget] nanoseconds: the
   same as [Measure.per_call] of the harness. */
static double per_call(int threads, long budget, void (*region)(void)) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  for (long calls = 1;; calls *= 2) {
    double start = now();
    for (long c = 0; c < calls; c++) region();
    double elapsed = now() - start;
    if (elapsed >= (double)budget) return elapsed / (double)calls;
  }
}

static void static_region(void) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < ITERATIONS; i++) trivial(i);
}

static void dynamic_region(void) {
#pragma omp parallel for schedule(dynamic, 1)
  for (size_t i = 0; i < ITERATIONS; i++) trivial(i);
}

static void empty_region(void) {
#pragma omp parallel
  trivial(0);
}

static double slices(int threads, long budget) {
  return per_call(threads, budget, static_region);
}

static double dynamic(int threads, long budget) {
  return per_call(threads, budget, dynamic_region);
}

static double broadcast(int threads, long budget) {
  return per_call(threads, budget, empty_region);
}

static void static_step(void) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < BODIES; i++) compute_force(i);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < BODIES; i++) apply_force(i);
}

static void dynamic_step(void) {
#pragma omp parallel for schedule(dynamic, 1)
  for (size_t i = 0; i < BODIES; i++) compute_force(i);
#pragma omp parallel for schedule(dynamic, 1)
  for (size_t i = 0; i < BODIES; i++) apply_force(i);
}

static double simulate(int threads, long steps, void (*step)(void)) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  init_bodies();
  empty_region();
  double start = now();
  for (long s = 0; s < steps; s++) step();
  return now() - start;
}

static double nbody_static(int threads, long steps) {
  return simulate(threads, steps, static_step);
}

static double nbody_dynamic(int threads, long steps) {
  return simulate(threads, steps, dynamic_step);
}

static const struct peer peers[] = {
    {"slices", "openmp-static", slices},
    {"dynamic", "openmp-dynamic", dynamic},
    {"broadcast", "openmp", broadcast},
    {"fork-union-nbody", "openmp-static", nbody_static},
    {"fork-union-nbody", "openmp-dynamic", nbody_dynamic},
};

int main(int argc, char **argv) {
  return peers_main(peers, sizeof peers / sizeof *peers, argc, argv);
}
