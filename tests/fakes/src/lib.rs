//! In-process NetBird server for the tests and the sandbox.
