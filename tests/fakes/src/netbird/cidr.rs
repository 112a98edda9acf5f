//! Networks in CIDR notation.

use std::fmt;
use std::net::IpAddr;

/// An address and the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cidr {
    pub(super) ip: IpAddr,
    pub(super) bits: u32,
}

impl Cidr {
    /// Reads `ADDRESS/LENGTH`; an address alone is none.
    pub(super) fn parse(text: &str) -> Option<Cidr> {
        let (ip, length) = text.split_once('/')?;
        let ip: IpAddr = ip.parse().ok()?;
        let plain = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let bits: u32 = length
            .parse()
            .ok()
            .filter(|_| plain && (length == "0" || !length.starts_with('0')))?;
        (bits <= width(ip)).then_some(Cidr { ip, bits })
    }

    /// Returns the network of this one address.
    pub(super) fn host(ip: IpAddr) -> Cidr {
        Cidr {
            ip,
            bits: width(ip),
        }
    }

    /// Sets the host bits to zero.
    pub(super) fn masked(self) -> Cidr {
        let host_bits = width(self.ip) - self.bits;
        let ip = match self.ip {
            IpAddr::V4(ip) => IpAddr::from(
                ((u64::from(ip.to_bits()) >> host_bits << host_bits) as u32).to_be_bytes(),
            ),
            IpAddr::V6(ip) => {
                let network = ip
                    .to_bits()
                    .checked_shr(host_bits)
                    .unwrap_or(0)
                    .checked_shl(host_bits)
                    .unwrap_or(0);
                IpAddr::from(network.to_be_bytes())
            }
        };
        Cidr { ip, ..self }
    }

    pub(super) fn contains(self, ip: IpAddr) -> bool {
        self.ip.is_ipv4() == ip.is_ipv4() && Cidr { ip, ..self }.masked() == self.masked()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.bits)
    }
}

fn width(ip: IpAddr) -> u32 {
    if ip.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::Cidr;

    #[test]
    fn masks_host_bits() {
        let masked = |text| Cidr::parse(text).map(|cidr| cidr.masked().to_string());
        let texts = [
            "10.1.2.3/24",
            "10.1.2.3/0",
            "10.1.2.3/32",
            "2001:DB8::1/32",
            "2001:db8::1/0",
        ];
        let wanted = [
            "10.1.2.0/24",
            "0.0.0.0/0",
            "10.1.2.3/32",
            "2001:db8::/32",
            "::/0",
        ];
        assert_eq!(texts.map(masked), wanted.map(|text| Some(text.to_owned())));
    }

    #[test]
    fn refuses_what_is_none() {
        assert_eq!(
            [
                "10.0.0.0",
                "10.0.0.0/33",
                "10.0.0/8",
                "10.0.0.0/+8",
                "10.0.0.0/",
                "/8"
            ]
            .map(Cidr::parse),
            [None; 6]
        );
    }
}
