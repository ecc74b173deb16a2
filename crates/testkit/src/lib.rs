//! Development only: repository builder, oracle and random-operation tester.
