//! Recovery on simulated devices: stores are built by hand, record by record, and opened.

mod builder;
mod crash;
mod creation;
mod cut;
mod extension;
mod foreign;
mod model;
mod replay;
mod unreadable;

use builder::Bench;
