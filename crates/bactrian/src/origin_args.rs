//! The service, version, host and labels of what is shipped, and what is left out: from options, otherwise from the environment.

use std::collections::BTreeMap;
use std::env;

use bactrian_fleet::{Origin, Redact};

/// Options that say where profiles come from.
#[derive(clap::Args, Clone, Debug)]
pub struct OriginArgs {
    /// The service [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Its version
    #[arg(long, value_name = "VERSION")]
    service_version: Option<String>,
    /// The machine [default: as the file says]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// A label of the profiles; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// What not to send: the folders of source files, or all names of functions and files, each of which becomes a number
    #[arg(long, value_name = "WHAT", value_enum, default_value = "nothing")]
    redact: RedactArg,
}

/// What is not sent.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum RedactArg {
    /// Everything is sent
    Nothing,
    /// The folders of source files are left out
    Folders,
    /// The names of functions and files are left out
    Names,
}

impl From<RedactArg> for Redact {
    fn from(argument: RedactArg) -> Redact {
        match argument {
            RedactArg::Nothing => Redact::Nothing,
            RedactArg::Folders => Redact::Folders,
            RedactArg::Names => Redact::Names,
        }
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains([',', '\n']) => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("a label is NAME=VALUE, without commas".to_owned()),
    }
}

impl OriginArgs {
    /// The origin of profiles from the options, and otherwise from the environment.
    pub fn origin(&self) -> Origin {
        let attributes = env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let attributes: BTreeMap<&str, &str> =
            attributes.split(',').filter_map(|pair| pair.trim().split_once('=')).collect();
        let said = |name: &str| attributes.get(name).map(|value| (*value).to_owned());
        let mut labels = self.label.clone();
        labels.extend(said("container.id").map(|id| ("container".to_owned(), id)));
        Origin {
            service: self
                .service
                .clone()
                .or_else(|| env::var("OTEL_SERVICE_NAME").ok())
                .or_else(|| said("service.name"))
                .unwrap_or_default(),
            version: self.service_version.clone().or_else(|| said("service.version")),
            host: self.host.clone().or_else(|| said("host.name")).unwrap_or_default(),
            labels,
            build_id: String::new(),
            redact: self.redact.into(),
        }
    }
}
