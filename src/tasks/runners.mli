(** Fibers, at most so many, that each take the next element of a sequence and call a function with
    it, until the sequence ends, an element fails, or they are stopped. *)

type 'a t

type 'a work = {
  max : int;  (** fibers *)
  code : int;  (** of the program's function, which names their tasks *)
  before : int -> unit;  (** called before the element of that index is forced; it may wait *)
  call : int -> 'a -> unit;
  after : unit -> unit;  (** called by each fiber that takes no more *)
}

val make : 'a work -> 'a Seq.t -> 'a t
(** The elements are forced in their order, by one fiber at a time, each once. *)

val start : 'a t -> Scope.t -> unit Promise.t
(** Starts the first fiber, as a task of the scope; that one starts the second once it has an
    element, and so on. *)

val stop : _ t -> Scope.t -> unit
(** Nothing more is taken; the fibers are cancelled. The scope ends when they have ended. *)

val is_over : _ t -> int -> bool
(** Whether no call for that index will succeed: an element up to it has failed, or the sequence has
    ended before it. *)

val reraise : _ t -> unit
(** Raises the failure of the leftmost element that failed, if any. *)
