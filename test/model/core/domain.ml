(* Domains are processes of the model that wait for their turn: [start] says how many there may
   be, and which process is the next domain's. *)

type 'a t = { number : int; body : (unit -> 'a) option Atomic.t; has_ended : bool Atomic.t }

let nobodies : unit t list ref = ref []
let next = ref 0
let in_main = ref true

(** What a process that spins waits for, to tell one that spins for ever. *)
let spins_until = ref (fun () -> false)

let () =
  Atomic.at_start :=
    (fun () ->
      nobodies := [];
      next := 0;
      in_main := true;
      spins_until := fun () -> false)
    :: !Atomic.at_start

(** Processes [first] and so on are domains to come. *)
let prepare ~first count =
  let domain i = { number = first + i; body = Atomic.make None; has_ended = Atomic.make false } in
  nobodies := List.init count domain

exception Too_many

let spawn f =
  match List.nth_opt !nobodies !next with
  | None -> raise Too_many
  | Some d ->
    incr next;
    Atomic.set d.body (Some f);
    d

(** The process of the domain that comes as the [i]th. *)
let process i () =
  let d = List.nth !nobodies i in
  match Atomic.get d.body with
  | None -> Atomic.block (fun () -> Atomic.get d.body <> None)
  | Some f ->
    f ();
    Atomic.set d.has_ended true

let is_over d = Atomic.get d.has_ended
let join d = if not (is_over d) then Atomic.block (fun () -> is_over d)
let get_id d = d.number
let self () = !Atomic.current
let is_main_domain () = !in_main
let cpu_relax () : unit = Atomic.block !spins_until
