(* Elements that a predicate chooses, in order. The first sweep calls the predicate and marks
   each element in a byte of its own, so that its chunks need not agree on anything. Then the
   chosen ones of each block are counted, which gives each block its place in the result, and
   the last sweep moves them. No branch depends on a mark, for the processor would guess it wrong
   half of the time: every index is written down, and the next one over it unless it was
   chosen. *)

external get16 : Bytes.t -> int -> int = "%caml_bytes_get16u"
external set16 : Bytes.t -> int -> int -> unit = "%caml_bytes_set16u"
external get64 : Bytes.t -> int -> int64 = "%caml_bytes_get64u"

type marks = Bytes.t

let[@inline] mark (marks : marks) i is_chosen =
  Bytes.unsafe_set marks i (Char.unsafe_chr (Bool.to_int is_chosen))

let[@inline] get marks i = Char.code (Bytes.unsafe_get marks i)

let marks code n chunk f s : marks =
  let marks = Bytes.create n in
  Chunks.fill code n chunk f s marks;
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

(* [flip] is 1 where the elements that are not marked are chosen. [places] has the number of those
   before each block, and of all. *)
type chosen = { marks : marks; flip : int; places : int array }

let last marks b = Int.min (Bytes.length marks) ((b + 1) * block) - 1

let count_blocks marks flip places lo hi =
  for b = lo to hi do
    let first = b * block and last = last marks b in
    let marked = count marks first last in
    places.(b + 1) <- (if flip = 0 then marked else last - first + 1 - marked)
  done

let choose ~others marks =
  let blocks = (Bytes.length marks + block - 1) / block and flip = Bool.to_int others in
  let places = Array.make (blocks + 1) 0 in
  Chunks.fill (Machine.code_of count) blocks count_blocks marks flip places;
  for b = 1 to blocks do
    places.(b) <- places.(b) + places.(b - 1)
  done;
  { marks; flip; places }

let total { places; _ } = places.(Array.length places - 1)
let first { marks; flip; _ } = Bytes.index marks (Char.unsafe_chr (1 - flip))

let move_blocks move { marks; flip; places } lo hi =
  let offsets = Bytes.create (2 * Int.min (Bytes.length marks) block) in
  for b = lo to hi do
    move places.(b) (find offsets marks ~flip (b * block) (last marks b))
  done

let move chosen move =
  Chunks.run (Machine.code_of move) (Array.length chosen.places - 1) move_blocks move chosen
