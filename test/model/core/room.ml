let make () = ()
