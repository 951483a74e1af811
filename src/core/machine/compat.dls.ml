(* OCaml 5.2 to 5.5. A key of [Domain.DLS] is a pair whose first component indexes the domain's
   state array. Reading that by the compiler's primitive takes a fork 2.4 ns less than
   [Domain.DLS.get]. *)

type 'a slot = { key : 'a Domain.DLS.key; index : int }

let index_of (key : 'a Domain.DLS.key) = fst (Obj.magic key : int * Obj.t)

let slot init =
  let key = Domain.DLS.new_key ~split_from_parent:(fun _ -> init ()) init in
  { key; index = index_of key }

(* Of anything: at a fork a unit would have to be made. *)
external untyped_state : 'a -> Obj.t ref array = "%dls_get"

(* The stdlib's sentinel for a slot that has no value yet has one field; a record with an
   index, an owner and so on has more. *)
let get (s : 'a slot) : 'a =
  let state = untyped_state () in
  if s.index < Array.length state && Obj.size (Obj.repr (Array.unsafe_get state s.index)) > 1 then
    Obj.magic (Array.unsafe_get state s.index)
  else Domain.DLS.get s.key

let set s v = Domain.DLS.set s.key v

(* For domains that have no array yet (domains.c): the sentinel stands in a slot that nobody has
   touched, once the array reaches beyond it. *)
external give_storage : Obj.t ref -> unit = "muster_give_storage" [@@noalloc]

let () =
  let untouched = Domain.DLS.new_key ignore and beyond = Domain.DLS.new_key ignore in
  Domain.DLS.get beyond;
  give_storage (untyped_state ()).(index_of untouched)

type index = int

let index s = s.index
let index_in_state s = s.index

(* A slot that this domain has not touched yet holds the stdlib's sentinel, [ref 0], whose
   first word is 0 too. *)
let[@inline] first_word_set index =
  let state = untyped_state index in
  index < Array.length state && Atomic.get (Blocks.first_word (Array.unsafe_get state index)) <> 0

(* The stdlib's own, but that [f k] is no tail call: a function that ends in a call of an unknown
   one begins with a look for signals. *)

type ('a, 'b) stack
type last_fiber [@@immediate]

external alloc_stack :
  ('a -> 'b) ->
  (exn -> 'b) ->
  ('c Effect.t -> ('c, 'b) Effect.Deep.continuation -> last_fiber -> 'b) ->
  ('a, 'b) stack = "caml_alloc_stack"

(* In OCaml 5.2 the handler does so, later the runtime. *)
external note_last_fiber : ('a, 'b) Effect.Deep.continuation -> last_fiber -> unit = "%setfield1"
external runstack : ('a, 'b) stack -> ('c -> 'a) -> 'c -> 'b = "%runstack"

external reperform : 'a Effect.t -> ('a, 'b) Effect.Deep.continuation -> last_fiber -> 'b
  = "%reperform"

let fibers { Effect.Deep.retc; exnc; effc } f =
  let handle eff k last_fiber =
    match effc eff with
    | Some f ->
      note_last_fiber k last_fiber;
      f k;
      ()
    | None -> reperform eff k last_fiber
  in
  fun x -> runstack (alloc_stack retc exnc handle) f x

include Blocks
