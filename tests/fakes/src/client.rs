//! A minimal HTTP client: one request, one connection. For the tests of this crate, the sandbox,
//! and whoever wants to speak to a fake without the client under test.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// What a server answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, and their values.
    pub headers: Vec<(String, String)>,
    /// The body, taken out of its chunks.
    pub text: String,
    /// The body where it is JSON, else null.
    pub json: Value,
}

/// Sends one request to `http://HOST:PORT/…`. `token` becomes `Authorization: Token …`. An error is
/// a server that cannot be reached, or that closed the connection before a whole answer was there.
pub fn send(
    method: &str,
    url: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> io::Result<Answer> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| invalid("the URL does not begin with http://"))?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let content_type = body
        .map(|_| "Content-Type: application/json\r\n")
        .unwrap_or_default();
    let body = body.map(Value::to_string).unwrap_or_default();
    let authorization = token
        .map(|token| format!("Authorization: token {token}\r\n"))
        .unwrap_or_default();
    let mut stream = TcpStream::connect(host)?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{authorization}{content_type}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> io::Result<Answer> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let parsed = head
        .parse(bytes)
        .map_err(|error| invalid(&error.to_string()))?;
    let httparse::Status::Complete(length) = parsed else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: Vec<_> = head
        .headers
        .iter()
        .map(|header| (header.name.to_lowercase(), text(header.value)))
        .collect();
    let value = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let body = match value("content-length") {
        Some(count) if count.parse() != Ok(bytes.len() - length) => {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Some(_) => bytes[length..].to_vec(),
        // no content, no length
        None if head.code == Some(204) => Vec::new(),
        None => chunks(&bytes[length..])?,
    };
    let (status, text) = (head.code.unwrap_or_default(), text(&body));
    let json = serde_json::from_str(&text).unwrap_or_default();
    Ok(Answer {
        status,
        headers,
        text,
        json,
    })
}

fn chunks(mut bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let parsed =
            httparse::parse_chunk_size(bytes).map_err(|_| invalid("a chunk has no size"))?;
        let httparse::Status::Complete((start, size)) = parsed else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if size == 0 {
            return Ok(body);
        }
        let end = start + usize::try_from(size).map_err(|error| invalid(&error.to_string()))?;
        body.extend(bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        bytes = bytes.get(end + 2..).ok_or(io::ErrorKind::UnexpectedEof)?;
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
