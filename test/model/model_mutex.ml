(* The mutex: at most one party is inside, nobody waits for ever, and it is free at the end,
   though some are cancelled. *)

type shared = { mutex : Mutex.t; inside : int Atomic.t; mutable crowded : bool }

let enter s =
  if Atomic.fetch_and_add s.inside 1 > 0 then s.crowded <- true;
  Atomic.decr s.inside

let locks times s () =
  for _ = 1 to times do
    Mutex.protect s.mutex (fun () -> enter s)
  done

(* With fewer steps: whether somebody waits for ever. If two were inside, the first to unlock would
   be told that it does not hold the mutex. *)
let takes times s () =
  for _ = 1 to times do
    Mutex.lock s.mutex;
    Mutex.unlock s.mutex
  done

let tries s () =
  if Mutex.try_lock s.mutex then begin
    enter s;
    Mutex.unlock s.mutex
  end

(* A cancelled party may come again. *)
let comes_again s () =
  try locks 1 s ()
  with Waiter.Cancelled as exn ->
    locks 1 s ();
    raise exn

let misuses s () =
  let refused f = match f () with () -> s.crowded <- true | exception Invalid_argument _ -> () in
  Mutex.lock s.mutex;
  refused (fun () -> Mutex.lock s.mutex);
  Mutex.unlock s.mutex;
  refused (fun () -> Mutex.unlock s.mutex)

let model ?cancelled name bodies =
  Parties.model ("mutex: " ^ name) ?cancelled (fun () ->
      let s = { mutex = Mutex.create (); inside = Atomic.make 0; crowded = false } in
      let is_free () = Parties.afterwards (fun () -> Mutex.try_lock s.mutex) = Some true in
      ( List.map (fun body -> body s) bodies,
        fun () -> [ ("two inside, or misuse accepted", s.crowded); ("not free", not (is_free ())) ]
      ))

(* The first party holds it, and others wait already: so many, by default all. *)
let held ?cancelled ?waiting name bodies =
  let waiting = Option.value waiting ~default:(List.length bodies - 1) in
  let asleep = List.init waiting (fun i -> i + 1) in
  Parties.model ("mutex, held: " ^ name) ~worker:true ~asleep ?cancelled (fun () ->
      let s = { mutex = Mutex.create (); inside = Atomic.make 0; crowded = false } in
      Parties.beforehand (fun () -> Mutex.lock s.mutex);
      let is_free () = Parties.afterwards (fun () -> Mutex.try_lock s.mutex) = Some true in
      ( List.map (fun body -> body s) bodies,
        fun () -> [ ("two inside", s.crowded); ("not free", not (is_free ())) ] ))

let lets_go s () = Mutex.unlock s.mutex

let comes_back s () =
  Mutex.unlock s.mutex;
  Mutex.lock s.mutex;
  Mutex.unlock s.mutex

let quick =
  [
    model "two" [ locks 1; locks 1 ];
    model "two that misuse it" [ misuses; misuses ];
    model "two" [ locks 1; comes_again ] ~cancelled:[ 1 ];
    model "two, twice" [ locks 2; locks 1 ] ~cancelled:[ 1 ];
  ]

let slow =
  [
    model "two, twice" [ locks 2; locks 2 ];
    held "two wait, it comes back" [ comes_back; locks 1; locks 1 ];
    Model.bounded 1_000_000
      (held ~waiting:1 "one waits, it comes back, a third comes" [ comes_back; takes 1; takes 1 ]);
    held "one waits, it comes back" [ comes_back; takes 1 ] ~cancelled:[ 1 ];
    model "two and one that tries" [ locks 1; locks 1; tries ];
    held "two wait" [ lets_go; takes 1; takes 1 ] ~cancelled:[ 1 ];
    model "three" [ takes 1; takes 1; takes 1 ];
  ]
