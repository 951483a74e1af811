(* A generator for each domain. A counter would not do: two loops that take turns on a domain would
   each always get the same numbers. Threads of a domain may get the same number, which does no
   harm. *)
let seeds = Atomic.make 1
let make () = Random.State.make [| Atomic.fetch_and_add seeds 1 |]
let state = Domain.DLS.new_key make
let below n = Random.State.int (Domain.DLS.get state) n
