//! Starting tasks. The runtime's code is compiled for every type of future that it runs, so
//! futures and closures are boxed here.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinHandle;

/// `tokio::spawn`.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    tokio::spawn(future)
}

/// `tokio::task::spawn_blocking`.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    tokio::task::spawn_blocking(work)
}
