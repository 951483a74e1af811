type caller = Main | Task

let callers = [ ("main", Main); ("task", Task) ]

let in_turn ~rounds ~sequential ~parallel =
  let contenders = [ ("sequential", sequential); ("parallel", parallel) ] in
  let run ~round:_ (_, measure) = measure () in
  let figure ((name, _), sample) = (name, Measure.runs sample) in
  List.map figure (Measure.in_turn ~repeat:rounds run contenders)

let plain ~iterations body =
  for i = 0 to iterations - 1 do
    body i
  done

let muster ~iterations body = Muster.parallel_for ~start:0 ~finish:(iterations - 1) body
let mean loop = Measure.per_call ~budget:1e7 loop

(* ---- Trivial iterations ---- *)

(* The compiler may neither drop an iteration nor see through the call. *)
let trivial = Sys.opaque_identity (fun i -> ignore (Sys.opaque_identity i))

let tiny caller ~iterations ~rounds =
  let measure () =
    in_turn ~rounds
      ~sequential:(fun () -> mean (fun () -> plain ~iterations trivial))
      ~parallel:(fun () -> mean (fun () -> muster ~iterations trivial))
  in
  Muster.Team.broadcast (Muster.Pool.default ()) ignore;
  match caller with Main -> measure () | Task -> Muster.Pool.run (Muster.Pool.default ()) measure

(* ---- Some work ---- *)

type body = Even | Growing | Lopsided | Seldom

let bodies = [ ("even", Even); ("growing", Growing); ("lopsided", Lopsided); ("seldom", Seldom) ]
let iterations = 64

let spin units =
  let x = ref units in
  for _ = 1 to units do
    x := Sys.opaque_identity ((!x * 25214903917) + 11)
  done;
  ignore (Sys.opaque_identity !x)

(* What share of the loop's work iteration [i] has. *)
let share body i =
  let last = iterations - 1 in
  match body with
  | Even | Seldom -> 1. /. float_of_int iterations
  | Growing -> float_of_int (i + 1) /. float_of_int (iterations * (iterations + 1) / 2)
  | Lopsided when i = last -> 0.5
  | Lopsided -> 0.5 /. float_of_int last

let body_of body units =
  let units_of i = int_of_float (Float.round (units *. share body i)) in
  let units = Array.init iterations units_of in
  Sys.opaque_identity (fun i -> spin units.(i))

(* The shortest of many, which nothing interrupted. *)
let shortest loop = List.fold_left Float.min infinity (List.init 200 (fun _ -> Clock.time loop))

(* A short iteration overlaps with its neighbours in the processor, a long one does not: so
   it is the loop as a whole that is made to last. *)
let fitted kind ~microseconds =
  let rec fit units tries =
    let body = body_of kind units in
    if tries = 0 then body
    else
      let took = shortest (fun () -> plain ~iterations body) in
      fit (units *. float_of_int microseconds *. 1e3 /. took) (tries - 1)
  in
  fit 1000. 4

let pauses = 200

(* The program goes on by itself for 200 us, and the workers fall asleep. The median,
   since a loop now and then is interrupted. *)
let after_pauses loop =
  let once _ =
    let until = Clock.now () +. 2e5 in
    while Clock.now () < until do
      spin 100
    done;
    Clock.time loop
  in
  Measure.median (Measure.of_runs (List.init pauses once))

let sweep kind ~microseconds ~rounds =
  let body = fitted kind ~microseconds in
  let measure = match kind with Seldom -> after_pauses | Even | Growing | Lopsided -> mean in
  Muster.Team.broadcast (Muster.Pool.default ()) ignore;
  in_turn ~rounds
    ~sequential:(fun () -> measure (fun () -> plain ~iterations body))
    ~parallel:(fun () -> measure (fun () -> muster ~iterations body))
