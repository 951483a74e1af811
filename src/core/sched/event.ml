type t = { call : string; about : unit -> string }

let make call = { call; about = Fun.const "" }
let about event about = { event with about }
