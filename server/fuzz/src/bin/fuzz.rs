//! The fuzzer: libFuzzer's `main`, which calls the target that the environment names.
//!
//! `FUZZ_TARGET=record fuzz CORPUS/record` runs until it finds something; without the name it tells
//! the names. `FUZZ_SEEDS=FOLDER` has it write the target's seeds there first. Must be built with
//! the flags of `.ci/fuzz`, or the engine is blind.
#![no_main]

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs, process};

use cellar_fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").expect("FUZZ_TARGET is text");
    cellar_fuzz::target(&name).expect("FUZZ_TARGET names a target")
});

fn start() -> io::Result<()> {
    if env::var_os("FUZZ_TARGET").is_none() {
        for target in TARGETS {
            writeln!(io::stdout(), "{}", target.name)?;
        }
        process::exit(0);
    }
    match env::var_os("FUZZ_SEEDS").map(PathBuf::from) {
        Some(folder) => write_seeds(&folder),
        None => Ok(()),
    }
}

fn write_seeds(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, seed) in (TARGET.seeds)().iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}

libfuzzer_sys::fuzz_target!(
    init: start().expect("the seeds' folder can be written"),
    |bytes: &[u8]| (TARGET.run)(bytes)
);
