let change cell f = Atomic.set cell (f (Atomic.get cell))
let soon holds = holds ()
