(* Bad arguments raise what the table says: the function's name and the value are in the message. *)

let check (c : Bad_input.case) =
  Harness.case c.call (fun () ->
      match c.run () with
      | () -> Harness.failf "%s: no exception" c.call
      | exception exn when exn = c.expected -> ()
      | exception exn ->
        Harness.failf "%s: %s, should be %s" c.call (Printexc.to_string exn)
          (Printexc.to_string c.expected))

let () =
  let fine (call, run) = Harness.case call run in
  Alcotest.run "bad input"
    [
      ("raises", List.map check Bad_input.cases);
      ("is fine", List.map fine Bad_input.fine);
    ]
