//! A load against a server that keeps its word, and against ones that do not.
//!
//! Owns the promises of the load as a whole. Must never need a server that is installed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::outcome::Summary;
use super::plan::{Address, KeyChoice, Length, Mix, Pace};
use super::server_double::{Fault, ServerDouble};
use super::{LoadError, Outcome, Plan, run};

const KEY_COUNT: u64 = 500;

/// A short closed loop over few small values; the address is nobody's.
pub(super) fn plan() -> Plan {
    Plan {
        address: Address::Unix("nobody".into()),
        connections: 4,
        pipeline: 4,
        pace: Pace::Closed,
        mix: Mix::YCSB_A,
        keys: KeyChoice::ZIPFIAN_OF_YCSB,
        key_count: KEY_COUNT,
        key_prefix: "key:".to_owned(),
        value_bytes: 100..=400,
        verify: true,
        length: Length::Operations(2000),
        warm_up: Duration::ZERO,
        seed: 1,
        interval: Duration::ZERO,
    }
}

fn load(plan: &Plan) -> Result<Outcome, LoadError> {
    run(plan, None, &AtomicBool::new(false))
}

/// A server of this kind whose keys are filled, and a plan for it.
fn filled(fault: Fault) -> (ServerDouble, Plan) {
    let server = ServerDouble::start(fault);
    let plan = Plan {
        address: server.address(),
        ..plan()
    };
    load(&plan.fill()).unwrap();
    (server, plan)
}

#[test]
fn a_fill_writes_every_key_once() {
    let (server, plan) = filled(Fault::None);
    assert_eq!(server.key_count() as u64, KEY_COUNT);
    assert_eq!(server.command_count(), KEY_COUNT);
    let found = load(&Plan {
        mix: Mix::GET,
        keys: KeyChoice::Sequential,
        length: Length::Operations(KEY_COUNT),
        ..plan
    });
    let found = found.unwrap();
    assert_eq!((found.operations, found.hits), (KEY_COUNT, KEY_COUNT));
    assert_eq!((found.misses, found.mismatches, found.errors), (0, 0, 0));
}

#[test]
fn every_mix_ends_with_nothing_amiss() {
    let mixes = [
        Mix::YCSB_A,
        Mix::YCSB_B,
        Mix::YCSB_C,
        Mix::YCSB_D,
        Mix::YCSB_F,
    ];
    for mix in mixes {
        for pipeline in [1, 16] {
            let (_server, plan) = filled(Fault::None);
            let keys = if mix == Mix::YCSB_D {
                KeyChoice::Latest
            } else {
                plan.keys
            };
            let found = load(&Plan {
                pipeline,
                mix,
                keys,
                ..plan
            });
            let found = found.unwrap();
            assert_eq!(found.operations, 2000, "{mix:?}");
            assert_eq!(found.latencies.all().len(), 2000, "{mix:?}");
            assert_eq!((found.misses, found.mismatches, found.errors), (0, 0, 0));
            assert!(found.seconds > 0.0 && found.client_cpu_s > 0.0);
        }
    }
}

#[test]
fn read_modify_writes_write_what_they_read() {
    let (server, plan) = filled(Fault::None);
    let found = load(&Plan {
        mix: Mix::of(0, 0, 100, 0),
        length: Length::Operations(300),
        ..plan
    });
    let found = found.unwrap();
    assert_eq!((found.operations, found.hits), (300, 300));
    assert_eq!(found.latencies.rmw.len(), 300);
    assert_eq!(server.command_count(), KEY_COUNT + 600);
    assert!(found.user_bytes_written > 300 * 116 && found.user_bytes_read > 300 * 100);
}

#[test]
fn inserts_add_keys_that_are_found() {
    let (server, plan) = filled(Fault::None);
    let found = load(&Plan {
        mix: Mix::of(50, 0, 0, 50),
        keys: KeyChoice::Latest,
        ..plan
    });
    let found = found.unwrap();
    assert_eq!(found.misses, 0);
    let inserted = found.latencies.set.len();
    assert!((900..1100).contains(&inserted), "{inserted}");
    assert_eq!(server.key_count() as u64, KEY_COUNT + inserted);
}

