external thread_id : unit -> int = "muster_thread_id" [@@noalloc]
external code_of : ('a -> 'b) -> int = "muster_code_of" [@@noalloc]
external yield : unit -> unit = "muster_yield" [@@noalloc]

external ticks : unit -> (int[@untagged]) = "muster_ticks" "muster_ticks_untagged"
[@@noalloc]

external ticks_per_us : unit -> int = "muster_ticks_per_us" [@@noalloc]
external backtrace_status : unit -> bool = "caml_backtrace_status" [@@noalloc]

let rate = ticks_per_us ()
let ticks_of_us us = max 1 (us * rate / 1024)

module Sleeper = struct
  type t

  external create : unit -> t = "muster_sleeper_create"
  external sleep : t -> int -> unit = "muster_sleeper_sleep"
  external wake : t -> unit = "muster_sleeper_wake" [@@noalloc]
end
