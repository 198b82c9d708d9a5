"""Makes the default model's adapter: training data from open source code, the training, the held-out set."""
