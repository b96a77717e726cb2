"""Learn about individuals when all you have is sums."""
