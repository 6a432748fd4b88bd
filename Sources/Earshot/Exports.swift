@_exported public import LastMile
@_exported public import Primitives
