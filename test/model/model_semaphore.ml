(* The semaphore: no more inside than permits, nobody waits for ever, and all permits are back at
   the end, though some are cancelled. *)

type shared = { semaphore : Semaphore.t; inside : int Atomic.t; mutable crowded : bool }

let uses times s () =
  for _ = 1 to times do
    Semaphore.with_permit s.semaphore (fun () ->
        if Atomic.fetch_and_add s.inside 1 >= 1 then s.crowded <- true;
        Atomic.decr s.inside)
  done

let tries s () = if Semaphore.try_acquire s.semaphore then Semaphore.release s.semaphore
let takes s () = Semaphore.acquire s.semaphore
let gives times s () =
  for _ = 1 to times do
    Semaphore.release s.semaphore
  done

(* One that may never get a permit gives it back if it does, and is not waited for. *)
let model ?cancelled ?(left = 1) name permits bodies =
  Parties.model ("semaphore: " ^ name) ?cancelled (fun () ->
      let s = { semaphore = Semaphore.make permits; inside = Atomic.make 0; crowded = false } in
      ( List.map (fun body -> body s) bodies,
        fun () ->
          [
            ("too many inside", permits = 1 && s.crowded);
            ("permits lost or made", Semaphore.get_value s.semaphore <> left);
          ] ))

let quick =
  [
    model "two" 1 [ uses 1; uses 1 ];
    model "two and one that tries" 1 [ uses 1; uses 1; tries ];
    model "one takes, one gives" 0 ~left:0 [ takes; gives 1 ];
    model "two" 1 [ uses 1; uses 1 ] ~cancelled:[ 1 ];
    model "two of two permits" 2 ~left:2 [ uses 1; uses 1 ] ~cancelled:[ 1 ];
  ]

let slow =
  [
    model "two take, one gives two" 0 ~left:0 [ takes; takes; gives 2 ];
    model "two take, one gives two" 0 ~left:1 [ takes; takes; gives 2 ] ~cancelled:[ 1 ];
    model "three" 1 [ uses 1; uses 1; uses 1 ];
    model "two, twice" 1 [ uses 2; uses 2 ];
  ]
