(* The table: the function of a key runs once, but for those that fail or were cancelled; each update
   counts once; a table that grows meanwhile loses nothing. All keys are in one shard, which grows
   when the second one comes. *)

exception Failed

let table () = Table.create ~hash:Fun.id ~equal:Int.equal ()

(* The hashes of these are in the same shard. *)
let keys =
  let shard key =
    let product = key * 0x1E3779B97F4A7C15 in
    (product lxor (product lsr 32)) land 63
  in
  Array.of_list (List.filter (fun key -> shard key = shard 1) (List.init 400 succ))

let model name ?cancelled start =
  Parties.model ("table: " ^ name) ?cancelled (fun () ->
      let t = table () in
      start t)

let finds t key = Parties.afterwards (fun () -> Table.find_opt t key)

(* [waits]: the function is suspended until the last party opens the gate. *)
let added ?cancelled ?(waits = false) ?(fails = false) n =
  let name =
    Printf.sprintf "%d add a key%s%s" n
      (if waits then ", it waits" else "")
      (if fails then ", it fails" else "")
  in
  model name ?cancelled (fun t ->
      let runs = Atomic.make 0 and wrong = ref false and gate = Semaphore.make 1 in
      let compute _ =
        if waits then Semaphore.acquire gate;
        Atomic.incr runs;
        if waits then Semaphore.release gate;
        if fails then raise Failed else 7
      in
      let add () =
        match Table.find_or_add t 1 compute with
        | 7 when not fails -> ()
        | _ -> wrong := true
        | exception Failed when fails -> ()
      in
      let opens () =
        Semaphore.acquire gate;
        Semaphore.release gate
      in
      let bodies = List.init n (fun _ -> add) in
      ( (if waits then opens :: bodies else bodies),
        fun () ->
          let runs = Atomic.get runs and found = finds t 1 in
          [
            ("wrong value", !wrong);
            ("not once", (not fails) && runs > 1);
            ("no value", cancelled = None && (not fails) && found <> Some (Some 7));
            ("a value", fails && found <> Some None);
            ("not each", fails && cancelled = None && runs <> n);
            ("length", Table.length t <> if found = Some (Some 7) then 1 else 0);
          ] ))

let increment n = Some (1 + Option.value n ~default:0)

(* [waits]: each function is suspended where another party has the gate. *)
let updated ?cancelled ?(waits = false) n =
  let name = Printf.sprintf "%d update a key%s" n (if waits then ", each waits" else "") in
  model name ?cancelled (fun t ->
      let done_ = Atomic.make 0 and gate = Semaphore.make 1 in
      let through () =
        Semaphore.acquire gate;
        Semaphore.release gate
      in
      let update () =
        Table.update t 1 (fun n ->
            if waits then through ();
            increment n);
        Atomic.incr done_
      in
      let bodies = List.init n (fun _ -> update) in
      ( (if waits then through :: bodies else bodies),
        fun () ->
          let counted = Option.value (Option.join (finds t 1)) ~default:0 in
          [
            ("an update is lost", counted < Atomic.get done_);
            ("not each", cancelled = None && counted <> n);
          ] ))

(* One removes the key that the other updates. *)
let removed () =
  model "an update and a remove" (fun t ->
      ( [ (fun () -> Table.update t 1 increment); (fun () -> Table.remove t 1) ],
        fun () ->
          let found = finds t 1 in
          [
            ("wrong value", not (List.mem found [ Some None; Some (Some 1) ]));
            ("length", Table.length t <> if found = Some None then 0 else 1);
          ] ))

(* Each party has a key of its own; the second one to come makes the shard grow. *)
let grown n =
  model (Printf.sprintf "%d keys in a shard that grows" n) (fun t ->
      let add i () = ignore (Table.find_or_add t keys.(i) Fun.id) in
      ( List.init n add,
        fun () ->
          let lost i = finds t keys.(i) <> Some (Some keys.(i)) in
          [
            ("a key is lost", List.exists lost (List.init n Fun.id));
            ("length", Table.length t <> n);
          ] ))

(* A reader sees a key that was there from the beginning, whatever grows. *)
let read_while_it_grows () =
  model "a look while a shard grows" (fun t ->
      Parties.beforehand (fun () -> Table.replace t keys.(0) 5);
      let wrong = ref false in
      ( [
          (fun () -> ignore (Table.find_or_add t keys.(1) Fun.id));
          (fun () -> if Table.find_opt t keys.(0) <> Some 5 then wrong := true);
        ],
        fun () -> [ ("not seen", !wrong) ] ))

let quick = [ added 2; added 2 ~fails:true; updated 2; removed (); grown 2; read_while_it_grows () ]

let many = Model.bounded 100_000

let slow =
  added 2 ~waits:true
  :: List.map many
       [
         added 2 ~waits:true ~cancelled:[ 1 ];
         added 3;
         updated 3;
         updated 2 ~waits:true;
         updated 3 ~waits:true ~cancelled:[ 2 ];
         grown 3;
       ]
