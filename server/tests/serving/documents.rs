//! Files that follow from the program: `UPDATE=1 cargo test -p cellar-server` writes them anew.

use std::path::Path;

use cellar_server::config::{Config, Loaded, annotated_file, documentation_page};

fn check(path: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{} is stale: run the tests with UPDATE=1",
        path.display()
    );
}

#[test]
fn the_default_config_file_is_the_default() {
    check("configs/cellar.toml", &annotated_file(&Config::default()));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/cellar.toml");
    let mut loaded = Loaded::default();
    loaded.read_file(&path).unwrap();
    assert_eq!(loaded.config, Config::default());
}

#[test]
fn the_configuration_page_is_the_option_table() {
    check("docs/configuration.md", &documentation_page());
}
