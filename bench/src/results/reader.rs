//! Reads a file of results back.
//!
//! A line that is no row is an error with its number; a field that this version does not know is
//! passed over, so that newer files can be read.

use std::path::Path;

use super::{ResultsError, Row};

/// All rows of the file at `path`, in its order.
pub(crate) fn read(path: &Path) -> Result<Vec<Row>, ResultsError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| ResultsError::File {
        path: name.clone(),
        source,
    })?;
    parse(&name, &text)
}

fn parse(name: &str, text: &str) -> Result<Vec<Row>, ResultsError> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| ResultsError::Line {
                path: name.to_owned(),
                line: index + 1,
                source,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Latency, Sample, Writer};
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.jsonl");
        let row = Row::Sample(Sample {
            suite: "wire".to_owned(),
            operations: 3,
            latency: Some(Latency {
                p99_us: Some(12.5),
                ..Latency::default()
            }),
            figures: vec![Figure {
                name: "memory per key".to_owned(),
                unit: "B".to_owned(),
                value: 27.5,
            }],
            ..Sample::default()
        });
        let mut writer = Writer::create(&path).unwrap();
        writer.write(&row).unwrap();
        writer.write(&row).unwrap();
        assert_eq!(read(&path).unwrap(), [row.clone(), row]);
    }

    #[test]
    fn an_unknown_field_is_passed_over_and_an_unreadable_line_is_named() {
        let limit = r#"{"kind":"limit","suite":"limits","name":"randread 4k qd80","round":0,
            "file_bytes":1,"block_bytes":4096,"depth":80,"reads_per_s":1.5,
            "cpu_s_per_operation":1e-6,"command":["fio"],"colour":"blue"}"#;
        let limit = limit.replace('\n', " ");
        assert_eq!(parse("x", &limit).unwrap().len(), 1);
        let error = parse("x", &format!("{limit}\n\n{{\"kind\":\"li")).unwrap_err();
        assert!(error.to_string().starts_with("x, line 3: "), "{error}");
        let error = parse("x", r#"{"kind":"sonnet"}"#).unwrap_err();
        assert!(error.to_string().starts_with("x, line 1: "), "{error}");
    }
}
