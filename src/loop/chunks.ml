type 'a body = int -> int -> 'a option

let sweep_long code lo hi (body : _ body) = Loop.search code lo hi body

let sweep code lo hi (body : _ body) =
  if Adaptive.is_trusted code ~n:(hi - lo + 1) then body lo hi else sweep_long code lo hi body

let always body lo hi =
  body lo hi;
  None

let run code lo hi body = if lo <= hi then ignore (sweep code lo hi (always body))
let run_long code lo hi body = if lo <= hi then ignore (sweep_long code lo hi (always body))

(* {2 Searches} *)

let is_begun_alone code ~n =
  n >= 2 * Tuning.first_of_search
  && Site.estimate (Site.cost code) n >= Tuning.min_shared
  && Site.estimate (Site.cost code) Tuning.first_of_search < Tuning.min_shared

let search code lo hi (body : _ body) =
  if lo > hi then None
  else if is_begun_alone code ~n:(hi - lo + 1) then
    let last = lo + Tuning.first_of_search - 1 in
    match sweep_long code lo last body with
    | None -> sweep_long code (last + 1) hi body
    | found -> found
  else sweep code lo hi body
