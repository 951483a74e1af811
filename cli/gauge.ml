type t = { mutable next : int list; mutable looks : int; mutable total : int }

(* In ns of CPU time, or 0 where it may not run there. *)
external time_on : int -> int = "muster_gauge"

let make () = { next = []; looks = 0; total = 0 }

let rec look ~cpus t =
  match t.next with
  | cpu :: others ->
    t.next <- others;
    let took = time_on cpu in
    if took > 0 then begin
      t.looks <- t.looks + 1;
      t.total <- t.total + took
    end
  | [] when cpus <> [] ->
    t.next <- cpus;
    look ~cpus t
  | [] -> ()

let mean t = if t.looks = 0 then None else Some (float t.total /. float t.looks /. 1e9)
