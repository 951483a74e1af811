(* The rows of the tables. A row's text begins with the name of the function that it is about, as in
   the documents: test_bad_input looks there which functions have rows. *)

type row = { call : string; run : unit -> unit; expected : exn option  (** none: it returns *) }

type table = {
  title : string;
  rows : row list;
  harmless : string list;  (** functions all of whose arguments make sense *)
}
(** The rows of one module of the interface. *)

let raises call run expected = { call; run; expected = Some expected }
let invalid call run message = raises call run (Invalid_argument ("Muster." ^ message))

(* The call that the stdlib's function of that name answers so, too. *)
let as_stdlib's call stdlib's run =
  match stdlib's () with
  | _ -> failwith (call ^ ": the stdlib's returns")
  | exception expected -> raises call (fun () -> ignore (run ())) expected

(* What might be taken for bad and is not. *)
let fine call result f =
  let run () = if f () <> result then failwith (call ^ ": another result") in
  { call; run; expected = None }

let in_thread f =
  let result = ref None in
  let run () = result := Some (try Ok (f ()) with exn -> Error exn) in
  Thread.join (Thread.create run ());
  match Option.get !result with Ok v -> v | Error exn -> raise exn

let in_pool f = Muster.Pool.with_ ~domains:1 f
