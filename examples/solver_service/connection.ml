open Eio.Std
module Read = Eio.Buf_read
module Write = Eio.Buf_write

type answer = { status : Http.Status.t; headers : (string * string) list; body : string }

let text ?(headers = []) status line =
  { status; headers = ("content-type", "text/plain; charset=utf-8") :: headers; body = line ^ "\n" }

exception Hung_up

type limits = { head : int; seconds : float }

(* {2 Requests} *)

type read = Request of Http.Request.t | End | Refused of answer

let buffered input = Cstruct.length (Read.peek input)

(* One byte more than there is. *)
let more input = Read.ensure input (buffered input + 1)

(* A client may send a long head byte by byte: no step of this allocates. *)
let has_blank_line text =
  let rec from at =
    match String.index_from_opt text at '\n' with
    | None -> false
    | Some i ->
      (i + 2 < String.length text && text.[i + 1] = '\r' && text.[i + 2] = '\n') || from (i + 1)
  in
  from 0

(* The parser wants the whole head: it begins anew whenever more has come. *)
let rec read_head input =
  let head = Cstruct.to_string (Read.peek input) in
  match Http.Private.Parser.parse_request head with
  | Ok (request, length) ->
    Read.consume input length;
    Request request
  | Error (Msg reason) -> Refused (text `Bad_request ("malformed request: " ^ reason))
  | Error Partial when has_blank_line head -> Refused (text `Bad_request "malformed request")
  | Error Partial -> (
    match more input with
    | () -> read_head input
    | exception End_of_file -> End
    | exception Read.Buffer_limit_exceeded ->
      Refused (text `Request_header_fields_too_large "the request's head is too long"))

let is_readable socket =
  let look fd =
    let poll = Iomux.Poll.create ~maxfds:1 () in
    Iomux.Poll.set_index poll 0 fd Iomux.Poll.Flags.pollin;
    Iomux.Poll.poll poll 1 Nowait > 0
  in
  match Eio_unix.Resource.fd_opt socket with
  | Some fd -> Eio_unix.Fd.use fd look ~if_closed:(fun () -> false)
  | None -> false

(* At the stop, a connection ends without a word unless a request has come, read or not: a busy loop
   reads late. *)
let read ~clock ~stop limits socket input =
  let idle () = if buffered input = 0 then more input in
  let began () =
    match Fiber.first idle (fun () -> Promise.await stop) with
    | () -> buffered input > 0 || is_readable socket
    | exception End_of_file -> false
  in
  let timed f = Eio.Time.with_timeout clock limits.seconds (fun () -> Ok (f ())) in
  match timed began with
  | Error `Timeout | Ok false -> End
  | Ok true -> (
    match timed (fun () -> read_head input) with
    | Ok read -> read
    | Error `Timeout -> Refused (text `Request_timeout "the request took too long to come"))

(* A client that says more meanwhile is still there, and one that has said too much counts so. *)
let rec hung_up input () =
  match more input with
  | () -> hung_up input ()
  | exception Read.Buffer_limit_exceeded -> Fiber.await_cancel ()
  | exception End_of_file -> raise Hung_up

(* {2 Answers} *)

let write ?(head_alone = false) ~clock limits socket ~keep { status; headers; body } =
  let connection = if keep then "keep-alive" else "close" in
  let length = string_of_int (String.length body) in
  let headers = headers @ [ ("content-length", length); ("connection", connection) ] in
  let head = Http.Header.to_string (Http.Header.of_list headers) in
  let line = Printf.sprintf "HTTP/1.1 %s\r\n" (Http.Status.to_string status) in
  let body = if head_alone then "" else body in
  let send () = Eio.Flow.copy_string (String.concat "" [ line; head; body ]) socket in
  Eio.Time.with_timeout_exn clock limits.seconds send

(* To close a socket from which there is something to read takes the answer from the client. *)
let linger ~clock socket =
  let rest = Cstruct.create 4_096 in
  let rec drop () =
    ignore (Eio.Flow.single_read socket rest : int);
    drop ()
  in
  Eio.Flow.shutdown socket `Send;
  try Eio.Time.with_timeout_exn clock 1. drop with End_of_file | Eio.Time.Timeout -> ()

(* Whatever its method, and if only one of several lengths says so: a body is not to be taken for the
   next request. *)
let has_body (request : Http.Request.t) =
  Http.Header.mem request.headers "transfer-encoding"
  || List.exists (( <> ) "0") (Http.Header.get_multi request.headers "content-length")

let serve ~clock ~stop limits handle socket =
  let input = Read.of_flow socket ~initial_size:1_024 ~max_size:limits.head in
  let rec next () =
    match read ~clock ~stop limits socket input with
    | End -> ()
    | Refused answer ->
      write ~clock limits socket ~keep:false answer;
      linger ~clock socket
    | Request request -> answer request
  and answer request =
    let answer = handle (hung_up input) request in
    let keep =
      Http.Request.is_keep_alive request
      && (not (has_body request))
      && not (Promise.is_resolved stop)
    in
    write ~head_alone:(request.meth = `HEAD) ~clock limits socket ~keep answer;
    if keep then next () else linger ~clock socket
  in
  next ()
