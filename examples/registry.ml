let twins =
  [
    Fib.example;
    Fib_twice.example;
    Spectral_norm.example;
    Life.example;
    Stencil.example;
    Nbody.example;
    Fork_union_nbody.example;
    C_nbody.example;
    Quicksort.example;
    Mergesort.example;
    Lu.example;
    Counter.example;
    Blocking_stack.example;
    Treiber_stack.example;
    Logging.example;
    Pipeline.example;
    Ordered.example;
    Subprocesses.example;
    Philosophers.example;
    Cram.example;
    Pricer.example;
  ]

let programs = [ Service.example; Runner.example; Jobs.example ]
let all = twins @ programs

let find wanted =
  List.find_map (fun (name, _, command) -> if name = wanted then Some command else None) all
