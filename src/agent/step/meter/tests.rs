use super::*;
use crate::conversation::Rates;

/// One dollar per million prompt tokens, a tenth of it from the cache, ten per million answer
/// tokens.
const PRICE: Price = Price {
    base: Rates {
        input: 1.0,
        output: 10.0,
        cache_read: Some(0.1),
        cache_write: None,
    },
    above: None,
};

fn text(bytes: usize) -> Vec<ModelEvent> {
    let text = "x".repeat(bytes);
    vec![ModelEvent::TextDelta { index: 0, text }]
}

#[test]
fn an_answer_is_over_once_its_estimate_reaches_the_limit() {
    let mut meter = Meter::new(1.0, PRICE, 0);
    let counted = Usage {
        input: 100_000,
        ..Usage::default()
    };
    meter.count(&text(200_000));
    // 0.1 for the prompt, 0.5 for 50,000 tokens.
    assert_eq!(meter.over(0.0, &counted), None);
    assert_eq!(meter.over(0.39, &counted), None);
    let usage = meter.over(0.41, &counted).unwrap();
    assert_eq!((usage.input, usage.output), (100_000, 50_000));
    meter.count(&text(160_000));
    assert_eq!(meter.over(0.0, &counted).unwrap().output, 90_000);
}

#[test]
fn a_providers_count_is_a_lower_bound_and_an_uncounted_prompt_is_the_cheapest() {
    let meter = Meter::new(1.0, PRICE, 5_000_000);
    assert_eq!(meter.over(0.49, &Usage::default()), None);
    let usage = meter.over(0.51, &Usage::default()).unwrap();
    assert_eq!((usage.input, usage.cache_read), (0, 5_000_000));
    let counted = Usage {
        input: 1,
        output: 100_000,
        ..Usage::default()
    };
    assert_eq!(meter.over(0.0, &counted), Some(counted));
}

#[test]
fn thoughts_and_arguments_are_part_of_the_answer() {
    let mut meter = Meter::new(1.0, PRICE, 0);
    let piece = || "x".repeat(200_000);
    let (thought, input) = (
        ModelEvent::ThoughtDelta {
            index: 0,
            text: piece(),
        },
        ModelEvent::ToolInputDelta {
            index: 1,
            text: piece(),
        },
    );
    meter.count(&[thought, input]);
    let usage = meter.over(0.0, &Usage::default()).unwrap();
    assert_eq!(usage.output, 100_000);
}