#[test]
fn a_flipped_bit_is_found() {
    let (_server, plan) = filled(Fault::Corrupt(b"key:000000000042".to_vec()));
    let read = Plan {
        mix: Mix::GET,
        keys: KeyChoice::Sequential,
        length: Length::Operations(KEY_COUNT * 2),
        ..plan
    };
    let found = load(&read).unwrap();
    assert_eq!(found.mismatches, 2);
    assert!(found.first_mismatch.unwrap().starts_with("key 42: "));
    let unverified = Plan {
        verify: false,
        ..read
    };
    assert_eq!(load(&unverified).unwrap().mismatches, 0);
}

#[test]
fn anothers_value_is_found() {
    let (server, plan) = filled(Fault::None);
    server.put(b"key:000000000007", b"somebody else's");
    let found = load(&Plan {
        mix: Mix::GET,
        keys: KeyChoice::Sequential,
        length: Length::Operations(KEY_COUNT),
        ..plan
    });
    assert_eq!(found.unwrap().mismatches, 1);
}

#[test]
fn a_lost_key_is_a_miss() {
    let (_server, plan) = filled(Fault::Forget(b"key:000000000009".to_vec()));
    let found = load(&Plan {
        mix: Mix::GET,
        keys: KeyChoice::Sequential,
        length: Length::Operations(KEY_COUNT),
        ..plan
    });
    let found = found.unwrap();
    assert_eq!((found.hits, found.misses), (KEY_COUNT - 1, 1));
}

#[test]
fn errors_are_counted_and_are_no_operations() {
    let server = ServerDouble::start(Fault::Refuse { every: 10 });
    let found = load(&Plan {
        address: server.address(),
        mix: Mix::SET,
        ..plan()
    });
    let found = found.unwrap();
    assert_eq!((found.operations, found.errors), (1800, 200));
    assert_eq!(found.latencies.set.len(), 1800);
    assert_eq!(found.first_error.as_deref(), Some("OOM no room"));
}

