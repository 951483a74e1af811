(* The environment is not a part of the model. *)

include Stdlib.Sys

let getenv_opt _ = None
