use std::time::Instant;

pub fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// The mean time of one call over a batch back to back, which doubles until it takes `budget`
/// nanoseconds: the same as `Measure.per_call` of the harness.
pub fn per_call(budget: u64, mut work: impl FnMut()) -> f64 {
    let mut calls = 1_u64;
    loop {
        let elapsed = time(|| (0..calls).for_each(|_| work()));
        if elapsed >= budget as f64 {
            return elapsed / calls as f64;
        }
        calls *= 2;
    }
}

pub fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = builder.build().expect("rayon cannot start its threads");
    pool.broadcast(|_| ());
    pool
}

pub fn fork_union_pool(threads: usize) -> fork_union::ThreadPool {
    let mut pool = fork_union::spawn(threads);
    pool.for_threads(|_, _| ());
    pool
}
