(* Elements that a predicate chooses, in order. The first sweep calls the predicate and marks
   each element in a byte of its own, so that its chunks need not agree on anything. Then the
   chosen ones of each block are counted, which gives each block its place in the result, and
   the last sweep moves them. No branch depends on a mark, for the processor would guess it wrong
   half of the time: every index is written down, and the next one over it unless it was
   chosen. *)

module Machine = Muster_core.Machine
module Chunks = Muster_loop.Chunks
module Array = Stdlib.Array
module Bytes = Stdlib.Bytes

external get16 : Bytes.t -> int -> int = "%caml_bytes_get16u"
external set16 : Bytes.t -> int -> int -> unit = "%caml_bytes_set16u"
external get64 : Bytes.t -> int -> int64 = "%caml_bytes_get64u"

type marks = Bytes.t

let[@inline] mark (marks : marks) i is_chosen =
  Bytes.unsafe_set marks i (Char.unsafe_chr (Bool.to_int is_chosen))

let[@inline] get marks i = Char.code (Bytes.unsafe_get marks i)

(* [sweep marks lo hi] marks each of these indices. *)
let marks code n sweep : marks =
  let marks = Bytes.create n in
  Chunks.run code 0 (n - 1) (sweep marks);
  marks

(* The product's top byte is the sum of the eight. *)
let count marks lo hi =
  let total = ref 0 and i = ref lo in
  while !i + 7 <= hi do
    let eight = Int64.mul (get64 marks !i) 0x0101_0101_0101_0101L in
    total := !total + Int64.to_int (Int64.shift_right_logical eight 56);
    i := !i + 8
  done;
  for j = !i to hi do
    total := !total + get marks j
  done;
  !total

(* The indices of a block's chosen ones, from the block's start: 16 bits each. *)
type found = { offsets : Bytes.t; start : int; count : int }

let[@inline] index found j = found.start + get16 found.offsets (2 * j)

(* As many as fit in a block of the minor heap. *)
let block = 1000

let find offsets marks ~flip lo hi =
  let count = ref 0 in
  for i = lo to hi do
    set16 offsets (2 * !count) (i - lo);
    count := !count + (get marks i lxor flip)
  done;
  { offsets; start = lo; count = !count }

let code = Machine.code_of count

(* How many are chosen before each block, and at the end in all. *)
let places marks ~flip n =
  let blocks = ((n - 1) / block) + 1 in
  let last b = Int.min n ((b + 1) * block) - 1 in
  let places = Array.make (blocks + 1) 0 in
  let count_block b =
    let lo = b * block in
    let marked = count marks lo (last b) in
    places.(b + 1) <- (if flip = 0 then marked else last b - lo + 1 - marked)
  in
  if blocks = 1 then count_block 0
  else
    Chunks.run code 0 (blocks - 1) (fun lo hi ->
        for b = lo to hi do
          count_block b
        done);
  for b = 1 to blocks do
    places.(b) <- places.(b) + places.(b - 1)
  done;
  places

(* The marked ones, or with [~others:true] the others, of [n] elements. [make count i] is a result
   of that length that may begin as if filled with element [i], [move result at found] puts those
   of [found] into it from [at] on. *)
let pack ?(others = false) marks ~empty ~make ~move =
  let n = Bytes.length marks and flip = Bool.to_int others in
  let places = if n = 0 then [| 0 |] else places marks ~flip n in
  let blocks = Array.length places - 1 in
  let total = places.(blocks) in
  if total = 0 then empty
  else begin
    let result = make total (Bytes.index marks (Char.unsafe_chr (1 - flip))) in
    let move_blocks lo hi =
      let offsets = Bytes.create (2 * Int.min n block) in
      for b = lo to hi do
        let first = b * block in
        let found = find offsets marks ~flip first (Int.min n (first + block) - 1) in
        move result places.(b) found
      done
    in
    if blocks = 1 then move_blocks 0 0
    else Chunks.run (Machine.code_of move) 0 (blocks - 1) move_blocks;
    result
  end
