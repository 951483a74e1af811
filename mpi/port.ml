type 'a t = int

(* All ranks make the same ports in the same order, so the n-th has the same tag everywhere. *)
let asks = 0
let answers = 1
let made = Atomic.make 2
let create () = Atomic.fetch_and_add made 1

let send_of fn t ~dest v =
  match Link.encode v with
  | packet -> Link.send packet ~dest ~tag:t
  | exception Invalid_argument reason -> Link.refuse_value fn reason

let send t ~dest v =
  Link.check_rank "Port.send" "dest" dest;
  send_of "Port.send" t ~dest v

let looks = 200
let nap = 20e-6

(* Between its looks a task hears of a cancellation, and other threads get their turn at MPI. *)
let receive t ~source =
  Link.check_rank "Port.receive" "source" source;
  let rec look patience =
    match Link.receive ~source ~tag:t ~looks () with
    | Some (_, packet) -> Link.decode packet ~word:0
    | None ->
      Muster.Task.check ();
      patience ();
      Unix.sleepf nap;
      look patience
  in
  look (Collective.patience (Printf.sprintf "Port.receive from rank %d" source))

let receive_now t =
  let decoded (source, packet) = (source, Link.decode packet ~word:0) in
  Option.map decoded (Link.receive ~tag:t ~looks:1 ())
