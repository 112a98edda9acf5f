//! Bytes of one connection: requests in, answers out.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::{Request, Response};

/// Answers longer than this are chunked, as Go's servers do.
const CHUNKED_FROM_BYTES: usize = 2048;
const MAX_HEADERS: usize = 64;

/// How much of an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Whole,
    /// All headers, and half of the bytes of the body.
    Half,
}

/// A connection, and what was read from it beyond the last request.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Reads one request with its whole body, and whether the client wants to keep the connection.
    /// `None` where the client has closed it.
    pub(super) fn read(&mut self, base: &str) -> io::Result<Option<(Request, bool)>> {
        let (mut request, version) = loop {
            if let Some(head) = self.head(base)? {
                break head;
            }
            if !self.fill()? {
                return Ok(None);
            }
        };
        if request
            .header("expect")
            .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
        {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.bytes = match request.header("content-length") {
            _ if request
                .header("transfer-encoding")
                .is_some_and(|value| value.eq_ignore_ascii_case("chunked")) =>
            {
                self.chunks()?
            }
            Some(length) => self.take(
                length
                    .trim()
                    .parse()
                    .map_err(|_| malformed("content length"))?,
            )?,
            None => Vec::new(),
        };
        request.body = serde_json::from_slice(&request.bytes).ok();
        let close = request
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        Ok(Some((request, version == 1 && !close)))
    }

    /// Takes the head of a request off the buffer once it is complete, with the minor version of
    /// HTTP.
    fn head(&mut self, base: &str) -> io::Result<Option<(Request, u8)>> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let httparse::Status::Complete(length) = head.parse(&self.buffer).map_err(malformed)?
        else {
            return Ok(None);
        };
        let (path, query) = head
            .path
            .unwrap_or_default()
            .split_once('?')
            .unwrap_or((head.path.unwrap_or_default(), ""));
        let below = path
            .strip_prefix(base)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let request = Request {
            method: head.method.unwrap_or_default().to_owned(),
            path: below.unwrap_or(path).to_owned(),
            in_api: below.is_some(),
            query: query.to_owned(),
            headers: head
                .headers
                .iter()
                .map(|header| (header.name.to_lowercase(), text(header.value)))
                .collect(),
            ..Request::default()
        };
        let version = head.version.unwrap_or_default();
        self.buffer.drain(..length);
        Ok(Some((request, version)))
    }

    /// Reads a chunked body and the trailers behind it.
    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let parsed =
                httparse::parse_chunk_size(&self.buffer).map_err(|_| malformed("chunk size"))?;
            let httparse::Status::Complete((head, size)) = parsed else {
                self.fill_or_fail()?;
                continue;
            };
            self.take(head)?;
            if size == 0 {
                break;
            }
            body.extend(self.take(usize::try_from(size).map_err(malformed)?)?);
            self.take(b"\r\n".len())?;
        }
        // Trailers end with an empty line.
        while !self.line()?.is_empty() {}
        Ok(body)
    }

    /// Takes one line off the buffer, without its end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let mut line = self.take(end + 2)?;
                line.truncate(end);
                return Ok(line);
            }
            self.fill_or_fail()?;
        }
    }

    /// Takes so many bytes off the buffer, and reads until they are there.
    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < count {
            self.fill_or_fail()?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    /// Reads what is there. False at the end of the connection.
    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 16 * 1024];
        let count = self.stream.read(&mut bytes)?;
        self.buffer.extend_from_slice(&bytes[..count]);
        Ok(count > 0)
    }

    fn fill_or_fail(&mut self) -> io::Result<()> {
        if self.fill()? {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    /// Whether the client still listens, as far as one can see without waiting.
    pub(super) fn is_open(&self) -> bool {
        let peek = || {
            self.stream.set_nonblocking(true)?;
            let peeked = self.stream.peek(&mut [0]);
            self.stream.set_nonblocking(false)?;
            peeked
        };
        match peek() {
            Ok(count) => count > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    pub(super) fn write(
        &mut self,
        response: &Response,
        head_only: bool,
        part: Part,
    ) -> io::Result<()> {
        let Response {
            status,
            headers,
            body,
        } = response;
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(*status));
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let chunked = body.len() > CHUNKED_FROM_BYTES;
        head += &if chunked {
            "Transfer-Encoding: chunked\r\n\r\n".to_owned()
        } else {
            format!("Content-Length: {}\r\n\r\n", body.len())
        };
        let mut bytes = head.into_bytes();
        let sent = match part {
            _ if head_only => &[],
            Part::Whole => body.as_slice(),
            Part::Half => &body[..body.len() / 2],
        };
        for piece in sent.chunks(CHUNKED_FROM_BYTES) {
            if chunked {
                bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
            }
            bytes.extend(piece);
            if chunked {
                bytes.extend(b"\r\n");
            }
        }
        if chunked && part == Part::Whole && !head_only {
            bytes.extend(b"0\r\n\r\n");
        }
        self.stream.write_all(&bytes)
    }
}

fn malformed(why: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_string())
}

/// The words behind the statuses that fakes send. Clients ignore them.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        412 => "Precondition Failed",
        422 => "Unprocessable Entity",
        423 => "Locked",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}
