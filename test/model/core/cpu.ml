let available () = 4
let available_now ~before:_ = available ()
let affinity () = 4
let idle () = None

type override = Unset | Domains of int | Ignored of string
let override () = Unset
