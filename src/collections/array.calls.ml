(* A text that dune puts into Array, Floatarray, Bigarray.Array1 and Bytes, behind the module's own
   text: so each has tight loops over elements of its own kind, which a functor would call.

   The own text has [length]; [source] and [target], from which [read] reads and to which [write]
   writes; [rewrite] for an element that was written before; [build]; [is_equal]; [numbered] and
   [indexed], which count as the module's users do; and [map2_few].

   A function [f_chunk f s lo hi] sweeps a chunk (Chunks): [f] is the user's. *)

let code = Machine.code_of
let[@inline] run chunk f a = Chunks.run (code f) (length a) chunk f (source a)
let[@inline] search chunk f a = Chunks.search (code f) (length a) chunk f (source a)
let[@inline] holds found = Option.is_some found

(* Where arrays have one element, or differ in length. *)
let[@inline] few call f a b =
  if Adaptive.holds_up (code f) ~n:(length a) then Adaptive.in_pool (fun () -> call f a b)
  else call f a b

(* {2 One result for each element} *)

let init_one f () i = f i

let init_chunk f () r lo hi =
  for i = lo to hi do
    write r i (f i)
  done

let map_one f s i = f (read s i)

let map_chunk f s r lo hi =
  for i = lo to hi do
    write r i (f (read s i))
  done

let map f a = build a (length a) map_one map_chunk f (source a)
let map_init_one f (s, states) i = States.use states (fun state -> f state (read s i))

let map_init_chunk f (s, states) r lo hi =
  if lo <= hi then
    States.use states (fun state ->
        for i = lo to hi do
          write r i (f state (read s i))
        done)

let map_init ~init f a =
  if length a = 0 then map (fun _ -> assert false) a
  else build a (length a) map_init_one map_init_chunk f (source a, States.create init)

let mapi_one f s i = f i (read s i)

let mapi_chunk f s r lo hi =
  for i = lo to hi do
    write r i (f i (read s i))
  done

let mapi f a = build a (length a) mapi_one mapi_chunk (numbered a f) (source a)
let map2_one f (s, t) i = f (read s i) (read t i)

let map2_chunk f (s, t) r lo hi =
  for i = lo to hi do
    write r i (f (read s i) (read t i))
  done

let map2 f a b =
  if length a < 2 || length a <> length b then few map2_few f a b
  else build a (length a) map2_one map2_chunk f (source a, source b)

let inplace_chunk f s r lo hi =
  for i = lo to hi do
    rewrite r i (f (read s i))
  done

let map_inplace f a = Chunks.fill (code f) (length a) inplace_chunk f (source a) (target a)

let inplacei_chunk f s r lo hi =
  for i = lo to hi do
    rewrite r i (f i (read s i))
  done

let mapi_inplace f a = Chunks.fill (code f) (length a) inplacei_chunk f (source a) (target a)

(* {2 Effects} *)

let iter_chunk f s lo hi =
  for i = lo to hi do
    f (read s i)
  done

let iter f a = run iter_chunk f a

let iteri_chunk f s lo hi =
  for i = lo to hi do
    f i (read s i)
  done

let iteri f a = run iteri_chunk (numbered a f) a

(* {2 Searches} *)

let rec find_mapi_chunk f s i hi =
  if i > hi then None
  else match f i (read s i) with None -> find_mapi_chunk f s (i + 1) hi | found -> found

let rec find_map_chunk f s i hi =
  if i > hi then None
  else match f (read s i) with None -> find_map_chunk f s (i + 1) hi | found -> found

(* The element is what [p] saw: it may have changed since. *)
let rec find_chunk p s i hi =
  if i > hi then None
  else
    let x = read s i in
    if p x then Some x else find_chunk p s (i + 1) hi

let rec index_chunk p s i hi =
  if i > hi then None else if p (read s i) then Some i else index_chunk p s (i + 1) hi

let rec bad_chunk p s i hi =
  if i > hi then None else if p (read s i) then bad_chunk p s (i + 1) hi else Some ()

let rec equal_chunk x s i hi =
  if i > hi then None else if is_equal x (read s i) then Some () else equal_chunk x s (i + 1) hi

let find_mapi f a = search find_mapi_chunk (numbered a f) a
let find_map f a = search find_map_chunk f a
let find_opt p a = search find_chunk p a
let find_index p a = indexed a (search index_chunk p a)
let exists p a = holds (search index_chunk p a)
let for_all p a = not (holds (search bad_chunk p a))
let mem x a = holds (Chunks.search (code equal_chunk) (length a) equal_chunk x (source a))
