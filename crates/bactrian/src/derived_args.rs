//! Derives command line arguments, with help and validation, from the parameters of a question or of a part
//! of several.

use std::sync::Arc;

use bactrian_analysis::question::parameters::{self, Parameter, ParameterKind, Role};
use bactrian_analysis::question::{Parameters, QuestionError};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command};

/// Arguments that are defined only when their command is used: a run uses one command of many, and defining
/// the arguments of all others would slow every start.
#[derive(Clone, Debug)]
pub struct DeferredArgs<A>(pub A);

impl<A: clap::Args> clap::Args for DeferredArgs<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(A::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(A::augment_args_for_update)
    }
}

impl<A: clap::Args> clap::FromArgMatches for DeferredArgs<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        A::from_arg_matches(matches).map(DeferredArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Parameters as arguments, to be included in a command's arguments with `#[command(flatten)]`.
#[derive(Clone, Debug)]
pub struct DerivedArgs<P>(pub P);

impl<P: Parameters> clap::Args for DerivedArgs<P> {
    fn augment_args(command: Command) -> Command {
        let is_argument =
            |parameter: &Parameter| matches!(parameter.role, Role::Option | Role::Operand);
        let all = parameters::parameters::<P>().into_iter().filter(is_argument);
        all.fold(command, |command, parameter| command.arg(argument::<P>(&parameter)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: Parameters> clap::FromArgMatches for DerivedArgs<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let pairs = pairs::<P>(matches);
        let pairs = pairs.iter().map(|(name, value)| (&**name, &**value));
        let wrong = |error: QuestionError| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
        };
        parameters::read(pairs).map(DerivedArgs).map_err(wrong)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The given arguments, by the names used in URLs.
fn pairs<P: Parameters>(matches: &ArgMatches) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for Parameter { name, kind, role, .. } in parameters::parameters::<P>() {
        if !matches!(role, Role::Option | Role::Operand) {
            continue;
        }
        if kind == ParameterKind::Flag {
            pairs.extend(matches.get_flag(&name).then(|| (name, String::new())));
            continue;
        }
        let values = matches.get_many::<String>(&name).into_iter().flatten();
        pairs.extend(values.map(|value| (name.clone(), value.clone())));
    }
    pairs
}

fn argument<P: Parameters>(parameter: &Parameter) -> Arg {
    let Parameter { name, about, kind, .. } = parameter;
    let mut arg = Arg::new(name.clone()).help(about.clone());
    if parameter.role == Role::Option {
        arg = arg.long(name.clone());
    }
    if let Some(short) = parameter.short {
        arg = arg.short(short);
    }
    if let Some(alias) = &parameter.alias {
        arg = arg.visible_alias(alias.clone());
    }
    if let Some(heading) = &parameter.heading {
        arg = arg.help_heading(heading.clone());
    }
    if let Some(other) = &parameter.requires {
        arg = arg.requires(other.clone());
    }
    if let Some(other) = &parameter.conflicts {
        arg = arg.conflicts_with(other.clone());
    }
    if *kind == ParameterKind::Flag {
        return arg.action(ArgAction::SetTrue);
    }
    arg = arg.value_name(parameter.value.clone()).required(parameter.is_required);
    if parameter.is_repeated {
        arg = arg.action(ArgAction::Append);
    } else if let Some(default) = default_text(parameter) {
        arg = arg.default_value(default);
    }
    match kind {
        ParameterKind::Choice(words) => arg.value_parser(PossibleValuesParser::new(
            words.iter().map(|(word, about)| PossibleValue::new(word.clone()).help(about.clone())),
        )),
        _ => {
            let parameter = Arc::new(parameter.clone());
            arg.value_parser(move |text: &str| check::<P>(&parameter, text))
        }
    }
}

fn default_text(parameter: &Parameter) -> Option<String> {
    match &parameter.default {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        other => Some(other.to_string().trim_end_matches(".0").to_owned()),
    }
}

/// Checks that a text is a value of this parameter, independently of the others.
fn check<P: Parameters>(parameter: &Parameter, text: &str) -> Result<String, String> {
    let needed = parameters::parameters::<P>();
    let needed = needed.iter().filter(|other| other.is_required && other.name != parameter.name);
    let pairs = needed.map(|other| (&*other.name, "x")).chain([(&*parameter.name, text)]);
    match parameters::read::<P>(pairs) {
        Ok(_) => Ok(text.to_owned()),
        Err(QuestionError::Parameter { why, .. }) => Err(why),
        Err(error) => Err(error.to_string()),
    }
}
