(* {v Gone <--a resident leaves, another comes--> Idle

      Idle --caller claims--> Busy --it has written the letter--> Posted
      Posted --worker begins--> Busy --it is done--> Idle
      Posted --caller takes it back--> Busy --> Idle v}

   The party that has made it Busy, and nobody else, reads and writes the letter: the caller as it
   posts, then the worker that begins the job, or the caller that takes it back.

   The word is 0 (idle), 1 (gone), or the job's number with a bit that says busy. No number is used
   twice, so a compare-and-set that finds it has found the very job that was seen before.

   A caller allocates and polls nothing while the mailbox is its own: no exception strikes there,
   and any other thread waits for a few stores. *)

type report = { failures : Outcome.failure Leftmost.t; late : int Atomic.t }

type letter = {
  mutable share : int -> unit;
  mutable report : report;
  mutable from : int;
  mutable backtrace : bool;
}

(* Small enough, with its header, for one line of 64 bytes. *)
type t = {
  mutable word : int; [@warning "-69"] (* read and written as an atomic *)
  mutable share : int -> unit;
  mutable report : report;
  mutable from : int;
  mutable backtrace : bool;
}

type job = int
type progress = Waiting | Running | Over

let report () = { failures = Leftmost.create (); late = Atomic.make 0 }
let no_report = report ()
let no_share (_ : int) = ()
let blank () : letter = { share = no_share; report = no_report; from = 0; backtrace = false }
let[@inline] word (t : t) = Compat.first_word t
let idle = 0
let gone = 1
let busy = 1
let most_places = 4096 (* 128 domains, some more callers *)
let none = 0

(* Not 0, as places count from 0. *)
let job ~from ~nth = ((nth * most_places) + from + 1) * 2

let create ~is_open =
  let t =
    Compat.padded { word = idle; share = no_share; report = no_report; from = 0; backtrace = false }
  in
  if not is_open then Atomic.set (word t) gone;
  t

let[@inline] is_idle t = Atomic.get (word t) = idle
let is_gone t = Atomic.get (word t) = gone

let[@inline] posted t =
  let seen = Atomic.get (word t) in
  if seen land busy = 0 then seen else none

let[@inline] is_posted t = posted t <> none
let is_busy t = Atomic.get (word t) land busy <> 0

let progress t job =
  let seen = Atomic.get (word t) in
  if seen = job then Waiting else if seen = job lor busy then Running else Over

let post t job ({ share; report; from; backtrace } : letter) =
  let word = word t in
  Atomic.get word = idle
  && Atomic.compare_and_set word idle (job lor busy)
  &&
  (t.share <- share;
   t.report <- report;
   t.from <- from;
   t.backtrace <- backtrace;
   Atomic.set word job;
   true)

let try_begin t job = Atomic.compare_and_set (word t) job (job lor busy)

let read (t : t) ~(into : letter) =
  into.share <- t.share;
  into.report <- t.report;
  into.from <- t.from;
  into.backtrace <- t.backtrace

let clear t =
  t.share <- no_share;
  t.report <- no_report

let free t =
  clear t;
  Atomic.set (word t) idle

let keeps_job (t : t) = t.share != no_share

let lock t =
  Atomic.compare_and_set (word t) idle gone
  &&
  (clear t;
   true)

let unlock t = Atomic.set (word t) idle
