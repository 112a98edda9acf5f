//! Which certificate authorities are trusted, and what the errors of TLS mean.
//!
//! ureq's default is a list baked into the binary, which knows no private CA; this takes the machine's store.

use std::path::Path;

use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use super::{HttpError, Result, Trouble};
use crate::base::{file_error, files};

/// Returns the trusted roots: the system's, with those of `ca_file` beside them.
///
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` replace the system's store, as in OpenSSL. A machine without any (an image from
/// scratch) gets Mozilla's list from the binary, and a warning.
pub(super) fn roots(ca_file: Option<&Path>) -> Result<RootCerts> {
    let own = ca_file.map(read_ca_file).transpose()?;
    let system = rustls_native_certs::load_native_certs();
    match own {
        Some(own) => {
            let system = system.certs.iter();
            let system = system.map(|der| Certificate::from_der(der).to_owned());
            let all: Vec<Certificate> = system.chain(own).collect();
            Ok(RootCerts::new_with_certs(&all))
        }
        None if system.certs.is_empty() => {
            let why = system.errors.first().map(|error| format!(" ({error})"));
            let why = why.unwrap_or_default();
            log::warn!(
                "no CA certificates found on this machine{why}: taking Mozilla's list from the binary"
            );
            Ok(RootCerts::WebPki)
        }
        None => Ok(RootCerts::PlatformVerifier),
    }
}

/// Reads the certificates of a PEM file. Other items in it (a key) are left out.
fn read_ca_file(path: &Path) -> Result<Vec<Certificate<'static>>> {
    let unusable = |problem: String| {
        let text = format!("CA file {}: {problem}", path.display());
        let hint = "give a PEM file: -----BEGIN CERTIFICATE----- …".to_owned();
        HttpError::not_made(Trouble::Setting, text, Some(hint))
    };
    let bytes = files::read(path, 16 * files::SMALL).map_err(|e| unusable(file_error(&e)))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&bytes) {
        if let PemItem::Certificate(found) = item.map_err(|e| unusable(e.to_string()))? {
            certificates.push(found);
        }
    }
    if certificates.is_empty() {
        return Err(unusable("there is no PEM certificate in it".to_owned()));
    }
    Ok(certificates)
}

/// Returns the text of a TLS error, `None` for another error.
///
/// rustls reports through `io::Error`, and is no direct dependency: ureq's constructor names the type to look for.
pub(super) fn cause(error: &ureq::Error) -> Option<String> {
    fn as_payload<'a, T: std::error::Error + 'static>(
        error: &'a (dyn std::error::Error + 'static),
        _constructor: fn(T) -> ureq::Error,
    ) -> Option<&'a T> {
        error.downcast_ref::<T>()
    }
    match error {
        ureq::Error::Rustls(e) => Some(e.to_string()),
        ureq::Error::Tls(text) => Some((*text).to_owned()),
        ureq::Error::Pem(_) | ureq::Error::TlsRequired => Some(error.to_string()),
        ureq::Error::Io(io) => {
            as_payload(io.get_ref()?, ureq::Error::Rustls).map(ToString::to_string)
        }
        _ => None,
    }
}

/// Can `cause` come after the handshake, when the request may have left? Only an alert of the peer can: in TLS 1.3 it
/// judges our side of the handshake while we send already.
pub(super) fn may_be_late(cause: &str) -> bool {
    cause.starts_with("received fatal alert") || cause.starts_with("cannot decrypt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_file_must_hold_a_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (content, wanted) in [
            ("", "there is no PEM certificate in it"),
            ("hello\n", "there is no PEM certificate in it"),
            (key, "there is no PEM certificate in it"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n", "PEM"),
        ] {
            std::fs::write(&file, content).unwrap();
            let error = roots(Some(&file)).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("ca.pem") && error.contains(wanted),
                "{error}"
            );
        }
        let error = roots(Some(&folder.path().join("none.pem"))).unwrap_err();
        assert!(error.to_string().contains("none.pem"), "{error}");
    }

    #[test]
    fn certificates_join_the_system_store() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(
            &file,
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
        )
        .unwrap();
        let RootCerts::Specific(certificates) = roots(Some(&file)).unwrap() else {
            panic!("not a list")
        };
        let system = rustls_native_certs::load_native_certs().certs.len();
        assert_eq!(certificates.len(), system + 1);
    }

    #[test]
    fn rustls_is_found_behind_io() {
        let rustls = ureq::Error::Io(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            "invalid peer certificate",
        ));
        assert_eq!(cause(&rustls), None, "text alone is no TLS error");
        assert_eq!(
            cause(&ureq::Error::Tls("no name")).as_deref(),
            Some("no name")
        );
    }
}
