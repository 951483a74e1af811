let seed =
  match Sys.getenv_opt "MUSTER_GOVERNOR" with
  | Some text when String.starts_with ~prefix:"random" text -> Some (Hashtbl.hash text)
  | Some _ | None -> None

(* For any number of domains, as [Random.State] is not. *)
let drawn = Atomic.make 0
let at_random seed n = Hashtbl.hash (seed, Atomic.fetch_and_add drawn 1) mod n
let draw = Option.map at_random seed
