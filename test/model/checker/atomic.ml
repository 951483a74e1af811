(* What the copied files find as [Atomic]: operations are steps, which the checker puts in any
   order with those of the other processes.

   Orders grow exponentially with steps, and most atomics need none: those that only one process
   uses, or that nobody changes while processes run. Which these are is found out as it goes. A run begins
   with no atomic traced; one that turns out to be shared, and changed, is marked by its label (who
   made it, and its how-manieth it is), and all starts again. When all orders have been tried without
   finding one more, those not traced were never a reason for two orders to differ.

   A process may also block ([block]): it ends there. Each order in which it goes on is one in which
   that step came later, after what it waits for, and the checker tries that too. So an order is void
   at whose end what a blocked process waits for is there. *)

module Traced = Dscheck.TracedAtomic

type label = { maker : int; number : int }

(* Who makes atomics: the program when it starts, [start] of a model, or a process (from 0). *)
let the_program = -2
let the_model = -1
let current = ref the_program

type 'a t = {
  mutable value : 'a;
  mutable traced : 'a Traced.t option;  (** then the value is there *)
  label : label;
  mutable users : int;  (** a bit for each process *)
  mutable writers : int;
  mutable private_ : bool;  (** see [ignore_sharing] *)
}

(* {2 Labels} *)

let made : (int, int) Hashtbl.t = Hashtbl.create 8
let shared : (label, unit) Hashtbl.t = Hashtbl.create 64
let found : label list ref = ref [] (* since this exploration began: traced in the next one *)
let found_more () = !found <> []

let trace_found () =
  List.iter (fun label -> Hashtbl.replace shared label ()) !found;
  found := []

let forget_shared () =
  Hashtbl.reset shared;
  found := []

let new_label () =
  let number = Option.value (Hashtbl.find_opt made !current) ~default:0 in
  Hashtbl.replace made !current (number + 1);
  { maker = !current; number }

let is_shared a = (not a.private_) && Hashtbl.mem shared a.label

(* {2 Steps} *)

exception Stopped
(** In a process that will not go on; nothing that it does any more counts. *)

let stopping = ref false

let[@inline never] stop () =
  stopping := true;
  raise Stopped

(* An exception comes from the checker, which wants this run no more. *)
let step f =
  if !stopping then raise Stopped;
  let me = !current in
  match f () with
  | v ->
    current := me;
    v
  | exception _ -> stop ()

let are_several bits = bits land (bits - 1) <> 0

(** [f] without any step: it is stopped at the first one. *)
let without_steps f =
  stopping := true;
  Fun.protect f ~finally:(fun () -> stopping := false)

(* The model before and after its processes counts as none. *)
let note a ~writes =
  if !stopping then raise Stopped;
  if !current >= 0 && not a.private_ then begin
    let me = 1 lsl !current in
    a.users <- a.users lor me;
    if writes then a.writers <- a.writers lor me;
    if a.writers <> 0 && are_several a.users && a.traced = None then found := a.label :: !found
  end

(* {2 Operations} *)

let trace a v = a.traced <- (if is_shared a then Some (step (fun () -> Traced.make v)) else None)

(* Those that the program made: what the copied files keep at their top level. *)
let globals : (unit -> unit) list ref = ref []

let make v =
  if !stopping then raise Stopped;
  let label = new_label () in
  let a = { value = v; traced = None; label; users = 0; writers = 0; private_ = false } in
  if !current = the_program then begin
    let restore () =
      a.value <- v;
      a.users <- 0;
      a.writers <- 0;
      trace a v
    in
    globals := restore :: !globals
  end
  else trace a v;
  a

let make_contended = make

let get a =
  match a.traced with
  | Some t -> step (fun () -> Traced.get t)
  | None ->
    note a ~writes:false;
    a.value

let exchange a v =
  match a.traced with
  | Some t -> step (fun () -> Traced.exchange t v)
  | None ->
    note a ~writes:true;
    let before = a.value in
    a.value <- v;
    before

let set a v =
  match a.traced with
  | Some t -> step (fun () -> Traced.set t v)
  | None ->
    note a ~writes:true;
    a.value <- v

let compare_and_set a seen v =
  match a.traced with
  | Some t -> step (fun () -> Traced.compare_and_set t seen v)
  | None ->
    let succeeds = a.value == seen in
    note a ~writes:succeeds;
    if succeeds then a.value <- v;
    succeeds

let fetch_and_add a n =
  match a.traced with
  | Some t -> step (fun () -> Traced.fetch_and_add t n)
  | None ->
    note a ~writes:true;
    let before = a.value in
    a.value <- before + n;
    before

let incr a = ignore (fetch_and_add a 1)
let decr a = ignore (fetch_and_add a (-1))

(** Never traced: for logs, which nobody decides by. *)
let ignore_sharing a = a.private_ <- true

(* {2 Runs} *)

(** What is to be as new in each run. *)
let at_start : (unit -> unit) list ref = ref []

type wait = { who : int; is_over : unit -> bool }

let waits : wait list ref = ref []
let raised : (int * exn) list ref = ref []

(** The calling process goes no further unless [is_over ()]. *)
let block is_over =
  waits := { who = !current; is_over } :: !waits;
  stop ()

let renew () =
  current := the_model;
  stopping := false;
  Hashtbl.filter_map_inplace (fun maker n -> if maker = the_program then Some n else None) made;
  waits := [];
  raised := [];
  List.iter (fun restore -> restore ()) (List.rev !globals);
  List.iter (fun f -> f ()) !at_start

(** What [f] makes is no part of any run. *)
let apart f =
  let before = !current in
  current := the_model;
  let v = f () in
  current := before;
  v

(** Process [i], as the checker starts it. *)
let process i f () =
  current := i;
  (match f () with
  | () -> ()
  | exception exn -> if not !stopping then raised := (i, exn) :: !raised);
  stopping := false

let is_blocked i = List.exists (fun wait -> wait.who = i) !waits
let is_void () = List.exists (fun wait -> wait.is_over ()) !waits
