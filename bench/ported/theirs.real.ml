let library : (module Library.S) option =
  Some
    (module struct
      include Domainslib.Task

      let all = Ported_theirs.all
    end)
