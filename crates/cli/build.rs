//! Links the program so that it starts at once: all it needs stands in it, at the place where it will run. To load the
//! C library and what unwinds the stack, and to move the program, takes a third of a short run.

use std::env::var;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name, value| var(name).is_ok_and(|found| found == value);
    // A compiler for another machine may have its libraries anywhere.
    if !is("CARGO_CFG_TARGET_ENV", "gnu") || var("HOST") != var("TARGET") {
        return Ok(());
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let Ok(folder) = var("OUT_DIR") else {
        return Ok(());
    };
    if archive("libgcc_eh.a").is_none() {
        return Ok(());
    }
    // The compiler asks for shared libraries by these names, and looks here first.
    let stand_in = |name: &str, libraries: &str| {
        fs::write(
            Path::new(&folder).join(name),
            format!("GROUP({libraries})\n"),
        )
    };
    println!("cargo::rustc-link-arg-bins=-L{folder}");
    stand_in("libgcc_s.so", "-lgcc_eh -lgcc")?;
    // Not every system has these for programs that contain them.
    if let (Some(c), Some(m)) = (archive("libc.a"), archive("libm.a")) {
        stand_in("libc.so", &format!("{} -lgcc_eh -lgcc", c.display()))?;
        stand_in("libm.so", &m.display().to_string())?;
        println!("cargo::rustc-link-arg-bins=-static");
    }
    Ok(())
}

/// Where the linker has the library `name`.
fn archive(name: &str) -> Option<PathBuf> {
    let linker = var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let asked = Command::new(linker)
        .arg(format!("-print-file-name={name}"))
        .output();
    let path = PathBuf::from(String::from_utf8(asked.ok()?.stdout).ok()?.trim_end());
    path.is_absolute().then_some(path)
}
