(* Eio or Lwt is missing. *)

let tables = []
let interfaces = []
