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

let rec work_on ask f jobs ended =
  match ask ended with
  | None -> ()
  | Some i -> work_on ask f jobs (Some (i, Collective.attempt (fun () -> f jobs.(i))))

(* {2 Between ranks} *)

let answers : int option Port.t = Port.answers

let ask ended =
  Port.send Port.asks ~dest:0 ended;
  Port.receive answers ~source:0

(* Until each loop of another rank was told that there is no more. *)
let rec answer b ~loops =
  if loops > 0 then
    match Port.receive_now Port.asks with
    | None ->
      Muster.Task.check ();
      Unix.sleepf 20e-6;
      answer b ~loops
    | Some (source, ended) ->
      let index = exchange_at b ended in
      Port.send answers ~dest:source index;
      answer b ~loops:(loops - Bool.to_int (Option.is_none index))

(* {2 The call} *)

let start_loops n loop = List.init n (fun _ -> Muster.Task.async (fun () -> loop None))

let lead b f jobs ~loops =
  Link.wake_exactly ();
  let own = Muster.Pool.(size (current ())) in
  let tasks = start_loops own (work_on (exchange_at b) f jobs) in
  answer b ~loops:(Array.fold_left ( + ) (-own) loops);
  List.iter Muster.Task.await tasks

let follow f jobs =
  let tasks = start_loops Muster.Pool.(size (current ())) (work_on ask f jobs) in
  List.iter Muster.Task.await tasks

let results b =
  let failed = Array.find_opt (function Some (Error _) -> true | _ -> false) b.results in
  match failed with
  | Some outcome -> Error (Option.get outcome)
  | None -> Ok (Array.map (fun outcome -> Result.get_ok (Option.get outcome)) b.results)

let new_board ?checkpoint jobs =
  let n = Array.length jobs in
  let results = Array.make n None in
  let key () = Digest.string (Marshal.to_string jobs [ Closures ]) in
  let found i v = results.(i) <- Some (Ok v) in
  let file = Option.map (fun path -> Checkpoint.open_ path ~key:(key ()) found) checkpoint in
  let keep i v = Option.iter (fun file -> Checkpoint.add file i v) file in
  let board = { turn = Mutex.create (); results; next = 0; limit = n; keep } in
  (board, fun () -> Option.iter Checkpoint.close file)

let parallel_map_dynamic ?checkpoint f jobs =
  let call = Printf.sprintf "parallel_map_dynamic of %d" (Array.length jobs) in
  Collective.within call @@ fun () ->
  let is_first = Link.rank () = 0 in
  let prepare () = if is_first then Some (new_board ?checkpoint jobs) else None in
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
