(* A service: a socket, a task for each request, no more than so many at a time, a limit of time for
   each. SIGTERM and Ctrl-C end it when the requests that it has taken are answered.

   A request is a line with a number; the answer is how many primes there are up to it. Try
   [echo 1000000 | nc localhost 7777]. *)

open Cmdliner
module Task = Muster.Task

let is_prime n =
  let rec no_divisor d = d * d > n || (n mod d > 0 && no_divisor (d + 1)) in
  n > 1 && no_divisor 2

let primes n =
  Muster.parallel_reduce ~start:2 ~finish:n ~combine:( + ) ~init:0 (fun i ->
      if is_prime i then 1 else 0)

let answer ~seconds line =
  match int_of_string_opt (String.trim line) with
  | None -> "not a number"
  | Some n -> (
    match Task.with_deadline seconds (fun () -> primes n) with
    | count -> string_of_int count
    | exception Task.Deadline_exceeded -> "out of time")

(* {2 A request} *)

(* A silent client is given up by the kernel, in the call that waits for it: so none is left in a
   call on a socket that is closed. *)
let converse ~seconds socket =
  Unix.setsockopt_float socket SO_RCVTIMEO seconds;
  Unix.setsockopt_float socket SO_SNDTIMEO seconds;
  let input = Unix.in_channel_of_descr socket and output = Unix.out_channel_of_descr socket in
  match Task.blocking (fun () -> In_channel.input_line input) with
  | None -> ()
  | Some line ->
    let text = answer ~seconds line in
    Task.blocking (fun () ->
        output_string output (text ^ "\n");
        flush output)

(* A client that has gone, or says nothing, is no failure of the service. *)
let serve ~seconds ~answered socket =
  match converse ~seconds socket with
  | () -> Atomic.incr answered
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

(* A client may have gone since [select]. *)
let accept listening =
  match Unix.accept ~cloexec:true listening with
  | socket, _ ->
    Unix.clear_nonblock socket;
    Some socket
  | exception Unix.Unix_error ((EAGAIN | EWOULDBLOCK | ECONNABORTED | EINTR), _, _) -> None

(* The scope ends when all requests are answered. Where as many as may are being served, the next
   client waits in the kernel's queue. *)
let serve_all ~most ~over listening serve =
  let room = Muster.Semaphore.make most in
  let finish socket () =
    Unix.close socket;
    Muster.Semaphore.release room
  in
  let start scope socket =
    let run () = Fun.protect (fun () -> serve socket) ~finally:(finish socket) in
    ignore (Task.fork scope run)
  in
  Task.scope (fun scope ->
      let rec next () =
        Muster.Semaphore.acquire room;
        if a_client_comes listening over then begin
          match accept listening with
          | Some socket ->
            start scope socket;
            next ()
          | None ->
            Muster.Semaphore.release room;
            next ()
        end
      in
      next ();
      Unix.close listening)

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

let main () port most seconds =
  Sys.set_signal Sys.sigpipe Signal_ignore;
  let over = signalled () and answered = Atomic.make 0 in
  match listen port with
  | exception Unix.Unix_error (error, _, _) ->
    Printf.eprintf "service: port %d: %s\n" port (Unix.error_message error);
    Cmd.Exit.some_error
  | listening, port ->
    Printf.printf "listening on port %d\n%!" port;
    serve_all ~most ~over listening (serve ~seconds ~answered);
    Printf.printf "%d requests answered\n%!" (Atomic.get answered);
    Cmd.Exit.ok

let example =
  let doc = "a server whose requests are tasks, with limits and an orderly end" in
  let port =
    let doc = "Listen on $(docv) of this host; 0 takes a free one." in
    Arg.(value & opt int 7777 & info [ "port" ] ~docv:"PORT" ~doc)
  in
  let most = Example.option ~default:64 "max" "Serve at most $(docv) requests at a time." in
  let seconds =
    let doc = "Give a request up after $(docv)." in
    Arg.(value & opt float 5. & info [ "limit" ] ~docv:"SECONDS" ~doc)
  in
  let term = Term.(const main $ Jobs.jobs $ port $ most $ seconds) in
  ("service", doc, Cmd.v (Cmd.info "service" ~doc) term)
