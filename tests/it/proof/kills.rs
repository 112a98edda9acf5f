//! A run that is killed before or after each of its writes, or at any moment, and another run that begins and ends before one.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fakes::{Effect, Fault, Request};

use super::world::{ensure, read};
use super::{APPLY, MARK_ENROLLED, SYNC_EVENTS, Scene, Task, VIA_PR, every, push};
use crate::run::{Pid, Run};

/// What is done at a write.
type Deed = Arc<Mutex<dyn FnMut(&Request) + Send>>;

/// Does something once, when the nth write arrives at NetBird or the forge, and before it is done. Where it is not to be done, its
/// connection is closed.
fn at_write(
    scene: &Arc<Scene>,
    nth: usize,
    is_done: bool,
    deed: impl FnMut(&Request) + Send + 'static,
) {
    let left = Arc::new(AtomicUsize::new(nth));
    let deed: Deed = Arc::new(Mutex::new(deed));
    let (netbird, gitea) = (scene.site.bench.netbird(), scene.site.gitea());
    let watch = |fault: fn(&Scene, Fault)| {
        let (left, deed, scene) = (Arc::clone(&left), Arc::clone(&deed), Arc::downgrade(scene));
        move |request: &Request| {
            if request.method == "GET" || left.fetch_sub(1, Ordering::SeqCst) != 1 {
                return;
            }
            if let Some(scene) = scene.upgrade().filter(|_| !is_done) {
                fault(
                    &scene,
                    Fault::on(&request.method, &request.path).then(Effect::CutBefore),
                );
            }
            (deed.lock().expect("one deed at a time"))(request);
        }
    };
    netbird.watch(watch(|scene, fault| {
        scene.site.bench.netbird().fault(fault)
    }));
    gitea.watch(watch(|scene, fault| scene.site.gitea().fault(fault)));
}

/// What holds after a run that was killed, and after those that follow.
fn check(scene: &Scene, task: &Task, run: Run) -> Result<(), String> {
    scene.rest();
    let world = read(&scene.site.bench);
    // disk and log of a job are gone with it
    std::fs::remove_dir_all(scene.site.bench.path("sealed-keys")).ok();
    let code = if run.code == 128 + 9 { 4 } else { run.code };
    scene.check_run(&Run { code, ..run }, &world)?;
    scene.check_settled(task)
}

/// Kills at every nth write, before it and after it; returns how many writes there were.
fn killed(stride: usize, scene: fn() -> Scene, task: Task) {
    let (scene, stride) = (Arc::new(scene()), every(stride));
    let mut wrong = Vec::new();
    let mut cases = 0;
    for is_done in [true, false] {
        for nth in (1..).step_by(stride) {
            scene.restore();
            let hit = Arc::new(Mutex::new(String::new()));
            let hook = |_: &fakes::NetBird, pid: Pid| {
                let hit = Arc::clone(&hit);
                at_write(&scene, nth, is_done, move |request| {
                    *hit.lock().expect("a text") = format!("{} {}", request.method, request.path);
                    pid.signal("KILL");
                });
            };
            let run = scene
                .site
                .bench
                .start_command((task.command)(&scene), hook)
                .wait();
            let at = hit.lock().expect("a text").clone();
            if at.is_empty() {
                assert!(nth > 1, "{} writes nothing: {}", task.name, run.stderr);
                break;
            }
            cases += 1;
            let result = check(&scene, &task, run);
            wrong.extend(result.err().map(|why| {
                format!(
                    "=== {} write {nth}, done: {is_done}, {at}\n{why}",
                    task.name
                )
            }));
        }
    }
    eprintln!(
        "{}: killed at {cases} writes, {} wrong",
        task.name,
        wrong.len()
    );
    assert!(
        wrong.is_empty(),
        "{} of {cases}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn killed_before_or_after_a_write_of_an_apply() {
    killed(29, Scene::changed, APPLY);
}

#[test]
fn killed_before_or_after_a_write_of_sync_events() {
    killed(5, Scene::enrolled, SYNC_EVENTS);
    killed(5, Scene::enrolled, VIA_PR);
    killed(1, Scene::enrolled, MARK_ENROLLED);
}

#[test]
#[ignore = "takes minutes: the time of a run, again and again"]
fn killed_at_any_moment() {
    let runs = std::env::var("PROOF_KILLS").map_or(200, |text| text.parse().expect("a number"));
    for (scene, task) in [(Scene::changed(), APPLY), (Scene::enrolled(), SYNC_EVENTS)] {
        let begin = Instant::now();
        scene.run(&task);
        let whole = begin.elapsed();
        let (mut wrong, mut kills) = (Vec::new(), 0);
        for number in 0..runs {
            scene.restore();
            let mut command = (task.command)(&scene);
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program runs");
            // evenly over the time of a run; what a machine is busy with makes it random enough
            thread::park_timeout(
                whole.mul_f64(f64::from(number) / f64::from(runs)) + Duration::from_micros(1),
            );
            child.kill().expect("a child of ours");
            let status = child.wait().expect("a child of ours");
            kills += usize::from(status.code().is_none());
            let run = Run {
                code: status.code().unwrap_or(128 + 9),
                stdout: String::new(),
                stderr: String::new(),
            };
            wrong.extend(
                check(&scene, &task, run)
                    .err()
                    .map(|why| format!("=== {} {number}\n{why}", task.name)),
            );
        }
        eprintln!(
            "{}: killed {kills} times at any moment, {} wrong",
            task.name,
            wrong.len()
        );
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// A second run does everything before a write of the first one.
#[test]
fn another_run_before_a_write_of_an_apply() {
    let (scene, stride) = (Arc::new(Scene::changed()), every(19));
    let mut wrong = Vec::new();
    let mut cases = 0;
    for nth in (1..).step_by(stride) {
        scene.restore();
        let mut other = scene
            .site
            .job_command(&["apply", "--keys-dir", "other"], &push(&scene.site));
        let (send, ended) = std::sync::mpsc::channel();
        at_write(&scene, nth, true, move |_| {
            send.send(other.output().expect("the program runs"))
                .expect("somebody waits");
        });
        let first = scene.run(&APPLY);
        let Ok(second) = ended.try_recv() else {
            break;
        };
        cases += 1;
        let second = scene.site.bench.outcome(second);
        let result = ensure(
            matches!((first.code, second.code), (0 | 4, 0 | 3 | 4)),
            || {
                format!(
                    "{} {}\n{}\n{}",
                    first.code, second.code, first.stderr, second.stderr
                )
            },
        );
        let result = result.and_then(|()| check(&scene, &APPLY, first));
        wrong.extend(
            result
                .err()
                .map(|why| format!("=== another run before write {nth}\n{why}")),
        );
    }
    eprintln!(
        "apply: another run before {cases} writes, {} wrong",
        wrong.len()
    );
    assert!(
        wrong.is_empty(),
        "{} of {cases}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn two_applies_at_once_leave_one_object_of_each_name() {
    let scene = Scene::changed();
    for _ in 0..2 {
        scene.restore();
        let runs = [&["apply"][..], &["apply", "--keys-dir", "other"]];
        let runs = runs.map(|args| scene.site.start_job(args, &push(&scene.site)));
        for run in runs.map(|run| run.wait(&scene.site.bench)) {
            assert!(matches!(run.code, 0 | 4), "{}\n{}", run.stdout, run.stderr);
        }
        let run = Run {
            code: 4,
            stdout: String::new(),
            stderr: String::new(),
        };
        check(&scene, &APPLY, run).unwrap();
    }
}
