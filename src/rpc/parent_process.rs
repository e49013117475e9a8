//! Watches the process that `initialize` names, because a pipe outlives the editor when another
//! process holds it (hazard d3). A process that does not exist at the start is in another
//! namespace and is ignored: then only the end of input counts.

/// Resolves when process `pid` has ended; never if it cannot be watched.
pub async fn ended(pid: i64) {
    match i32::try_from(pid) {
        Ok(pid) if pid > 0 => watch(pid).await,
        _ => std::future::pending().await,
    }
}

/// Blocks a thread of its own in `poll` until the watched process ends.
#[cfg(target_os = "linux")]
async fn watch(pid: i32) {
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let Some(process) = Pid::from_raw(pid) else {
        return std::future::pending().await;
    };
    match pidfd_open(process, PidfdFlags::empty()) {
        Ok(fd) => {
            let (gone, heard) = tokio::sync::oneshot::channel();
            let thread = std::thread::Builder::new().name("rpc-parent".to_owned());
            let started = thread.spawn(move || {
                if wait(&fd).is_ok() {
                    let _ = gone.send(());
                }
            });
            if started.is_err() || heard.await.is_err() {
                poll(pid).await;
            }
        }
        Err(Errno::SRCH) => {
            tracing::debug!(pid, "processId does not name a process here");
            std::future::pending().await
        }
        // A kernel older than 5.3, or a seccomp filter.
        Err(_) => poll(pid).await,
    }
}

#[cfg(target_os = "linux")]
fn wait(process: &std::os::fd::OwnedFd) -> rustix::io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], None) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(not(target_os = "linux"))]
async fn watch(pid: i32) {
    poll(pid).await;
}

async fn poll(pid: i32) {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};
    let alive = || match Pid::from_raw(pid) {
        Some(process) => test_kill_process(process) != Err(Errno::SRCH),
        None => false,
    };
    if !alive() {
        tracing::debug!(pid, "processId does not name a process here");
        return std::future::pending().await;
    }
    while alive() {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}
