// Whoever plays a simulated world also says what its lines are like.
@_exported public import LinkModel
