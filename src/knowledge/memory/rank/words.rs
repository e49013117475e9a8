//! Splits text into comparable words, and lists the words that say nothing about a subject.

/// Calls `take` for each word of `text`, in lower case and without a plural ending; in scripts
/// without blanks, for each pair of characters and (`true`) for each single one.
pub fn each(text: &str, mut take: impl FnMut(&str, bool)) {
    let mut word = String::new();
    let mut before: Option<char> = None;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
            before = None;
        } else if cjk(c) {
            flush(&mut word, &mut take);
            let mut buffer = [0; 8];
            take(c.encode_utf8(&mut buffer), true);
            if let Some(before) = before {
                let first = before.encode_utf8(&mut buffer).len();
                let second = c.encode_utf8(&mut buffer[first..]).len();
                let pair = std::str::from_utf8(&buffer[..first + second]).unwrap_or_default();
                take(pair, false);
            }
            before = Some(c);
        } else {
            before = None;
            if !c.is_ascii() && c.is_alphanumeric() {
                word.extend(c.to_lowercase());
            } else {
                flush(&mut word, &mut take);
            }
        }
    }
    flush(&mut word, &mut take);
}

fn flush(word: &mut String, take: &mut impl FnMut(&str, bool)) {
    if word.is_empty() {
        return;
    }
    take(singular(word), false);
    word.clear();
}

/// "answers" becomes "answer": just enough to match both forms.
fn singular(word: &str) -> &str {
    let plural = word.len() > 3 && word.is_ascii() && !word.ends_with("ss");
    match word.strip_suffix('s') {
        Some(stem) if plural => stem,
        _ => word,
    }
}

/// A character of a script that is written without blanks.
fn cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

pub fn cjk_pair(word: &str) -> bool {
    word.chars().count() == 2 && word.chars().all(cjk)
}

/// A function word, without a plural ending.
pub fn grammar(word: &str) -> bool {
    GRAMMAR.contains(&word)
}

/// A word that people use in any request to an agent.
pub fn chatter(word: &str) -> bool {
    CHATTER.contains(&word) || (word.chars().count() == 1 && word.chars().all(cjk))
}

#[rustfmt::skip]
const GRAMMAR: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "both", "but", "by", "can", "could", "did", "do", "doe",
    "does", "doing", "don", "each", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "me", "more", "most", "my", "no", "nor",
    "not", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "re",
    "same", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "thi", "this", "those", "through", "to", "too", "under", "until", "up",
    "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "why",
    "will", "with", "would", "you", "your", "s", "d", "m", "it'",
    "das", "der", "die", "den", "dem", "ein", "eine", "einen", "für", "ich", "ist", "mit", "nicht",
    "oder", "und", "von", "wie", "wir", "zu", "auf",
    "au", "aux", "ce", "de", "des", "du", "en", "est", "et", "il", "je", "la", "le", "les", "mai",
    "ne", "nous", "ou", "par", "pas", "pour", "que", "qui", "sur", "un", "une", "vous",
    "como", "con", "del", "el", "es", "las", "lo", "los", "para", "por", "se", "una", "y",
    "这个", "那个", "一个", "什么", "怎么", "我的", "你的", "我们", "你们", "他们", "可以", "没有", "不是",
    "如何", "还是", "的是", "一下", "です", "ます", "する", "した", "この", "その", "には", "から",
];

#[rustfmt::skip]
const CHATTER: &[&str] = &[
    "add", "agent", "always", "alway", "answer", "ask", "better", "call", "change", "check", "code", "constraint",
    "create", "done", "edit", "every", "explain", "fact", "file", "find", "first", "fix", "folder",
    "get", "give", "go", "good", "habit", "hello", "help", "hi", "implement", "its", "keep", "know",
    "let", "like", "line", "look", "lot", "make", "many", "memory", "much", "must", "need", "never", "new",
    "next", "now", "ok", "old", "one", "please", "prefer", "preference", "project", "put", "remember", "remove", "run",
    "say", "see", "session", "set", "show", "skill", "something", "start", "still", "take", "tell",
    "thank", "thanks", "thing", "think", "time", "try", "two", "update", "use", "used", "user",
    "using", "want", "way", "well", "work", "write", "yes",
    "帮我", "请你", "我要", "我想", "喜欢", "我喜", "不喜", "记住", "以后", "总是", "从不", "用户", "项目",
    "文件", "代码", "使用", "需要", "现在", "写一", "偏好",
];
