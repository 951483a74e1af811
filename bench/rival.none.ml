(* No value of type [pool] exists, so nothing below can be reached. *)
type pool = |
type runner = { run : 'a. domains:int -> (pool -> 'a) -> 'a }

let runner = None

type 'a promise = |

let async (pool : pool) _ = match pool with _ -> .
let await (pool : pool) _ = match pool with _ -> .
let parallel_for (pool : pool) ~start:_ ~finish:_ _ = match pool with _ -> .
