(** Groups numbered items by their names: a hash table from each name to its items, in
    order.

    The table is cut into shards by hash, so that each can be filled by another domain. *)

type t

val shard : shards:int -> Name.t -> int
(** The shard that a name belongs to. [shards] is a power of two. *)

val create : shards:int -> Name.t array -> int array -> t
(** [create ~shards names shard] is a table of the items [0], [1], …, where item [i]
    has the name [names.(i)], which belongs to [shard.(i)]. It is complete once {!fill}
    has returned for every shard. *)

val fill : t -> int -> unit
(** Enters the items of one shard. Shards share nothing that one of them writes. *)

val first : t -> Name.t -> int
(** The lowest item of that name, or -1. *)

val next : t -> int -> int
(** The lowest item after this one of the same name, or -1. *)
