(* The semaphore: no more inside than permits, nobody waits for ever, and all permits are back at
   the end, though some are cancelled. *)

type shared = {
  semaphore : Semaphore.t;
  inside : int Atomic.t;
  mutable crowded : bool;
  mutable taken : int;  (** by those that keep theirs *)
}

let uses times s () =
  for _ = 1 to times do
    Semaphore.with_permit s.semaphore (fun () ->
        if Atomic.fetch_and_add s.inside 1 >= 1 then s.crowded <- true;
        Atomic.decr s.inside)
  done

let tries s () = if Semaphore.try_acquire s.semaphore then Semaphore.release s.semaphore

let takes s () =
  Semaphore.acquire s.semaphore;
  s.taken <- s.taken + 1

let gives times s () =
  for _ = 1 to times do
    Semaphore.release s.semaphore
  done

(* [in_all]: the permits at the end, those that were kept too. *)
let model ?cancelled ?(in_all = 1) name permits bodies =
  Parties.model ("semaphore: " ^ name) ?cancelled (fun () ->
      let semaphore = Semaphore.make permits in
      let s = { semaphore; inside = Atomic.make 0; crowded = false; taken = 0 } in
      ( List.map (fun body -> body s) bodies,
        fun () ->
          [
            ("too many inside", permits = 1 && s.crowded);
            ("permits lost or made", Semaphore.get_value s.semaphore + s.taken <> in_all);
          ] ))

let quick =
  [
    model "two" 1 [ uses 1; uses 1 ];
    model "two and one that tries" 1 [ uses 1; uses 1; tries ];
    model "one takes, one gives" 0 [ takes; gives 1 ];
    model "two" 1 [ uses 1; uses 1 ] ~cancelled:[ 1 ];
    model "two of two permits" 2 ~in_all:2 [ uses 1; uses 1 ] ~cancelled:[ 1 ];
  ]

let many = Model.bounded 500_000

let slow =
  [
    model "two take, one gives two" 0 ~in_all:2 [ takes; takes; gives 2 ];
    many
    @@ model "two take, one gives two" 0 ~in_all:2 [ takes; takes; gives 2 ] ~cancelled:[ 1 ];
    model "three" 1 [ uses 1; uses 1; uses 1 ];
    model "two, twice" 1 [ uses 2; uses 2 ];
  ]
