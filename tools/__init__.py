"""What stands around the engine in the repository: real parts for tests and demo, setup, and the demo itself."""
