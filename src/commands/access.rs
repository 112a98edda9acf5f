//! `access`: whether one can reach another, by which rule, or what comes nearest.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::cli::{AccessArgs, AccessLevel};
use super::export::read;
use super::session::recorded;
use super::{Ending, Failure, Result, Run, Session, blank, connect, of_netbird, readable};
use crate::access::{End, NoAnswer, Ports, Question, Traffic, ask};
use crate::account::{Actual, Needs, fetch};
use crate::base::{Id, did_you_mean, joined, quote, quoted, visible};
use crate::check::validate::validate;
use crate::file;
use crate::model::{ALL, Desired, Kind};
use crate::plan::{Memberships, Plan};
use crate::render;
use crate::wire::api::objects::Peer;

pub(super) fn run(run: &Run, args: &AccessArgs) -> Result<Ending> {
    let wanted = args.traffic.as_deref().map(traffic).transpose()?;
    let (actual, plan, memberships) = account(run, args)?;
    let named = |text: &str| {
        let found = named(&actual, plan.as_ref(), text);
        found.map_err(|failure| match to_come(run, args, text) {
            Some(hint) => failure.hint(hint),
            None => failure,
        })
    };
    let question = Question {
        from: named(&args.from)?,
        to: named(&args.to)?,
        traffic: wanted,
    };
    if matches!(question.from.0, End::Resource | End::Route) {
        let from = quote(&args.from);
        let error = format!(
            "{from} is not a group or a peer: it can be reached, but it opens no connections"
        );
        return Err(Failure::error(error).hint("write a group or a peer as FROM"));
    }
    let answer = ask(&actual, plan.as_ref(), &memberships, &question);
    let answer = answer.map_err(|why| match why {
        NoAnswer::Nowhere(name) => Failure::error(format!("there is no {}", quote(&name))),
        NoAnswer::TooMuch => Failure::error("this question takes too long to answer")
            .hint("ask about a smaller group, or about one machine as peer/NAME"),
    })?;
    let asked = (&*args.from, &*args.to, args.traffic.as_deref());
    let tree = render::answer::tree(&answer, asked);
    Ok(Ending::shown(run, render::answer::json(&answer), &tree))
}

/// The account, and with `--after` the plan that the file makes of it.
fn account(run: &Run, args: &AccessArgs) -> Result<(Actual, Option<Plan>, Memberships)> {
    readable()?;
    if !args.after {
        let (api, snapshot) = match &args.live {
            Some(path) => (None, recorded(path)?),
            None => {
                let api = connect(run)?;
                let needs = Needs::default().and_reach();
                let snapshot = fetch(&api, &needs, &Desired::default());
                let snapshot = snapshot.map_err(|error| of_netbird(&api, error))?;
                (Some(api), snapshot)
            }
        };
        let actual = read(api.as_ref(), &snapshot, run.say)?;
        return Ok((actual, None, Memberships::default()));
    }
    let mut session = Session::open(run, AccessLevel::Groups, &mut blank(run))?;
    let plan = session.plan_whole()?;
    for said in session.document.said() {
        if said.is_warning() {
            run.say.note(&visible(&said.text));
        }
    }
    Ok((session.actual, Some(plan), session.document.memberships))
}

/// The words for what is asked about; the names of sections, in the plural, are as good.
const ENDS: [(&str, End); 4] = [
    ("group", End::Group),
    ("peer", End::Peer),
    ("resource", End::Resource),
    ("route", End::Route),
];

