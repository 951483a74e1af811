(* Stdlib.Bytes, with the functions that call the user's for each character in parallel. *)

module Chunks = Muster_loop.Chunks
module Std = Stdlib.Bytes
include Std

let code = Muster_core.Machine.code_of
let run f b chunk = Chunks.run (code f) 0 (length b - 1) chunk
let search f b chunk = Chunks.search (code f) 0 (length b - 1) chunk

(* {2 One result for each character} *)

let build code n chunk =
  let r = create n in
  Chunks.run code 0 (n - 1) (chunk r);
  r

let[@inline never] init_chunk f r lo hi =
  for i = lo to hi do
    unsafe_set r i (f i)
  done

let init n f = if n < 2 then Std.init n f else build (code f) n (init_chunk f)

let[@inline never] map_chunk f b r lo hi =
  for i = lo to hi do
    unsafe_set r i (f (unsafe_get b i))
  done

let map f b = if length b < 2 then Std.map f b else build (code f) (length b) (map_chunk f b)

let[@inline never] mapi_chunk f b r lo hi =
  for i = lo to hi do
    unsafe_set r i (f i (unsafe_get b i))
  done

let mapi f b = if length b < 2 then Std.mapi f b else build (code f) (length b) (mapi_chunk f b)

(* {2 Effects} *)

let[@inline never] iter_chunk f b lo hi =
  for i = lo to hi do
    f (unsafe_get b i)
  done

let iter f b = if length b < 2 then Std.iter f b else run f b (iter_chunk f b)

let[@inline never] iteri_chunk f b lo hi =
  for i = lo to hi do
    f i (unsafe_get b i)
  done

let iteri f b = if length b < 2 then Std.iteri f b else run f b (iteri_chunk f b)

(* {2 Searches} *)

let[@inline never] index_chunk p b lo hi =
  let i = ref lo in
  while !i <= hi && not (p (unsafe_get b !i)) do
    incr i
  done;
  if !i <= hi then Some () else None

let[@inline never] failing_chunk p b lo hi =
  let i = ref lo in
  while !i <= hi && p (unsafe_get b !i) do
    incr i
  done;
  if !i <= hi then Some () else None

let exists p b =
  if length b < 2 then Std.exists p b else Option.is_some (search p b (index_chunk p b))

let for_all p b =
  if length b < 2 then Std.for_all p b else Option.is_none (search p b (failing_chunk p b))

(* Without a call for each character. *)
let[@inline never] char_chunk (c : char) b lo hi =
  let i = ref lo in
  while !i <= hi && unsafe_get b !i <> c do
    incr i
  done;
  if !i <= hi then Some !i else None

let index_opt b c =
  if length b < 2 then Std.index_opt b c else search char_chunk b (char_chunk c b)

let index b c = match index_opt b c with Some i -> i | None -> raise Not_found
let contains b c = if length b < 2 then Std.contains b c else Option.is_some (index_opt b c)
