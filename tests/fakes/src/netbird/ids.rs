//! Ids, setup keys and tokens in the forms of the real server.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

const BASE32HEX: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TOKEN_PREFIX: &str = "nbp_";
const SECRET_LENGTH: usize = 30;
const CHECKSUM_LENGTH: usize = 6;

/// Makes ids and secrets, other ones in each fake.
#[derive(Clone)]
pub(super) struct Ids {
    random: u64,
    machine: u64,
    counter: u64,
}

impl Ids {
    pub(super) fn new() -> Ids {
        let random = RandomState::new().build_hasher().finish();
        Ids {
            random,
            machine: random >> 24,
            counter: random & 0xff_ffff,
        }
    }

    /// Returns an xid: 4 bytes of seconds, 5 of machine and process, 3 of a counter, in base32hex.
    pub(super) fn xid(&mut self, seconds: i64) -> String {
        self.counter = (self.counter + 1) & 0xff_ffff;
        let low_32 = u128::from(seconds.unsigned_abs() & 0xffff_ffff);
        let bits = low_32 << 64 | u128::from(self.machine) << 24 | u128::from(self.counter);
        // 96 bits are 19 digits of 5 bits and one bit, so the last digit is 0 or g.
        let padded = bits << 4;
        (0..20)
            .rev()
            .map(|digit| char::from(BASE32HEX[(padded >> (5 * digit) & 31) as usize]))
            .collect()
    }

    /// Returns a UUID of version 4 in lower case.
    pub(super) fn uuid(&mut self) -> String {
        let bits = u128::from(self.next()) << 64 | u128::from(self.next());
        let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
        let hex = format!("{bits:032x}");
        [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ]
        .join("-")
    }

    /// Returns a personal access token.
    pub(super) fn token(&mut self) -> String {
        let secret: String = (0..SECRET_LENGTH)
            .map(|_| char::from(BASE62[self.below(62)]))
            .collect();
        format!("{TOKEN_PREFIX}{secret}{}", checksum(&secret))
    }

    /// Returns any number below the limit.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Puts a list into another order, as lists are that come from Go's maps.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }

    /// splitmix64.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Whether a text has the form of a token, its checksum included.
pub(super) fn is_token(text: &str) -> bool {
    text.strip_prefix(TOKEN_PREFIX)
        .filter(|rest| rest.is_ascii() && rest.len() == SECRET_LENGTH + CHECKSUM_LENGTH)
        .is_some_and(|rest| checksum(&rest[..SECRET_LENGTH]) == rest[SECRET_LENGTH..])
}

/// The CRC32 of the secret in six digits of base62.
fn checksum(secret: &str) -> String {
    let mut rest = crc32(secret.as_bytes());
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.map(char::from).iter().collect()
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 {
                sum >> 1 ^ 0xedb8_8320
            } else {
                sum >> 1
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{BASE32HEX, Ids, is_token};

    /// The clock in an id, as a reader of ids computes it: base32hex of the first 7 characters,
    /// shifted right by 3.
    fn seconds(id: &str) -> u64 {
        let digit = |byte| {
            BASE32HEX
                .iter()
                .position(|digit| *digit == byte)
                .expect("a digit of base32hex") as u64
        };
        id.bytes()
            .take(7)
            .fold(0, |sum, byte| sum << 5 | digit(byte))
            >> 3
    }

    #[test]
    fn xid_begins_with_the_second_and_sorts_by_creation() {
        let mut ids = Ids::new();
        ids.counter = 0;
        let made: Vec<String> = [1_795_820_567, 1_795_820_567, 1_795_820_568]
            .map(|time| ids.xid(time))
            .into();
        assert!(
            made.iter()
                .all(|id| id.len() == 20 && id.bytes().all(|byte| BASE32HEX.contains(&byte))),
            "{made:?}"
        );
        assert_eq!(
            made.iter().map(|id| seconds(id)).collect::<Vec<_>>(),
            [1_795_820_567, 1_795_820_567, 1_795_820_568]
        );
        assert!(made.is_sorted());
    }

    #[test]
    fn recorded_id_tells_its_second() {
        // 2026-11-27T23:02:47Z, the group of group-created.json.
        assert_eq!(seconds("dc50o5tqmd2prpcba2r0"), 1_795_820_567);
    }

    #[test]
    fn token_has_its_checksum() {
        let secret = "x".repeat(30);
        assert!(is_token(&format!("nbp_{secret}13M0X2")));
        assert!(!is_token(&format!("nbp_{secret}000000")));
        assert!(!is_token(&format!("nbp_{secret}")));
        let mut ids = Ids::new();
        assert!((0..100).all(|_| is_token(&ids.token())));
    }

    #[test]
    fn uuid_is_of_version_4() {
        let uuid = Ids::new().uuid();
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!("89ab".contains(&uuid[19..20]), "{uuid}");
    }
}
