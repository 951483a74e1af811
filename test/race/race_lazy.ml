(* Lazy values that two tasks force. *)

let tables = Array.init 300 (fun n -> lazy (Array.init 2_000 (fun i -> i * n)))

let look n =
  match Lazy.force tables.(n) with
  | table -> table.(3)
  | exception CamlinternalLazy.Undefined -> 0

let () =
  Together.two @@ fun () ->
  for n = 0 to Array.length tables - 1 do
    ignore (look n)
  done
