//! `access`: whether one can reach another, by which rule, or what comes nearest.

use std::collections::BTreeSet;

use serde_json::json;

use super::export::read;
use super::failure::Failure;
use super::session::{Origin, Request, Session, recorded};
use super::settings::{Run, connect, readable};
use super::versions::of_netbird;
use super::{Ending, blank, end};
use crate::access::{End, Ports, Question, Traffic, ask};
use crate::account::actual::Actual;
use crate::account::fetch::{Needs, fetch};
use crate::base::text::{did_you_mean, quote};
use crate::commands::cli::{AccessArgs, AccessLevel, Scope, Sealing};
use crate::commands::exit::Exit;
use crate::commands::logging::Say;
use crate::model::desired::Desired;
use crate::model::kind::{ALL, Kind};
use crate::plan::Plan;
use crate::plan::memberships::Memberships;
use crate::render;

pub(super) fn run(run: &Run, args: &AccessArgs) -> Exit {
    let say = run.say;
    let ending = make(run, args, say);
    let ending = ending.unwrap_or_else(|failure| Ending::stopped(failure, json!({})));
    end(run, ending)
}

fn make(run: &Run, args: &AccessArgs, say: Say) -> Result<Ending, Failure> {
    let wanted = args.traffic.as_deref().map(traffic).transpose()?;
    let sides = (side(&args.from)?, side(&args.to)?);
    if matches!(sides.0.0, End::Resource | End::Route) {
        let from = quote(&args.from);
        let error = format!("{from} opens no connection: it is only reached");
        return Err(Failure::error(error).hint("begin with group/NAME or peer/NAME"));
    }
    let (actual, plan, memberships) = account(run, args, say)?;
    let question = Question {
        from: named(&actual, plan.as_ref(), sides.0)?,
        to: named(&actual, plan.as_ref(), sides.1)?,
        traffic: wanted,
    };
    let answer = ask(&actual, plan.as_ref(), &memberships, &question);
    let answer = answer.map_err(|name| Failure::error(format!("there is no {}", quote(&name))))?;
    let asked = (
        args.from.as_str(),
        args.to.as_str(),
        args.traffic.as_deref(),
    );
    Ok(Ending::answer(
        render::answer::json(&answer),
        render::answer::text(&answer, asked),
    ))
}

/// The account, and with `--after` the plan that the file makes of it.
fn account(
    run: &Run,
    args: &AccessArgs,
    say: Say,
) -> Result<(Actual, Option<Plan>, Memberships), Failure> {
    readable()?;
    if !args.after {
        let snapshot = match &args.live {
            Some(path) => recorded(path)?,
            None => {
                let api = connect(&args.server, false)?;
                let needs = Needs::default().and_reach();
                let snapshot = fetch(&api, &needs, &Desired::default());
                snapshot.map_err(|error| of_netbird(&api, error))?
            }
        };
        return Ok((read(&snapshot, say)?, None, Memberships::default()));
    }
    let scope = Scope::plain();
    let origin = match &args.live {
        Some(path) => Origin::File(path),
        None => Origin::Server(&args.server),
    };
    let request = Request {
        run,
        origin,
        scope: &scope,
        sealing: &Sealing::default(),
        inventory: &args.inventory,
        gitea: &args.gitea,
        adopt: &[],
        writes: false,
        committed: false,
        access: AccessLevel::Groups,
    };
    let mut document = blank(run);
    let mut session = Session::open(&request, &mut document)?;
    let plan = session.plan_whole()?;
    Ok((session.actual, Some(plan), document.memberships))
}

/// The words for what is asked about; the names of sections, in the plural, are as good.
const ENDS: [(&str, End); 4] = [
    ("group", End::Group),
    ("peer", End::Peer),
    ("resource", End::Resource),
    ("route", End::Route),
];