#[test]
fn a_closed_connection_is_a_clear_error() {
    let server = ServerDouble::start(Fault::Close { at: 100 });
    let error = load(&Plan {
        address: server.address(),
        ..plan()
    });
    let error = error.unwrap_err();
    assert!(matches!(error, LoadError::Closed { .. }), "{error}");
    assert!(error.to_string().contains("closed connection"), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_a_clear_error() {
    let error = load(&plan()).unwrap_err();
    assert!(
        error.to_string().contains("cannot connect to nobody"),
        "{error}"
    );
}

#[test]
fn what_a_server_says_instead_of_replies_is_shown() {
    for (fault, said) in [
        (Fault::Babble, "HTTP/1.1"),
        (Fault::Dismiss, "max number of clients"),
    ] {
        let server = ServerDouble::start(fault);
        let error = load(&Plan {
            address: server.address(),
            ..plan()
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_rate_is_kept() {
    let (_server, plan) = filled(Fault::None);
    let found = load(&Plan {
        pace: Pace::OpenPerSecond(1000.0),
        pipeline: 16,
        length: Length::Time(Duration::from_millis(500)),
        warm_up: Duration::from_millis(100),
        ..plan
    });
    let found = found.unwrap();
    let unsent = found.punctuality.unwrap().unsent;
    assert_eq!(found.operations + unsent, 500);
    // A busy machine may keep the client from its last operations, not from more.
    assert!(unsent < 100, "{unsent}");
    assert!((0.5..5.0).contains(&found.seconds), "{}", found.seconds);
}

/// A server that stands still for half of the load: 250 of 500 operations at 1000 a second are due
/// while it does, and wait for 125 ms on average.
fn stalled(pace: Pace) -> (Outcome, Summary) {
    let at = KEY_COUNT + 100;
    let lasts = Duration::from_millis(250);
    let (_server, plan) = filled(Fault::Stall { at, lasts });
    let found = load(&Plan {
        pace,
        connections: 2,
        pipeline: 1,
        length: Length::Operations(500),
        ..plan
    });
    let found = found.unwrap();
    let summary = Summary::of(&found.latencies.all()).unwrap();
    (found, summary)
}

#[test]
fn an_open_loop_counts_a_stall_for_all_that_it_delayed() {
    let (found, latency) = stalled(Pace::OpenPerSecond(1000.0));
    assert_eq!(found.operations, 500);
    // Of 500, 250 waited for up to 250 ms: the slowest tenth did for more than 190 ms.
    assert!(latency.p90_us > 170_000.0, "{latency:?}");
    assert!(latency.mean_us > 50_000.0, "{latency:?}");
    let punctuality = found.punctuality.unwrap();
    assert!(punctuality.held_back > 200, "{punctuality:?}");
}

#[test]
fn a_closed_loop_sees_a_stall_only_where_it_stood() {
    let (found, latency) = stalled(Pace::Closed);
    assert!(found.punctuality.is_none());
    assert!(latency.max_us > 240_000.0, "{latency:?}");
    assert!(latency.p90_us < 100_000.0, "{latency:?}");
}

#[test]
fn what_was_never_sent_counts_as_waiting() {
    let at = KEY_COUNT + 100;
    let lasts = Duration::from_millis(800);
    let (_server, plan) = filled(Fault::Stall { at, lasts });
    let found = load(&Plan {
        pace: Pace::OpenPerSecond(1000.0),
        connections: 2,
        pipeline: 1,
        length: Length::Time(Duration::from_millis(500)),
        ..plan
    });
    let found = found.unwrap();
    let unsent = found.punctuality.unwrap().unsent;
    assert!((380..=400).contains(&unsent), "{unsent}");
    assert_eq!(found.operations + unsent, 500);
    assert_eq!(found.latencies.all().len(), 500);
    assert!(Summary::of(&found.latencies.all()).unwrap().p50_us > 100_000.0);
}

#[test]
fn a_series_adds_up_and_shows_the_stall() {
    let at = KEY_COUNT + 300;
    let lasts = Duration::from_millis(200);
    let (_server, plan) = filled(Fault::Stall { at, lasts });
    let found = load(&Plan {
        pace: Pace::OpenPerSecond(1000.0),
        length: Length::Time(Duration::from_millis(800)),
        interval: Duration::from_millis(50),
        ..plan
    });
    let found = found.unwrap();
    assert!(found.series.len() >= 16, "{}", found.series.len());
    let sum: u64 = found
        .series
        .iter()
        .map(|interval| interval.operations)
        .sum();
    assert!(
        sum >= found.operations - 60 && sum <= found.operations,
        "{sum}"
    );
    assert!(found.series.iter().any(|interval| interval.operations == 0));
    assert!(
        found
            .series
            .iter()
            .any(|interval| interval.max_us > 150_000.0)
    );
    let steps = found
        .series
        .windows(2)
        .map(|pair| pair[1].at_s - pair[0].at_s);
    assert!(steps.into_iter().all(|step| (step - 0.05).abs() < 1e-9));
}

#[test]
fn a_warm_up_is_not_counted() {
    let (server, plan) = filled(Fault::None);
    let found = load(&Plan {
        warm_up: Duration::from_millis(100),
        length: Length::Operations(500),
        ..plan
    });
    let found = found.unwrap();
    assert_eq!(found.operations, 500);
    assert!(server.command_count() > KEY_COUNT + 500);
}

#[test]
fn a_cancelled_load_ends_with_what_it_has() {
    let (_server, plan) = filled(Fault::None);
    let cancel = AtomicBool::new(false);
    let endless = Plan {
        length: Length::Time(Duration::from_hours(1)),
        ..plan
    };
    let started = Instant::now();
    let found = std::thread::scope(|scope| {
        let load = scope.spawn(|| run(&endless, None, &cancel).unwrap());
        while started.elapsed() < Duration::from_millis(200) {
            std::thread::yield_now();
        }
        cancel.store(true, Ordering::Relaxed);
        load.join().unwrap()
    });
    assert!(found.is_cancelled && found.operations > 0);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn values_longer_than_a_read_arrive_whole() {
    let server = ServerDouble::start(Fault::None);
    let plan = Plan {
        address: server.address(),
        key_count: 8,
        value_bytes: 500_000..=1_048_576,
        length: Length::Operations(40),
        ..plan()
    };
    load(&plan.fill()).unwrap();
    let found = load(&plan).unwrap();
    assert_eq!(
        (found.operations, found.misses, found.mismatches),
        (40, 0, 0)
    );
}
