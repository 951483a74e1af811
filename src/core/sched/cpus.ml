let refresh_ns = 1_000_000_000

type view = { usable : int; affinity : int; read_at : int  (** in ns *) }

(* By any worker that looks, by compare-and-set of the whole. The first pool looks before all, so
   that a program which makes none reads no files. *)
let view = Atomic.make { usable = max_int; affinity = 0; read_at = 0 }

let usable () = (Atomic.get view).usable
let affinity () = (Atomic.get view).affinity

let refresh now =
  let seen = Atomic.get view and affinity = Cpu.affinity () in
  if now - seen.read_at <= refresh_ns && affinity = seen.affinity then None
  else
    let usable = Cpu.available_now ~before:seen.usable in
    let is_noted = Atomic.compare_and_set view seen { usable; affinity; read_at = now } in
    if is_noted && seen.affinity > 0 && usable <> seen.usable then Some seen.usable else None
