let available () = 4
let affinity () = 4
let runtime_limit () = 128
