let library : (module Library.S) option = None
