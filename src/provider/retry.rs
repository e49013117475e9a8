//! The retry policy: which errors, how often, how long. Pure: the caller waits, shows the wait and
//! lets the user cancel it.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::conversation::FailureKind;

use super::ProviderError;

/// Total attempts when the provider limits the rate.
pub const RATE_LIMIT_ATTEMPTS: u32 = 10;
/// Total attempts after any other retryable error.
pub const OTHER_ATTEMPTS: u32 = 8;
/// A longer pacing is for the user to decide.
pub const LONGEST_PACING: Duration = Duration::from_secs(60);
/// The first wait, doubled at each attempt.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Whether an error may pass by itself.
pub fn retryable(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Retry { .. })
}

/// How many attempts there are at most after an error of this kind.
pub fn attempts(kind: FailureKind) -> u32 {
    match kind {
        FailureKind::RateLimited => RATE_LIMIT_ATTEMPTS,
        _ => OTHER_ATTEMPTS,
    }
}

/// How long to wait after attempt number `attempt` (from 1) failed with `error`; `None`: give up
/// and report it. The server's pacing is a minimum. `seed`, any number that differs between
/// clients, spreads them out.
pub fn delay(error: &ProviderError, attempt: u32, seed: u64) -> Option<Duration> {
    let ProviderError::Retry { failure, after } = error else {
        return None;
    };
    let most = attempts(failure.kind);
    let pacing = after.unwrap_or_default();
    if attempt >= most || pacing > LONGEST_PACING {
        return None;
    }
    let doublings = attempt.saturating_sub(1).min(5);
    let backoff = (FIRST * 2u32.pow(doublings)).min(LONGEST);
    let backoff = jittered(backoff, seed.wrapping_add(u64::from(attempt)));
    Some(if pacing > backoff {
        // Clients that were given the same moment must not return all at once.
        pacing + jittered(FIRST, seed) / 4
    } else {
        backoff
    })
}

/// Between three quarters and all of `base`.
fn jittered(base: Duration, seed: u64) -> Duration {
    // SplitMix64: neighbouring seeds give unrelated numbers.
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    let thousandths = u32::try_from(z % 251).unwrap_or(0) + 750;
    base * thousandths / 1000
}
