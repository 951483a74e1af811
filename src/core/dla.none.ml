let[@inline] within f = f ()
