type run = { domains : int option; times : (string * float) list }

exception Different of { domains : int; what : string }

let counts largest =
  (* Twice the last one might be more than an [int] holds. *)
  let rec powers n =
    if n >= largest then [] else n :: (if n > largest / 2 then [] else powers (2 * n))
  in
  if largest <= 8 then List.init largest succ else List.init 8 succ @ powers 16 @ [ largest ]

let most ~oversubscribe wanted = Muster.Pool.with_ ~domains:wanted ~oversubscribe Muster.Pool.size
let total run = List.fold_left (fun sum (_, seconds) -> sum +. seconds) 0. run.times

let sequential texts =
  let meter = Meter.create "sequential" in
  let answer = Sequential.run meter texts in
  (answer, { domains = None; times = Meter.times meter })

let run_name domains = Printf.sprintf "%d domain%s" domains (if domains = 1 then "" else "s")

(* A pool for each run: the sequential program has no idle domains beside it. *)
let parallel ~oversubscribe texts expected wanted =
  let job pool =
    let domains = Muster.Pool.size pool in
    let meter = Meter.create (run_name domains) in
    (domains, meter, Parallel.run pool meter texts)
  in
  let domains, meter, answer = Muster.Pool.with_ ~domains:wanted ~oversubscribe job in
  Option.iter (fun what -> raise (Different { domains; what })) (Answer.difference expected answer);
  { domains = Some domains; times = Meter.times meter }

let shorter (phase, a) (_, b) = (phase, Float.min a b)
let best a b = { a with times = List.map2 shorter a.times b.times }

(* No run pays for the garbage of the one before, nor the sequential program for a
   minor heap that suits a pool. *)
let round ~oversubscribe ~domains ~minor_heap_size texts =
  Gc.full_major ();
  Gc.set { (Gc.get ()) with minor_heap_size };
  let answer, alone = sequential texts in
  let on domains =
    Gc.full_major ();
    parallel ~oversubscribe texts answer domains
  in
  (answer, alone :: List.map on domains)

let measure ~oversubscribe ~domains ~repeat texts =
  let { Gc.minor_heap_size; _ } = Gc.get () in
  let round () = round ~oversubscribe ~domains ~minor_heap_size texts in
  let rec more left (answer, runs) =
    if left = 0 then (answer, runs)
    else
      let answer', again = round () in
      ignore (answer' : Answer.t);
      more (left - 1) (answer, List.map2 best runs again)
  in
  more (repeat - 1) (round ())
