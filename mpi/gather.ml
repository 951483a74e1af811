module Stdlib_array = Array

(* What all arrays are, if one of them has elements. *)
let common kinds =
  let join a b =
    match ((a : Link.kind), (b : Link.kind)) with
    | Empty, kind | kind, Empty -> kind
    | Floats, Floats -> Link.Floats
    | Immediates, Immediates -> Link.Immediates
    | _ -> Link.Others
  in
  Array.fold_left join Link.Empty kinds

let is_here on = Option.fold on ~none:true ~some:(( = ) (Link.rank ()))

(* What the others need to know before they get the elements. *)
let announced f own =
  let array = f () in
  own := array;
  (Link.kind array, Array.length array)

let arrays call ~on f =
  let own = ref [||] in
  let all = Collective.share call (fun () -> announced f own) in
  match common (Array.map fst all) with
  | Empty -> [||]
  | (Floats | Immediates) as kind -> Link.gather_words !own (Array.map snd all) kind ~on
  | Others ->
    let all = Collective.share call (fun () -> !own) in
    if is_here on then Array.concat (Array.to_list all) else [||]

let check_length fn n =
  if n < 0 then Link.invalid fn "length = %d is negative" n

let check_rank fn on = Option.iter (Link.check_rank fn "on") on

let call_of fn length on =
  let place = Option.fold on ~none:"" ~some:(Printf.sprintf " on %d") in
  Printf.sprintf "%s of %d%s" fn length place

let own_block n f =
  let first, next = Blocks.own n in
  Muster.Parallel.Array.init (next - first) (fun i -> f (first + i))

module Spread = struct
  type 'a t = { length : int; own : 'a array }

  let length t = t.length
  let own t = t.own
  let first t = fst (Blocks.own t.length)

  let made fn length f =
    let own = ref [||] in
    let call = Printf.sprintf "%s of %d" fn length in
    ignore (Collective.agree call (fun () -> own := f ()));
    { length; own = !own }

  let init n f =
    check_length "Spread.init" n;
    made "Spread.init" n (fun () -> own_block n f)

  let map f t = made "Spread.map" t.length (fun () -> Muster.Parallel.Array.map f t.own)

  let gather ?on t =
    check_rank "Spread.gather" on;
    let call = call_of "Spread.gather" t.length on in
    Collective.within call (fun () -> arrays call ~on (fun () -> t.own))
end

module Array = struct
  let collect fn ?on n f =
    check_rank fn on;
    let call = call_of fn n on in
    Collective.within call (fun () -> arrays call ~on (fun () -> own_block n f))

  let init ?on n f =
    check_length "Array.init" n;
    collect "Array.init" ?on n f

  let map ?on f a = collect "Array.map" ?on (Stdlib_array.length a) (fun i -> f a.(i))
end
