(* A stack with a mutex and a condition of the stdlib: [pop] waits until the stack has an element.
   Tasks must not wait for each other in this way, because they may not run at the same time. The
   workers of [Team.broadcast] do: half of them push, and half of them pop.
   *)

type 'a t = { mutable contents : 'a list; mutex : Mutex.t; nonempty : Condition.t }

let create () = { contents = []; mutex = Mutex.create (); nonempty = Condition.create () }

let push stack x =
  Mutex.protect stack.mutex @@ fun () ->
  stack.contents <- x :: stack.contents;
  Condition.signal stack.nonempty

let rec take stack =
  match stack.contents with
  | x :: rest ->
    stack.contents <- rest;
    x
  | [] ->
    Condition.wait stack.nonempty stack.mutex;
    take stack

let pop stack = Mutex.protect stack.mutex (fun () -> take stack)

(* The numbers [part], [part + parts], … up to [n]: every number is in one part. *)
let rec push_part stack ~parts part n =
  if part <= n then begin
    push stack part;
    push_part stack ~parts (part + parts) n
  end

let rec pop_part stack ~parts part n sum =
  if part > n then sum else pop_part stack ~parts (part + parts) n (sum + pop stack)

let sequential n =
  let stack = create () in
  push_part stack ~parts:1 1 n;
  pop_part stack ~parts:1 1 n 0

(* A lone worker pushes everything before it pops. *)
let parallel pool n =
  let stack = create () and total = Atomic.make 0 in
  let pop_all ~parts part = ignore (Atomic.fetch_and_add total (pop_part stack ~parts part n 0)) in
  let producers = max 1 (Muster.Pool.size pool / 2) in
  let consumers = Muster.Pool.size pool - producers in
  Muster.Team.broadcast pool (fun worker ->
      if worker < producers then push_part stack ~parts:producers (worker + 1) n
      else pop_all ~parts:consumers (worker - producers + 1));
  if consumers = 0 then pop_all ~parts:1 1;
  Atomic.get total

let rows n =
  [
    Example.row "half push, half pop"
      ~shows:
        "The parallel program is expected to be slower: each push and pop takes the one lock, and \
         the work is nothing beside it. The line shows what sharing costs."
      ~show:string_of_int
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun pool -> parallel pool n);
  ]

let example =
  let size = Example.size ~max:100_000_000 ~default:1_000_000 "Push and pop $(docv) numbers." in
  Example.command ~name:"blocking_stack" ~doc:"a stack on mutex and condition, shared by a team"
    ~size (Cmdliner.Term.const rows)
