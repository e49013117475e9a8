//! `interline doctor`: the language servers of the user's configuration, and common ones on PATH.

use crate::config::Config;
use crate::env::Env;
use crate::languages::known;
use crate::prompt::fence::name;

pub(super) fn lines(env: &Env, config: &Config) -> Vec<String> {
    let servers = config.language_servers.iter();
    let mut lines: Vec<String> = servers
        .map(|(entry, server)| {
            let what = match known::program(env, server) {
                Some(_) => server.command.join(" "),
                None => {
                    let program = server.command.first().map_or("", String::as_str);
                    format!("{program} was not found: install it or correct its command")
                }
            };
            format!("language server {}: {}", name(entry), name(&what))
        })
        .collect();
    let configured = |program: &str| {
        let mut all = config.language_servers.values();
        all.any(|server| {
            server
                .command
                .first()
                .is_some_and(|it| it.ends_with(program))
        })
    };
    let found = known::PROGRAMS.iter();
    let found = found.filter(|(_, program, _)| !configured(program));
    let found = found.filter(|(_, program, _)| known::on_path(env, program).is_some());
    lines.extend(found.map(|(entry, program, command)| {
        format!(
            "found    {program}: for editors that cannot be asked, set languageServers.{entry}.command \
             = {command:?}"
        )
    }));
    lines
}
