//! `docs/commands.md` lists exactly the commands of the table.
//!
//! Owns the lists between the page's marks. `UPDATE_DOCS=1` writes them anew.

use std::path::PathBuf;

use cellar_server::command::CommandSpec;
use cellar_server::command::table::GROUPS;

const BEGIN: &str = "<!-- the lists below come from the command table -->\n";
const END: &str = "<!-- end of the lists -->\n";

#[test]
fn page_lists_the_command_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/commands.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a first mark");
    let (_, after) = rest.split_once(END).expect("the page has a last mark");
    let expected = format!("{before}{BEGIN}{}{END}{after}", lists());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(
            page == expected,
            "run with UPDATE_DOCS=1 to list the commands anew"
        );
    }
}

fn lists() -> String {
    let mut text = String::new();
    let mut groups: Vec<_> = GROUPS.iter().filter(|rows| !rows.is_empty()).collect();
    groups.sort_by_key(|rows| rows[0].group);
    for rows in groups {
        text.push_str("\n## ");
        text.push_str(&heading(&rows[0]));
        text.push_str("\n\n| command | what it does | time |\n|---|---|---|\n");
        for row in *rows {
            if row.subcommands.is_empty() {
                line(&mut text, row.name, row);
            }
            for subcommand in row.subcommands {
                line(
                    &mut text,
                    &format!("{} {}", row.name, subcommand.name),
                    subcommand,
                );
            }
        }
    }
    text.push('\n');
    text
}

fn heading(row: &CommandSpec) -> String {
    let name = row.group.name();
    name[..1].to_uppercase() + &name[1..]
}

fn line(text: &mut String, name: &str, row: &CommandSpec) {
    let call = format!("{} {}", name.to_uppercase(), row.syntax);
    let call = call.trim_end().replace('|', "\\|");
    text.extend([
        "| `",
        &call,
        "` | ",
        row.summary,
        " | ",
        row.complexity,
        " |\n",
    ]);
}
