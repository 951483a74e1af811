(* Compilers whose domain-local storage has not been checked against compat.dls.ml. *)

type 'a slot = 'a Domain.DLS.key

let slot init = Domain.DLS.new_key ~split_from_parent:(fun _ -> init ()) init
let get = Domain.DLS.get
let set = Domain.DLS.set

type index = Index : 'a slot -> index

let index s = Index s
let index_in_state _ = -1
let[@inline] first_word_set (Index s) = Atomic.get (Blocks.first_word (Domain.DLS.get s)) <> 0
let fibers handler f x = Effect.Deep.match_with f x handler

include Blocks
