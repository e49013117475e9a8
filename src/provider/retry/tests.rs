use super::*;
use crate::conversation::Failure;

fn retry(kind: FailureKind, after: Option<u64>) -> ProviderError {
    ProviderError::Retry {
        failure: Failure::new(kind, "m", "h"),
        after: after.map(Duration::from_secs),
    }
}

#[test]
fn waits_double_and_stay_between_three_quarters_and_all_of_thirty_seconds() {
    for seed in 0..500 {
        for attempt in 1..OTHER_ATTEMPTS {
            let wait = delay(&retry(FailureKind::Overloaded, None), attempt, seed).unwrap();
            let full = Duration::from_secs(1 << (attempt - 1)).min(LONGEST);
            assert!(wait <= full && wait >= full * 3 / 4, "{attempt} {wait:?}");
        }
    }
}

#[test]
fn different_seeds_spread() {
    let waits: std::collections::BTreeSet<_> = (0..50)
        .filter_map(|seed| delay(&retry(FailureKind::Overloaded, None), 3, seed))
        .collect();
    assert!(waits.len() > 20);
}

#[test]
fn the_servers_pacing_is_a_minimum_p03() {
    for attempt in 1..RATE_LIMIT_ATTEMPTS {
        let wait = delay(&retry(FailureKind::RateLimited, Some(40)), attempt, 7).unwrap();
        assert!(wait >= Duration::from_secs(40) && wait < Duration::from_secs(41));
    }
    // A pacing below our own backoff changes nothing.
    let none = delay(&retry(FailureKind::RateLimited, None), 5, 7);
    assert_eq!(delay(&retry(FailureKind::RateLimited, Some(1)), 5, 7), none);
}

#[test]
fn pacing_over_a_minute_is_surfaced_p03() {
    assert!(delay(&retry(FailureKind::RateLimited, Some(60)), 1, 0).is_some());
    assert_eq!(
        delay(&retry(FailureKind::RateLimited, Some(61)), 1, 0),
        None
    );
}

#[test]
fn attempts_are_capped_p05() {
    assert!(delay(&retry(FailureKind::Overloaded, None), 7, 0).is_some());
    assert_eq!(delay(&retry(FailureKind::Overloaded, None), 8, 0), None);
    assert!(delay(&retry(FailureKind::RateLimited, None), 9, 0).is_some());
    assert_eq!(delay(&retry(FailureKind::RateLimited, None), 10, 0), None);
    assert_eq!(delay(&retry(FailureKind::Network, None), u32::MAX, 0), None);
}

#[test]
fn permanent_errors_are_never_retried() {
    let failure = Failure::new(FailureKind::Auth, "m", "h");
    for error in [
        ProviderError::Auth(failure.clone()),
        ProviderError::Overflow(failure.clone()),
        ProviderError::Fatal(failure),
    ] {
        assert!(!retryable(&error));
        assert_eq!(delay(&error, 1, 0), None);
    }
}
