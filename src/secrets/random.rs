//! Long random text: upper and lower case and digits in pieces shorter than words. A path, a name
//! in `CamelCase` or a UUID is not random; a full hash is.

/// Whether a token of `text` is random.
pub fn has_random(text: &str) -> bool {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_-=".contains(byte);
    text.as_bytes().split(|byte| !belongs(byte)).any(is_random)
}

/// Whether all of `token` is random.
pub fn is_random(token: &[u8]) -> bool {
    if token.len() < 24 {
        return false;
    }
    let classes = classes(token);
    let has = |wanted| classes.contains(&wanted);
    // The longest mean length of a piece, in tenths of a character.
    let short = match (classes.len(), has(Class::Digit)) {
        (32.., true) => 40,
        (24.., true) => 30,
        (32.., false) => 32,
        _ => 0,
    };
    if has(Class::Upper) && has(Class::Lower) && mean_piece(&classes) < short {
        return true;
    }
    // One case and digits, without the hyphens of names.
    let parts = token.split(|byte| b"-_/".contains(byte));
    parts.filter(|part| part.len() >= 32).any(|part| {
        let classes = self::classes(part);
        let digits = classes.iter().filter(|it| **it == Class::Digit).count();
        (1..classes.len()).contains(&digits) && mean_piece(&classes) < 45
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
}

fn classes(token: &[u8]) -> Vec<Class> {
    let class = |byte: &u8| match byte {
        b'A'..=b'Z' => Some(Class::Upper),
        b'a'..=b'z' => Some(Class::Lower),
        b'0'..=b'9' => Some(Class::Digit),
        _ => None,
    };
    token.iter().filter_map(class).collect()
}

/// The mean length of a run of one class, in tenths of a character. A capital belongs to the word
/// that it begins.
fn mean_piece(classes: &[Class]) -> usize {
    let mut pieces: usize = 0;
    let mut run = 0;
    let mut before = None;
    for class in classes {
        if before == Some(*class) {
            run += 1;
        } else {
            let capital = before == Some(Class::Upper) && *class == Class::Lower && run == 1;
            pieces += usize::from(!capital);
            run = 1;
        }
        before = Some(*class);
    }
    10 * classes.len() / pieces.max(1)
}
