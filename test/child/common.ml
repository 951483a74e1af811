(* What the programs share. *)

module Pool = Muster.Pool
module Task = Muster.Task

let say format = Printf.printf (format ^^ "\n%!")

let work () =
  let sum = Atomic.make 0 in
  let add i = ignore (Atomic.fetch_and_add sum i) in
  Muster.parallel_for ~start:1 ~finish:1000 add;
  assert (Atomic.get sum = 500_500)

let works pool = assert (Pool.run pool (fun () -> Fib.by_forks 15) = 610)

(* [f] runs outside it. *)
let with_pool domains f =
  let pool = Pool.create ~domains ~oversubscribe:true () in
  Fun.protect ~finally:(fun () -> Pool.close pool) (fun () -> f pool)

let until flag =
  while not (Atomic.get flag) do
    Unix.sleepf 0.001
  done

(* A task that has begun on another worker. *)
let begun f =
  let began = Atomic.make false in
  let task =
    Task.async (fun () ->
        Atomic.set began true;
        f ())
  in
  until began;
  task

(* Domains that do [f], as many as the runtime gives. *)
let rec take_domains f =
  match Domain.spawn f with domain -> domain :: take_domains f | exception Failure _ -> []

(* Calls [f] with the number of domains that were taken, where the runtime gives no more. *)
let without_domains f =
  let release = Mutex.create () in
  Mutex.lock release;
  let domains = take_domains (fun () -> Mutex.protect release ignore) in
  f (List.length domains);
  Mutex.unlock release;
  List.iter Domain.join domains
