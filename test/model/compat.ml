let padded block = block
let atomic_at = Array.unsafe_get
let recast = Obj.magic
let store = Atomic.set
let store_int = Atomic.set
