let padded block = block
let atomic_at = Array.unsafe_get
let recast = Obj.magic
