//! The binary `cellar`: reads the command line, starts the server, waits for its end.
//!
//! Owns what is printed and the exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use cellar_server::banner::banner;
use cellar_server::check::{self, Verdict};
use cellar_server::config::{self, Loaded, Task};
use cellar_server::control::Ended;
use cellar_server::listener::Listeners;
use cellar_server::log;
use cellar_server::shutdown::ShutdownMode;
use cellar_server::start::{Server, StartError};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The store is damaged.
const DAMAGED: ExitCode = ExitCode::FAILURE;
/// The store cannot be checked.
const CANNOT_CHECK: u8 = 2;

fn main() -> ExitCode {
    let matches = config::command().get_matches();
    let is_check = matches.subcommand_name() == Some(config::CHECK_COMMAND);
    match config::load(&matches)
        .map_err(|error| error.to_string())
        .and_then(run)
    {
        Ok(code) => code,
        Err(complaint) => {
            // with standard error closed there is nobody to tell
            drop(writeln!(io::stderr(), "cellar: {complaint}"));
            if is_check {
                CANNOT_CHECK.into()
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

fn run((task, loaded): (Task, Loaded)) -> Result<ExitCode, String> {
    match task {
        Task::PrintConfig => print(&config::annotated_file(&loaded.config)),
        Task::CheckConfig => print("the configuration can be used\n"),
        Task::CheckStore(wanted) => {
            let verdict = check::run(&loaded.config, wanted, &mut io::stdout(), &mut io::stderr())?;
            Ok(match verdict {
                Verdict::Clean => ExitCode::SUCCESS,
                Verdict::Damaged => DAMAGED,
            })
        }
        Task::Serve => serve(loaded),
    }
}

fn print(text: &str) -> Result<ExitCode, String> {
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|cause| cause.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn serve(loaded: Loaded) -> Result<ExitCode, String> {
    let listeners = Listeners::bind(&loaded.config.network).map_err(|error| error.to_string())?;
    let text = banner(&loaded.config, &listeners);
    let (level, log_thread) = log::start(&loaded.config.log)
        .map_err(|cause| format!("log.logfile: {}: {cause}", loaded.config.log.logfile))?;
    let place = loaded.place_of("devices");
    let server = Server::start(loaded, listeners).map_err(|error| error.to_string())?;
    server.shared().set_log_level_handle(level);
    if let Err(error) = server.wait_ready() {
        server.stop(ShutdownMode::Nosave);
        server.wait();
        log_thread.finish();
        return Err(match error {
            StartError::Store(complaint) => format!("{place}: {complaint}"),
            StartError::Thread(_) | StartError::Random(_) | StartError::Stopped => {
                error.to_string()
            }
        });
    }
    print(&text)?;
    tracing::info!("ready to accept connections");
    let ended = server.wait();
    match ended {
        Ended::Clean => tracing::info!("stopped"),
        Ended::Unclean => tracing::error!("stopped; what was not durable may be lost"),
    }
    log_thread.finish();
    Ok(if ended == Ended::Clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
