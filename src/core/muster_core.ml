(* The modules of the core's four libraries, and no values: so that there is no interface. *)

include Muster_machine
include Muster_queue
include Muster_sched
include Muster_pool
module Dla = Muster_await.Dla
