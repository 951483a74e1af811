//! What Rust's libraries need for the work that Muster is measured with. The command line is
//! the one that `bench/rivals.mli` describes.

mod fork;
mod measure;
mod nbody;
mod region;

/// Does the work once with so many threads and of that size, and is its cost in nanoseconds.
type Run = fn(usize, u64) -> f64;

const PEERS: &[(&str, &str, Run)] = &[
    ("fork", "rayon", fork::rayon),
    ("fork", "chili", fork::chili),
    ("slices", "fork-union-rust", region::fork_union_slices),
    ("slices", "rayon", region::rayon_loop),
    ("dynamic", "fork-union-rust", region::fork_union_dynamic),
    ("broadcast", "fork-union-rust", region::fork_union_broadcast),
    ("broadcast", "rayon", region::rayon_broadcast),
    ("fork-union-nbody", "fork-union-rust-static", nbody::fork_union_static),
    ("fork-union-nbody", "fork-union-rust-dynamic", nbody::fork_union_dynamic),
    ("fork-union-nbody", "rayon", nbody::rayon),
];

fn list() {
    for (experiment, peer, _) in PEERS {
        println!("{experiment} {peer}");
    }
}

fn run(experiment: &str, peer: &str, threads: &str, size: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{text}: {e}"));
    let (_, _, run) = PEERS
        .iter()
        .find(|(e, p, _)| *e == experiment && *p == peer)
        .ok_or(format!("{experiment} {peer}: no such peer"))?;
    println!("{peer} {}", run(number(threads)? as usize, number(size)?));
    Ok(())
}

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["list"] => {
            list();
            Ok(())
        }
        [experiment, peer, threads, size] => run(experiment, peer, threads, size),
        _ => Err("usage: rust-peers list | EXPERIMENT PEER THREADS SIZE".into()),
    }
}
