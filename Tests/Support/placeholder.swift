import LazySync
