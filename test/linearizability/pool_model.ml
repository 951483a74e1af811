(* A pool that several sides use at once: each enters it, or has it do the work, and one may close it
   ([closes]). What its tasks share is a counter, a semaphore and a promise that they leave for others, and all
   of that is looked at within the pool: [close] takes a while, in which callers that were inside go
   on and others are refused, and they have nothing but the pool in common. *)

module Pool = Muster.Pool
module Task = Muster.Task
open STM

type sut = {
  pool : Pool.t;
  counter : int Atomic.t;
  permits : Muster.Semaphore.t;
  left : int Task.t option Atomic.t;
  begun : int Atomic.t;  (** tasks that were left *)
  ended : int Atomic.t;
  highest : Pool.stats option Atomic.t;
}

type state = { count : int; permits : int; left : int option; closed : bool }

(** Each number is added to the counter; what was there before is the result. *)
type cmd =
  | Add of int  (** by the function of [Pool.run] *)
  | Add_in_task of int  (** awaited in the pool *)
  | Add_awaited_outside of int
  | Add_and_fail of int  (** an exception tells what was there *)
  | Leave of int  (** a task that nobody awaits yet; [close] waits for it *)
  | Await_left  (** by whom it may concern *)
  | Many of int  (** tasks, awaited the oldest first, while others steal them; how many ran *)
  | Reduce of int
  | Fib
  | Broadcast
  | Acquire  (** a task that waits for a permit *)
  | Release
  | Close
  | Size
  | Stats
  | Stats_alone  (** where nobody is inside *)

