let about event _ _ = event
let holder _ = ""
