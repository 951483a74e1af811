type t = { call : string; about : unit -> string }

let make call = { call; about = Fun.const "" }
