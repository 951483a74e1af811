(* The lazy value: computed once, but for computations that were cancelled; all who force it get
   its value or its exception. *)

exception Failed

type shared = { it : int Lazy.t; runs : int Atomic.t; mutable wrong : bool }

(* The computation is a step of its own, and may wait. *)
let share ~waits ~fails =
  let gate = Semaphore.make 1 in
  let runs = Atomic.make 0 in
  let compute () =
    if waits then Semaphore.acquire gate;
    Atomic.incr runs;
    if waits then Semaphore.release gate;
    if fails then raise Failed else 7
  in
  ({ it = Lazy.from_fun compute; runs; wrong = false }, gate)

let forces ~fails s () =
  match Lazy.force s.it with
  | 7 when not fails -> ()
  | _ -> s.wrong <- true
  | exception Failed when fails -> ()

let model ?cancelled ?(waits = false) ?(fails = false) forcers =
  let name =
    Printf.sprintf "lazy: %d force it%s%s" forcers
      (if waits then ", it waits" else "")
      (if fails then ", it fails" else "")
  in
  Parties.model name ?cancelled (fun () ->
      let s, gate = share ~waits ~fails in
      let bodies = List.init forcers (fun _ -> forces ~fails s) in
      let opens () =
        Semaphore.acquire gate;
        Semaphore.release gate
      in
      ( (if waits then opens :: bodies else bodies),
        fun () ->
          [
            ("wrong value", s.wrong);
            ("not computed once", Atomic.get s.runs > 1 || (forcers > 1 && Atomic.get s.runs = 0));
            ("no value", forcers > 1 && (not fails) && not (Lazy.is_val s.it));
          ] ))

let quick = [ model 2; model 2 ~fails:true; model 3; model 2 ~waits:true ]

let slow =
  [
    model 3 ~fails:true;
    model 2 ~waits:true ~cancelled:[ 1 ];
    model 2 ~waits:true ~fails:true ~cancelled:[ 1 ];
  ]
