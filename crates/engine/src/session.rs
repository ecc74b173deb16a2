//! One working copy, kept in memory between questions.
