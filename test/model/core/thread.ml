(* No model starts one: the sentry is a process. *)

let create _ _ = failwith "Thread.create"
