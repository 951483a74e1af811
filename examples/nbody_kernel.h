/* One time step of Fork Union's n-body (https://github.com/ashvardanian/fork_union), in double
   precision: first the force on each body, then its motion. C and C++; the programs of
   bench/rivals use it, too. */

#ifndef MUSTER_NBODY_KERNEL_H
#define MUSTER_NBODY_KERNEL_H

#include <math.h>
#include <stddef.h>

struct body {
  double position[3], velocity[3], mass;
};

static inline void force_on(const struct body *bodies, size_t n, size_t i, double force[3]) {
  const double *at = bodies[i].position;
  double x = 0, y = 0, z = 0;
  for (size_t j = 0; j < n; j++) {
    const double *other = bodies[j].position;
    double dx = other[0] - at[0], dy = other[1] - at[1], dz = other[2] - at[2];
    /* The pull of a body on itself is 0 / 1e-9: no branch. */
    double square = dx * dx + dy * dy + dz * dz + 1e-9;
    double pull = bodies[j].mass / (square * sqrt(square));
    x += pull * dx;
    y += pull * dy;
    z += pull * dz;
  }
  double scale = 6.674e-11 * bodies[i].mass;
  force[0] = scale * x;
  force[1] = scale * y;
  force[2] = scale * z;
}

static inline void move(struct body *body, const double force[3]) {
  double step = 0.01 / body->mass;
  for (int axis = 0; axis < 3; axis++) {
    body->velocity[axis] += step * force[axis];
    body->position[axis] += 0.01 * body->velocity[axis];
  }
}

#endif
