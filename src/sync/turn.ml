(* Marsaglia's xorshift (Xorshift RNGs, 2003) of 62 bits, one for each domain. Threads of a
   domain may get the same number, which does no harm. A counter would not do: two loops that
   take turns on a domain would each always get the same. *)

let seeds = Atomic.make 1
let state = Domain.DLS.new_key (fun () -> ref (Atomic.fetch_and_add seeds 1 * 0x1e3779b97f4a7c15))

let below n =
  let state = Domain.DLS.get state in
  let x = !state in
  let x = x lxor (x lsl 13) in
  let x = x lxor (x lsr 7) in
  let x = x lxor (x lsl 17) in
  state := x;
  (x lsr 11) mod n
