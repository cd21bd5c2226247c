//! Settings from environment variables. Invalid values never end a program; they are reported in its log.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bactrian_live::place;

/// Where our own protocol listens: `off`, the path of a Unix socket, or `HOST:PORT`.
pub const LIVE: &str = "BACTRIAN_LIVE";
/// The token that network clients must know.
pub const TOKEN: &str = "BACTRIAN_LIVE_TOKEN";
/// The port of the Ocamlviz protocol.
pub const PORT: &str = "OCAMLVIZ_PORT";
/// The host of the Ocamlviz protocol: the loopback address by default, `off` for none.
pub const HOST: &str = "OCAMLVIZ_HOST";
/// Seconds between two ticks.
pub const PERIOD: &str = "OCAMLVIZ_PERIOD";

const SHORTEST_PERIOD: Duration = Duration::from_millis(10);
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);

/// Where our own protocol listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    /// Nowhere.
    Off,
    /// On a Unix socket in the user's directory, named after the process id.
    Default,
    /// On this Unix socket.
    Path(PathBuf),
    /// On the network at this `HOST:PORT`, with a token. Without one, a token is generated and written to a
    /// file in the user's directory.
    Network(String, Option<String>),
}

/// How a program is observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where our own protocol listens.
    pub live: Live,
    /// Host and port of the Ocamlviz protocol, if it is enabled. Port 0 means any free port.
    pub ocamlviz: Option<(String, u16)>,
    /// The time between two ticks.
    pub period: Duration,
    /// Settings that could not be understood, as messages for the log.
    pub complaints: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            live: Live::Default,
            ocamlviz: Some(("127.0.0.1".into(), place::OCAMLVIZ_PORT)),
            period: Duration::from_millis(100),
            complaints: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads the settings from the environment.
    pub fn from_environment() -> Settings {
        Settings::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
        let mut settings = Settings::default();
        let mut complaints = Vec::new();
        let present = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut text = |name: &str| match present(name)?.into_string() {
            Ok(text) => Some(text),
            Err(_) => {
                complaints.push(format!("{name} is not valid UTF-8 and is ignored"));
                None
            }
        };
        let token = text(TOKEN);
        let (host, port, period) = (text(HOST), text(PORT), text(PERIOD));
        if let Some(live) = present(LIVE) {
            settings.live = match live.to_str() {
                Some("off") => Live::Off,
                Some(address) if is_address(address) => Live::Network(address.to_owned(), token),
                _ => Live::Path(live.into()),
            };
        }
        if let Some(port) = port {
            match port.trim().parse() {
                Ok(port) => settings.ocamlviz = settings.ocamlviz.map(|(host, _)| (host, port)),
                Err(_) => complaints.push(format!(
                    "{PORT}={port:?} is not a port number: {} is used",
                    place::OCAMLVIZ_PORT
                )),
            }
        }
        if let Some(host) = host {
            let port = settings.ocamlviz.take().map_or(place::OCAMLVIZ_PORT, |(_, port)| port);
            settings.ocamlviz = (host != "off").then_some((host, port));
        }
        if let Some(period) = period {
            let seconds =
                period.trim().parse().ok().and_then(|it| Duration::try_from_secs_f64(it).ok());
            match seconds {
                Some(seconds) => settings.period = seconds.clamp(SHORTEST_PERIOD, LONGEST_PERIOD),
                None => complaints
                    .push(format!("{PERIOD}={period:?} is not a number of seconds: 0.1 is used")),
            }
        }
        settings.complaints = complaints;
        settings
    }
}

/// Whether this is `HOST:PORT` rather than a path.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Settings {
        let found = |name: &str| variables.iter().find(|(key, _)| *key == name);
        Settings::from_variables(|name| found(name).map(|(_, value)| value.into()))
    }

    #[test]
    fn an_empty_environment_is_the_default() {
        assert_eq!(read(&[]), Settings::default());
        assert_eq!(read(&[(LIVE, ""), (PORT, "")]), Settings::default());
    }

    #[test]
    fn paths_and_addresses_are_distinguished() {
        assert_eq!(read(&[(LIVE, "off")]).live, Live::Off);
        assert_eq!(read(&[(LIVE, "/run/x.sock")]).live, Live::Path("/run/x.sock".into()));
        assert_eq!(read(&[(LIVE, "./a:1")]).live, Live::Path("./a:1".into()));
        let network = Live::Network("[::1]:7000".into(), Some("t".into()));
        assert_eq!(read(&[(LIVE, "[::1]:7000"), (TOKEN, "t")]).live, network);
    }

    #[test]
    fn ocamlviz_has_its_variables() {
        let settings = read(&[(PORT, "7"), (HOST, "0.0.0.0"), (PERIOD, "2")]);
        assert_eq!(settings.ocamlviz, Some(("0.0.0.0".into(), 7)));
        assert_eq!(settings.period, Duration::from_secs(2));
        assert_eq!(read(&[(HOST, "off"), (PORT, "7")]).ocamlviz, None);
        assert_eq!(read(&[(PERIOD, "0")]).period, SHORTEST_PERIOD);
    }

    #[test]
    fn invalid_settings_are_reported_and_ignored() {
        for (name, value) in
            [(PORT, "many"), (PORT, "65536"), (PERIOD, "-1"), (PERIOD, "NaN"), (PERIOD, "x")]
        {
            let settings = read(&[(name, value)]);
            assert_eq!(settings.complaints.len(), 1, "{name}={value}");
            assert!(settings.complaints[0].starts_with(name), "{:?}", settings.complaints);
            assert_eq!(Settings { complaints: Vec::new(), ..settings }, Settings::default());
        }
    }
}
