(* Locks that everybody wants: tasks that lock, work a little, unlock, and work a little elsewhere.
   A semaphore of one permit is a lock that is always handed over. *)

type lock = { name : string; protect : (unit -> unit) -> unit }

let mutex () =
  let m = Muster.Mutex.create () in
  { name = "Muster.Mutex"; protect = (fun f -> Muster.Mutex.protect m f) }

let semaphore () =
  let s = Muster.Semaphore.make 1 in
  { name = "handed over"; protect = (fun f -> Muster.Semaphore.with_permit s f) }

let stdlib () =
  let m = Stdlib.Mutex.create () in
  { name = "Stdlib.Mutex"; protect = (fun f -> Stdlib.Mutex.protect m f) }

let work n = for _ = 1 to n do ignore (Sys.opaque_identity (ref 0)) done

type shape = { domains : int; tasks : int; inside : int; outside : int }

let run shape lock ~calls =
  let count = ref 0 in
  let step () = work shape.inside; incr count in
  let task () = for _ = 1 to calls do lock.protect step; work shape.outside done in
  ignore (Muster.Task.all (List.init shape.tasks (fun _ -> task)));
  assert (!count = calls * shape.tasks)

let measure ~repeat shape ~calls =
  Muster.Pool.with_ ~domains:shape.domains ~oversubscribe:true @@ fun pool ->
  Muster.Pool.run pool @@ fun () ->
  let time ~round:_ make =
    let lock = make () in
    Clock.time (fun () -> run shape lock ~calls) /. float (calls * shape.tasks)
  in
  Measure.in_turn ~repeat time [ mutex; semaphore; stdlib ]
