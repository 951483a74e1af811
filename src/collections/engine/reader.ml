(* Where the function is cheap the caller calls it element by element, in place. Otherwise it reads
   a block of elements, and the function of lists runs over that; then it reads the next one. The
   time of each block or stretch tells what comes after it. *)

(* Elements: of a reduction, two leaves. *)
let first_block unit = Int.max Tuning.shortest_leaf (2 * unit)

type 'a consumer = {
  code : int;
  unit : int;
  in_place : int -> 'a Seq.t -> int -> 'a Seq.t option;
  block : int -> 'a list -> unit;
}

type 'a block = { elements : 'a list; next : 'a Seq.t option; failure : Outcome.failure option }
(** Elements read; then the rest, unless that is the end or a failure. *)

(* If reading is told of a cancellation, so is what is done with the elements before: as code that
   cleans up it might wait for ever. *)
let read size s =
  let tell_again = Fiber.to_tell_again () in
  let block elements next failure = { elements = List.rev elements; next; failure } in
  let rec go elements s n =
    if n = 0 then block elements (Some s) None
    else
      match s () with
      | Seq.Nil -> block elements None None
      | Cons (x, s) -> go (x :: elements) s (n - 1)
      | exception exn ->
        let failure = Outcome.caught exn in
        tell_again ();
        block elements None (Some failure)
  in
  go [] s size

let run_block c s start size =
  let { elements; next; failure } = read size s in
  if not (List.is_empty elements) then c.block start elements;
  Option.iter Fiber.rethrow failure;
  next

let is_dear c = Site.estimate (Site.cost c.code) 1 > Tuning.worth_a_block

(* The rest, and the index of its first element, once elements turn out dear. [n] are next, and [k]
   are done since the trial began. *)
let rec in_place_from c trial s start k n =
  match c.in_place start s n with
  | None ->
    Adaptive.finish trial;
    None
  | Some s ->
    let pays = Adaptive.pays trial (k + n) and start = start + n in
    if pays && is_dear c then Some (s, start)
    else begin
      if pays then Adaptive.checkpoint ();
      in_place_from c trial s start (k + n) (Walk.whole c.unit (Adaptive.next trial))
    end

let rec in_place c s start =
  match in_place_from c (Adaptive.start c.code ~n:max_int) s start 0 c.unit with
  | None -> ()
  | Some (s, start) -> go_on c s start (first_block c.unit)

and go_on c s start size =
  if is_dear c then
    let next = run_block c s start size in
    Option.iter (fun s -> go_on c s (start + size) (Int.min Tuning.longest_piece (2 * size))) next
  else in_place c s start

let run ?(start = 0) c s =
  Fiber.check ();
  go_on c s start (first_block c.unit)
