module Fib = Muster_examples.Fib
module Task = Muster.Task
open Experiment

let rec tasks n =
  if n < 2 then 1
  else
    let a = Task.async (fun () -> tasks (n - 1)) in
    let b = Task.async (fun () -> tasks (n - 2)) in
    Task.await a + Task.await b

let rec rival_tasks pool n =
  if n < 2 then 1
  else
    let a = Rival.async pool (fun () -> rival_tasks pool (n - 1)) in
    let b = Rival.async pool (fun () -> rival_tasks pool (n - 2)) in
    Rival.await pool a + Rival.await pool b

(* The nearest that Domainslib has to [both]: one task, the other half in place. *)
let rec rival_both pool n =
  if n < 2 then 1
  else
    let a = Rival.async pool (fun () -> rival_both pool (n - 1)) in
    let b = rival_both pool (n - 2) in
    Rival.await pool a + b

(* Every call but a leaf forks once, and the result is the number of leaves. *)
(* A small run first: the pages of new minor heaps are faulted in outside the clock. *)
let per_fork options fib n =
  ignore (Sys.opaque_identity (fib (n - 8)));
  let expected = Sys.opaque_identity (Fib.sequential n) in
  let check () =
    let got = fib n in
    if got <> expected then failwith (Printf.sprintf "fib %d is %d, not %d" n expected got)
  in
  Measure.per_call ~budget:(budget options) check /. float_of_int (expected - 1)

let alone options n = { who = sequential; run = (fun () -> per_fork options Fib.sequential n) }

let closures_alone options n =
  {
    who = { name = "closures"; domains = 1 };
    run = (fun () -> Pools.muster ~domains:1 (fun _ -> per_fork options In_turn.fib n));
  }

(* On one domain and on all. *)
let on_domains options contenders =
  List.concat_map contenders (List.sort_uniq Int.compare [ 1; options.domains ])

let fork options =
  let n = sized options ~quick:25 ~full:38 in
  let rival_n = sized options ~quick:15 ~full:27 in
  let here = muster options.domains in
  let contenders domains =
    Pools.contenders ~domains
      ~muster:(fun _ -> per_fork options Fib.parallel n)
      ~domainslib:(fun pool -> per_fork options (rival_both pool) rival_n)
  in
  {
    name = "fork";
    title =
      Printf.sprintf "A fork at every call of fib %d, no cut-off, per fork (Domainslib: fib %d)" n
        rival_n;
    quantity = Time;
    contenders =
      (alone options n :: closures_alone options n :: on_domains options contenders)
      @ of_rivals options ~t_name:"fork" ~domains:options.domains ~size:n;
    bars =
      [
        {
          claim = "`both` at every call against the sequential program";
          subject = here;
          against = Some sequential;
          limit = At_most 1.05;
        };
        {
          claim = "`both` against Domainslib's async and await";
          subject = here;
          against = Some (domainslib options.domains);
          limit = At_least 40.;
        };
      ];
  }

let task options =
  let n = sized options ~quick:15 ~full:27 in
  let contenders domains =
    Pools.contenders ~domains
      ~muster:(fun _ -> per_fork options tasks n)
      ~domainslib:(fun pool -> per_fork options (rival_tasks pool) n)
  in
  {
    name = "task";
    title = Printf.sprintf "Two asyncs and two awaits at every call of fib %d, per call" n;
    quantity = Time;
    contenders = alone options n :: on_domains options contenders;
    bars =
      [
        {
          claim = "`Task.async` and `await` in Domainslib's pattern";
          subject = muster options.domains;
          against = Some (domainslib options.domains);
          limit = At_least 3.;
        };
      ];
  }

(* A tree of forks keeps the deque full, so that the forks at its leaves run in place.
   Their closures hold one variable each; those of a recursive function hold it too. *)

let forks_per_leaf = 100

let leaf () =
  for i = 1 to forks_per_leaf do
    let f () = Sys.opaque_identity i and g () = Sys.opaque_identity i in
    ignore (Sys.opaque_identity (Muster.both f g))
  done

let rec tree depth =
  if depth = 0 then leaf ()
  else ignore (Muster.both (fun () -> tree (depth - 1)) (fun () -> tree (depth - 1)))

(* Words of all domains: a minor collection makes every domain publish its count. *)
let minor_words () =
  Gc.minor ();
  (Gc.quick_stat ()).minor_words

let words_per_fork ~forks run =
  let before = minor_words () in
  run ();
  (minor_words () -. before) /. float_of_int forks

let words_in_place options =
  let depth = sized options ~quick:10 ~full:14 in
  let leaves = 1 lsl depth in
  words_per_fork ~forks:(leaves * (forks_per_leaf + 1)) (fun () -> tree depth)

let words_of_fib options =
  let n = sized options ~quick:20 ~full:30 in
  let run () = ignore (Sys.opaque_identity (Fib.parallel n)) in
  words_per_fork ~forks:(Fib.sequential n - 1) run

let words options =
  let contender name words domains =
    let run () = Pools.muster ~domains (fun _ -> words options) in
    { who = { name; domains }; run }
  in
  (* On one domain every fork runs in place; on more, some are offered to the others. *)
  let in_place = muster 1 in
  {
    name = "words";
    title = "Words of minor heap per `both` (muster-fib: at every call of fib)";
    quantity = Words;
    contenders =
      on_domains options (fun domains ->
          [
            contender in_place.name words_in_place domains;
            contender "muster-fib" words_of_fib domains;
          ]);
    bars =
      [
        {
          claim = "words per `both` in place, its two closures and its pair included";
          subject = in_place;
          against = None;
          limit = At_most 12.;
        };
      ];
  }

let experiments options = [ fork options; task options; words options ]
