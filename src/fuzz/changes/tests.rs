use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// E10, E11, I10: whatever a client sends, the mirror is right or says that it is not.
    #[test]
    fn the_mirror_is_the_model_whatever_is_sent(data in proptest::collection::vec(any::<u8>(), 0..400)) {
        fuzz_changes(&data);
    }
}

/// What the generator makes is worth testing: most scripts change a document that is in sync.
#[test]
fn the_script_reaches_in_sync_changes() {
    let mut seed = 1_u32;
    let mut byte = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    };
    let (mut kept, mut lost) = (0, 0);
    for _ in 0..300 {
        let data: Vec<u8> = (0..60).map(|_| byte()).collect();
        let mut script = Bytes::new(&data);
        let mut model = Model::open(0, read_text(&mut script).repeat(4));
        for version in 1..8 {
            model.change(version, &read_changes(&mut script), Encoding::Utf16);
            if model.synced {
                kept += 1;
            } else {
                lost += 1;
            }
        }
    }
    println!("in sync after a change: {kept}, out of sync: {lost}");
    assert!(
        kept > 400 && lost > 400,
        "in sync {kept}, out of sync {lost}"
    );
}
