(* {v Gone <--a resident leaves, another comes--> Idle

      Idle --caller claims--> Busy --it has written the letter--> Posted
      Posted --worker begins--> Busy --it is done--> Idle
      Posted --caller takes it back--> Busy --> Idle v}

   Only the party that has made it Busy reads and writes the letter: the caller as it
   posts, then the worker that begins the job, or the caller that takes it back.

   A mailbox's word is 0 (idle), 1 (gone), or the job's number with a bit that says busy. No number
   is used twice, so a compare-and-set that finds it has found the very job that was seen before.

   A caller is unbroken while the mailbox is its own: another thread waits for a few stores. *)

type report = { failures : Outcome.failure Leftmost.t; late : int Atomic.t }

(* Small enough, with its header, for one line of 64 bytes. *)
type t = {
  mutable word : int; [@warning "-69"] (* read and written as an atomic *)
  mutable share : int -> unit;
  mutable report : report;
  mutable from : int;
  mutable backtrace : bool;
}

type letter = t
type job = int
type progress = Waiting | Running | Over

let[@inline] word t = Compat.first_word t
let idle = 0
let gone = 1
let busy = 1
let none = 0
let report () = { failures = Leftmost.create (); late = Atomic.make 0 }
let no_report = report ()
let no_share (_ : int) = ()
let letter share report ~from ~backtrace = { word = idle; share; report; from; backtrace }
let blank () = letter no_share no_report ~from:0 ~backtrace:false

let create ~is_open =
  let t = Compat.padded (blank ()) in
  if not is_open then Atomic.set (word t) gone;
  t

let most_places = 1 lsl 20 (* more than a process has threads *)

(* Not 0, as places count from 0. *)
let job ~from ~nth = ((nth * most_places) + from + 1) * 2
let[@inline] is_idle t = Atomic.get (word t) = idle
let is_gone t = Atomic.get (word t) = gone

let[@inline] posted t =
  let seen = Atomic.get (word t) in
  if seen land busy = 0 then seen else none

let[@inline] is_posted t = posted t <> none

let progress t job =
  let seen = Atomic.get (word t) in
  if seen = job then Waiting else if seen = job lor busy then Running else Over

let read t ~into =
  into.share <- t.share;
  into.report <- t.report;
  into.from <- t.from;
  into.backtrace <- t.backtrace

let post t job letter =
  let word = word t in
  Atomic.get word = idle
  && Atomic.compare_and_set word idle (job lor busy)
  &&
  (read letter ~into:t;
   Atomic.set word job;
   true)

let try_begin t job = Atomic.compare_and_set (word t) job (job lor busy)

let free t =
  t.share <- no_share;
  t.report <- no_report;
  Atomic.set (word t) idle

let lock t = Atomic.compare_and_set (word t) idle gone
let unlock t = Atomic.set (word t) idle
