//! A server for tests: answers each request by the next line of a script, and keeps what it was asked.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Sends these bytes and keeps the connection.
    Send(Vec<u8>),
    /// Sends these bytes and closes the connection.
    SendAndClose(Vec<u8>),
    /// Closes without an answer.
    Close,
    /// Keeps the connection open and never answers.
    Hang,
}

/// An answer with a JSON body and its length.
pub(crate) fn json(status: u16, body: &str) -> Act {
    answer(
        status,
        "content-type: application/json; charset=UTF-8\r\n",
        body,
    )
}

/// An answer with the given header lines, each ending in `\r\n`.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let body = body.as_ref();
    let mut bytes = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Act::Send(bytes)
}

/// A request as the server read it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    /// `GET /api/groups HTTP/1.1`.
    pub(crate) line: String,
    /// The header lines as sent.
    pub(crate) headers: Vec<String>,
    /// The body.
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value.trim()))
    }
}

/// A server on 127.0.0.1. It stops when dropped; requests beyond the script get status 599.
pub(crate) struct Script {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    stopped: Arc<AtomicBool>,
}

impl Script {
    pub(crate) fn start(acts: impl IntoIterator<Item = Act>) -> Script {
        Script::start_at(|_| acts)
    }

    /// Likewise, with acts that know the port.
    pub(crate) fn start_at<A: IntoIterator<Item = Act>>(acts: impl FnOnce(u16) -> A) -> Script {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let acts = acts(port);
        let acts = Arc::new(Mutex::new(acts.into_iter().collect::<Vec<_>>().into_iter()));
        let (seen, stopped) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicBool::new(false)),
        );
        let script = Script {
            port,
            seen: Arc::clone(&seen),
            stopped: Arc::clone(&stopped),
        };
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (stream, acts, seen) = (stream.unwrap(), Arc::clone(&acts), Arc::clone(&seen));
                std::thread::spawn(move || serve(connection, stream, &acts, &seen));
            }
        });
        script
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The request lines so far, without the version.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen()
            .iter()
            .map(|seen| seen.line.trim_end_matches(" HTTP/1.1").to_owned())
            .collect()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the listener up.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(
    connection: usize,
    mut stream: TcpStream,
    acts: &Mutex<std::vec::IntoIter<Act>>,
    seen: &Mutex<Vec<Seen>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let Some(request) = read_request(connection, line.trim_end().to_owned(), &mut reader)
        else {
            return;
        };
        seen.lock().unwrap().push(request);
        let act = acts
            .lock()
            .unwrap()
            .next()
            .unwrap_or_else(|| json(599, "{}"));
        match act {
            Act::Send(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Act::SendAndClose(bytes) => {
                let _ = stream.write_all(&bytes);
                return;
            }
            Act::Close => return,
            Act::Hang => {
                // Until the client gives up.
                let _ = reader.read(&mut [0]);
                return;
            }
        }
    }
}

fn read_request(connection: usize, line: String, reader: &mut impl BufRead) -> Option<Seen> {
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|n| *n > 0)?;
        match header.trim_end() {
            "" => break,
            header => headers.push(header.to_owned()),
        }
    }
    let mut seen = Seen {
        connection,
        line,
        headers,
        body: String::new(),
    };
    let length = seen
        .header("content-length")
        .map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    seen.body = String::from_utf8(body).unwrap();
    Some(seen)
}