/// Returns which ends KIND/NAME or a name alone can mean, and the name.
fn parts(text: &str) -> (&[(&'static str, End)], &str) {
    let kind = text.split_once('/').and_then(|(word, name)| {
        let one = word.strip_suffix('s').unwrap_or(word);
        let at = ENDS.iter().position(|(known, _)| *known == one)?;
        Some((&ENDS[at..=at], name))
    });
    kind.unwrap_or((&ENDS, text))
}

/// Says that what is not found is in the file, if it is: an apply creates it.
fn to_come(run: &Run, args: &AccessArgs, text: &str) -> Option<String> {
    let (ends, name) = parts(text);
    let source = file::load(&run.file).ok().filter(|_| !args.after)?;
    let desired = validate(&source).ok()?.desired;
    let kinds = ends.iter().map(|(_, end)| match end {
        End::Group => Kind::Group,
        End::Peer => Kind::SetupKey,
        End::Resource => Kind::NetworkResource,
        End::Route => Kind::Route,
    });
    let mut declared = kinds.flat_map(|kind| desired.of_kind(kind));
    let is_declared = declared.any(|(declared, _)| declared == name);
    let file = run.file_name();
    is_declared
        .then(|| format!("{file} declares it, but NetBird does not have it yet: add --after"))
}

/// Returns what KIND/NAME or a name alone means, by the name that rules have for it; of a peer its id. Errors where that is
/// nothing, or several things.
fn named(actual: &Actual, plan: Option<&Plan>, text: &str) -> Result<(End, String)> {
    let (ends, name) = parts(text);
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for (word, end) in ends {
        let of_kind = names(actual, plan, *end);
        let ids = of_kind.iter().filter(|(known, _)| *known == name);
        found.extend(ids.map(|(_, id)| (format!("{word}/{id}"), (*end, (*id).to_owned()))));
        known.extend(of_kind.into_iter().map(|(name, _)| name));
    }
    match found.as_slice() {
        [(_, one)] => Ok(one.clone()),
        [] => {
            let what = match ends {
                [(word, _)] => word,
                _ => "group, peer, resource or route",
            };
            let error = format!("there is no {what} {}", quote(name));
            let address = name.split_once('/').map_or(name, |(address, _)| address);
            let hint = did_you_mean(name, known.iter().copied());
            let hint = hint.unwrap_or_else(|| match ends {
                _ if address.parse::<IpAddr>().is_ok() => {
                    "name a resource or a route, not an address".to_owned()
                }
                [(word, _)] if known.is_empty() => format!("there are no {word}s"),
                [(word, _)] => {
                    // a peer has its id for a name, too
                    let is_id = |name: &&str| actual.peers.contains(&Id::from(*name));
                    known.retain(|name| !is_id(name));
                    format!("the {word}s are {}", quoted(known))
                }
                _ => "write NAME, group/NAME, peer/NAME, resource/NAME or route/NAME".to_owned(),
            });
            Err(Failure::error(error).hint(hint))
        }
        several => {
            let error = format!("{} is the name of several objects", quote(name));
            let several = joined(several.iter().map(|(text, _)| text), ", ");
            Err(Failure::error(error).hint(format!("write one of {several}")))
        }
    }
}

/// Returns all names of a kind, each with the one that rules have for it. A peer has its id for a name, too, and a key that no
/// peer used is the peer that will.
fn names<'a>(actual: &'a Actual, plan: Option<&'a Plan>, end: End) -> BTreeSet<(&'a str, &'a str)> {
    let of_kind = |kind: Kind| {
        let live = actual.each().map(|(at, _)| at);
        let created = plan.iter().flat_map(|plan| &plan.changes);
        let all = live.chain(created.map(|change| &change.address));
        all.filter(move |at| at.kind == kind)
            .map(|at| (at.name.as_str(), at.name.as_str()))
    };
    match end {
        End::Group => of_kind(Kind::Group).chain([(ALL, ALL)]).collect(),
        End::Resource => of_kind(Kind::NetworkResource).collect(),
        End::Route => of_kind(Kind::Route).collect(),
        End::Peer => {
            let both = |peer: &'a Peer| {
                let id = peer.id.0.as_str();
                [(peer.name.as_str(), id), (id, id)]
            };
            let peers: BTreeSet<_> = actual.peers.iter().flat_map(both).collect();
            let taken: BTreeSet<&str> = peers.iter().map(|(name, _)| *name).collect();
            let keys = of_kind(Kind::SetupKey).filter(|(name, _)| !taken.contains(name));
            peers.iter().copied().chain(keys).collect()
        }
    }
}

/// What has to pass: `tcp/22`, `udp/53`, `tcp/8000-8100`, `tcp`, `udp`, `icmp` or `all`.
fn traffic(text: &str) -> Result<Traffic> {
    let wrong = || {
        let error = format!("{} is not traffic to ask about", quote(text));
        Failure::error(error).hint("write tcp/22, udp/53, tcp/8000-8100, tcp, udp, icmp or all")
    };
    let lower = text.to_ascii_lowercase();
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    let range = |text: &str| {
        let (start, end) = text.split_once('-').unwrap_or((text, text));
        let (start, end) = (port(start)?, port(end)?);
        (start <= end).then_some((start, end))
    };
    let (protocol, ports) = match lower.split_once('/') {
        None => (lower.as_str(), Ports::all()),
        Some((protocol, ports)) => {
            let ranges: Option<Vec<(u16, u16)>> = ports.split(',').map(range).collect();
            (protocol, Ports::of(ranges.ok_or_else(wrong)?))
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
