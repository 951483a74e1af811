let most_seconds = 600.

let compute () =
  for i = 1 to 10_000 do
    ignore (Sys.opaque_identity i)
  done

type shift = { every : float; index : int; count : int }

(* Every so many seconds one comes or one goes: first they come one after the other, then
   they go in that order. The machine's clock tells when, so no process has to tell it. *)
let pause_if_due { every; index; count } =
  let turns = Clock.now () /. (every *. 1e9) in
  let stage = (int_of_float turns + (2 * count) - index) mod (2 * count) in
  if stage >= count then Unix.sleepf ((Float.ceil turns -. turns) *. every)

let busy ?shift ~seconds () =
  let parent = Unix.getppid () and until = Clock.now () +. (seconds *. 1e9) in
  print_char '.';
  flush stdout;
  while Clock.now () < until && Unix.getppid () = parent do
    compute ();
    Option.iter pause_if_due shift
  done

let start ?every ~count output index =
  let shift =
    match every with
    | None -> []
    | Some every -> [ "--shift"; Printf.sprintf "%g,%d,%d" every index count ]
  in
  Child.start Child.this ("neighbour" :: string_of_float most_seconds :: shift) ~output

let await_start input count =
  let ready = Bytes.create 1 in
  for _ = 1 to count do
    if Unix.read input ready 0 1 = 0 then failwith "a neighbour did not start"
  done

(* False if it had ended before. *)
let stop pid =
  let alive = fst (Unix.waitpid [ WNOHANG ] pid) = 0 in
  if alive then begin
    Unix.kill pid Sys.sigkill;
    ignore (Unix.waitpid [] pid)
  end;
  alive

let beside ?every count f =
  let input, output = Unix.pipe ~cloexec:true () in
  let processes = List.init count (start ?every ~count output) in
  Unix.close output;
  let all_there = ref true in
  let stop_all () =
    Unix.close input;
    List.iter (fun pid -> all_there := stop pid && !all_there) processes
  in
  let result =
    Fun.protect ~finally:stop_all (fun () ->
        await_start input count;
        f ())
  in
  if !all_there then result else failwith "a neighbour ended too early"
