use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// A place is found by the strictest strategy, and wherever it is.
    #[test]
    fn the_search_is_the_model(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz_matching(&data);
    }

    /// A patch has all of its effects at its only places, or none.
    #[test]
    fn a_patch_is_the_model(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz_patches(&data);
    }
}

/// What the scripts make is worth testing: every outcome is frequent.
#[test]
fn the_scripts_reach_every_strategy_and_outcome() {
    let mut seed = 7_u32;
    let mut byte = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    };
    let (mut applied, mut refused) = (0, 0);
    for _ in 0..2_000 {
        let data: Vec<u8> = (0..60).map(|_| byte()).collect();
        let mut script = Bytes::new(&data);
        let lines: Vec<String> = read_lines(&mut script, 8)
            .iter()
            .map(|it| line_feeds(it))
            .collect();
        let chunks = [0, 1]
            .map(|at| read_part(&mut script, &lines, at))
            .map(|it| it.chunk(&lines));
        match v4a::plan(&Rope::from_str(&lines.concat()), &chunks) {
            Ok(_) => applied += 1,
            Err(_) => refused += 1,
        }
    }
    println!("patches applied: {applied}, refused: {refused}");
    assert!(applied > 150 && refused > 150, "{applied}, {refused}");
}
