/* What Fork Union's C++ header, with its own yields to the kernel, needs for the work that
   Muster is measured with. The header comes with the crate. */

#include <fork_union.hpp>

#include "measure.h"

namespace fu = ashvardanian::fork_union;

using pool_t = fu::basic_pool_t;

/* A pool that is up: it ends when its owner's scope does. */
struct warm_pool {
  alignas(fu::default_alignment_k) pool_t pool;

  explicit warm_pool(int threads) {
    if (!pool.try_spawn(static_cast<std::size_t>(threads))) {
      std::fprintf(stderr, "Fork Union cannot start %d threads\n", threads);
      std::exit(EXIT_FAILURE);
    }
    pool.for_threads([](std::size_t) noexcept {});
  }
};

/* The mean over a batch back to back that doubles until it takes [budget] nanoseconds: the
   same as [Measure.per_call] of the harness. */
template <typename region_t>
static double per_call(int threads, long budget, region_t region) {
  warm_pool warm(threads);
  for (long calls = 1;; calls *= 2) {
    double start = now();
    for (long c = 0; c < calls; c++) region(warm.pool);
    double elapsed = now() - start;
    if (elapsed >= static_cast<double>(budget)) return elapsed / static_cast<double>(calls);
  }
}

static double slices(int threads, long budget) {
  return per_call(threads, budget, [](pool_t &pool) {
    pool.for_slices(ITERATIONS, [](std::size_t first, std::size_t count) noexcept {
      for (std::size_t i = first; i < first + count; i++) trivial(i);
    });
  });
}

static double dynamic(int threads, long budget) {
  return per_call(threads, budget, [](pool_t &pool) {
    pool.for_n_dynamic(ITERATIONS, [](std::size_t i) noexcept { trivial(i); });
  });
}

static double broadcast(int threads, long budget) {
  return per_call(threads, budget,
                  [](pool_t &pool) { pool.for_threads([](std::size_t) noexcept {}); });
}

template <typename step_t>
static double simulate(int threads, long steps, step_t step) {
  warm_pool warm(threads);
  init_bodies();
  double start = now();
  for (long s = 0; s < steps; s++) step(warm.pool);
  return now() - start;
}

static double nbody_static(int threads, long steps) {
  return simulate(threads, steps, [](pool_t &pool) {
    pool.for_n(BODIES, [](std::size_t i) noexcept { compute_force(i); });
    pool.for_n(BODIES, [](std::size_t i) noexcept { apply_force(i); });
  });
}

static double nbody_dynamic(int threads, long steps) {
  return simulate(threads, steps, [](pool_t &pool) {
    pool.for_n_dynamic(BODIES, [](std::size_t i) noexcept { compute_force(i); });
    pool.for_n_dynamic(BODIES, [](std::size_t i) noexcept { apply_force(i); });
  });
}

static const struct peer peers[] = {
    {"slices", "fork-union-c++", slices},
    {"dynamic", "fork-union-c++", dynamic},
    {"broadcast", "fork-union-c++", broadcast},
    {"fork-union-nbody", "fork-union-c++-static", nbody_static},
    {"fork-union-nbody", "fork-union-c++-dynamic", nbody_dynamic},
};

int main(int argc, char **argv) {
  return peers_main(peers, sizeof peers / sizeof *peers, argc, argv);
}
