//! A check's findings for programs: one JSON object a line, a report or a step of a repair.
//!
//! Owns the fields' names, which are the report's own.

use std::fmt::{Display, Write};

use cellar_storage::check::{DeviceReport, Report, Step};
use cellar_storage::{Damage, Loss};

/// An object that is being written.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self(String::from("{"))
    }

    /// A field whose value is JSON already: a number, a truth, an object, a list.
    fn raw(&mut self, name: &str, value: impl Display) -> &mut Self {
        let comma = if self.0.len() > 1 { "," } else { "" };
        write!(self.0, "{comma}\"{name}\":{value}").expect("a string takes everything");
        self
    }

    fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(name, quoted(value))
    }

    fn end(&mut self) -> String {
        std::mem::take(&mut self.0) + "}"
    }
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\0'..='\x1f' => {
                write!(out, "\\u{:04x}", u32::from(letter)).expect("a string takes everything");
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("a string takes everything");
        out
    })
}

/// The report in one line.
pub(super) fn report(report: &Report) -> String {
    let mut object = Object::new();
    object
        .text("type", "report")
        .raw("clean", report.is_clean())
        .text("store", &report.store)
        .raw("epoch", report.epoch)
        .raw("was_clean", report.was_clean);
    for (name, value) in [
        ("end_lsn", report.end_lsn),
        ("segment_bytes", report.segment_bytes),
        ("segments_unused", report.segments_unused),
        ("segments_hot", report.segments_hot),
        ("segments_cold", report.segments_cold),
        ("segments_lost", report.segments_lost),
        ("bytes", report.bytes),
        ("keys", report.keys),
        ("records", report.records),
        ("live_records", report.live_records),
        ("live_bytes", report.live_bytes),
        ("miscounted_segments", report.miscounted_segments),
        ("tombstones", report.tombstones),
        ("pages", report.pages),
        ("batches", report.batches),
        ("orphan_collections", report.orphan_collections),
        ("large_values", report.large_values),
        ("broken_values", report.broken_values),
        ("keys_out_of_reach", report.keys_out_of_reach),
        ("damaged", report.damaged),
    ] {
        object.raw(name, value);
    }
    object.raw("devices", list(report.devices.iter().map(device)));
    object.raw("damage", list(report.damage.iter().map(damage)));
    object.end() + "\n"
}

fn device(device: &DeviceReport) -> String {
    Object::new()
        .text("name", &device.name)
        .raw("bytes", device.bytes)
        .raw("segments", device.segments)
        .end()
}

fn damage(damage: &Damage) -> String {
    let mut object = Object::new();
    object
        .text("device", &damage.device)
        .raw("device_offset", damage.device_offset)
        .text("part", damage.part.name())
        .text("what", damage.what);
    if let Some(segment) = damage.segment {
        object.raw("segment", segment);
    }
    loss(&mut object, &damage.loss);
    object.end()
}

/// What was lost: keys as they are shown, and in hexadecimal digits for those that are no text.
fn loss(object: &mut Object, loss: &Loss) {
    match loss {
        Loss::Unknown => {}
        Loss::Key(key) => {
            object
                .text("key", &key.escape_ascii().to_string())
                .text("key_hex", &hex(key));
        }
        Loss::Hash(hash) => {
            object.text("key_hash", &hex(hash));
        }
        Loss::Page(collection, page) => {
            object.raw("collection", collection).raw("page", page);
        }
    }
}

/// A step of a repair in one line, before it is taken.
pub(super) fn step(step: &Step) -> String {
    let mut object = Object::new();
    object.text("type", "step");
    match step {
        Step::Start => {
            object.text("step", "start");
        }
        Step::Remove(lost) => {
            object.text("step", "remove");
            loss(&mut object, lost);
        }
        Step::Empty { segment } => {
            object.text("step", "empty").raw("segment", segment);
        }
        Step::GiveUp { segment } => {
            object.text("step", "give-up").raw("segment", segment);
        }
        Step::Leave { segment, reason } => {
            object
                .text("step", "leave")
                .raw("segment", segment)
                .text("reason", reason);
        }
        Step::Close => {
            object.text("step", "close");
        }
    }
    object.end() + "\n"
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cellar_storage::Part;

    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("a\"b\\c\n\u{e4}"), "\"a\\\"b\\\\c\\u000a\u{e4}\"");
    }

    #[test]
    fn damage_names_its_key_twice() {
        let found = Damage {
            device: Arc::from("d"),
            device_offset: 7,
            segment: Some(2),
            part: Part::Record,
            what: "it does not verify",
            loss: Loss::Key("k\n".into()),
        };
        assert_eq!(
            damage(&found),
            "{\"device\":\"d\",\"device_offset\":7,\"part\":\"record\",\
             \"what\":\"it does not verify\",\"segment\":2,\"key\":\"k\\\\n\",\"key_hex\":\"6b0a\"}"
        );
    }
}
