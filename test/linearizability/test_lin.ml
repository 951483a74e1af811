(* Operations of two domains, and of two systhreads of one, against themselves: what they gave at
   once, they give in some order one after the other (qcheck-lin). None waits here: in some orders it
   would wait for ever. *)

open Lin
module Fun = Stdlib.Fun
module Chan = Muster.Chan
module Latch = Muster.Latch
module Lazy = Muster.Lazy
module Mutex = Muster.Mutex
module Pool = Muster.Pool
module Rwlock = Muster.Rwlock
module Semaphore = Muster.Semaphore
module Task = Muster.Task

module Inbox_api = struct
  module Inbox = Muster_core.Inbox

  type t = int Inbox.t

  let init () = Inbox.create (-1)
  let cleanup _ = ()

  let api =
    [
      val_freq 3 "push" Inbox.push (t @-> nat_small @-> returning unit);
      val_freq 3 "pop" Inbox.pop (t @-> returning int);
      val_ "is_empty" Inbox.is_empty (t @-> returning bool);
    ]
end

module Chan_api (Kind : sig
  val make : unit -> int Chan.t
end) =
struct
  type t = int Chan.t

  let init = Kind.make
  let cleanup = Chan.close
  let select_now c = Chan.try_select [ Chan.recv_case c Fun.id ]
  let offer_now c v = Chan.try_select [ Chan.send_case c v Fun.id ]

  let api =
    [
      val_freq 4 "try_send" Chan.try_send (t @-> nat_small @-> returning_or_exc bool);
      val_freq 4 "try_recv" Chan.try_recv (t @-> returning_or_exc (option int));
      val_freq 2 "select recv" select_now (t @-> returning_or_exc (option int));
      val_freq 2 "select send" offer_now (t @-> nat_small @-> returning_or_exc (option unit));
      val_ "length" Chan.length (t @-> returning int);
      val_ "is_closed" Chan.is_closed (t @-> returning bool);
      val_ "close" Chan.close (t @-> returning unit);
    ]
end

(* What is misuse says so in one way or another. *)
let refused f = match f () with () -> false | exception Invalid_argument _ -> true

(* [try_lock] has a test of its own, below: beside calls that hold the mutex for a moment, whether it succeeds
   is up to the machine. *)
module Mutex_api = struct
  type t = { mutex : Mutex.t; mutable n : int }

  let init () = { mutex = Mutex.create (); n = 0 }
  let cleanup _ = ()

  let add s k =
    Mutex.protect s.mutex (fun () ->
        let seen = s.n in
        Domain.cpu_relax ();
        s.n <- seen + k;
        seen)

  let relock s = Mutex.protect s.mutex (fun () -> refused (fun () -> Mutex.lock s.mutex))
  let unlock s = refused (fun () -> Mutex.unlock s.mutex)

  let api =
    [
      val_freq 3 "add" add (t @-> nat_small @-> returning int);
      val_ "relock" relock (t @-> returning bool);
      val_ "unlock" unlock (t @-> returning bool);
    ]
end

module Rwlock_api = struct
  type t = { lock : Rwlock.t; mutable n : int }

  let init () = { lock = Rwlock.create (); n = 0 }
  let cleanup _ = ()

  let add s k =
    Rwlock.protect_write s.lock (fun () ->
        let seen = s.n in
        Domain.cpu_relax ();
        s.n <- seen + k)

  let read s = Rwlock.protect_read s.lock (fun () -> s.n)
  let unlock s = refused (fun () -> Rwlock.unlock_write s.lock)

  let api =
    [
      val_ "add" add (t @-> nat_small @-> returning unit);
      val_ "read" read (t @-> returning int);
      val_ "unlock_write" unlock (t @-> returning bool);
    ]
end

module Semaphore_api = struct
  type t = Semaphore.t

  let init () = Semaphore.make 1
  let cleanup _ = ()

  let api =
    [
      val_freq 2 "try_acquire" Semaphore.try_acquire (t @-> returning bool);
      val_freq 2 "release" Semaphore.release (t @-> returning unit);
      val_ "get_value" Semaphore.get_value (t @-> returning int);
    ]
end

module Latch_api = struct
  type t = Latch.t

  let init () = Latch.create 15
  let cleanup _ = ()

  let api =
    [
      val_freq 3 "count_down" Latch.count_down (t @-> returning_or_exc unit);
      val_ "count" Latch.count (t @-> returning int);
    ]
end

