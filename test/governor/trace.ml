(* Traces as record.ml writes them, played in a circle. *)

type sample = { now : int; waited : int; runnable : int }
type t = { length : int; samples : sample array  (** by time, from 0 on *) }

let unit_ns = 100_000

let add_line (now, samples) line =
  match line with
  | "thread" -> (0, samples)
  | _ ->
    Scanf.sscanf line "%d %d %d %d" @@ fun n dt waited runnable ->
    let sample i =
      { now = now + (i * dt * unit_ns); waited = waited * unit_ns; runnable }
    in
    (now + (n * dt * unit_ns), List.rev_append (List.init n (fun i -> sample (i + 1))) samples)

let read path =
  let lines = In_channel.with_open_text path In_channel.input_all |> String.split_on_char '\n' in
  let _, samples = List.fold_left add_line (0, []) (List.filter (( <> ) "") lines) in
  let by_time a b = compare a.now b.now in
  let samples = Array.of_list (List.sort by_time samples) in
  { length = samples.(Array.length samples - 1).now; samples }

let rec first_after samples at low high =
  if low = high then low
  else
    let middle = (low + high) / 2 in
    if samples.(middle).now > at then first_after samples at low middle
    else first_after samples at (middle + 1) high

(** The first sample after that time, with its time in this round. *)
let next t now =
  let at = now mod t.length in
  let round = now - at in
  let i = first_after t.samples at 0 (Array.length t.samples) in
  if i < Array.length t.samples then { (t.samples.(i)) with now = round + t.samples.(i).now }
  else { (t.samples.(0)) with now = round + t.length + t.samples.(0).now }
