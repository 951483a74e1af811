type failure = Collective.failure = { rank : int; exn : string; backtrace : string }

exception Raised = Collective.Raised

let rank = Link.rank
let ranks = Link.ranks
let barrier () = ignore (Collective.agree "barrier" ignore)

let broadcast ?(root = 0) f =
  Link.check_rank "broadcast" "root" root;
  let call = Printf.sprintf "broadcast from %d" root in
  let own () = if rank () = root then Some (f ()) else None in
  Option.get (Collective.agree call own).(root)

include Ranges

let parallel_map_dynamic = Dynamic.parallel_map_dynamic

module Array = Gather.Array
module Spread = Gather.Spread
module Port = Port

let run = Own.run
