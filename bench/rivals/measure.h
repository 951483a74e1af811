/* What the programs in C and C++ share: the clock, the command line that bench/rivals.mli
   describes, and the bodies of the n-body, whose kernel is that of the examples. */

#ifndef MUSTER_BENCH_MEASURE_H
#define MUSTER_BENCH_MEASURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../examples/nbody_kernel.h"

enum { ITERATIONS = 128, BODIES = 128 };

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* An iteration that the compiler may not drop. */
static inline void trivial(size_t i) { __asm__ volatile("" : : "r"(i)); }

/* ---- The command line ---- */

struct peer {
  const char *experiment, *name;
  double (*run)(int threads, long size);
};

static inline int peers_main(const struct peer *peers, size_t count, int argc, char **argv) {
  int list = argc == 2 && strcmp(argv[1], "list") == 0;
  for (size_t p = 0; p < count; p++) {
    if (list)
      printf("%s %s\n", peers[p].experiment, peers[p].name);
    else if (argc == 5 && !strcmp(argv[1], peers[p].experiment) && !strcmp(argv[2], peers[p].name)) {
      printf("%s %f\n", peers[p].name, peers[p].run(atoi(argv[3]), atol(argv[4])));
      return EXIT_SUCCESS;
    }
  }
  if (list) return EXIT_SUCCESS;
  fprintf(stderr, "usage: %s list | EXPERIMENT PEER THREADS SIZE\n", argv[0]);
  return EXIT_FAILURE;
}

/* ---- n-body ---- */

static struct body bodies[BODIES];
static double forces[BODIES][3];

static inline double uniform(void) {
  static unsigned long long state = BODIES;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(state >> 11) / 9007199254740992.0;
}

static inline void init_bodies(void) {
  for (int i = 0; i < BODIES; i++) {
    for (int axis = 0; axis < 3; axis++) {
      bodies[i].position[axis] = 10 * uniform();
      bodies[i].velocity[axis] = 0;
    }
    bodies[i].mass = 1e9 + 9e9 * uniform();
  }
}

static inline void compute_force(size_t i) { force_on(bodies, BODIES, i, forces[i]); }
static inline void apply_force(size_t i) { move(&bodies[i], forces[i]); }

#endif
