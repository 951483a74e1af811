(* Rank 0 gives out the indices, from left to right. A rank has a loop for each of its workers: it
   asks for an index, with the result of the one before, and runs it. Rank 0's own loops take theirs
   from the same [board]; its caller answers the other ranks meanwhile. It looks each 20 us, for a
   blocking call of MPI would take a CPU from the jobs. *)

type 'b outcome = ('b, Collective.failure) result

(* [turn] guards the rest. *)
type 'b board = {
  turn : Mutex.t;
  results : 'b outcome option array;
  mutable next : int;  (** no index before it waits to be given out *)
  mutable limit : int;  (** jobs from here on are not begun: one before them has failed *)
  keep : int -> 'b -> unit;
}

let rec take b =
  if b.next >= b.limit then None
  else begin
    let i = b.next in
    b.next <- i + 1;
    if Option.is_none b.results.(i) then Some i else take b
  end

(* A result that cannot be kept is a failure of its job: the other ranks wait for an answer. *)
let note b (i, outcome) =
  let keep v =
    b.keep i v;
    v
  in
  let kept = Result.bind outcome (fun v -> Collective.attempt (fun () -> keep v)) in
  b.results.(i) <- Some kept;
  if Result.is_error kept then b.limit <- Int.min b.limit i

let exchange_at b ended =
  Mutex.protect b.turn (fun () ->
      Option.iter (note b) ended;
      take b)

let rec work_on ask run ended =
  match ask ended with
  | None -> ()
  | Some i -> work_on ask run (Some (i, Collective.attempt (fun () -> run i)))

(* {2 Between ranks} *)

let answers : int option Port.t = Port.answers
let send port = Port.send_of "parallel_map_dynamic" port

(* A result that cannot be sent is a failure of its job, too. *)
let report (ended : (int * 'b outcome) option) =
  let send = send Port.asks ~dest:0 in
  try send ended
  with exn ->
    let failure = Error (Collective.failure exn) in
    send (Option.map (fun (i, _) -> (i, failure)) ended)

(* A question and its answer belong together, whatever cancels the call meanwhile. *)
let ask ended =
  Muster.Task.protect (fun () ->
      report ended;
      Port.receive answers ~source:0)

(* Rank 0 answers until each [loop] of another rank was told that there is no more. *)
let rec answer b loops =
  if !loops > 0 then begin
    (match Port.receive_now Port.asks with
    | None ->
      Muster.Task.check ();
      Unix.sleepf 20e-6
    | Some (source, ended) ->
      let index = exchange_at b ended in
      send answers ~dest:source index;
      if Option.is_none index then decr loops);
    answer b loops
  end

(* {2 The call}

   Where it is cancelled on one rank, all ranks' loops still come to their end. So no message is left
   that the next call could take for its own. *)

(* In [f] of [or_finish]: to start a task is a checkpoint, too. *)
let start_loops tasks n loop =
  for _ = 1 to n do
    tasks := Muster.Task.async loop :: !tasks
  done

let or_finish f finish =
  try f ()
  with exn ->
    let backtrace = Printexc.get_raw_backtrace () in
    Muster.Task.protect (fun () -> finish exn);
    Printexc.raise_with_backtrace exn backtrace

let await_end task = try Muster.Task.await task with _ -> ()

let lead b f jobs ~loops =
  Link.wake_exactly ();
  let own = Muster.Pool.(size (current ())) in
  let loops = ref (Array.fold_left ( + ) (-own) loops) in
  let loop () = work_on (exchange_at b) (fun i -> f jobs.(i)) None in
  let tasks = ref [] in
  let work () =
    start_loops tasks own loop;
    answer b loops;
    List.iter Muster.Task.await !tasks
  in
  or_finish work (fun _ ->
      Mutex.protect b.turn (fun () -> b.limit <- 0);
      answer b loops;
      List.iter await_end !tasks)

let follow f jobs =
  let own = Muster.Pool.(size (current ())) in
  let told = Atomic.make 0 in
  let loop run =
    Link.wake_exactly ();
    work_on ask run None;
    Atomic.incr told
  in
  let tasks = ref [] in
  or_finish
    (fun () ->
      start_loops tasks own (fun () -> loop (fun i -> f jobs.(i)));
      List.iter Muster.Task.await !tasks)
    (fun exn ->
      List.iter await_end !tasks;
      while Atomic.get told < own do
        loop (fun _ -> raise exn)
      done)

let results b =
  let failed = Array.find_opt (function Some (Error _) -> true | _ -> false) b.results in
  match failed with
  | Some outcome -> Error (Option.get outcome)
  | None -> Ok (Array.map (fun outcome -> Result.get_ok (Option.get outcome)) b.results)

(* The results of another function may be of another type. A build is known by the digest that
   [Marshal] gives with a function, and the function by its place in that build. *)
let key f jobs =
  let place = Muster_core.Machine.(code_of f - code_of exchange_at) in
  Digest.string (Marshal.to_string (jobs, exchange_at, place) [ Closures ])

let new_board ?checkpoint f jobs =
  let n = Array.length jobs in
  let results = Array.make n None in
  let found i v = results.(i) <- Some (Ok v) in
  let file = Option.map (fun path -> Checkpoint.open_ path ~key:(key f jobs) found) checkpoint in
  let keep i v = Option.iter (fun file -> Checkpoint.add file i v) file in
  let board = { turn = Mutex.create (); results; next = 0; limit = n; keep } in
  (board, fun () -> Option.iter Checkpoint.close file)

let parallel_map_dynamic ?checkpoint f jobs =
  let call = Printf.sprintf "parallel_map_dynamic of %d" (Array.length jobs) in
  Collective.within call @@ fun () ->
  let is_first = Link.rank () = 0 in
  let prepare () = if is_first then Some (new_board ?checkpoint f jobs) else None in
  let own = ref None in
  let loops =
    Collective.share call (fun () ->
        own := prepare ();
        Muster.Pool.(size (current ())))
  in
  let last () =
    match !own with
    | None ->
      follow f jobs;
      None
    | Some (board, close) ->
      Fun.protect ~finally:close (fun () -> lead board f jobs ~loops);
      Some (results board)
  in
  match (Collective.share call last).(0) with
  | None -> assert false
  | Some all -> (
    match all with Ok results -> results | Error outcome -> raise (Collective.Raised (Result.get_error outcome)))
