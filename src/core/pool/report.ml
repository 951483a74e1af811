(* The reports on [stderr] where [MUSTER_STATS=1] is set. When a pool that did something closes, or
   the program ends, the pool's figures are printed. SIGQUIT prints all waits, and the figures of
   the open pools. *)

let figures (pool : Place.pool) =
  let stats = Stats.stats pool in
  if not (Figures.is_used stats) then ""
  else Format.asprintf "@[<v 2>Muster: pool %S@,%a@]\n" pool.name Figures.pp_stats stats

(* A report is one write, which nothing comes between. *)
let say text =
  try
    prerr_string text;
    flush stderr
  with Sys_error _ -> ()

let at_end (pool : Place.pool) =
  if Waiting.is_on && not (Atomic.exchange pool.history.told true) then say (figures pool)

let at_quit () =
  let waits = Waiting.report () in
  let head = Printf.sprintf "Muster: %s\n" (Load.plural (List.length waits) "wait") in
  let pools = List.rev_map figures (Atomic.get Place.open_pools) in
  say (String.concat "" ((head :: List.map (Printf.sprintf "  %s\n") waits) @ pools))

let at_end_of_all () = List.iter at_end (List.rev (Atomic.get Place.open_pools))

let () =
  if Waiting.is_on then begin
    Counts.start_timing ();
    at_exit at_end_of_all;
    Machine.on_quit at_quit
  end
