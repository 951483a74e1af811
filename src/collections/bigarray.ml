include Stdlib.Bigarray
module Array1 = Bigvector
