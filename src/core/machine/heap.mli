(** The minor heap of the calling domain, sized for parallel work.

    One rule: in a pool of several workers a minor heap has {!larger} words. The program's own
    choice stands: [~minor_heap_words], [s=] in [OCAMLRUNPARAM], or a [Gc.set]. The notes here
    belong to the domain, and only its own threads read and write them. *)

val larger : int

val parameters : string option
(** The settings that the runtime heeds: [OCAMLRUNPARAM], else [CAMLRUNPARAM]. *)

val chosen_by_user : bool
(** Whether these set the size of minor heaps. *)

val words : unit -> int
(** Of the calling domain's minor heap. *)

val has_room : int -> bool
(** Whether the address space has room for heaps of so many words. *)

val set : int -> unit
(** Sets the size, if there is room. *)

(** {2 For a pool}

    [chosen] is the {!choice} of the pool's maker. *)

val choice : int option -> int option
(** The words of [~minor_heap_words], if they are given; else those of the calling domain's heap, if
    the program chose them by a [Gc.set], which new domains would not follow. *)

val for_workers : chosen:int option -> workers:int -> int option
(** With how many words the calling domain has to work in a pool of so many workers; [None]: with
    those that it has. *)

val settle : chosen:int option -> workers:int -> unit
(** Sets the size for a worker, unless the program has set another one since. *)

val give_back : chosen:int option -> unit
(** For a caller that leaves its outermost pool. Its heap becomes what it was, if it has filled it
    so often that the collection and the new pages do not matter. *)
