//! Compares index and working tree.
