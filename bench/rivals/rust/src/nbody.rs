//! The n-body of `examples/fork_union_nbody.ml`: 128 bodies in double precision, two regions a
//! step; the size is the number of steps.

use crate::measure::{fork_union_pool, rayon_pool, time};
use fork_union::{for_each_prong_mut, for_each_prong_mut_dynamic};
use rayon::prelude::*;
use std::hint::black_box;

const BODIES: usize = 128;
const GRAVITY: f64 = 6.674e-11;
const DT: f64 = 0.01;
const SOFTENING: f64 = 1e-9;

type Vector = [f64; 3];

struct Body {
    position: Vector,
    velocity: Vector,
    mass: f64,
}

/// A fixed sequence of numbers between 0 and 1.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

fn random() -> Vec<Body> {
    let mut state = BODIES as u64;
    let mut next = || uniform(&mut state);
    (0..BODIES)
        .map(|_| Body {
            position: [10. * next(), 10. * next(), 10. * next()],
            velocity: [0.; 3],
            mass: 1e9 + 9e9 * next(),
        })
        .collect()
}

fn force(bodies: &[Body], i: usize) -> Vector {
    let [x, y, z] = bodies[i].position;
    let mut sum = [0.; 3];
    for other in bodies {
        let [dx, dy, dz] = [other.position[0] - x, other.position[1] - y, other.position[2] - z];
        let square = dx * dx + dy * dy + dz * dz + SOFTENING;
        let pull = other.mass / (square * square.sqrt());
        sum[0] += pull * dx;
        sum[1] += pull * dy;
        sum[2] += pull * dz;
    }
    sum.map(|component| GRAVITY * bodies[i].mass * component)
}

fn apply(body: &mut Body, force: &Vector) {
    let step = DT / body.mass;
    for axis in 0..3 {
        body.velocity[axis] += step * force[axis];
        body.position[axis] += DT * body.velocity[axis];
    }
}

fn simulate(steps: u64, mut step: impl FnMut(&mut [Body], &mut [Vector])) -> f64 {
    let mut bodies = random();
    let mut forces = vec![[0.; 3]; BODIES];
    let elapsed = time(|| (0..steps).for_each(|_| step(&mut bodies, &mut forces)));
    black_box(bodies[0].position);
    elapsed
}

pub fn fork_union_static(threads: usize, steps: u64) -> f64 {
    let mut pool = fork_union_pool(threads);
    simulate(steps, |bodies, forces| {
        for_each_prong_mut(&mut pool, forces, |f, prong| *f = force(bodies, prong.task_index));
        for_each_prong_mut(&mut pool, bodies, |b, prong| apply(b, &forces[prong.task_index]));
    })
}

pub fn fork_union_dynamic(threads: usize, steps: u64) -> f64 {
    let mut pool = fork_union_pool(threads);
    simulate(steps, |bodies, forces| {
        for_each_prong_mut_dynamic(&mut pool, forces, |f, prong| {
            *f = force(bodies, prong.task_index)
        });
        for_each_prong_mut_dynamic(&mut pool, bodies, |b, prong| {
            apply(b, &forces[prong.task_index])
        });
    })
}

pub fn rayon(threads: usize, steps: u64) -> f64 {
    rayon_pool(threads).install(|| {
        simulate(steps, |bodies, forces| {
            forces.par_iter_mut().enumerate().for_each(|(i, f)| *f = force(bodies, i));
            bodies.par_iter_mut().zip(&*forces).for_each(|(b, f)| apply(b, f));
        })
    })
}