module Make (Kind : sig
  val domains : int
  val closes : bool
end) =
struct
  include Program.Anyone

  type nonrec sut = sut
  type nonrec state = state
  type nonrec cmd = cmd

  let may ~side:_ cmd = cmd <> Stats_alone

  let show_cmd = function
    | Add k -> Printf.sprintf "run: add %d" k
    | Add_in_task k -> Printf.sprintf "async, await: add %d" k
    | Add_awaited_outside k -> Printf.sprintf "async, await outside: add %d" k
    | Add_and_fail k -> Printf.sprintf "run: add %d, raise" k
    | Leave k -> Printf.sprintf "leave a task: %d" k
    | Await_left -> "await what was left"
    | Many n -> Printf.sprintf "%d tasks" n
    | Reduce n -> Printf.sprintf "parallel_reduce to %d" n
    | Fib -> "fork"
    | Broadcast -> "broadcast"
    | Acquire -> "acquire"
    | Release -> "release"
    | Close -> "close"
    | Size -> "size"
    | Stats -> "stats"
    | Stats_alone -> "stats, alone"

  let arb_cmd _ =
    let number make = Program.below 100 make in
    let closes = if Kind.closes then 1 else 0 in
    let waits = 3 * (1 - closes) in
    Program.(
      one_of show_cmd
        [
          (3, number (fun k -> Add k));
          (2, number (fun k -> Add_in_task k));
          (2, number (fun k -> Add_awaited_outside k));
          (1, number (fun k -> Add_and_fail k));
          (2, number (fun k -> Leave k));
          (2, always Await_left);
          (3, below 300 (fun n -> Many n));
          (2, below 300 (fun n -> Reduce n));
          (1, always Fib);
          (1, always Broadcast);
          (waits, always Acquire);
          (waits, always Release);
          (2 * closes, always Close);
          (1, always Size);
          (1, always Stats);
          (1, always Stats_alone);
        ])

  let init_state = { count = 0; permits = 0; left = None; closed = false }

  let init_sut () =
    {
      pool = Pool.create ~name:"shared" ~domains:Kind.domains ~oversubscribe:true ();
      counter = Atomic.make 0;
      permits = Muster.Semaphore.make 0;
      left = Atomic.make None;
      begun = Atomic.make 0;
      ended = Atomic.make 0;
      highest = Atomic.make None;
    }

  let cleanup sut = Pool.close sut.pool
  let precond cmd s = match cmd with Acquire -> s.permits > 0 | _ -> true

  let next_state cmd s =
    match cmd with
    | _ when s.closed -> s
    | Add k | Add_in_task k | Add_awaited_outside k | Add_and_fail k ->
      { s with count = s.count + k }
    | Leave k -> { s with left = Some k }
    | Acquire -> { s with permits = s.permits - 1 }
    | Release -> { s with permits = s.permits + 1 }
    | Close -> { s with closed = true }
    | Await_left | Many _ | Reduce _ | Fib | Broadcast | Size | Stats | Stats_alone -> s

  let after cmd s _ = next_state cmd s

  exception Was of int

  (* None: the pool was closed, and says so where it is entered; who is within goes on. *)
  let unless_closed ?(entry = "Pool.run") f =
    match f () with
    | value -> Some value
    | exception Invalid_argument message
      when message = Printf.sprintf "Muster.%s: pool \"shared\" is closed" entry ->
      None

  let run_in sut f = unless_closed (fun () -> Pool.run sut.pool f)
  let add sut k () = Atomic.fetch_and_add sut.counter k

  let add_and_fail sut k () =
    match Pool.run sut.pool (fun () -> raise (Was (add sut k ()))) with
    | () -> -1
    | exception Was before -> before

  let add_awaited_outside sut k () =
    Task.await (Pool.run sut.pool (fun () -> Task.async (add sut k)))

  let await_left (sut : sut) () = Option.fold (Atomic.get sut.left) ~none:(-1) ~some:Task.await

  let many n () =
    let ran = Atomic.make 0 in
    List.iter Task.await (List.init n (fun _ -> Task.async (fun () -> Atomic.incr ran)));
    Atomic.get ran

  let sum n () = Muster.parallel_reduce ~start:1 ~finish:n ~combine:( + ) ~init:0 Fun.id

  let broadcast sut () =
    let reached = Atomic.make 0 in
    Muster.Team.broadcast sut.pool (fun _ -> Atomic.incr reached);
    Atomic.get reached

  let leave sut k () =
    Atomic.incr sut.begun;
    let task () =
      Atomic.incr sut.ended;
      k
    in
    Atomic.set sut.left (Some (Task.async task))

  let close sut =
    Pool.close sut.pool;
    Atomic.get sut.ended = Atomic.get sut.begun

  let grows =
    [
      ("tasks", fun (s : Pool.stats) -> s.tasks);
      ("forks", fun s -> s.forks);
      ("steals", fun s -> s.steals);
      ("parks", fun s -> s.parks);
      ("regions", fun s -> s.regions);
      ("domains_started", fun s -> s.domains_started);
      ("domains_ended", fun s -> s.domains_ended);
    ]

  (* Each caller within counts, and the caller's place where nobody is there; a pool of one worker has a
     second one while there is a task that no caller does. *)
  let wrong_now (now : Pool.stats) ~callers =
    let most = Kind.domains - 1 + callers and residents = max 1 (Kind.domains - 1) in
    [
      ("size", now.size <> Kind.domains);
      ("workers", now.workers > callers + residents);
      ("allowed", now.allowed > most);
      ("domains", now.domains_ended > now.domains_started);
    ]

  (* No count may be less than in an earlier answer. *)
  let wrong_stats sut ~callers =
    let before = Atomic.get sut.highest in
    let now = Pool.stats sut.pool in
    Atomic.set sut.highest (Some now);
    let is_less (name, get) =
      (name, Option.fold before ~none:false ~some:(fun before -> get now < get before))
    in
    List.filter_map
      (fun (name, wrong) -> if wrong then Some name else None)
      (wrong_now now ~callers @ List.map is_less grows)
    |> String.concat ", "

  let run cmd (sut : sut) =
    let task f = run_in sut (fun () -> Task.await (Task.async f)) in
    match cmd with
    | Add k -> Res (option int, run_in sut (add sut k))
    | Add_in_task k -> Res (option int, task (add sut k))
    | Add_awaited_outside k -> Res (option int, unless_closed (add_awaited_outside sut k))
    | Add_and_fail k -> Res (option int, unless_closed (add_and_fail sut k))
    | Leave k -> Res (option unit, run_in sut (leave sut k))
    | Await_left -> Res (option int, run_in sut (await_left sut))
    | Many n -> Res (option int, run_in sut (many n))
    | Reduce n -> Res (option int, run_in sut (sum n))
    | Fib -> Res (option int, run_in sut (fun () -> Harness.fib 8))
    | Broadcast -> Res (option int, unless_closed ~entry:"Team.broadcast" (broadcast sut))
    | Acquire -> Res (option unit, task (fun () -> Muster.Semaphore.acquire sut.permits))
    | Release -> Res (option unit, task (fun () -> Muster.Semaphore.release sut.permits))
    | Close -> Res (bool, close sut)
    | Size -> Res (int, Pool.size sut.pool)
    | Stats -> Res (string, wrong_stats sut ~callers:sides)
    | Stats_alone -> Res (string, wrong_stats sut ~callers:1)

  let postcond cmd s res =
    let unless_closed value = if s.closed then None else Some value in
    match (cmd, res) with
    | (Add _ | Add_in_task _ | Add_awaited_outside _ | Add_and_fail _), Res ((Option Int, _), r) ->
      r = unless_closed s.count
    | (Leave _ | Acquire | Release), Res ((Option Unit, _), r) -> r = unless_closed ()
    | Await_left, Res ((Option Int, _), r) -> r = unless_closed (Option.value s.left ~default:(-1))
    | Many n, Res ((Option Int, _), r) -> r = unless_closed n
    | Reduce n, Res ((Option Int, _), r) -> r = unless_closed (n * (n + 1) / 2)
    | Fib, Res ((Option Int, _), r) -> r = unless_closed 21
    | Broadcast, Res ((Option Int, _), r) -> r = unless_closed Kind.domains
    | Close, Res ((Bool, _), all_tasks_ended) -> all_tasks_ended
    | Size, Res ((Int, _), n) -> Int.equal n Kind.domains
    | (Stats | Stats_alone), Res ((String, _), wrong) -> wrong = ""
    | _ -> false

  let last = [ Add 0; Await_left; Stats_alone; Close; Add 0; Broadcast; Close; Stats_alone ]
end
