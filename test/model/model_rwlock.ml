(* The lock for readers and writers: a writer is alone, nobody waits for ever, and it is free at
   the end, though some are cancelled. *)

type shared = { lock : Rwlock.t; inside : int Atomic.t; mutable crowded : bool }

let writer = 100

(* A reader counts 1, a writer 100. *)
let enter s ~as_ =
  let others = Atomic.fetch_and_add s.inside as_ in
  if others >= writer || (as_ = writer && others > 0) then s.crowded <- true;
  ignore (Atomic.fetch_and_add s.inside (-as_))

let reads s () = Rwlock.protect_read s.lock (fun () -> enter s ~as_:1)
let writes s () = Rwlock.protect_write s.lock (fun () -> enter s ~as_:writer)

(* With fewer steps: whether somebody waits for ever. *)
let passes_as_reader s () =
  Rwlock.lock_read s.lock;
  Rwlock.unlock_read s.lock

let passes_as_writer s () =
  Rwlock.lock_write s.lock;
  Rwlock.unlock_write s.lock

let tries s () =
  if Rwlock.try_lock_write s.lock then begin
    enter s ~as_:writer;
    Rwlock.unlock_write s.lock
  end

let leaves_as_reader s () = Rwlock.unlock_read s.lock
let leaves_as_writer s () = Rwlock.unlock_write s.lock
let tries_to_pass s () = if Rwlock.try_lock_write s.lock then Rwlock.unlock_write s.lock

(* [asleep]: these wait already, for somebody who is inside when all begin; then a worker runs those
   that are woken. *)
let model ?cancelled ?(asleep = []) ?(first = ignore) name bodies =
  Parties.model ("rwlock: " ^ name) ?cancelled ~asleep ~worker:(asleep <> []) (fun () ->
      let s = { lock = Rwlock.create (); inside = Atomic.make 0; crowded = false } in
      Parties.beforehand (fun () -> first s.lock);
      let is_free () = Parties.afterwards (fun () -> Rwlock.try_lock_write s.lock) = Some true in
      ( List.map (fun body -> body s) bodies,
        fun () -> [ ("a writer was not alone", s.crowded); ("not free", not (is_free ())) ] ))

let quick =
  [
    model "two writers" [ writes; writes ];
    model "a reader and a writer" [ reads; writes ];
    model "two readers" [ reads; reads ];
    model "a reader, a writer" [ reads; writes ] ~cancelled:[ 1 ];
    model "a writer, a reader" [ writes; reads ] ~cancelled:[ 1 ];
  ]

let many = Model.bounded 500_000

let slow =
  [
    model "a reader, and a writer that tries" [ reads; tries ];
    model "a writer, and one that tries" [ writes; tries ];
    model "a reader, a writer that tries, a writer"
      [ passes_as_reader; tries_to_pass; passes_as_writer ];
    model "a writer leaves, two readers come" ~first:Rwlock.lock_write
      [ leaves_as_writer; reads; reads ];
    model "a writer leaves, a reader waits, a writer comes" ~first:Rwlock.lock_write ~asleep:[ 1 ]
      [ leaves_as_writer; reads; writes ];
    many
    @@ model "a writer leaves, a writer and a reader wait" ~first:Rwlock.lock_write ~asleep:[ 1; 2 ]
         ~cancelled:[ 1 ]
         [ leaves_as_writer; passes_as_writer; passes_as_reader ];
    many
    @@ model "a reader leaves, a writer waits, a reader comes" ~first:Rwlock.lock_read ~asleep:[ 1 ]
         [ leaves_as_reader; writes; reads ];
    many
    @@ model "two readers and a writer" [ passes_as_reader; passes_as_reader; passes_as_writer ];
  ]
