(* Objects of one size class lie side by side in the heap, and those of 16 words, with their header,
   begin at multiples of 128 bytes: so one of up to 7 fields has a pair of cache lines of its own,
   as prefetchers fetch them. A larger one has 15 words behind it. *)
let padded (block : 'a) : 'a =
  let old = Obj.repr block in
  let size = Obj.size old in
  let wide_size = if size <= 7 then 15 else size + 15 in
  let wide = Obj.new_block (Obj.tag old) wide_size in
  for i = 0 to size - 1 do
    Obj.set_field wide i (Obj.field old i)
  done;
  for i = size to wide_size - 1 do
    Obj.set_field wide i (Obj.repr 0)
  done;
  Obj.obj wide

(* An ['a Atomic.t] is a block whose first field is its content. *)
let[@inline] first_word (block : 'a) : int Atomic.t = Obj.magic block

(* [Atomic.t] is abstract: the compiler would ask at every access whether it is a float. *)
let[@inline] atomic_at (atomics : 'a Atomic.t array) i : 'a Atomic.t =
  Obj.magic (Array.unsafe_get (Obj.magic atomics : Obj.t ref array) i)

let[@inline] recast (atomic : 'a Atomic.t) : 'b Atomic.t = Obj.magic atomic

(* An atomic is a block whose field a plain assignment writes, too; of a block it is a release store
   (caml_modify). On x86 so is that of an int; elsewhere the fence stays. ThreadSanitizer would take
   either for a race. *)

type cell_of_block = { mutable block : int ref; [@warning "-69"] _no_float : int }
type cell_of_int = { mutable int : int [@warning "-69"] }

let[@inline] store (atomic : 'a Atomic.t) (v : 'a) =
  if Target.has_tsan then Atomic.set atomic v
  else (Obj.magic atomic : cell_of_block).block <- (Obj.magic v : int ref)

let[@inline] store_int (atomic : int Atomic.t) v =
  if Target.has_tsan || not Target.is_amd64 then Atomic.set atomic v
  else (Obj.magic atomic : cell_of_int).int <- v

(* Floats need no fill, which would touch all of the array before the workers do. Others are
   immediates at first: a young block in each element would call for a minor collection. *)
let make_blank n ~(like : 'a) : 'a array =
  if Obj.tag (Obj.repr like) = Obj.double_tag then Obj.magic (Array.create_float n)
  else Obj.magic (Array.make n 0)

let make_fresh n (v : 'a) : 'a array =
  let made = make_blank n ~like:v in
  Array.unsafe_set made 0 v;
  made

(* {2 Long arrays whose memory all workers touch} *)

external reserve : int -> Obj.t = "muster_reserve"
external address : Obj.t -> int = "muster_address" [@@noalloc]
external put_units : int -> int -> int -> unit = "muster_put_units" [@@noalloc]
external become_array : Obj.t -> 'a array = "muster_become_array" [@@noalloc]

(* Between two looks for signals, and for domains that wait for a collection. *)
let longest_put = 1 lsl 12

let rec put_all address from count =
  if count > 0 then begin
    let now = Int.min longest_put count in
    put_units address from now;
    put_all address (from + now) (count - now)
  end

let make_together n (v : 'a) ~share : 'a array =
  if Obj.tag (Obj.repr v) = Obj.double_tag || n > Sys.max_array_length then make_fresh n v
  else begin
    let block = reserve n in
    share n (put_all (address block));
    let made = become_array block in
    Array.unsafe_set made 0 v;
    made
  end

(* The new element needs no barrier, as no immediate has anything to mark, remember or publish. The
   old one needs none, as it is still referenced from another element. *)
let[@inline] set_fresh (a : 'a array) i (v : 'a) =
  if Obj.is_int (Obj.repr v) then Array.unsafe_set (Obj.magic a : int array) i (Obj.magic v : int)
  else Array.unsafe_set a i v

(* Neither of two immediates needs a barrier. An array that holds one is none of floats. *)
let[@inline] replace (a : 'a array) i (v : 'a) =
  let words : int array = Obj.magic a in
  if Obj.is_int (Obj.repr v) && Obj.is_int (Obj.repr (Array.unsafe_get words i)) then
    Array.unsafe_set words i (Obj.magic v : int)
  else Array.unsafe_set a i v

(* A cons cell is a block of head and tail. *)
type cell = { mutable head : int; [@warning "-69"] mutable tail : Obj.t [@warning "-69"] }

let hook () : 'a list = Obj.magic { head = 0; tail = Obj.repr 0 }

let[@inline] hang (cell : 'a list) (rest : 'a list) = (Obj.magic cell : cell).tail <- Obj.repr rest
