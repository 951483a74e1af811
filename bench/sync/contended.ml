(* Locks that everybody wants: tasks that lock, work a little, unlock, and work a little elsewhere.
   Rows of turns.ml are those with a bar. *)

type lock = { name : string; protect : (unit -> unit) -> unit }

let mutex () =
  let m = Muster.Mutex.create () in
  { name = "Muster.Mutex"; protect = (fun f -> Muster.Mutex.protect m f) }

let semaphore () =
  let s = Muster.Semaphore.make 1 in
  { name = "Semaphore of 1"; protect = (fun f -> Muster.Semaphore.with_permit s f) }

let stdlib () =
  let m = Stdlib.Mutex.create () in
  { name = "Stdlib.Mutex"; protect = (fun f -> Stdlib.Mutex.protect m f) }

let work n =
  for _ = 1 to n do
    ignore (Sys.opaque_identity (ref 0))
  done

type shape = { domains : int; tasks : int; inside : int; outside : int }

let run shape lock ~calls =
  let count = ref 0 in
  let step () =
    work shape.inside;
    incr count
  in
  let task () =
    for _ = 1 to calls do
      lock.protect step;
      work shape.outside
    done
  in
  ignore (Muster.Task.all (List.init shape.tasks (fun _ -> task)));
  assert (!count = calls * shape.tasks)

let shapes =
  [
    { domains = 1; tasks = 8; inside = 20; outside = 50 };
    { domains = 2; tasks = 2; inside = 20; outside = 50 };
    { domains = 2; tasks = 2; inside = 20; outside = 1000 };
    { domains = 2; tasks = 16; inside = 20; outside = 50 };
    { domains = 4; tasks = 4; inside = 20; outside = 50 };
    { domains = 8; tasks = 8; inside = 20; outside = 50 };
    { domains = 8; tasks = 64; inside = 20; outside = 50 };
    { domains = 2; tasks = 8; inside = 1000; outside = 1000 };
  ]

let locks = [ mutex; semaphore; stdlib ]
let names = List.map (fun make -> (make ()).name) locks

let measure ~repeat shape ~calls =
  Muster.Pool.with_ ~domains:shape.domains ~oversubscribe:true @@ fun _ ->
  let time ~round:_ make =
    Clock.time (fun () -> run shape (make ()) ~calls) /. float (calls * shape.tasks)
  in
  Measure.in_turn ~repeat time locks

let row ~repeat ~calls shape =
  let calls = max 10 (calls / shape.tasks / (1 + (shape.inside / 100))) in
  let samples = List.map snd (measure ~repeat shape ~calls) in
  let stdlib = List.nth samples 2 in
  let show sample =
    Printf.sprintf "%s (%.2f)"
      (Clock.show (Measure.median sample))
      (Measure.median_ratio sample stdlib)
  in
  Printf.sprintf "%d domains, %d tasks, %d inside, %d outside" shape.domains shape.tasks
    shape.inside shape.outside
  :: List.map show samples
