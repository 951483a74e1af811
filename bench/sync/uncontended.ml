(* What locks cost that nobody else wants, beside the stdlib's in the same rounds. *)

type pair = { name : string; ours : int -> unit; stdlib : int -> unit  (** so many times *) }

(** The most that ours may take, in times of the stdlib's. *)
let limit = 2.

let mutex =
  let m = Muster.Mutex.create () and s = Stdlib.Mutex.create () in
  let ours n =
    for _ = 1 to n do
      Muster.Mutex.lock m;
      Muster.Mutex.unlock m
    done
  in
  let stdlib n =
    for _ = 1 to n do
      Stdlib.Mutex.lock s;
      Stdlib.Mutex.unlock s
    done
  in
  { name = "Mutex: lock, unlock"; ours; stdlib }

let protect =
  let m = Muster.Mutex.create () and s = Stdlib.Mutex.create () in
  let count = ref 0 in
  let ours n =
    for _ = 1 to n do
      Muster.Mutex.protect m (fun () -> incr count)
    done
  in
  let stdlib n =
    for _ = 1 to n do
      Stdlib.Mutex.protect s (fun () -> incr count)
    done
  in
  { name = "Mutex: protect"; ours; stdlib }

let try_lock =
  let m = Muster.Mutex.create () and s = Stdlib.Mutex.create () in
  let ours n =
    for _ = 1 to n do
      if Muster.Mutex.try_lock m then Muster.Mutex.unlock m
    done
  in
  let stdlib n =
    for _ = 1 to n do
      if Stdlib.Mutex.try_lock s then Stdlib.Mutex.unlock s
    done
  in
  { name = "Mutex: try_lock, unlock"; ours; stdlib }

let semaphore =
  let module Stdlib = Stdlib.Semaphore.Counting in
  let m = Muster.Semaphore.make 3 and s = Stdlib.make 3 in
  let ours n =
    for _ = 1 to n do
      Muster.Semaphore.acquire m;
      Muster.Semaphore.release m
    done
  in
  let stdlib n =
    for _ = 1 to n do
      Stdlib.acquire s;
      Stdlib.release s
    done
  in
  { name = "Semaphore: acquire, release"; ours; stdlib }

let signal =
  let m = Muster.Condition.create () and s = Stdlib.Condition.create () in
  let ours n =
    for _ = 1 to n do
      Muster.Condition.signal m
    done
  in
  let stdlib n =
    for _ = 1 to n do
      Stdlib.Condition.signal s
    done
  in
  { name = "Condition: signal to nobody"; ours; stdlib }

let lazy_value =
  let m = Muster.Lazy.from_fun (fun () -> 1) and s = Stdlib.Lazy.from_fun (fun () -> 1) in
  ignore (Muster.Lazy.force m + Stdlib.Lazy.force s);
  let ours n =
    for _ = 1 to n do
      ignore (Sys.opaque_identity (Muster.Lazy.force m))
    done
  in
  let stdlib n =
    for _ = 1 to n do
      ignore (Sys.opaque_identity (Stdlib.Lazy.force (Sys.opaque_identity s)))
    done
  in
  { name = "Lazy: force of a value"; ours; stdlib }

let lazy_first =
  let ours n =
    for i = 1 to n do
      ignore (Sys.opaque_identity (Muster.Lazy.force (Muster.Lazy.from_fun (fun () -> i))))
    done
  in
  let stdlib n =
    for i = 1 to n do
      ignore (Sys.opaque_identity (Stdlib.Lazy.force (Stdlib.Lazy.from_fun (fun () -> i))))
    done
  in
  { name = "Lazy: from_fun, first force"; ours; stdlib }

let all = [ mutex; protect; try_lock; semaphore; signal; lazy_value; lazy_first ]

(* CPU time, which a busy machine disturbs less. *)
let time ~calls ~round:_ f =
  let before = Sys.time () in
  f calls;
  (Sys.time () -. before) *. 1e9 /. float calls

let row ~repeat ~calls { name; ours; stdlib } =
  match Measure.in_turn ~repeat (time ~calls) [ ours; stdlib ] with
  | [ (_, o); (_, s) ] ->
    let ratio = Measure.median_ratio o s in
    let show sample = Clock.show (Measure.median sample) in
    ( ratio <= limit,
      [
        name;
        show o;
        show s;
        Printf.sprintf "%.2f" ratio;
        (if ratio <= limit then "pass" else "FAIL");
      ] )
  | _ -> assert false