module Lazy_api = struct
  type t = { value : int Lazy.t; failing : int Lazy.t }

  exception Failed of int

  let counter () =
    let runs = Atomic.make 0 in
    fun () -> Atomic.fetch_and_add runs 1

  let init () =
    let failures = counter () in
    let failing = Lazy.from_fun (fun () -> raise (Failed (failures ()))) in
    { value = Lazy.from_fun (counter ()); failing }

  let cleanup _ = ()

  let api =
    [
      val_ "force" (fun s -> Lazy.force s.value) (t @-> returning int);
      val_ "is_val" (fun s -> Lazy.is_val s.value) (t @-> returning bool);
      val_ "force, failing" (fun s -> Lazy.force s.failing) (t @-> returning_or_exc int);
      val_ "is_val, failing" (fun s -> Lazy.is_val s.failing) (t @-> returning bool);
    ]
end

(* What its callers share is only looked at within it: see Pool_model. Each call but [close] tells its
   place in the order, by what the counter was; else there would be so many orders to try that it
   takes for ever, each with pools of its own. *)
module Pool_api = struct
  type t = { pool : Pool.t; counter : int Atomic.t }

  let init () =
    let pool = Pool.create ~name:"shared" ~domains:2 ~oversubscribe:true () in
    { pool; counter = Atomic.make 0 }

  let cleanup s = Pool.close s.pool
  let add s k () = Atomic.fetch_and_add s.counter (k + 1)
  let run s k = Pool.run s.pool (add s k)
  let in_task s k = Pool.run s.pool (fun () -> Task.await (Task.async (add s k)))
  let outside s k = Task.await (Pool.run s.pool (fun () -> Task.async (add s k)))
  let right s n result expected = if result = expected then add s n () else failwith "wrong result"

  let sum s n =
    Pool.run s.pool (fun () ->
        let sum = Muster.parallel_reduce ~start:1 ~finish:n ~combine:( + ) ~init:0 Fun.id in
        right s n sum (n * (n + 1) / 2))

  (* Each runs once, though others steal them. *)
  let many s n =
    Pool.run s.pool (fun () ->
        let ran = Atomic.make 0 in
        let task _ = Task.async (fun () -> Atomic.incr ran) in
        List.iter Task.await (List.init (10 * n) task);
        right s n (Atomic.get ran) (10 * n))

  let api =
    [
      val_freq 2 "many tasks" many (t @-> nat_small @-> returning_or_exc int);
      val_freq 3 "run" run (t @-> nat_small @-> returning_or_exc int);
      val_freq 3 "in a task" in_task (t @-> nat_small @-> returning_or_exc int);
      val_freq 3 "awaited outside" outside (t @-> nat_small @-> returning_or_exc int);
      val_freq 2 "parallel_reduce" sum (t @-> nat_small @-> returning_or_exc int);
      val_ "close" (fun s -> Pool.close s.pool) (t @-> returning unit);
    ]
end

(* Each program runs 50 times on two new domains, or 3 times in threads. *)
let runs_of_domains = 50
let runs_of_threads = 3

let both_ways name tests =
  let case (how, count, test) =
    let name = Printf.sprintf "%s, two %s" name how in
    (* Making a program smaller takes a minute or two. *)
    Check.test ~seconds:240 ~name (fun () -> test ~count:(Check.times count) ~name)
  in
  (name, List.map case tests)

let cases ?(domains = 2) ?(threads = 20) name (module Api : Spec) =
  let module Domains = Lin_domain.Make (Api) in
  let module Threads = Lin_thread.Make (Api) in
  both_ways name [ ("domains", domains, Domains.lin_test); ("threads", threads, Threads.lin_test) ]

let chan name make =
  let module Api = Chan_api (struct
    let make = make
  end) in
  cases name (module Api)

(* {2 Sides with roles}: each of the two has commands of its own. *)

module type Roles = sig
  include Internal.CmdSpec [@@alert "-internal"]

  val first : cmd list QCheck.Gen.t
  (** Before the sides begin, by one thread. *)

  val left : cmd QCheck.Gen.t
  val right : cmd QCheck.Gen.t
end

module With_roles (Api : Roles) = struct
  module Domains = Lin_domain.Make_internal (Api) [@alert "-internal"]
  module Threads = Lin_thread.Make_internal (Api) [@alert "-internal"]

  (* What is left out of a program leaves each side its role. *)
  let programs =
    let side gen = QCheck.Gen.(list_size (int_range 1 12) gen) in
    let program = QCheck.Gen.triple Api.first (side Api.left) (side Api.right) in
    let shrink = QCheck.Shrink.(triple list_spine list_spine list_spine) in
    QCheck.(set_gen program (set_shrink shrink (Domains.arb_cmds_triple 1 1)))

  let test ~runs ~retries holds ~count ~name =
    let law program = Seq.for_all (fun _ -> holds program) (Seq.init runs Fun.id) in
    QCheck.Test.make ~count ~retries ~name programs law

  let cases ~domains ~threads name =
    both_ways name
      [
        ("domains", domains, test ~runs:runs_of_domains ~retries:3 Domains.lin_prop);
        ("threads", threads, test ~runs:runs_of_threads ~retries:25 Threads.lin_prop);
      ]
