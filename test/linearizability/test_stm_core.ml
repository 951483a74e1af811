(* The scheduler's queues against their models. *)

module Inbox = Check.Make (Inbox_model)

module Steady = Check.Make (Deque_model.Make (struct
  let thieves = 1
  let capacity = 16
  let strict = true
end))

module Narrow = Check.Make (Deque_model.Make (struct
  let thieves = 1
  let capacity = 1
  let strict = false
end))

module Thieves = Check.Make (Deque_model.Make (struct
  let thieves = 2
  let capacity = 2
  let strict = false
end))

let () =
  let ways = Check.[ domains; threads ] in
  Alcotest.run "queues, against models"
    [
      ("inbox", Inbox.cases ~runs:500 "inbox" ways);
      ( "deque",
        Steady.cases ~runs:400 "one thief" ways
        @ Narrow.cases "one thief, growing" ways
        @ Thieves.cases "two thieves, growing" ways );
    ]