fn side(text: &str) -> Result<(End, &str), Failure> {
    let Some((word, name)) = text.split_once('/').filter(|(_, name)| !name.is_empty()) else {
        let error = format!("{} does not say what it is", quote(text));
        let hint = "write group/NAME, peer/NAME, resource/NAME or route/NAME";
        return Err(Failure::error(error).hint(hint));
    };
    let one = word.strip_suffix('s').unwrap_or(word);
    if let Some((_, end)) = ENDS.iter().find(|(known, _)| *known == one) {
        return Ok((*end, name));
    }
    let hint = did_you_mean(word, ENDS.iter().map(|(known, _)| *known));
    let hint = hint.unwrap_or_else(|| "there are group, peer, resource and route".to_owned());
    Err(Failure::error(format!("{} is no kind to ask about", quote(word))).hint(hint))
}

/// The name by which rules know it; of a peer its id. Errors where it is nowhere, or several.
fn named(
    actual: &Actual,
    plan: Option<&Plan>,
    (end, name): (End, &str),
) -> Result<(End, String), Failure> {
    let created = |kind: Kind| {
        let changes = plan.iter().flat_map(|plan| &plan.changes);
        let of_kind = changes.filter(move |change| change.address.kind == kind);
        of_kind.map(|change| change.address.name.as_str())
    };
    let live = |kind: Kind| actual.each().filter(move |(at, _)| at.kind == kind);
    let names = |kind: Kind| -> BTreeSet<&str> {
        live(kind)
            .map(|(at, _)| at.name.as_str())
            .chain(created(kind))
            .collect()
    };
    let (label, known): (&str, BTreeSet<&str>) = match end {
        End::Peer => {
            let is_it =
                |peer: &&crate::wire::api::objects::Peer| peer.id.0 == name || peer.name == name;
            let found: Vec<_> = actual.peers.iter().filter(is_it).collect();
            match found.as_slice() {
                [one] => return Ok((end, one.id.to_string())),
                [] => {}
                several => {
                    let ids: Vec<&str> = several.iter().map(|peer| peer.id.0.as_str()).collect();
                    let error = format!("several peers are called {}", quote(name));
                    let hint = format!("name one by its id: {}", ids.join(", "));
                    return Err(Failure::error(error).hint(hint));
                }
            }
            let keys = names(Kind::SetupKey);
            if keys.contains(name) {
                return Ok((end, name.to_owned()));
            }
            let peers = actual.peers.iter().map(|peer| peer.name.as_str());
            ("peer", peers.chain(keys).collect())
        }
        End::Group => {
            let mut groups = names(Kind::Group);
            groups.insert(ALL);
            ("group", groups)
        }
        End::Resource => ("network resource", names(Kind::NetworkResource)),
        End::Route => ("route", names(Kind::Route)),
    };
    if end != End::Peer && known.contains(name) {
        return Ok((end, name.to_owned()));
    }
    let failure = Failure::error(format!("there is no {label} {}", quote(name)));
    Err(failure.aside(did_you_mean(name, known.iter().copied())))
}

/// What has to pass: `tcp/22`, `udp/53`, `tcp/8000-8100`, `tcp`, `udp`, `icmp` or `all`.
fn traffic(text: &str) -> Result<Traffic, Failure> {
    let wrong = || {
        let error = format!("{} is no traffic to ask about", quote(text));
        Failure::error(error).hint("write tcp/22, udp/53, tcp/8000-8100, tcp, udp, icmp or all")
    };
    let lower = text.to_ascii_lowercase();
    let (protocol, ports) = match lower.split_once('/') {
        Some((protocol, ports)) => (protocol, Some(ports)),
        None => (lower.as_str(), None),
    };
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    let range = |text: &str| {
        let (start, end) = text.split_once('-').unwrap_or((text, text));
        let (start, end) = (port(start)?, port(end)?);
        (start <= end).then_some((start, end))
    };
    let ports = match ports {
        None => Ports::all(),
        Some(ports) => {
            let ranges: Option<Vec<(u16, u16)>> = ports.split(',').map(range).collect();
            Ports::of(ranges.ok_or_else(wrong)?)
        }
    };
    let mut traffic = Traffic::default();
    match protocol {
        "tcp" => traffic.tcp = ports,
        "udp" => traffic.udp = ports,
        "icmp" if ports.is_all() => traffic.icmp = true,
        "all" if ports.is_all() => traffic = Traffic::everything(),
        _ => return Err(wrong()),
    }
    Ok(traffic)
}
