include Stdlib.Bigarray
module Array1 = Bigvector
module Array2 = Bigmatrix
