//! Rust code without comments and strings, for checks that search for words in code.

/// `text` with comments and the contents of string and character literals blanked out. Line and column numbers
/// stay the same.
pub fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = skipped_end(bytes, at);
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    // Only whole comments and literals were blanked, so this is still UTF-8.
    String::from_utf8_lossy(&code).into_owned()
}

/// Whether `line` contains `word` as a whole word.
pub fn has_word(line: &str, word: &str) -> bool {
    words(line, word).next().is_some()
}

/// The positions of `word` as a whole word.
pub fn words<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !line[..at].ends_with(part_of_name) && !line[at + word.len()..].starts_with(part_of_name)
    })
}

/// The end of the comment or literal that begins at `at`; `at` itself if there is none.
fn skipped_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let in_name = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    let len = match rest {
        [b'/', b'/', ..] => line_len(rest),
        [b'/', b'*', ..] => block_comment_len(rest),
        [b'"', ..] => quoted_len(rest, b'"'),
        [b'r', b'"' | b'#', ..] if !in_name => raw_string_len(rest, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !in_name => raw_string_len(rest, 2),
        // A character, not a lifetime: `'a'`, `'\n'`, or one of several bytes.
        [b'\'', b'\\', ..] | [b'\'', _, b'\'', ..] | [b'\'', 0x80..=0xFF, ..] => {
            quoted_len(rest, b'\'')
        }
        _ => 0,
    };
    at + len
}

fn line_len(rest: &[u8]) -> usize {
    rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())
}

/// Block comments nest.
fn block_comment_len(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted_len(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b if b == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a raw string whose hashes begin at `prefix`; 0 if it is a raw identifier (`r#type`).
fn raw_string_len(rest: &[u8], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|&&b| b == b'#').count();
    let start = prefix + hashes + 1;
    if rest.get(start - 1) != Some(&b'"') {
        return 0;
    }
    let mut closing = vec![b'"'];
    closing.resize(1 + hashes, b'#');
    let body = &rest[start..];
    let end = body.windows(closing.len()).position(|window| window == closing);
    end.map_or(rest.len(), |end| start + end + closing.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        let table = [
            ("a // word\nb", "a\nb"),
            ("a /* word /* word */ word */ b", "a b"),
            (r#"f("word", "\"word")"#, "f( , )"),
            (r##"f(r#""word""#, br"word")"##, "f( , )"),
            ("f('\"', 'x', '\\'', 'é') // word", "f( , , , )"),
            ("impl<'a> T<'a> { r#type: word }", "impl<'a> T<'a> { r#type: word }"),
        ];
        for (text, expected) in table {
            let code = code_only(text);
            assert_eq!(code.len(), text.len());
            let squeeze = |s: &str| s.split(' ').filter(|w| !w.is_empty()).collect::<String>();
            assert_eq!(squeeze(&code).trim(), squeeze(expected).trim(), "{text}");
        }
    }

    #[test]
    fn only_whole_words_are_found() {
        assert!(has_word("an unsafe {", "unsafe"));
        assert!(!has_word("unsafe_code, not_unsafe", "unsafe"));
    }
}
