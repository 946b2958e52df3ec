//! The config file, and the texts that CONFIG SET takes.

use std::path::Path;

use cellar_server::config::{
    Config, Loaded, OPTIONS, OptionSpec, annotated_file, remembered, rewrite,
};
use toml::de::DeValue;

use crate::input::Input;
use crate::{MUTATIONS, Target};

/// A file's text.
pub(crate) const FILE: Target = Target {
    name: "config_file",
    seeds: file_seeds,
    run: run_file,
    mutations: MUTATIONS,
};

/// An option's number, and a text for it.
pub(crate) const SET: Target = Target {
    name: "config_set",
    seeds: set_seeds,
    run: run_set,
    mutations: MUTATIONS,
};

fn file_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "[network]\nport = 7000 # mine\nbind = [\"127.0.0.1\", \"::1\"]\n",
        "[memory]\nmaxmemory = \"1gb\"\n\n[log]\nloglevel = 'debug'\n",
        "[storage]\ndevices = [{ path = \"a b\", size = \"64gb\" }, { path = '/dev/x' }]\n",
        "network.port = 5\n[network]\n",
        "[security]\nrequirepass = \"\"\"\na\\u00e9\"\"\"",
        "[limits]\nclient-output-buffer-limit = [\"normal 0 0 0\"]\r\n",
    ];
    let default = annotated_file(&Config::default());
    texts
        .iter()
        .copied()
        .chain([default.as_str()])
        .map(|text| text.as_bytes().to_vec())
        .collect()
}

/// A file that can be read says the same when it is printed, and when CONFIG REWRITE has gone over
/// it.
fn run_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Some(config) = read(text) else { return };
    // A path that is no text of TOML's kind does not come out of one.
    assert_eq!(
        read(&annotated_file(&config)).as_ref(),
        Some(&config),
        "printed"
    );
    if let Ok(same) = rewrite(text, &config) {
        assert_eq!(same, text, "nothing is to be changed");
    }
    if let Ok(text) = rewrite(text, &Config::default()) {
        assert_eq!(read(&text), Some(Config::default()), "rewritten");
    }
}

fn read(text: &str) -> Option<Config> {
    let mut loaded = Loaded::default();
    loaded.read_text(Path::new("cellar.toml"), text).ok()?;
    Some(loaded.config)
}

fn set_seeds() -> Vec<Vec<u8>> {
    let defaults = Config::default();
    let options = OPTIONS.iter().map(|option| (option.get)(&defaults).text());
    let parameters = remembered::PARAMETERS
        .iter()
        .map(|parameter| parameter.default.to_owned());
    options
        .chain(parameters)
        .enumerate()
        .map(|(number, text)| [&[number as u8], text.as_bytes()].concat())
        .collect()
}

/// A text that an option takes is one that it shows, and both its texts read back.
fn run_set(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let number = usize::from(input.u8());
    let Ok(text) = std::str::from_utf8(input.rest()) else {
        return;
    };
    if let Some(option) = OPTIONS.get(number) {
        check_option(option, text);
    } else if let Some(parameter) = remembered::PARAMETERS.get(number - OPTIONS.len())
        && let Ok(normal) = parameter.normalize(text)
    {
        assert_eq!(
            parameter.normalize(&normal),
            Ok(normal.clone()),
            "{}",
            parameter.name
        );
    }
}

fn check_option(option: &OptionSpec, text: &str) {
    let mut config = Config::default();
    if (option.get_mut)(&mut config).set(text).is_err() {
        assert_eq!(
            config,
            Config::default(),
            "{} refused and changed",
            option.name
        );
        return;
    }
    let shown = (option.get)(&config).text();
    let mut again = Config::default();
    (option.get_mut)(&mut again)
        .set(&shown)
        .expect("an option takes what it shows");
    assert_eq!(again, config, "{} from what it shows", option.name);
    let printed = (option.get)(&config).toml();
    let value = DeValue::parse(&printed).expect("a value of TOML");
    let mut again = Config::default();
    (option.get_mut)(&mut again)
        .set_toml(value.get_ref())
        .expect("its own value");
    assert_eq!(again, config, "{} from what it prints", option.name);
}
