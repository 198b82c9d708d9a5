"""What is seen of the service: hops, metrics, the loop's lag, logs."""
