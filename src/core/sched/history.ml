type kind = Workers | Heaps | Cpus | Domains
type decision = { at : int; kind : kind; what : string; why : string }
type t = { since : int; ended : int Atomic.t; told : bool Atomic.t; log : decision list Atomic.t }

let make () =
  let ended = Atomic.make 0 and told = Atomic.make false and log = Atomic.make [] in
  { since = Machine.now (); ended; told; log }

let kept = 8

let add kind what why log =
  let keep decision (left, kept) =
    if decision.kind <> kind then (left, decision :: kept)
    else if left = 0 then (left, kept)
    else (left - 1, decision :: kept)
  in
  let _, older = List.fold_left (Fun.flip keep) (kept - 1, []) log in
  (* The time is read with the others at hand, so that they are in its order. *)
  { at = Machine.now (); kind; what; why } :: List.rev older
