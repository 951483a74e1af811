(* {2 CPUs} *)

let may_run_on () =
  let is_it line = String.starts_with ~prefix:"Cpus_allowed_list:" line in
  match In_channel.with_open_bin "/proc/self/status" In_channel.input_all with
  | status -> List.find_opt is_it (String.split_on_char '\n' status)
  | exception Sys_error _ -> None

(* The ranks of one machine that may run on the same CPUs share them. Machines are known by their
   names: MPICH's [MPI_Comm_split_type] has each rank alone where ranks share no memory. *)
let share_cpus () =
  let cpus = Muster.Cpu.available () in
  let place = (Unix.gethostname (), may_run_on ()) in
  let all = Collective.agree "run" (fun () -> place) in
  let alike = List.filter (( = ) place) (Array.to_list all) in
  let is_here rank = fst all.(rank) = fst place in
  let here = List.filter is_here (List.init (Link.ranks ()) Fun.id) in
  let online = Muster_core.Machine.online_cpus () in
  if List.hd here = Link.rank () && cpus = 1 && online > List.length here then
    Printf.eprintf
      "Muster_mpi: each rank is bound to one of %d CPUs: mpirun --bind-to none, or --map-by slot:PE=n, \
       or srun --cpus-per-task=n, gives it more\n%!"
      online;
  if Option.is_none (Sys.getenv_opt "MUSTER_DOMAINS") then
    try Muster.Pool.set_default ~domains:(Int.max 1 (cpus / List.length alike))
    with Invalid_argument _ -> () (* The program has made its pool. *)

(* {2 The end} *)

(* All ranks have come to their end; MPI may take a moment to say that a message has gone. *)
let rec tell_what_is_lost looks =
  match Link.unsent () with
  | 0 -> ()
  | n when looks = 0 ->
    Printf.eprintf "Muster_mpi: messages of rank %d that nobody received: %d\n%!" (Link.rank ()) n
  | _ ->
    Unix.sleepf 1e-3;
    tell_what_is_lost (looks - 1)

(* Others may wait for this rank: the program ends, on all of them. Slurm loses what a rank says in the
   last moment. *)
let abort exn backtrace =
  Printf.eprintf "Muster_mpi: rank %d: uncaught exception %s\n%s%!" (Link.rank ())
    (Printexc.to_string exn)
    (Printexc.raw_backtrace_to_string backtrace);
  flush_all ();
  Unix.sleepf 0.2;
  Link.abort 2

let or_abort f =
  try f () with
  | Collective.Raised { rank; _ } as exn ->
    (* All ranks have it. *)
    let backtrace = Printexc.get_raw_backtrace () in
    if rank <> Link.rank () then Unix.sleepf 1.;
    abort exn backtrace
  | exn -> abort exn (Printexc.get_raw_backtrace ())

let has_run = Atomic.make false
let has_ended = Atomic.make false

let finish () =
  if not (Atomic.exchange has_ended true) then begin
    ignore (Collective.agree "run (its end)" ignore);
    ignore (Collective.agree "run (messages)" (fun () -> tell_what_is_lost 100));
    Link.stop ()
  end

let run f =
  if Atomic.exchange has_run true then invalid_arg "Muster_mpi.run: called twice";
  Printexc.record_backtrace true;
  Link.start ();
  (* [f] may call [exit]. *)
  at_exit (fun () -> or_abort finish);
  or_abort (fun () ->
      share_cpus ();
      f ();
      finish ())
