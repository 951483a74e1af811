let[@inline] within f = f ()
let each_thread ~self:_ ~id:_ = ()
let has_each_its_own () = false
