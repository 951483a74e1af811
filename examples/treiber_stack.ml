(* Treiber's lock-free stack (IBM RJ 5118, 1986): one atomic list. [push] and [pop] replace the
   list by compare-and-set, and try again if another domain was faster. Each [push] makes a new
   cell, and the collector keeps a cell while a domain looks at it. So no cell can come back as
   another one (no ABA problem). *)

type 'a t = 'a list Atomic.t

let create () : 'a t = Atomic.make []

let rec push stack x =
  let seen = Atomic.get stack in
  if not (Atomic.compare_and_set stack seen (x :: seen)) then begin
    Domain.cpu_relax ();
    push stack x
  end

let rec pop stack =
  match Atomic.get stack with
  | [] -> None
  | x :: rest as seen ->
    if Atomic.compare_and_set stack seen rest then Some x
    else begin
      Domain.cpu_relax ();
      pop stack
    end

let popped stack = Option.value (pop stack) ~default:0

let sequential n =
  let stack = create () in
  for i = 1 to n do
    push stack i
  done;
  let sum = ref 0 in
  for _ = 1 to n do
    sum := !sum + popped stack
  done;
  !sum

let parallel n =
  let stack = create () in
  Muster.parallel_for ~start:1 ~finish:n (push stack);
  Muster.parallel_reduce ~start:1 ~finish:n ~combine:( + ) ~init:0 (fun _ -> popped stack)

let rows n =
  [
    Example.row "all push, then pop"
      ~shows:
        "All tasks change one atomic pointer, so more domains than two gain little or lose. The \
         line shows that no element is lost."
      ~show:string_of_int
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun _ -> parallel n);
  ]

let example =
  let size = Example.size ~max:100_000_000 ~default:1_000_000 "Push and pop $(docv) numbers." in
  Example.command ~name:"treiber_stack" ~doc:"a lock-free stack, shared by tasks" ~size
    (Cmdliner.Term.const rows)
