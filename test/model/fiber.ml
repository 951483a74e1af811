(* Who runs, without a scheduler: each party has a number. *)

type _ Effect.t += Current : int Effect.t

let number () = Effect.perform Current
let is_me it = it = number ()
let watch () exn = exn == Waiter.Cancelled

let as_number (number : int) f =
  let effc (type a) (eff : a Effect.t) =
    match eff with
    | Current -> Some (fun (k : (a, _) Effect.Deep.continuation) -> Effect.Deep.continue k number)
    | _ -> None
  in
  Effect.Deep.match_with f () { retc = Fun.id; exnc = raise; effc }
