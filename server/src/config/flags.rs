//! The command line: every option as a flag, and what to do instead of serving.
//!
//! Owns the flags' names and help texts; values are the options' own.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::error::ConfigError;
use super::load::Loaded;
use super::sections::{Config, OPTIONS};

/// What the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Serve clients.
    Serve,
    /// Print the effective configuration.
    PrintConfig,
    /// Say whether the configuration can be used.
    CheckConfig,
    /// Say whether the store is what was written to it.
    CheckStore(StoreCheck),
}

/// How a store is to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreCheck {
    /// The report is for programs.
    pub json: bool,
    /// Damage is to be repaired.
    pub repair: bool,
}

/// The subcommand that checks a store.
pub const CHECK_COMMAND: &str = "check";

/// The command line's grammar.
pub fn command() -> Command {
    let check = with_options(Command::new(CHECK_COMMAND))
        .about(
            "Verify every byte of the store that the options name, while no server has it open. \
             Exit code 0: clean, 1: damaged, 2: it cannot be checked",
        )
        .arg(switch("json", "Report in JSON, one object a line"))
        .arg(switch(
            "repair",
            "Repair what is damaged: values that cannot be read are given up, each is named first",
        ));
    with_options(Command::new("cellar"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("A Redis-compatible store: keys in DRAM, values on NVMe")
        .arg(switch(
            "print-config",
            "Print the effective config file and exit",
        ))
        .arg(switch(
            "check-config",
            "Say whether the configuration can be used and exit",
        ))
        .subcommand(check)
}

/// Adds the config file and every option.
fn with_options(command: Command) -> Command {
    let defaults = Config::default();
    let options = OPTIONS.iter().map(|option| {
        let docs: Vec<&str> = option.docs.iter().map(|line| line.trim()).collect();
        let default = (option.get)(&defaults).text();
        let arg = Arg::new(option.name)
            .long(option.name)
            .value_name("VALUE")
            .allow_hyphen_values(true)
            .help(format!("{} [default: {default}]", docs.join(" ")))
            .help_heading(option.section);
        let is_switch = matches!(default.as_str(), "yes" | "no");
        if is_switch {
            arg.num_args(0..=1).default_missing_value("yes")
        } else {
            arg
        }
    });
    command
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Config file in TOML; flags override it"),
        )
        .args(options)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// Builds the effective configuration that a command line asks for, and checks it.
pub fn load(matches: &ArgMatches) -> Result<(Task, Loaded), ConfigError> {
    let (task, matches) = match matches.subcommand_matches(CHECK_COMMAND) {
        Some(check) => {
            let wanted = StoreCheck {
                json: check.get_flag("json"),
                repair: check.get_flag("repair"),
            };
            (Task::CheckStore(wanted), check)
        }
        None if matches.get_flag("print-config") => (Task::PrintConfig, matches),
        None if matches.get_flag("check-config") => (Task::CheckConfig, matches),
        None => (Task::Serve, matches),
    };
    let mut loaded = Loaded::default();
    if let Some(path) = matches.get_one::<PathBuf>("config") {
        loaded.read_file(path)?;
    }
    for option in OPTIONS {
        if let Some(text) = matches.get_one::<String>(option.name) {
            loaded.set_flag(option, text)?;
        }
    }
    loaded.check()?;
    Ok((task, loaded))
}
