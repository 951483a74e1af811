(* A service: a socket, a task for each client, [Workers] for the requests, and a time limit for
   each request. SIGTERM and Ctrl-C end it. It answers the requests that it has taken; those that
   run longer than the grace are cancelled.

   The requests have a pool of their own. In the pool of the clients' tasks, long requests on all
   workers would keep these from their next steps, and so would the code that takes clients and ends
   the service.

   A request is a line with a number; the answer is how many primes there are up to it. Try
   [echo 1000000 | nc localhost 7777]. *)

open Cmdliner
module Task = Muster.Task
module Workers = Muster.Workers

let is_prime n =
  let rec no_divisor d = d * d > n || (n mod d > 0 && no_divisor (d + 1)) in
  n > 1 && no_divisor 2

let primes n =
  Muster.parallel_reduce ~start:2 ~finish:n ~combine:( + ) ~init:0 (fun i ->
      if is_prime i then 1 else 0)

let answer workers ~seconds line =
  match int_of_string_opt (String.trim line) with
  | None -> "not a number"
  | Some n -> (
    match Workers.submit ~deadline:seconds workers (fun () -> primes n) with
    | count -> string_of_int count
    | exception (Task.Deadline_exceeded | Workers.Rejected Expired) -> "out of time"
    | exception Workers.Rejected Full -> "busy"
    | exception (Task.Cancelled | Workers.Rejected Draining) -> "stopped")

(* {2 A request} *)

(* Whether the client asked something. A silent one is given up by the kernel, in the call that
   waits for it: so none is left in a call on a socket that is closed, nor holds up the end. *)
let converse workers ~seconds ~silence socket =
  Unix.setsockopt_float socket SO_RCVTIMEO silence;
  Unix.setsockopt_float socket SO_SNDTIMEO silence;
  let input = Unix.in_channel_of_descr socket and output = Unix.out_channel_of_descr socket in
  match Task.blocking (fun () -> In_channel.input_line input) with
  | None -> false
  | Some line ->
    let text = answer workers ~seconds line in
    Task.blocking (fun () ->
        output_string output (text ^ "\n");
        flush output);
    true

(* A client that has gone, or says nothing, is no failure of the service. *)
let serve workers ~seconds ~silence ~answered socket =
  match converse workers ~seconds ~silence socket with
  | was_asked -> if was_asked then Atomic.incr answered
  | exception (Sys_error _ | Sys_blocked_io | Unix.Unix_error _) -> ()

(* {2 The end} *)

(* A pipe that has something to read once a signal has come. A handler may come anywhere, so it does
   no more; the second signal ends the program at once. *)
let signalled () =
  let over, told = Unix.pipe ~cloexec:true () in
  let tell signal =
    Sys.set_signal signal Signal_default;
    ignore (Unix.single_write_substring told "." 0 1)
  in
  List.iter (fun signal -> Sys.set_signal signal (Signal_handle tell)) [ Sys.sigint; Sys.sigterm ];
  over

(* Whether there is a client, not the end. *)
let rec a_client_comes listening over =
  match Task.blocking (fun () -> Unix.select [ listening; over ] [] [] (-1.)) with
  | ready, _, _ -> not (List.mem over ready)
  | exception Unix.Unix_error (EINTR, _, _) -> a_client_comes listening over

(* A client may have gone since [select], and others may have come. *)
let rec accept_all listening start =
  match Unix.accept ~cloexec:true listening with
  | socket, _ ->
    Unix.clear_nonblock socket;
    start socket;
    accept_all listening start
  | exception Unix.Unix_error ((ECONNABORTED | EINTR), _, _) -> accept_all listening start
  | exception Unix.Unix_error ((EAGAIN | EWOULDBLOCK), _, _) -> ()

(* The scope ends when all clients have their answers. *)
let serve_all ~over ~grace listening workers serve =
  let start scope socket =
    let finally () = Unix.close socket in
    ignore (Task.fork scope (fun () -> Fun.protect ~finally (fun () -> serve socket)))
  in
  Task.scope (fun scope ->
      let rec next () =
        let goes_on = a_client_comes listening over in
        accept_all listening (start scope);
        if goes_on then next ()
      in
      next ();
      Unix.close listening;
      Workers.drain ~grace workers)

(* {2 The program} *)

let listen port =
  let socket = Unix.(socket ~cloexec:true PF_INET SOCK_STREAM 0) in
  Unix.setsockopt socket SO_REUSEADDR true;
  Unix.bind socket (ADDR_INET (Unix.inet_addr_loopback, port));
  Unix.listen socket 128;
  Unix.set_nonblock socket;
  match Unix.getsockname socket with
  | ADDR_INET (_, port) -> (socket, port)
  | ADDR_UNIX _ -> assert false

let main () port most seconds grace =
  Sys.set_signal Sys.sigpipe Signal_ignore;
  let over = signalled () and answered = Atomic.make 0 in
  match listen port with
  | exception Unix.Unix_error (error, _, _) ->
    Printf.eprintf "service: port %d: %s\n" port (Unix.error_message error);
    Cmd.Exit.some_error
  | listening, port ->
    Printf.printf "listening on port %d\n%!" port;
    let domains = Muster.Pool.(size (current ())) in
    let pool = Muster.Pool.create ~name:"jobs" ~domains () in
    let workers = Workers.create ~pool ~workers:most ignore in
    let silence = Float.max 0.01 (Float.min seconds grace) in
    serve_all ~over ~grace listening workers (serve workers ~seconds ~silence ~answered);
    Printf.printf "%d requests answered\n%!" (Atomic.get answered);
    Cmd.Exit.ok

let example =
  let doc = "a server whose requests are tasks, with limits and an orderly end" in
  let port =
    let doc = "Listen on $(docv) of this host; 0 takes a free one." in
    Arg.(value & opt int 7777 & info [ "port" ] ~docv:"PORT" ~doc)
  in
  let most = Example.option ~default:64 "max" "Work on at most $(docv) requests at a time." in
  let seconds =
    let doc = "Cancel a request after $(docv)." in
    Arg.(value & opt float 5. & info [ "limit" ] ~docv:"SECONDS" ~doc)
  in
  let grace =
    let doc = "At the end, cancel the requests that still run after $(docv)." in
    Arg.(value & opt float 5. & info [ "grace" ] ~docv:"SECONDS" ~doc)
  in
  let term = Term.(const main $ Jobs.jobs $ port $ most $ seconds $ grace) in
  ("service", doc, Cmd.v (Cmd.info "service" ~doc) term)
