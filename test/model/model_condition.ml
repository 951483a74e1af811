(* The condition: a party that waits for something that has been announced under the mutex goes on; and
   holds the mutex afterwards, cancelled or not. *)

type shared = {
  mutex : Mutex.t;
  condition : Condition.t;
  items : int Atomic.t;
  mutable without_mutex : bool;
}

let takes s () =
  Mutex.protect s.mutex @@ fun () ->
  while Atomic.get s.items = 0 do
    (try Condition.wait s.condition s.mutex
     with Waiter.Cancelled as exn ->
       if not (Mutex.is_mine s.mutex) then s.without_mutex <- true;
       raise exn);
    if not (Mutex.is_mine s.mutex) then s.without_mutex <- true
  done;
  Atomic.decr s.items

let puts ?(count = 1) wake s () =
  Mutex.protect s.mutex (fun () -> ignore (Atomic.fetch_and_add s.items count));
  wake s.condition

(* Those [asleep] wait already; then a worker runs those that are woken. *)
let model ?cancelled ?(asleep = []) ?(left = [ 0 ]) name bodies =
  Parties.model ("condition: " ^ name) ?cancelled ~asleep ~worker:(asleep <> []) (fun () ->
      let s =
        {
          mutex = Mutex.create ();
          condition = Condition.create ();
          items = Atomic.make 0;
          without_mutex = false;
        }
      in
      ( List.map (fun body -> body s) bodies,
        fun () ->
          [
            ("without the mutex", s.without_mutex);
            ("items lost", not (List.mem (Atomic.get s.items) left));
            ("not free", Parties.afterwards (fun () -> Mutex.try_lock s.mutex) <> Some true);
          ] ))

let quick =
  [
    model "one waits, one signals" [ takes; puts Condition.signal ];
    model "one waits, one broadcasts" [ takes; puts Condition.broadcast ];
    model "one waits, one signals" [ takes; puts Condition.signal ] ~cancelled:[ 0 ] ~left:[ 0; 1 ];
  ]

let many = Model.bounded 200_000

let slow =
  [
    model "two sleep, one broadcasts" ~asleep:[ 0; 1 ]
      [ takes; takes; puts ~count:2 Condition.broadcast ];
    many
    @@ model "two sleep, two signal" ~asleep:[ 0; 1 ]
         [ takes; takes; puts Condition.signal; puts Condition.signal ];
    many
    @@ model "one sleeps, one comes, one broadcasts" ~asleep:[ 0 ]
         [ takes; takes; puts ~count:2 Condition.broadcast ];
    many
    @@ model "two sleep, two signal" ~asleep:[ 0; 1 ] ~cancelled:[ 0 ] ~left:[ 0; 1 ]
         [ takes; takes; puts Condition.signal; puts Condition.signal ];
  ]
