(* This module says how a task's own code meets a stop. Promise says how a stop gets there.

   Kept values. A task may be stopped after its wait has got an event, say a message, and before it
   goes on. The message would be lost with the task's value. So the fiber keeps that value ([keep])
   until it is told that it is cancelled ([keep_no_longer]).

   A fiber also keeps the values of the scopes that it has opened, from the innermost to the
   outermost that is stopped. It is told before it opens another one. So if one scope does not keep
   its value, the scopes around it do not either. *)

(* The part of the program that opened the scope, if [p] is an open scope's. Another task is told,
   and gets its events, by itself. *)
let around_scope p =
  match Promise.state p with
  | Promise.Running ({ opened_by = Some _; lineage = Within { part; _ }; _ }, _) -> Some part
  | Ready _ | Running _ | Returned _ | Raised _ -> None

let task_of p =
  match Promise.state p with
  | Promise.Running ({ opened_by = Some task; _ }, _) -> task
  | Ready _ | Running _ | Returned _ | Raised _ -> p

let rec keep p =
  if Promise.is_stopped p then begin
    ignore (Promise.set_kept true p);
    Option.iter keep (around_scope p)
  end

let rec keep_no_longer p =
  if Promise.set_kept false p then Option.iter keep_no_longer (around_scope p)
