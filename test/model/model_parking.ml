(* Parking, used as Worker uses it: publish and wake one; announce, re-check, and sleep or
   cancel. What is published must not lie there while a worker sleeps that would serve it. *)

type t = {
  parking : Parking.t;
  work : int Atomic.t array;  (** items published, of each kind *)
  serves : int list array;  (** the kinds that each worker serves *)
  announce : Parking.t -> int -> unit;  (** for worker 0; the others announce to all *)
  blocked : bool array;
}

let make serves ~kinds ~announce =
  let workers = Array.length serves in
  {
    parking = Parking.create workers;
    work = Array.init kinds (fun _ -> Atomic.make 0);
    serves;
    announce;
    blocked = Array.make workers false;
  }

(* {2 The parties} *)

let rec take work =
  let n = Atomic.get work in
  n > 0 && (Atomic.compare_and_set work n (n - 1) || take work)

let is_there t kind = Atomic.get t.work.(kind) > 0

let noting_a_block t i sleep =
  try sleep ()
  with Machine.Sleeper.Blocked as blocked ->
    t.blocked.(i) <- true;
    raise blocked

(* Finds one item and is done. *)
let rec worker t i () =
  let serves test = List.exists test t.serves.(i) in
  if not (serves (fun kind -> take t.work.(kind))) then begin
    (if i = 0 then t.announce else Parking.announce) t.parking i;
    if serves (is_there t) then Parking.cancel t.parking i else sleep t i;
    worker t i ()
  end

and sleep t i = noting_a_block t i (fun () -> ignore (Parking.sleep t.parking i ~limit_ms:(-1)))

let until_blocked process () = try process () with Machine.Sleeper.Blocked -> ()
let publish t kind = Atomic.incr t.work.(kind)

let publisher ?from t kind () =
  publish t kind;
  ignore (Parking.wake_one ?from t.parking)

let mail t ~kind ~to_ () =
  publish t kind;
  ignore (Parking.wake t.parking to_)

(* Asleep before the others begin. *)
let asleep t i = until_blocked (worker t i) ()

(* {2 Afterwards} *)

(* Within [Parking.sleep], where it was blocked for want of a token. *)
let wake_up t i () =
  let token = (Parking.places t.parking).(i).sleeper in
  noting_a_block t i (fun () -> ignore (Machine.Sleeper.sleep token (-1)));
  sleep t i;
  worker t i ()

(* Those who have been woken since go on, one after the other. *)
let resume t =
  let go_on i was_blocked =
    t.blocked.(i) <- false;
    if was_blocked then until_blocked (wake_up t i) ()
  in
  Array.iteri go_on (Array.copy t.blocked)

let count_blocked t = List.length (List.filter Fun.id (Array.to_list t.blocked))

let verdict t ~left () =
  resume t;
  let asleep = count_blocked t in
  let lies_there i kind = t.blocked.(i) && is_there t kind in
  let lost i kinds = List.exists (lies_there i) kinds in
  let any_lost = List.exists Fun.id (List.mapi lost (Array.to_list t.serves)) in
  Model.faults
    [
      ("a wake-up was lost", any_lost);
      (Printf.sprintf "%d asleep, not %d" asleep left, asleep <> left);
      ("the count of sleepers is off", Parking.sleepers t.parking <> asleep);
    ]

(* {2 Models} *)

let model ?(announce = Parking.announce) name serves ~kinds ~left processes =
  let start () =
    let t = make serves ~kinds ~announce in
    let processes = List.map until_blocked (processes t) in
    Model.{ processes; verdict = verdict t ~left }
  in
  Model.make ("parking: " ^ name) start

let publishers count t = List.init count (fun _ -> publisher t 0)

let alike workers count =
  let name = Printf.sprintf "%d workers, %d items" workers count in
  model name (Array.make workers [ 0 ]) ~kinds:1 ~left:(workers - count) (fun t ->
      List.init workers (worker t) @ publishers count t)

let one_publisher_of_two =
  model "2 workers, 1 publisher of 2 items" [| [ 0 ]; [ 0 ] |] ~kinds:1 ~left:0 (fun t ->
      let publish_both () =
        publisher t 0 ();
        publisher t 0 ()
      in
      [ worker t 0; worker t 1; publish_both ])

let wake_all =
  model "2 workers, everybody woken" [| [ 0 ]; [ 0 ] |] ~kinds:1 ~left:0 (fun t ->
      let open_gate () =
        ignore (Atomic.fetch_and_add t.work.(0) 2);
        Parking.wake_all t.parking
      in
      [ worker t 0; worker t 1; open_gate ])

(* Kind 0 is for worker 0 alone, kind 1 for the others, as mail and inbox are in a pool. *)
let mail_beside_work =
  let serves = [| [ 0 ]; [ 1 ] |] in
  model "mail for one, work for the other" serves ~kinds:2 ~left:0 (fun t ->
      [ worker t 0; worker t 1; mail t ~kind:0 ~to_:0; publisher ~from:1 t 1 ])

let mail_aside =
  let serves = [| [ 0 ]; [ 1 ] |] in
  model ~announce:Parking.announce_aside "mail for one aside, work for the other" serves ~kinds:2
    ~left:0 (fun t -> [ worker t 0; worker t 1; mail t ~kind:0 ~to_:0; publisher t 1 ])

let mail_while_one_sleeps =
  let serves = [| [ 0 ]; [ 1 ] |] in
  model "mail for one, work for a sleeper" serves ~kinds:2 ~left:0 (fun t ->
      asleep t 1;
      [ worker t 0; mail t ~kind:0 ~to_:0; publisher ~from:1 t 1 ])

let one_sleeps_behind_another =
  model "1 worker, 1 asleep, 2 items" [| [ 0 ]; [ 0 ] |] ~kinds:1 ~left:0 (fun t ->
      asleep t 1;
      [ worker t 0; publisher t 0; publisher t 0 ])

let wake_after_cancel =
  let second_sleep t () =
    Parking.announce t.parking 0;
    Parking.cancel t.parking 0;
    worker t 0 ()
  in
  model "a late token" [| [ 0 ] |] ~kinds:1 ~left:0 (fun t ->
      let stray_wake () = ignore (Parking.wake t.parking 0) in
      [ second_sleep t; stray_wake; publisher t 0 ])

let quick =
  [
    alike 1 1;
    alike 2 1;
    one_sleeps_behind_another;
    mail_beside_work;
    mail_aside;
    mail_while_one_sleeps;
    wake_after_cancel;
    wake_all;
  ]

let slow = [ alike 2 2; one_publisher_of_two ]
