(* Busy processes beside the program: it starts them at random, at most [most] at a time, and they end
   by themselves after some seconds, or when the program has gone, however that ended. *)

let most = 2
let longest = 15.

type t = { random : Random.State.t; mutable alive : int list; mutable started : int }

let create seed = { random = Random.State.make [| seed; 1 |]; alive = []; started = 0 }

(* What such a process does: this program again, see [command] of Stress. *)
let be_one seconds =
  let parent = Unix.getppid () and stop = Unix.gettimeofday () +. Float.min seconds longest in
  while Unix.gettimeofday () < stop && Unix.getppid () = parent do
    for _ = 1 to 1_000_000 do
      ignore (Sys.opaque_identity ())
    done
  done

let start t =
  let seconds = 0.5 +. Random.State.float t.random longest in
  let argv = [| Sys.executable_name; "--neighbour"; string_of_float seconds |] in
  let null = Unix.openfile "/dev/null" [ O_RDWR; O_CLOEXEC ] 0 in
  let pid = Unix.create_process Sys.executable_name argv null null null in
  Unix.close null;
  t.alive <- pid :: t.alive;
  t.started <- t.started + 1

let has_ended flags pid =
  match Unix.waitpid flags pid with
  | 0, _ | (exception Unix.Unix_error (EINTR, _, _)) -> false
  | _ -> true

(* Called about twice a second. *)
let come_and_go t =
  t.alive <- List.filter (fun pid -> not (has_ended [ WNOHANG ] pid)) t.alive;
  if List.length t.alive < most && Random.State.int t.random 16 = 0 then start t

let end_all t =
  List.iter (fun pid -> Unix.kill pid Sys.sigkill) t.alive;
  List.iter
    (fun pid ->
      while not (has_ended [] pid) do
        ()
      done)
    t.alive;
  t.alive <- []
