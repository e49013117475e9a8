//! Starting tasks. The runtime's code is compiled for every type that it runs or returns, 3 KB
//! each, so futures, closures and their results are boxed here.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

type Result<T> = std::result::Result<T, Lost>;
type Boxed = Box<dyn Any + Send>;

/// A started task, as a future of its result. Dropping it does not stop it.
#[derive(Debug)]
pub struct Task<T> {
    handle: JoinHandle<Boxed>,
    result: PhantomData<fn() -> T>,
}

/// Why there is no result: the task panicked or was aborted.
#[derive(Debug)]
pub struct Lost(Option<JoinError>);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(error) => error.fmt(f),
            None => f.write_str("the task returned another type"),
        }
    }
}

impl std::error::Error for Lost {}

impl From<Lost> for std::io::Error {
    fn from(lost: Lost) -> Self {
        Self::other(lost)
    }
}

impl<T> Task<T> {
    fn new(handle: JoinHandle<Boxed>) -> Self {
        Self {
            handle,
            result: PhantomData,
        }
    }

    pub fn abort(&self) {
        self.handle.abort();
    }

    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T: 'static> Future for Task<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.handle).poll(cx).map(|ended| {
            match ended.map(Box::<dyn Any + Send>::downcast) {
                Ok(Ok(result)) => Ok(*result),
                Ok(Err(_)) => Err(Lost(None)),
                Err(error) => Err(Lost(Some(error))),
            }
        })
    }
}

/// `tokio::spawn`.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let future: Pin<Box<dyn Future<Output = Boxed> + Send>> =
        Box::pin(async move { Box::new(future.await) as Boxed });
    Task::new(tokio::spawn(future))
}

/// `tokio::task::spawn_blocking`.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    let work: Box<dyn FnOnce() -> Boxed + Send> = Box::new(move || Box::new(work()));
    Task::new(tokio::task::spawn_blocking(work))
}
