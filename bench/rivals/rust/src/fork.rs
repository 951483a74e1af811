//! A fork at every call of naive Fibonacci, per fork.

use crate::measure;
use std::num::NonZero;

fn rayon_fib(n: u64) -> u64 {
    if n < 2 {
        return 1;
    }
    let (a, b) = rayon::join(|| rayon_fib(n - 1), || rayon_fib(n - 2));
    a + b
}

fn chili_fib(scope: &mut chili::Scope, n: u64) -> u64 {
    if n < 2 {
        return 1;
    }
    let (a, b) = scope.join(|s| chili_fib(s, n - 1), |s| chili_fib(s, n - 2));
    a + b
}

/// Every call but a leaf forks once, and the result is the number of leaves.
fn per_fork(fib: impl FnOnce() -> u64) -> f64 {
    let mut leaves = 0;
    let elapsed = measure::time(|| leaves = fib());
    elapsed / (leaves - 1) as f64
}

pub fn rayon(threads: usize, n: u64) -> f64 {
    measure::rayon_pool(threads).install(|| per_fork(|| rayon_fib(n)))
}

pub fn chili(threads: usize, n: u64) -> f64 {
    let pool = chili::ThreadPool::with_config(chili::Config {
        thread_count: NonZero::new(threads),
        ..chili::Config::default()
    });
    let mut scope = pool.scope();
    per_fork(|| chili_fib(&mut scope, n))
}
