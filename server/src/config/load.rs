//! Builds the effective configuration from defaults, the file and the flags.
//!
//! Owns the order of the three and where each value came from. Must never write.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment;
use super::error::{ConfigError, Invalid, Origin};
use super::sections::{Config, OPTIONS, OptionSpec, SECTIONS};

/// An effective configuration and where it came from.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// The file, where there is one.
    pub path: Option<PathBuf>,
    origins: BTreeMap<&'static str, Origin>,
}

impl Loaded {
    /// Reads a file over the defaults.
    pub fn read_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = fs::read_to_string(path).map_err(|cause| ConfigError::ReadFile {
            path: path.to_owned(),
            cause,
        })?;
        self.path = Some(path.to_owned());
        self.read_text(path, &text)
    }

    /// Reads a file's text over the defaults; `path` is for complaints.
    pub fn read_text(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let document = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            path: path.to_owned(),
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        })?;
        let mut reader = FileReader {
            path,
            text,
            loaded: self,
        };
        document
            .get_ref()
            .iter()
            .try_for_each(|(name, value)| reader.read_section(name, value))
    }

    /// Takes the value of a flag.
    pub fn set_flag(&mut self, option: &OptionSpec, text: &str) -> Result<(), ConfigError> {
        let outcome = (option.get_mut)(&mut self.config).set(text);
        self.origins.insert(option.name, Origin::Flag);
        outcome.map_err(|complaint| self.complain(option, complaint))
    }

    /// Checks that the options go together and that the machine allows them.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.config
            .validate()
            .and_then(|()| environment::check(&self.config))
            .map_err(|Invalid { key, complaint }| {
                let option = OPTIONS
                    .iter()
                    .find(|option| option.name == key)
                    .expect("complaints name options of the table");
                self.complain(option, complaint)
            })
    }

    /// Where an option's value comes from, as complaints begin.
    pub fn place_of(&self, key: &str) -> String {
        let option = OPTIONS.iter().find(|option| option.name == key);
        let option = option.expect("the option is in the table");
        self.origin_of(option).describe(option.section, option.name)
    }

    fn origin_of(&self, option: &OptionSpec) -> Origin {
        self.origins
            .get(option.name)
            .cloned()
            .unwrap_or(Origin::Default)
    }

    fn complain(&self, option: &OptionSpec, complaint: String) -> ConfigError {
        ConfigError::Value {
            origin: self.origin_of(option),
            section: option.section,
            key: option.name,
            complaint,
        }
    }
}

struct FileReader<'a> {
    path: &'a Path,
    text: &'a str,
    loaded: &'a mut Loaded,
}

type Key<'a> = Spanned<toml::de::DeString<'a>>;

impl FileReader<'_> {
    fn read_section(
        &mut self,
        name: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), ConfigError> {
        let section = name.get_ref().as_ref();
        if !SECTIONS.iter().any(|spec| spec.name == section) {
            let hint = match OPTIONS.iter().find(|option| option.name == section) {
                Some(option) => format!(": it belongs in [{}]", option.section),
                None => one_of(SECTIONS.iter().map(|spec| spec.name)),
            };
            let what = if matches!(value.get_ref(), DeValue::Table(_)) {
                "section"
            } else {
                "key"
            };
            return Err(self.unknown(name, what, hint));
        }
        let DeValue::Table(table) = value.get_ref() else {
            return Err(ConfigError::Syntax {
                path: self.path.to_owned(),
                line: self.line(name),
                message: format!("'{section}' is a section: write [{section}]"),
            });
        };
        table
            .iter()
            .try_for_each(|(name, value)| self.read_option(section, name, value))
    }

    fn read_option(
        &mut self,
        section: &str,
        name: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), ConfigError> {
        let key = name.get_ref().as_ref();
        let option = OPTIONS.iter().find(|option| option.name == key);
        let Some(option) = option.filter(|option| option.section == section) else {
            let hint = if let Some(option) = option {
                format!(" in [{section}]: it belongs in [{}]", option.section)
            } else {
                let names = OPTIONS.iter().filter(|option| option.section == section);
                format!(" in [{section}]{}", one_of(names.map(|option| option.name)))
            };
            return Err(self.unknown(name, "key", hint));
        };
        let origin = Origin::File {
            path: self.path.to_owned(),
            line: self.line(name),
        };
        self.loaded.origins.insert(option.name, origin);
        let outcome = (option.get_mut)(&mut self.loaded.config).set_toml(value.get_ref());
        outcome.map_err(|complaint| self.loaded.complain(option, complaint))
    }

    fn unknown(&self, name: &Key<'_>, what: &'static str, hint: String) -> ConfigError {
        ConfigError::Unknown {
            path: self.path.to_owned(),
            line: self.line(name),
            what,
            name: name.get_ref().to_string(),
            hint,
        }
    }

    fn line(&self, name: &Key<'_>) -> usize {
        line_of(self.text, name.span().start)
    }
}

fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!(": there are {}", names.collect::<Vec<_>>().join(", "))
}

/// The line, from 1, in which the byte at `offset` stands.
fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut loaded = Loaded::default();
        let outcome = loaded
            .read_text(Path::new("c.toml"), text)
            .and_then(|()| loaded.check());
        assert_eq!(outcome.unwrap_err().to_string(), expected);
    }

    #[test]
    fn complaints_name_file_line_and_key() {
        check(
            "[network]\nport = \n",
            "c.toml:2: string values must be quoted, expected literal string",
        );
        check(
            "port = 1\n",
            "c.toml:1: unknown key 'port': it belongs in [network]",
        );
        check(
            "\n[network]\nappendfsync = \"no\"\n",
            "c.toml:3: unknown key 'appendfsync' in [network]: it belongs in [storage]",
        );
        check(
            "[workers]\nthreads = 3\n",
            "c.toml:2: unknown key 'threads' in [workers]: there are workers, pin-workers",
        );
        check(
            "[network]\n\nport = 70000\n",
            "c.toml:3: network.port: argument must be between 0 and 65535 inclusive",
        );
        check(
            "[network]\nport = [1]\n",
            "c.toml:2: network.port: a value of type array cannot stand here",
        );
        check(
            "[memory]\nmaxmemory = \"1 gib\"\n",
            "c.toml:2: memory.maxmemory: argument must be a memory value",
        );
        check(
            "[memory]\nmaxmemory-policy = \"lru\"\n",
            "c.toml:2: memory.maxmemory-policy: argument(s) must be one of the following: \
             volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, \
             allkeys-random, noeviction",
        );
        check(
            "[network]\nport = 0\n",
            "c.toml:2: network.port: nothing to listen on: port is 0 and unixsocket is empty",
        );
        check(
            "[storage]\ndir = \"/proc/version\"\n",
            "c.toml:2: storage.dir: '/proc/version' is not a directory",
        );
        check(
            "[storage]\ndevices = [{ path = \"a\" }]\n",
            "c.toml:2: storage.devices: './cellar-data/a' is a file and needs a size: the most that it may grow to",
        );
        check(
            "[storage]\ndevices = [{ path = \"a\", size = \"1mb\" }]\n",
            "c.toml:2: storage.devices: 'a': a size of 1mb is less than 16 segments (128mb)",
        );
    }

    #[test]
    fn flags_override_the_file() {
        let mut loaded = Loaded::default();
        loaded
            .read_text(Path::new("c.toml"), "[network]\nport = 1\n")
            .unwrap();
        let port = OPTIONS.iter().find(|option| option.name == "port").unwrap();
        loaded.set_flag(port, "2").unwrap();
        assert_eq!(loaded.config.network.port.get(), 2);
        let error = loaded.set_flag(port, "x").unwrap_err().to_string();
        assert_eq!(
            error,
            "flag --port: argument couldn't be parsed into an integer"
        );
    }
}
