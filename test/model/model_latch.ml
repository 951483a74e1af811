(* Latch and barrier: nobody goes on early, nobody waits for ever. *)

let latch ?cancelled name ~count bodies =
  Parties.model ("latch: " ^ name) ?cancelled (fun () ->
      let latch = Latch.create count and early = ref false in
      ( List.map (fun body -> body latch early) bodies,
        fun () -> [ ("early", !early); ("not open", Latch.count latch <> 0) ] ))

let awaits latch early () =
  Latch.await latch;
  if Latch.count latch > 0 then early := true

let counts latch _ () = Latch.count_down latch
let counts_or_is_late latch _ () = try Latch.count_down latch with Invalid_argument _ -> ()

(* Each comes so many times. [arrived] counts calls that have begun, so who returns from the n-th
   meeting must see all of the others' n-th. *)
let barrier ?cancelled ?(left = 0) name ~parties times =
  Parties.model ("barrier: " ^ name) ?cancelled (fun () ->
      let barrier = Barrier.create parties in
      let arrived = Atomic.make 0 and early = ref false in
      let body times () =
        for meeting = 1 to times do
          Atomic.incr arrived;
          Barrier.await barrier;
          if Atomic.get arrived < meeting * parties then early := true
        done
      in
      ( List.map body times,
        fun () -> [ ("early", !early); ("not empty", Barrier.waiting barrier <> left) ] ))

(* Each comes once, and some are cancelled: those that wait at the end, and only they, count. [late]:
   those that were cancelled leave later. *)
let leaving ?(late = false) name ~parties ~cancelled comers =
  let suffix i = Printf.sprintf ", %d is cancelled" i in
  let name = "barrier: " ^ name ^ String.concat "" (List.map suffix cancelled) in
  Model.make
    (if late then name ^ ", and leaves late" else name)
    (fun () ->
      let barrier = Barrier.create parties and passed = ref 0 in
      let come _ () =
        Barrier.await barrier;
        incr passed
      in
      let all = Parties.all ~cancelled (List.init comers come) in
      Waiter.resume := Waiter.at_once;
      let verdict () =
        let waiting = List.length (List.filter Parties.is_stuck all) in
        Model.faults
          [
            ("a waiter does not count, or one that left does", waiting <> Barrier.waiting barrier);
            ("all have come and wait", waiting >= parties);
            ("not as many go on as meet", !passed mod parties <> 0);
          ]
      in
      let processes = Parties.processes ~asleep:[] ~cancelled all in
      Model.{ processes = (if late then Parties.beside processes else processes); verdict })

let quick =
  [
    latch "one of one" ~count:1 [ awaits; counts ];
    latch "two of one" ~count:1 [ awaits; awaits; counts ];
    latch "one of two" ~count:2 [ awaits; counts; counts ];
    latch "counted too often" ~count:1 [ awaits; counts_or_is_late; counts_or_is_late ];
    latch "one of one" ~count:1 [ awaits; counts ] ~cancelled:[ 0 ];
    latch "two of one" ~count:1 [ awaits; awaits; counts ] ~cancelled:[ 0 ];
    barrier "two" ~parties:2 [ 1; 1 ];
    barrier "two, twice" ~parties:2 [ 2; 2 ];
    leaving "two" ~parties:2 ~cancelled:[ 0 ] 2;
    leaving "two" ~parties:2 ~cancelled:[ 0 ] 2 ~late:true;
  ]

let slow =
  [
    barrier "three" ~parties:3 [ 1; 1; 1 ];
    leaving "two of three" ~parties:2 ~cancelled:[ 0 ] 3;
    leaving "two of three" ~parties:3 ~cancelled:[ 0; 1 ] 2;
  ]
