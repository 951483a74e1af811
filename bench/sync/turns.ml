(* Turns at a lock that all want: some 40 ns outside, and an operation of a [Hashtbl] inside. *)

type lock = { read : (unit -> unit) -> unit; write : (unit -> unit) -> unit; writes_every : int }

let plain protect = { read = protect; write = protect; writes_every = 256 }

let stdlib_mutex () =
  let m = Stdlib.Mutex.create () in
  plain (Stdlib.Mutex.protect m)

let mutex () =
  let m = Muster.Mutex.create () in
  plain (Muster.Mutex.protect m)

let stdlib_semaphore () =
  let module Semaphore = Stdlib.Semaphore.Counting in
  let s = Semaphore.make 1 in
  plain (fun f ->
      Semaphore.acquire s;
      Fun.protect f ~finally:(fun () -> Semaphore.release s))

let semaphore () =
  let s = Muster.Semaphore.make 1 in
  plain (Muster.Semaphore.with_permit s)

let rwlock ~writes_every () =
  let l = Muster.Rwlock.create () in
  { read = Muster.Rwlock.protect_read l; write = Muster.Rwlock.protect_write l; writes_every }

(* {2 Turns} *)

let keys = 1024

let turn lock table i =
  for _ = 1 to 20 do
    ignore (Sys.opaque_identity (ref 0))
  done;
  let key = i land (keys - 1) in
  if i mod lock.writes_every = 0 then lock.write (fun () -> Hashtbl.replace table key i)
  else lock.read (fun () -> ignore (Sys.opaque_identity (Hashtbl.find_opt table key)))

let contender run make ~domains ~turns =
  let table = Hashtbl.create keys and lock = make () in
  for key = 0 to keys - 1 do
    Hashtbl.replace table key key
  done;
  fun () -> run ~domains turns (turn lock table)

(** A read-mostly lock is to be no slower than a mutex; a tenth is what two runs differ by. *)
let no_slower = 1.1

let pairs =
  Program.
    [
      ("Mutex", mutex, stdlib_mutex, three);
      ("Semaphore of 1", semaphore, stdlib_semaphore, three);
      ("Rwlock, 1 write in 256", rwlock ~writes_every:256, stdlib_mutex, three);
      ("Rwlock, beside Muster.Mutex", rwlock ~writes_every:256, mutex, no_slower);
      ("Rwlock, all writes", rwlock ~writes_every:1, stdlib_mutex, three);
    ]

let all =
  let of_pair (name, ours, other, limit) =
    let of_shape (shape, run) =
      let ours = contender run ours and beside = contender run other in
      { Program.name; shape; turns = 100_000; ours; beside; limit }
    in
    List.map of_shape Shapes.all
  in
  List.concat_map of_pair pairs
