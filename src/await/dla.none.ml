type trigger = { release : unit -> unit; await : unit -> unit }

let[@inline] within _ f = f ()
let each_thread ~self:_ ~id:_ = ()
let has_each_its_own () = false
let foreign () = None
let await ~firmly:_ _ = false
let is_cancellation _ = false
