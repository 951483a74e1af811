external call : unit -> unit = "bare_call_without_lock"

let () = call ()
