module Pool = Muster.Pool

external set_guard : int -> string -> unit = "muster_test_guard"
external call_through_c : (unit -> 'a) -> 'a = "muster_test_call_through_c"
external receive : unit -> unit = "muster_test_receive" [@@noalloc]
external trim : unit -> unit = "muster_test_trim"

let () = set_guard 0 ""

let guard ~seconds name f =
  set_guard seconds (Printf.sprintf "\n%s: no end after %d s, a hang\n" name seconds);
  Fun.protect ~finally:(fun () -> set_guard 0 "") f

let case ?(seconds = 60) name f = Alcotest.test_case name `Quick (fun () -> guard ~seconds name f)

let outside ?name ?domains ?oversubscribe f =
  let pool = Pool.create ?name ?domains ?oversubscribe () in
  Fun.protect ~finally:(fun () -> Pool.close pool) (fun () -> f pool)

let with_domains domains f = outside ~domains ~oversubscribe:true f

let with_default domains f =
  let open Muster_core.Pool in
  let before = Atomic.get default_pool in
  let pool = create ~domains ~oversubscribe:true () in
  let finally () =
    Atomic.set default_pool before;
    close pool
  in
  Atomic.set default_pool (Some pool);
  Fun.protect f ~finally

let run_on domains f = with_domains domains (fun pool -> Pool.run pool f)

let weighted generators =
  let times (n, generator) = List.init n (fun _ -> generator) in
  QCheck.Gen.oneof (List.concat_map times generators)

let one_of values = QCheck.Gen.(oneof (List.map return values))

let property ?(seconds = 60) ?(count = 100) ~domains name arbitrary holds =
  let name = Printf.sprintf "%s, %d domains" name domains in
  let check () =
    with_domains domains @@ fun pool ->
    let law x = Pool.run pool (fun () -> holds pool x) in
    let test = QCheck.Test.make ~count ~name arbitrary law in
    let _, _, run = QCheck_alcotest.to_alcotest test in
    run ()
  in
  case ~seconds name check

(* Alcotest's own checks print, through state that only one domain may use. *)
let failf format = Printf.ksprintf failwith format
let check_bool what expected actual = if expected <> actual then failf "%s: %b" what actual

let check_int what expected actual =
  if expected <> actual then failf "%s: %d, should be %d" what actual expected

let check_equal what expected actual =
  if expected <> actual then failf "%s: not what was expected" what

let outcome f = match f () with value -> Ok value | exception e -> Error e
let value_of = function Ok value -> value | Error e -> raise e
let in_domain f = value_of (Domain.join (Domain.spawn (fun () -> outcome f)))

let in_threads n f =
  let results = Array.make n (Error Not_found) in
  let thread i = Thread.create (fun () -> results.(i) <- outcome (fun () -> f i)) () in
  let threads = List.init n thread in
  List.iter Thread.join threads;
  List.map value_of (Array.to_list results)

let in_thread f = List.hd (in_threads 1 (fun _ -> f ()))

let rec wait_until condition =
  if not (condition ()) then begin
    Unix.sleepf 0.001;
    wait_until condition
  end

let count_substring text ~sub =
  let last = String.length text - String.length sub in
  let is_at i = String.sub text i (String.length sub) = sub in
  Seq.length (Seq.filter is_at (Seq.init (max 0 (last + 1)) Fun.id))

let contains text ~sub = count_substring text ~sub > 0

let check_raises what expected f =
  match f () with
  | _ -> failf "%s: no exception" what
  | exception e when e = expected -> ()
  | exception e -> failf "%s: %s" what (Printexc.to_string e)

let check_mentions what text parts =
  let check sub =
    if not (contains text ~sub) then failf "%s: %S does not mention %S" what text sub
  in
  List.iter check parts

let check_invalid ~mentions what f =
  match f () with
  | _ -> failf "%s: no Invalid_argument" what
  | exception Invalid_argument message -> check_mentions what message mentions

let check_raises_with_origin ~file ~line what f =
  match f () with
  | _ -> failf "%s: no exception" what
  | exception _ ->
    let backtrace = Printexc.(raw_backtrace_to_string (get_raw_backtrace ())) in
    check_mentions what backtrace [ Printf.sprintf "%s\", line %d" file line ]

let counters n = Array.init n (fun _ -> Atomic.make 0)

let each_once what counts =
  let check i count =
    let times = Atomic.get count in
    if times <> 1 then failf "%s: index %d ran %d times" what i times
  in
  Array.iteri check counts

let flipped =
  Option.fold
    (Sys.getenv_opt "MUSTER_GOVERNOR")
    ~none:false
    ~some:(String.starts_with ~prefix:"random")

let elapsed clock f =
  let before = clock () in
  let result = f () in
  (result, clock () -. before)

let wall_seconds f = elapsed Unix.gettimeofday f

let cpu_seconds f =
  let clock () =
    let t = Unix.times () in
    t.tms_utime +. t.tms_stime
  in
  elapsed clock f

(* It counts the turns, of 1 ms or more: in a time the machine may run nobody. *)
let within seconds holds =
  let rec look turns = holds () || (turns > 0 && (Unix.sleepf 0.001; look (turns - 1))) in
  look (int_of_float (seconds /. 0.001))

let burn seconds =
  let stop = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < stop do
    ignore (Sys.opaque_identity (ref 0))
  done

(* {2 What the process holds} *)

let process_status field =
  let read line =
    match String.split_on_char ':' line with
    | [ name; value ] when name = field -> Scanf.sscanf_opt (String.trim value) "%d" Fun.id
    | _ -> None
  in
  In_channel.with_open_bin "/proc/self/status" In_channel.input_all
  |> String.split_on_char '\n' |> List.find_map read |> Option.value ~default:0

let descriptors () = Array.length (Sys.readdir "/proc/self/fd")

module Child = struct
  type t = {
    status : Unix.process_status;
    output : string;
    errors : string;
    seconds : float;
    after_signal : float;
  }

  let read_file path = In_channel.with_open_bin path In_channel.input_all

  let environment changes =
    let sets (key, _) entry = String.starts_with ~prefix:(key ^ "=") entry in
    let is_kept entry = not (List.exists (fun change -> sets change entry) changes) in
    let kept = List.filter is_kept (Array.to_list (Unix.environment ())) in
    Array.of_list (List.map (fun (key, value) -> key ^ "=" ^ value) changes @ kept)

  (* A shell that runs commands in the background has them ignore SIGINT and SIGQUIT, and children
     inherit that: CI would see programs that Ctrl-C cannot end. *)
  let with_default_signals f =
    let signals = [ Sys.sigint; Sys.sigquit ] in
    let before = List.map (fun it -> (it, Sys.signal it Signal_default)) signals in
    let restore () = List.iter (fun (it, behaviour) -> Sys.set_signal it behaviour) before in
    Fun.protect ~finally:restore f

  let spawn program arguments env ~output ~errors =
    with_default_signals @@ fun () ->
    let beside = Filename.concat (Filename.dirname Sys.executable_name) program in
    let path = if Filename.is_relative program then beside else program in
    let open_for_write file = Unix.openfile file [ O_WRONLY; O_TRUNC; O_CLOEXEC ] 0o600 in
    let out = open_for_write output and err = open_for_write errors in
    let argv = Array.of_list (path :: arguments) in
    let pid = Unix.create_process_env path argv (environment env) Unix.stdin out err in
    Unix.close out;
    Unix.close err;
    pid

  (* The child's status and the time its signal went out. *)
  let rec supervise pid ~interrupt ~signalled ~deadline ~has_written =
    match Unix.waitpid [ WNOHANG ] pid with
    | 0, _ ->
      let now = Unix.gettimeofday () in
      if now > deadline then Unix.kill pid Sys.sigkill;
      let is_due = Option.is_none signalled && has_written () in
      let signalled =
        match interrupt with
        | Some signal when is_due ->
          Unix.kill pid signal;
          Some now
        | _ -> signalled
      in
      Unix.sleepf 0.002;
      supervise pid ~interrupt ~signalled ~deadline ~has_written
    | _, status -> (status, signalled)

  let with_temporary f =
    let path = Filename.temp_file "muster" ".out" in
    Fun.protect ~finally:(fun () -> Sys.remove path) (fun () -> f path)

  let run ?(env = []) ?(limit = 30.) ?interrupt program arguments =
    with_temporary @@ fun output ->
    with_temporary @@ fun errors ->
    let start = Unix.gettimeofday () in
    let pid = spawn program arguments env ~output ~errors in
    let has_written () = (Unix.stat output).st_size > 0 in
    let deadline = start +. limit in
    let status, signalled = supervise pid ~interrupt ~signalled:None ~deadline ~has_written in
    let stop = Unix.gettimeofday () in
    {
      status;
      output = read_file output;
      errors = read_file errors;
      seconds = stop -. start;
      after_signal = stop -. Option.value signalled ~default:stop;
    }

  let check_success child =
    if child.status <> WEXITED 0 then failf "the child failed: %s%s" child.output child.errors
end

let fib = Fib.by_forks

let shares_what_has_become_long ?(cheap = 0) what ~alone ~iterations loop =
  let patience = if flipped then 0.05 else 1. in
  let is_long = Atomic.make false and given_up = Atomic.make 0 in
  let here = Array.make iterations (-1) in
  (* A worker that leaves and comes back has another domain. *)
  let is_shared () = Array.exists (fun d -> d <> -1 && d <> here.(0)) here in
  let note i = here.(i) <- (Domain.self () :> int) in
  (* The check: where the numbers flip, nobody else would ask for another worker. It also gives way
     to an iteration that was offered, and goes on where a worker takes it from there. *)
  let rec wait i until =
    Muster.Task.check ();
    note i;
    if Unix.gettimeofday () > until then Atomic.incr given_up
    else if not (is_shared ()) then wait i until
  in
  let body i =
    if Atomic.get is_long then begin
      note i;
      if i < alone then begin
        if i >= cheap then burn 0.001
      end
      else if Atomic.get given_up = 0 then wait i (Unix.gettimeofday () +. patience)
    end
  in
  let is_shared_now () =
    Atomic.set is_long false;
    for _ = 1 to 300 do
      loop body
    done;
    Array.fill here 0 iterations (-1);
    Atomic.set given_up 0;
    (* Beside busy programs a pool has no other worker unless a call waits for one, as this does. *)
    Muster.Team.broadcast (Muster.Pool.current ()) ignore;
    Atomic.set is_long true;
    loop body;
    Atomic.get given_up = 0
  in
  let rec is_shared_within tries =
    tries > 0 && (is_shared_now () || is_shared_within (tries - 1))
  in
  check_bool (what ^ " is shared at once") true (is_shared_within (if flipped then 20 else 3))

let shares_a_long_second_half what loop =
  let half = 50 in
  let here = Array.make (2 * half) (-1) in
  let body i =
    if i >= half then begin
      here.(i) <- (Domain.self () :> int);
      burn 0.000_5
    end
  in
  let others () =
    loop body;
    let second = Array.sub here half half in
    let most d = Array.fold_left (fun n other -> n + Bool.to_int (other = d)) 0 second in
    half - Array.fold_left (fun n d -> max n (most d)) 0 second
  in
  (* What was learned from the first time must not matter; and the machine may be busy. *)
  let rec is_shared_within tries = tries > 0 && (others () >= 5 || is_shared_within (tries - 1)) in
  ignore (others ());
  check_bool (what ^ "'s second half is shared") true (is_shared_within 20)

let begin_at_once what ~workers loop =
  let patience = 2. in
  let begun = Atomic.make 0 and given_up = Atomic.make 0 in
  let rec wait until =
    if Atomic.get begun < workers then
      if Unix.gettimeofday () > until then Atomic.incr given_up
      else begin
        Unix.sleepf 0.000_2;
        wait until
      end
  in
  let body _ =
    Atomic.incr begun;
    wait (Unix.gettimeofday () +. patience)
  in
  for time = 1 to 10 do
    Atomic.set begun 0;
    loop body;
    check_int (Printf.sprintf "%s, time %d: given up" what time) 0 (Atomic.get given_up)
  done

let is_usable pool =
  check_int "fib 15" 610 (Pool.run pool (fun () -> fib 15));
  let reached = counters (Pool.size pool) in
  Muster.Team.broadcast pool (fun worker -> Atomic.incr reached.(worker));
  each_once "broadcast" reached

exception Of_body

let failure_beside_a_cancellation ~run loop =
  let module Task = Muster.Task in
  let self = Atomic.make None in
  let body i =
    if i = 0 then begin
      Option.iter Task.cancel (Atomic.get self);
      raise Of_body
    end
    else burn 1e-6
  in
  let task () =
    wait_until (fun () -> Atomic.get self <> None);
    Fun.protect
      (fun () -> loop body)
      ~finally:(fun () -> check_raises "told afterwards" Task.Cancelled Task.check)
  in
  run (fun () ->
      let task = Task.async task in
      Atomic.set self (Some task);
      check_raises "the body's" Of_body (fun () -> Task.await task))

let on_pools counts f () = List.iter (fun domains -> with_domains domains f) counts
let on_each_count = on_pools [ 1; 2; 3 ]
