//! `validate` of files of 1 MB and of 10 MB, each a shape that somebody could send in a pull request, and `plan --live` of those
//! whose entries have many objects: ten times the file may cost twelve times the time and the memory, and no more; else this
//! ends with 1.
//!
//! `cargo bench --bench files`, or with the name of a shape behind `--`. The ratios are what counts: the machine is in both
//! numbers. What a file of any size costs, the start of the process, is in both too.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const SIZES: [usize; 2] = [1_000_000, 10_000_000];
const ROUNDS: usize = 3;
const MOST: f64 = 12.0;

/// Makes a file of about so many bytes.
type File = fn(usize) -> String;

/// Shapes that are planned, too: one entry has many objects, or much follows from it.
const PLANNED: [&str; 8] = [
    "routes of one name",
    "records of one name",
    "routers of one network",
    "policies",
    "one policy of many groups",
    "routes and policies",
    "groups and policies",
    "names undeclared, typos",
];

/// What a shape is called, and its file.
const SHAPES: &[(&str, File)] = &[
    ("groups with members", |bytes| {
        groups(&list(bytes, |n| format!(r#""g{n}":{{"peers":["p{n}"]}}"#)))
    }),
    ("keys that groups list", |bytes| {
        let peers = list(bytes / 8, |n| format!(r#""k{n}""#));
        let keys = list(bytes * 7 / 8, |n| {
            format!(r#""k{n}":{{"type":"one-off","expires_in":3600,"auto_groups":["g"]}}"#)
        });
        format!(r#"{{"groups":{{"g":{{"peers":[{peers}]}}}},"setup_keys":{{{keys}}}}}"#)
    }),
    ("policies", |bytes| {
        let policies = list(bytes, |n| {
            format!(
                r#""p{n}":{{"sources":["g"],"destinations":["g"],"protocol":"tcp","ports":[{}]}}"#,
                n % 65_535 + 1
            )
        });
        format!(r#"{{"groups":{{"g":{{}}}},"policies":{{{policies}}}}}"#)
    }),
    ("one policy of many groups", |bytes| {
        let keys = list(bytes * 2 / 5, |n| {
            format!(r#""k{n}":{{"type":"one-off","expires_in":3600}}"#)
        });
        let all = list(bytes / 5, |n| format!(r#""g{n}":{{"peers":["k{n}"]}}"#));
        let named = list(bytes / 10, |n| format!(r#""g{n}""#));
        format!(
            r#"{{"setup_keys":{{{keys}}},"groups":{{{all}}},"policies":{{"p":{{"sources":[{named}],"destinations":[{named}]}}}}}}"#
        )
    }),
    ("routes and policies", |bytes| {
        let routes = list(bytes / 2, |n| {
            let (a, b, c) = (n >> 16, n >> 8 & 255, n & 255);
            format!(
                r#""r{n}":{{"network":"{}.{b}.{c}.0/24","peer_groups":["pilots"],"groups":["g"]}}"#,
                a + 1
            )
        });
        let policies = list(bytes / 2, |n| {
            format!(
                r#""p{n}":{{"sources":["g"],"destinations":["pilots"],"protocol":"tcp","ports":[{}]}}"#,
                n % 65_535 + 1
            )
        });
        format!(
            r#"{{"groups":{{"g":{{"peers":["survey-laptop"]}}}},"routes":{{{routes}}},"policies":{{{policies}}}}}"#
        )
    }),
    ("groups and policies", |bytes| {
        let all = list(bytes / 2, |n| format!(r#""g{n}":{{}}"#));
        let policies = list(bytes / 2, |n| {
            format!(r#""p{n}":{{"sources":["g{n}"],"destinations":["All"]}}"#)
        });
        format!(r#"{{"groups":{{{all}}},"policies":{{{policies}}}}}"#)
    }),
    ("routes of one name", |bytes| {
        let routes = list(bytes, |n| {
            let (a, b, c) = (n >> 16, n >> 8 & 255, n & 255);
            format!(
                r#"{{"network":"{}.{b}.{c}.0/24","peer_groups":["g"],"groups":["g"]}}"#,
                a + 1
            )
        });
        format!(r#"{{"groups":{{"g":{{}}}},"routes":{{"r":[{routes}]}}}}"#)
    }),
    ("records", |bytes| {
        zone(&list(bytes, |n| {
            let (a, b, c) = (n >> 16, n >> 8 & 255, n & 255);
            format!(r#"{{"name":"h{n}","type":"A","content":"10.{a}.{b}.{c}"}}"#)
        }))
    }),
    ("records of one name", |bytes| {
        zone(&list(bytes, |n| {
            let (a, b, c) = (n >> 16, n >> 8 & 255, n & 255);
            format!(r#"{{"name":"h","type":"A","content":"10.{a}.{b}.{c}"}}"#)
        }))
    }),
    ("records, fields unknown", |bytes| {
        let junk = list(bytes / 2, |n| format!(r#""x{n}":1"#));
        let records = list(bytes / 2, |n| {
            format!(r#"{{"name":"h{n}","type":"A","content":"10.0.0.1"}}"#)
        });
        let zone = format!(r#"{junk},"domain":"z.example","records":[{records}]"#);
        format!(r#"{{"dns":{{"zones":{{"z":{{{zone}}}}}}}}}"#)
    }),
    ("domains of one list", |bytes| {
        nameservers("1.1.1.1", &list(bytes, |n| format!(r#""d{n}.example""#)))
    }),
    ("nameservers of one list", |bytes| {
        let more = list(bytes, |n| {
            format!(r#"{{"ip":"10.{}.{}.{}"}}"#, n >> 16, n >> 8 & 255, n & 255)
        });
        let group = format!(r#"{{"groups":["g"],"primary":true,"nameservers":[{more}]}}"#);
        format!(r#"{{"groups":{{"g":{{}}}},"dns":{{"nameserver_groups":{{"n":{group}}}}}}}"#)
    }),
    ("resources", |bytes| {
        let all = list(bytes, |n| {
            format!(r#""r{n}":{{"address":"10.0.0.1","groups":["g"]}}"#)
        });
        format!(r#"{{"groups":{{"g":{{}}}},"networks":{{"n":{{"resources":{{{all}}}}}}}}}"#)
    }),
    ("routers of one network", |bytes| {
        let all = list(bytes, |n| {
            format!(r#"{{"peer_groups":["g"],"metric":{}}}"#, n % 9_999 + 1)
        });
        format!(r#"{{"groups":{{"g":{{}}}},"networks":{{"n":{{"routers":[{all}]}}}}}}"#)
    }),
    ("names undeclared, typos", |bytes| {
        let declared = list(bytes / 2, |n| format!(r#""{}":{{}}"#, long(n, "a")));
        let named = list(bytes / 2, |n| format!(r#""{}""#, long(n, "b")));
        let policy = format!(r#""sources":[{named}],"destinations":["All"]"#);
        format!(r#"{{"groups":{{{declared}}},"policies":{{"p":{{{policy}}}}}}}"#)
    }),
    ("names undeclared, few declared", |bytes| {
        let policies = list(bytes, |n| {
            format!(r#""p{n}":{{"sources":["{n}"],"destinations":["All"]}}"#)
        });
        format!(r#"{{"groups":{{"g":{{}}}},"policies":{{{policies}}}}}"#)
    }),
    ("names that differ by case", |bytes| {
        let case = |n: usize, bit: usize| match n >> bit & 1 {
            0 => 'a',
            _ => 'A',
        };
        groups(&list(bytes, |n| {
            let name: String = (0..20).map(|bit| case(n, bit)).collect();
            format!(r#""{name}":{{}}"#)
        }))
    }),
    ("fields unknown", |bytes| {
        groups(&format!(
            r#""g":{{{}}}"#,
            list(bytes, |n| format!(r#""pee{n}":1"#))
        ))
    }),
    ("values of a wrong type", |bytes| {
        let name = "\\u202e".repeat(40);
        let wrong = list(bytes, |_| "1".to_owned());
        groups(&format!(r#""{name}":{{"peers":[{wrong}]}}"#))
    }),
    ("one name again and again", |bytes| {
        let again = list(bytes, |_| r#""a""#.to_owned());
        groups(&format!(r#""g":{{"peers":[{again}]}}"#))
    }),
    ("one field again and again", |bytes| {
        groups(&list(bytes, |_| r#""g":{}"#.to_owned()))
    }),
    ("new names", |bytes| {
        groups(&list(bytes, |n| {
            format!(r#""g{n}":{{"renamed_from":"h{n}"}}"#)
        }))
    }),
    ("lists in lists", |bytes| {
        let deep = list(bytes, |_| "[[[[]]]]".to_owned());
        groups(&format!(r#""g":{{"peers":[{deep}]}}"#))
    }),
    ("no JSON at its end", |bytes| {
        groups(&list(bytes, |n| format!(r#""g{n}":{{}}"#))) + ","
    }),
    ("line ends", |bytes| {
        groups(r#""g":{}"#) + &"\n".repeat(bytes)
    }),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wanted = wanted.iter().find(|word| !word.starts_with('-'));
    let mut out = std::io::stdout();
    let mut say = |line: &str| out.write_all(line.as_bytes()).expect("somebody reads this");
    say("shape                             1 MB    10 MB   time   memory: 1 MB   10 MB  ratio\n");
    let mut is_fine = true;
    let validated = SHAPES.iter().map(|shape| (shape, false));
    let planned = SHAPES.iter().filter(|(name, _)| PLANNED.contains(name));
    for ((name, file), plans) in validated.chain(planned.map(|shape| (shape, true))) {
        if wanted.is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        let name = format!("{name}{}", if plans { ", plan" } else { "" });
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [small, large] = SIZES.map(|bytes| {
            let (path, text) = (dir.path().join(bytes.to_string()), file(bytes));
            fs::write(&path, &text).expect("writable");
            // the least is the one that others disturbed least
            let runs = (0..ROUNDS).map(|_| run(&path, plans));
            let (time, memory) = runs.min().expect("there are rounds");
            (
                time.as_secs_f64(),
                memory as f64 / 1024.0,
                text.len() as f64,
            )
        });
        let tenfold = large.2 / small.2 / 10.0;
        let time = large.0 / small.0 / tenfold;
        let memory = large.1 / small.1 / tenfold;
        say(&format!(
            "{name:<30} {:>5.0} ms {:>5.0} ms {time:>6.1} {:>11.0} MiB {:>3.0} MiB {memory:>6.1}\n",
            small.0 * 1e3,
            large.0 * 1e3,
            small.1,
            large.1
        ));
        is_fine &= time <= MOST && memory <= MOST;
    }
    match is_fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Pieces with commas between them, of about so many bytes.
fn list(bytes: usize, piece: impl Fn(usize) -> String) -> String {
    let mut text = piece(0);
    for n in 1.. {
        if text.len() >= bytes {
            break;
        }
        text.push(',');
        text += &piece(n);
    }
    text
}

fn groups(entries: &str) -> String {
    format!(r#"{{"groups":{{{entries}}}}}"#)
}

fn zone(records: &str) -> String {
    let zone =
        format!(r#"{{"domain":"z.example","distribution_groups":["g"],"records":[{records}]}}"#);
    format!(r#"{{"groups":{{"g":{{}}}},"dns":{{"zones":{{"z":{zone}}}}}}}"#)
}

fn nameservers(ip: &str, domains: &str) -> String {
    let group =
        format!(r#"{{"nameservers":[{{"ip":"{ip}"}}],"groups":["g"],"domains":[{domains}]}}"#);
    format!(r#"{{"groups":{{"g":{{}}}},"dns":{{"nameserver_groups":{{"n":{group}}}}}}}"#)
}

/// A name of a hundred characters whose number is spread over it.
fn long(n: usize, end: &str) -> String {
    let digits = n.to_string();
    let spread: Vec<String> = digits
        .chars()
        .map(|digit| format!("{digit:x<14}"))
        .collect();
    format!("{:y<99}{end}", spread.concat())
}

/// The time of a run, and the most memory that it had in KiB, as Linux tells; 0 elsewhere.
fn run(file: &Path, plans: bool) -> (Duration, u64) {
    let live = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/live.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_netbird-gitops"));
    match plans {
        true => command.args(["plan", "--format", "markdown", "--live", live, "--file"]),
        false => command.args(["validate", "--file"]),
    };
    command.arg(file);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().expect("it runs");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().expect("a child").is_none() {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    (start.elapsed(), most)
}