end

(* The left side owns the deque, the right one is its only thief; the ring never grows, so nothing is out
   of sight (Deque_model). An entry knows whether somebody has claimed it, since a thief may get one that
   was popped. *)
module Deque_roles = struct
  module Deque = Muster_core.Deque

  type entry = { value : int; claimed : bool Atomic.t }
  type t = entry Deque.t
  type cmd = Push of int | Pop | Sweep | Steal
  type res = int option

  let show_cmd = function
    | Push v -> Printf.sprintf "push %d" v
    | Pop -> "pop"
    | Sweep -> "sweep"
    | Steal -> "steal"

  let show_res = Option.fold ~none:"nothing" ~some:string_of_int
  let equal_res = Option.equal Int.equal
  let push = Program.below 100 (fun v -> Push v)
  let one_of cmds = QCheck.gen (Program.one_of show_cmd cmds)
  let left = one_of Program.[ (4, push); (4, always Pop); (1, always Sweep) ]
  let right = Program.always Steal
  let gen_cmd = one_of [ (4, left); (1, right) ]
  let shrink_cmd = QCheck.Shrink.nil
  let first = QCheck.Gen.(list_size (int_bound 4) gen_cmd)
  let entry value = { value; claimed = Atomic.make false }
  let is_live { claimed; _ } = not (Atomic.get claimed)
  let init () = Deque.create ~capacity:16 ~is_live (entry (-1))
  let cleanup _ = ()

  let rec claim_next take d =
    let { value; claimed } = take d in
    if value < 0 then None
    else if Atomic.compare_and_set claimed false true then Some value
    else claim_next take d

  let run cmd d =
    match cmd with
    | Push v ->
      Deque.push d (entry v);
      None
    | Sweep ->
      Deque.sweep d;
      None
    | Pop -> claim_next Deque.pop d
    | Steal -> claim_next Deque.steal d
end

(* Who gets the mutex keeps it until an [unlock] of its own. So [try_lock] must fail just while the other
   side, or this one, has it. *)
module Try_lock_roles = struct
  type side = Left | Right
  type t = { mutex : Mutex.t; mutable left : bool; mutable right : bool }
  type cmd = Try_lock of side | Unlock of side
  type res = bool

  let show_side = function Left -> "left" | Right -> "right"

  let show_cmd = function
    | Try_lock side -> "try_lock, " ^ show_side side
    | Unlock side -> "unlock, " ^ show_side side

  let show_res = string_of_bool
  let equal_res = Bool.equal

  let of_side side =
    let commands = Program.[ (3, always (Try_lock side)); (2, always (Unlock side)) ] in
    QCheck.gen (Program.one_of show_cmd commands)

  let left = of_side Left
  let right = of_side Right
  let gen_cmd = left
  let shrink_cmd = QCheck.Shrink.nil
  let first = QCheck.Gen.return []
  let init () = { mutex = Mutex.create (); left = false; right = false }
  let cleanup _ = ()
  let has s = function Left -> s.left | Right -> s.right
  let note s side held = match side with Left -> s.left <- held | Right -> s.right <- held

  let try_lock s side =
    let got = Mutex.try_lock s.mutex in
    if got then note s side true;
    got

  let unlock s side =
    let held = has s side in
    if held then (
      note s side false;
      Mutex.unlock s.mutex);
    held

  let run cmd s = match cmd with Try_lock side -> try_lock s side | Unlock side -> unlock s side
end

module Deques = With_roles (Deque_roles)
module Try_locks = With_roles (Try_lock_roles)

let () =
  Alcotest.run "against themselves"
    [
      cases "inbox" (module Inbox_api);
      Deques.cases ~domains:6 ~threads:40 "deque";
      chan "rendezvous" (fun () -> Chan.bounded 0);
      chan "bounded" (fun () -> Chan.bounded 2);
      chan "unbounded" Chan.unbounded;
      cases "mutex" (module Mutex_api);
      Try_locks.cases ~domains:4 ~threads:40 "try_lock";
      cases "rwlock" (module Rwlock_api);
      cases "semaphore" (module Semaphore_api);
      cases "latch" (module Latch_api);
      cases "lazy" (module Lazy_api);
      cases "pool" ~domains:1 ~threads:2 (module Pool_api);
    ]
