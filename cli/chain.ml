(* Each task has a strand: the longest chain of work up to this moment, with its parts by place. A
   fork hands the parent's strand to the child; at a join the parent goes on with the longest of its
   own and of those of its children that have ended. Work that no fork shows counts as one piece, so
   the span is an upper bound. *)

type task = {
  site : int;
  parent : task option;
  every : int;
  mutable base : strand;
  mutable own : int;
  mutable best : strand;
  mutable wait_every : int;
  mutable work : int;
}

and strand = { span : int; path : (int * int) list }

let nothing = { span = 0; path = [] }

let make ?parent ~every ~site base =
  { site; parent; every; base; own = 0; best = nothing; wait_every = 1;
    work = 0 }
[@@ocamlformat "disable"]

let root () = make ~every:1 ~site:0 nothing

let strand task =
  if task.own > 0 then begin
    let until = Option.value (List.assoc_opt task.site task.base.path) ~default:0 in
    let path = (task.site, until + task.own) :: List.remove_assoc task.site task.base.path in
    task.base <- { span = task.base.span + task.own; path };
    task.own <- 0
  end;
  task.base

let fork ~parent ~every ~site = make ~parent ~every ~site (strand parent)

let join task = if task.best.span > (strand task).span then task.base <- task.best

let run task ns =
  task.own <- task.own + ns;
  task.work <- task.work + ns

let finish task ~parent =
  join task;
  if task.base.span > parent.best.span then parent.best <- task.base
