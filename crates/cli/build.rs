//! Links what unwinds the stack into the program: to load the library that has it takes a tenth of the time of a short
//! run. The program itself is put where it will stand, for the same reason: to move it each time takes a twentieth.

use std::env::var;
use std::io;
use std::path::Path;
use std::process::Command;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name, value| var(name).is_ok_and(|found| found == value);
    // A compiler for another machine may have its libraries anywhere.
    if !is("CARGO_CFG_TARGET_ENV", "gnu") || var("HOST") != var("TARGET") {
        return Ok(());
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let linker = var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let found = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let has_it = found.is_ok_and(|output| output.stdout.starts_with(b"/"));
    if let (true, Ok(folder)) = (has_it, var("OUT_DIR")) {
        // The compiler asks for `gcc_s`, and finds this first.
        std::fs::write(
            Path::new(&folder).join("libgcc_s.so"),
            "INPUT(-lgcc_eh -lgcc)\n",
        )?;
        println!("cargo::rustc-link-search=native={folder}");
    }
    Ok(())
}
