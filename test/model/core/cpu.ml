let available () = 4
let available_now ~before:_ = available ()
let affinity () = 4
