use super::*;

fn usage(input: u64, output: u64) -> Usage {
    Usage {
        input,
        output,
        ..Usage::default()
    }
}

const FLAT: Rates = Rates {
    input: 2.0,
    output: 10.0,
    cache_read: Some(0.2),
    cache_write: None,
};

#[test]
fn a_request_costs_what_its_tokens_cost() {
    let price = Price {
        base: FLAT,
        above: None,
    };
    let all = Usage {
        input: 1_000_000,
        output: 100_000,
        cache_read: 1_000_000,
        cache_write: 500_000,
    };
    // 2 + 1 + 0.2 + 1: writes without their own rate cost as much as input.
    assert!((price.cost(&all) - 4.2).abs() < 1e-9);
    assert_eq!(price.cost(&Usage::default()), 0.0);
}

#[test]
fn a_long_prompt_has_its_own_rates() {
    let long = Rates {
        input: 4.0,
        output: 20.0,
        ..FLAT
    };
    let price = Price {
        base: FLAT,
        above: Some((1000, long)),
    };
    let mut prompt = usage(400, 0);
    prompt.cache_read = 600;
    let short = price.cost(&prompt);
    prompt.output = 1000;
    assert!((price.cost(&prompt) - short - 0.01).abs() < 1e-12);
    prompt.cache_read += 1;
    assert!(price.cost(&prompt) > 0.02);
}

#[test]
fn a_sum_has_a_cost_only_if_every_request_had_one() {
    let mut sum = Spent::default();
    assert_eq!(sum.cost, None);
    sum.add(usage(10, 1), Some(0.5));
    sum.add(usage(1, 0), Some(0.25));
    assert_eq!((sum.total(), sum.cost), (12, Some(0.75)));
    let mut turn = sum;
    turn.add(usage(1, 0), None);
    assert_eq!((turn.cost, turn.known()), (None, 0.75));
    sum.join(&turn);
    assert_eq!((sum.total(), sum.cost, sum.known()), (25, None, 1.5));
    let mut uncounted = Spent::default();
    uncounted.add(usage(0, 0), None);
    uncounted.add(usage(1, 0), Some(0.25));
    assert_eq!(uncounted.cost, None, "nobody knows what the first came to");
    let json = serde_json::to_value(sum).unwrap();
    assert_eq!(
        json.to_string(),
        r#"{"input":23,"output":2,"cacheRead":0,"cacheWrite":0}"#
    );
}

#[test]
fn a_free_model_costs_zero() {
    let mut sum = Spent::default();
    sum.add(usage(5, 5), Some(0.0));
    assert_eq!(serde_json::to_value(sum).unwrap()["cost"], 0.0);
}

#[test]
fn implausible_counts_and_costs_are_harmless() {
    let odd = usage(u64::MAX, 7).sane();
    assert_eq!(odd, usage(0, 7));
    let mut sum = Spent::default();
    sum.add(usage(u64::MAX, 1), Some(f64::NAN));
    sum.add(usage(u64::MAX, 1), Some(f64::INFINITY));
    assert_eq!((sum.total(), sum.cost, sum.known()), (u64::MAX, None, 0.0));
    let price = Price {
        base: FLAT,
        above: None,
    };
    assert!(price.cost(&usage(u64::MAX, u64::MAX)).is_finite());
    for wrong in [f64::NAN, f64::INFINITY, -1.0] {
        let rates = Rates {
            cache_write: Some(wrong),
            ..FLAT
        };
        assert!(!rates.valid());
    }
}
