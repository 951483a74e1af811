(* One counter that every domain increments. On a [ref], an increment is a load and a store: if two
   domains do this at the same time, one increment is lost. On an [Atomic] none is lost, but the
   domains have to take turns. *)

let sequential n =
  let counter = ref 0 in
  for _ = 1 to n do
    incr counter
  done;
  !counter

let parallel_plain n =
  let counter = ref 0 in
  Muster.parallel_for ~start:1 ~finish:n (fun _ -> incr counter);
  !counter

let parallel_atomic n =
  let counter = Atomic.make 0 in
  Muster.parallel_for ~start:1 ~finish:n (fun _ -> Atomic.incr counter);
  Atomic.get counter

(* All that can be said of the racy counter: it counted something, and nothing twice. *)
let lost_some expected got = 0 < got && got <= expected

let rows n =
  let row ?agree label shows count =
    Example.row ?agree label ~shows ~show:string_of_int
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun _ -> count n)
  in
  [
    row "plain ref" ~agree:lost_some
      "Wrong on purpose: increments get lost, and it is expected to be slower. Never share a ref."
      parallel_plain;
    row "Atomic"
      "No increment is lost. It is expected to be slower: all domains take turns at one cache \
       line. Use parallel_reduce to count."
      parallel_atomic;
  ]

let example =
  let size = Example.size ~default:10_000_000 "Increment $(docv) times in all." in
  Example.command ~name:"counter" ~doc:"an atomic counter, and one that loses increments" ~size
    (Cmdliner.Term.const rows)
