(* Compilers whose domain-local storage has not been checked against compat.dls.ml. *)

type 'a slot = 'a Domain.DLS.key

let slot init = Domain.DLS.new_key ~split_from_parent:(fun _ -> init ()) init
let get = Domain.DLS.get
let set = Domain.DLS.set
let[@inline] shows s v = get s == v

(* An ['a Atomic.t] is a block whose first field is the content. *)
let[@inline] first_word (block : 'a) : int Atomic.t = Obj.magic block

type index = Index : 'a slot -> index

let index s = Index s

(* For C; -1 where it is not known. *)
let index_in_state _ = -1
let[@inline] first_word_set (Index s) = Atomic.get (first_word (Domain.DLS.get s)) <> 0
let match_with = Effect.Deep.match_with
let fibers handler f x = match_with f x handler

include Blocks
