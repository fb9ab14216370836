"""What travels with a function that is called in the pool, and stands alone there."""
