//! Signals end a run after the operation in hand: nothing is left half done that could be finished.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

/// Set by SIGTERM and SIGINT; a second one ends the program at once.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        let registered = register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| register(signal, stop.clone()));
        if let Err(error) = registered {
            log::warn!("a signal will end this run at once: {error}");
        }
    }
    stop
});

/// Returns what somebody at a terminal answers. The first signal ends the program meanwhile, also where it was started in
/// the background of a script, whose programs begin with SIGINT ignored.
pub(super) fn asking<T>(ask: impl FnOnce() -> T) -> T {
    let stands = Arc::new(AtomicBool::new(true));
    for signal in [SIGTERM, SIGINT] {
        if let Err(error) = register_conditional_shutdown(signal, 128 + signal, stands.clone()) {
            log::warn!("whether a signal ends the question is up to the system: {error}");
        }
    }
    let answer = ask();
    // before the question is over: no signal falls in between
    signals();
    stands.store(false, Ordering::Relaxed);
    answer
}

/// Returns the flag that signals set; from now on they end the run after the operation in hand.
pub(super) fn signals() -> Arc<AtomicBool> {
    STOP.clone()
}

/// Waits, but no longer than until a signal: a runner that stops a job does not wait for a server's rate limit.
pub(super) fn wait(duration: Duration) {
    let end = Instant::now() + duration;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let is_over =
            left.is_zero() || LazyLock::get(&STOP).is_some_and(|stop| stop.load(Ordering::Relaxed));
        if is_over {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}
