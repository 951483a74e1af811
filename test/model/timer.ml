(* Timers without a clock: a party says when the time is up. What is set later is due at once, as
   another party would look. *)

type t = { up : bool Atomic.t; timers : (unit -> unit) list Atomic.t }

let make () = { up = Atomic.make false; timers = Atomic.make [] }

(** That of the present run. *)
let current = ref (make ())

let start () = current := make ()
let now () = Bool.to_int (Atomic.get !current.up)
let after (_ : float) = 1

let rec change f =
  let { timers; _ } = !current in
  let old = Atomic.get timers in
  if not (Atomic.compare_and_set timers old (f old)) then change f

let look () = List.iter (fun f -> f ()) (Atomic.exchange !current.timers [])

let add (_ : int) f =
  change (List.cons f);
  if now () = 1 then look ();
  f

let remove f = change (List.filter (fun other -> other != f))

let tick () =
  Atomic.set !current.up true;
  look ()
