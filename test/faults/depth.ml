(* How deep calls may go. *)

let rec below k f = if k = 0 then f () else 1 + below (k - 1) f
let overflows k call = match below k call with _ -> false | exception Stack_overflow -> true

(* The least number of frames that overflow the stack. *)
let limit pool =
  let rec first low high =
    (* overflows at [high], not at [low] *)
    if high - low < 2 then high
    else
      let middle = (low + high) / 2 in
      if Muster.Pool.run pool (fun () -> overflows middle (fun () -> 0)) then first low middle
      else first middle high
  in
  first 0 100_000
