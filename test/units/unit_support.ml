let each_word alphabet ~length run =
  let rec extend reversed length =
    if length = 0 then run (List.rev reversed)
    else List.iter (fun letter -> extend (letter :: reversed) (length - 1)) alphabet
  in
  extend [] length

(* Both sides arrive once to begin a round and once to end it. *)
let meet arrivals count =
  Atomic.incr arrivals;
  while Atomic.get arrivals < 2 * count do
    Domain.cpu_relax ()
  done

type 'a round = { state : 'a; left : 'a -> unit; right : 'a -> unit }

let race ?(seconds = 1.0) ~make ~verdict () =
  let arrivals = Atomic.make 0 in
  let current = Atomic.make None in
  let rec other count =
    meet arrivals count;
    match Atomic.get current with
    | None -> ()
    | Some { state; right; _ } ->
      right state;
      meet arrivals (count + 1);
      other (count + 2)
  in
  let deadline = Unix.gettimeofday () +. seconds in
  let rec rounds n count =
    let ({ state; left; _ } as round) = make n in
    Atomic.set current (Some round);
    meet arrivals count;
    left state;
    meet arrivals (count + 1);
    verdict state;
    if Unix.gettimeofday () < deadline then rounds (n + 1) (count + 2)
    else begin
      Atomic.set current None;
      meet arrivals (count + 2)
    end
  in
  let domain = Domain.spawn (fun () -> other 1) in
  rounds 0 1;
  Domain.join domain

(* The profile is not discarded: a domain that begins after that may crash in OCaml 5.4, in
   caml_memprof_sample_young. *)
let at_allocation ?(counts = ref true) n f work =
  let left = ref n in
  let count _ =
    if !counts then begin
      decr left;
      if !left = 0 then f ()
    end;
    None
  in
  let tracker = { Gc.Memprof.null_tracker with alloc_minor = count; alloc_major = count } in
  match Gc.Memprof.start ~sampling_rate:1. ~callstack_size:0 tracker with
  | _ ->
    work ();
    Gc.Memprof.stop ();
    !left <= 0
  | exception Failure _ -> false (* OCaml 5.2 has none *)
