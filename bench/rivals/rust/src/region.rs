//! Regions of 128 trivial iterations and empty ones, back to back; the size is the budget of a
//! batch in nanoseconds.

use crate::measure::{fork_union_pool, per_call, rayon_pool};
use rayon::prelude::*;
use std::hint::black_box;

const ITERATIONS: usize = 128;

fn trivial(i: usize) {
    black_box(i);
}

pub fn fork_union_slices(threads: usize, budget: u64) -> f64 {
    let mut pool = fork_union_pool(threads);
    per_call(budget, || {
        pool.for_slices(ITERATIONS, |prong, count| {
            (prong.task_index..prong.task_index + count).for_each(trivial)
        });
    })
}

pub fn fork_union_dynamic(threads: usize, budget: u64) -> f64 {
    let mut pool = fork_union_pool(threads);
    per_call(budget, || {
        pool.for_n_dynamic(ITERATIONS, |prong| trivial(prong.task_index));
    })
}

pub fn fork_union_broadcast(threads: usize, budget: u64) -> f64 {
    let mut pool = fork_union_pool(threads);
    per_call(budget, || {
        pool.for_threads(|_, _| ());
    })
}

pub fn rayon_loop(threads: usize, budget: u64) -> f64 {
    let region = || (0..ITERATIONS).into_par_iter().for_each(trivial);
    rayon_pool(threads).install(|| per_call(budget, region))
}

pub fn rayon_broadcast(threads: usize, budget: u64) -> f64 {
    let region = || {
        rayon::broadcast(|_| ());
    };
    rayon_pool(threads).install(|| per_call(budget, region))
}
