//! Domain names as the server handles them: punycode (RFC 3492), labels of peers, domains of
//! routes, nameserver groups, zones and resources.

const LABEL_MAX: usize = 59;

/// Returns the DNS label that a name of a peer gives, or none for a name without a first part.
pub(super) fn label(name: &str) -> Option<String> {
    let first = name.split('.').next().filter(|first| !first.is_empty())?;
    let ascii = to_ascii(first);
    let is_legal = |c: char| c.is_ascii_alphanumeric() || c == '-';
    // a run of what does not fit becomes one hyphen
    let mut label = String::new();
    let mut in_run = false;
    for c in ascii.chars() {
        match is_legal(c) {
            true => label.push(c.to_ascii_lowercase()),
            false if in_run => {}
            false => label.push('-'),
        }
        in_run = !is_legal(c);
    }
    label.truncate(LABEL_MAX);
    Some(label)
}

/// What a domain may look like, which differs from kind to kind.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) wildcard: bool,
    pub(super) trailing_dot: bool,
    pub(super) unicode: bool,
    pub(super) underscore: bool,
}

/// Whether a text is a domain of this form. Single labels and mistyped IPs are.
pub(super) fn is_domain(text: &str, form: Form) -> bool {
    let text = if form.wildcard {
        text.strip_prefix("*.").unwrap_or(text)
    } else {
        text
    };
    let text = if form.trailing_dot {
        text.strip_suffix('.').unwrap_or(text)
    } else {
        text
    };
    let legal = |c: char| {
        c.is_ascii_alphanumeric()
            || c == '-'
            || c == '_' && form.underscore
            || form.unicode && !c.is_ascii() && c.is_alphanumeric()
    };
    let is_label = |label: &str| {
        let length = to_ascii(label).len();
        (1..=63).contains(&length)
            && label.chars().all(legal)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Returns a domain in lower case and Unicode, as routes show theirs.
pub(super) fn to_unicode(domain: &str) -> String {
    let lower = domain.to_lowercase();
    let decode = |label: &str| {
        label
            .strip_prefix("xn--")
            .and_then(decode)
            .unwrap_or_else(|| label.to_owned())
    };
    lower.split('.').map(decode).collect::<Vec<_>>().join(".")
}

fn to_ascii(label: &str) -> String {
    if label.is_ascii() {
        label.to_owned()
    } else {
        format!("xn--{}", encode(label))
    }
}

const BASE: u32 = 36;
const INITIAL_N: u32 = 128;
const INITIAL_BIAS: u32 = 72;

/// RFC 3492, 6.1.
fn adapt(delta: u32, points: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > 455 {
        delta /= 35;
        k += BASE;
    }
    k + 36 * delta / (delta + 38)
}

fn threshold(k: u32, bias: u32) -> u32 {
    k.saturating_sub(bias).clamp(1, 26)
}

fn digit(value: u32) -> char {
    char::from_digit(if value < 26 { value + 10 } else { value - 26 }, 36)
        .expect("a digit is below 36")
}

/// RFC 3492, 6.3.
fn encode(text: &str) -> String {
    let points: Vec<u32> = text.chars().map(u32::from).collect();
    let mut output: String = text.chars().filter(char::is_ascii).collect();
    let basic = output.len() as u32;
    let mut handled = basic;
    if basic > 0 {
        output.push('-');
    }
    let (mut n, mut delta, mut bias) = (INITIAL_N, 0_u32, INITIAL_BIAS);
    while let Some(next) = points.iter().copied().filter(|point| *point >= n).min() {
        delta = delta.saturating_add((next - n).saturating_mul(handled + 1));
        n = next;
        for point in &points {
            if *point < n {
                delta = delta.saturating_add(1);
            }
            if *point == n {
                let (mut q, mut k) = (delta, BASE);
                loop {
                    let t = threshold(k, bias);
                    if q < t {
                        break;
                    }
                    output.push(digit(t + (q - t) % (BASE - t)));
                    q = (q - t) / (BASE - t);
                    k += BASE;
                }
                output.push(digit(q));
                bias = adapt(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.saturating_add(1);
        n += 1;
    }
    output
}

/// RFC 3492, 6.2. None for what no encoder makes.
fn decode(text: &str) -> Option<String> {
    let (basic, extended) = text.rsplit_once('-').unwrap_or(("", text));
    let mut output: Vec<char> = basic.chars().collect();
    let (mut n, mut i, mut bias) = (INITIAL_N, 0_u32, INITIAL_BIAS);
    let mut digits = extended.chars();
    let mut next = digits.next();
    while next.is_some() {
        let (before, mut weight, mut k) = (i, 1_u32, BASE);
        loop {
            let value = match next? {
                c @ 'a'..='z' => u32::from(c) - u32::from('a'),
                c @ '0'..='9' => u32::from(c) - u32::from('0') + 26,
                _ => return None,
            };
            i = i.checked_add(value.checked_mul(weight)?)?;
            let t = threshold(k, bias);
            next = digits.next();
            if value < t {
                break;
            }
            weight = weight.checked_mul(BASE - t)?;
            k += BASE;
        }
        let length = output.len() as u32 + 1;
        bias = adapt(i - before, length, before == 0);
        n = n.checked_add(i / length)?;
        i %= length;
        output.insert(i as usize, char::from_u32(n)?);
        i += 1;
    }
    Some(output.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::{label, to_ascii, to_unicode};

    #[test]
    fn labels_of_peers() {
        let labels = ["My Laptop", "a.b.c", "ÜBER-Box", "web_1", "f2 ops/gw #1"]
            .map(|name| label(name).expect("a name with a first part"));
        assert_eq!(
            labels,
            ["my-laptop", "a", "xn--ber-box-bva", "web-1", "f2-ops-gw-1"]
        );
        assert_eq!([label(""), label("."), label(".a")], [None, None, None]);
        assert_eq!(label(&"x".repeat(80)).map(|label| label.len()), Some(59));
    }

    #[test]
    fn punycode_there_and_back() {
        for (unicode, ascii) in [
            ("bücher", "xn--bcher-kva"),
            ("機器", "xn--m7r977b"),
            ("🦉", "xn--8s9h"),
            ("plain", "plain"),
        ] {
            assert_eq!(to_ascii(unicode), ascii);
            assert_eq!(to_unicode(ascii), unicode);
        }
        assert_eq!(to_unicode("*.BÜCHER.Example"), "*.bücher.example");
        assert_eq!(to_unicode("xn--99999999999"), "xn--99999999999");
    }
}
